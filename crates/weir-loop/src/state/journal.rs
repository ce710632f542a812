//! The journal: what has changed since `run.json` was last written in full, one line per step. Pure.
//!
//! A line holds everything that one step has changed, so that a step costs the same in a list of ten tasks and of ten
//! thousand, and is there completely or not at all. Lines are numbered from one, across all files: a task with its own
//! worktree has its own journal file. Each line names the `run.json` that it follows. Lines that follow another one are
//! left over from before it was written, and it already contains their changes.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{RunState, TaskRecord};
use crate::tasks::TaskId;

/// What has changed since a state was last written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changed {
    /// The tasks that may have changed.
    tasks: Vec<TaskId>,
    /// Whether tasks were added, removed or reordered.
    list: bool,
}

impl Changed {
    /// Notes that a task may have changed.
    pub fn add(&mut self, task: &TaskId) {
        if !self.tasks.contains(task) {
            self.tasks.push(task.clone());
        }
    }

    /// Notes that tasks were added, removed or reordered.
    pub fn add_list(&mut self) {
        self.list = true;
    }

    /// Returns what has changed so far, and starts over.
    #[must_use]
    pub fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    /// The task that has changed, if it is the only change.
    pub(super) fn only_task(&self) -> Option<&TaskId> {
        match self.tasks.as_slice() {
            [task] if !self.list => Some(task),
            _ => None,
        }
    }
}

/// One step.
#[derive(Debug, Serialize, Deserialize)]
struct Line<'a> {
    /// The `run.json` that the line follows.
    of: Cow<'a, str>,
    number: u64,
    updated_at: i64,
    active_ms: u64,
    /// The run without its tasks, if anything but its clocks has changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<Cow<'a, RunState>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tasks: Vec<Cow<'a, TaskRecord>>,
    /// The ids of all tasks, if some were added, removed or reordered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order: Option<Vec<Cow<'a, TaskId>>>,
}

/// Encodes a step as a line. `head` is the run without its tasks as last written, and is updated.
pub(super) fn encode(
    of: &str,
    number: u64,
    run: &RunState,
    changed: &Changed,
    head: &mut RunState,
) -> Result<Vec<u8>, serde_json::Error> {
    let now = without_tasks(run);
    (head.updated_at, head.active_ms) = (now.updated_at, now.active_ms);
    let has_changed = *head != now;
    *head = now;
    let line = Line {
        of: Cow::Borrowed(of),
        number,
        updated_at: run.updated_at,
        active_ms: run.active_ms,
        run: has_changed.then_some(Cow::Borrowed(head)),
        tasks: changed.tasks.iter().filter_map(|task| run.task(task)).map(Cow::Borrowed).collect(),
        order: changed.list.then(|| run.tasks.iter().map(|task| Cow::Borrowed(&task.task.id)).collect()),
    };
    let mut text = serde_json::to_vec(&line)?;
    text.push(b'\n');
    Ok(text)
}

/// Applies the journals to a state. `journals` are the contents of all files. A last line that a kill has cut off was
/// never acted upon, and is ignored; anything else that is invalid is an error.
pub(super) fn catch_up(run: &mut RunState, of: &str, journals: &[Vec<u8>]) -> Result<(), String> {
    let mut lines = Vec::new();
    for text in journals {
        let mut rest = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).peekable();
        while let Some(line) = rest.next() {
            match serde_json::from_slice::<Line<'_>>(line) {
                Ok(line) if line.of == of => lines.push(line),
                Ok(_) => {}
                Err(_) if rest.peek().is_none() => {}
                Err(error) => return Err(format!("a line of the journal is invalid: {error}")),
            }
        }
    }
    lines.sort_by_key(|line| line.number);
    for (expected, line) in (1..).zip(lines) {
        if line.number != expected {
            return Err(format!("line {expected} of the journal is missing"));
        }
        apply(run, line);
    }
    Ok(())
}

fn apply(run: &mut RunState, line: Line<'_>) {
    let mut tasks = std::mem::take(&mut run.tasks);
    if let Some(head) = line.run {
        *run = head.into_owned();
    }
    (run.updated_at, run.active_ms) = (line.updated_at, line.active_ms);
    for task in line.tasks {
        let task = task.into_owned();
        match tasks.iter_mut().find(|known| known.task.id == task.task.id) {
            Some(known) => *known = task,
            None => tasks.push(task),
        }
    }
    if let Some(order) = line.order {
        let place = |task: &TaskRecord| order.iter().position(|id| **id == task.task.id);
        tasks.retain(|task| place(task).is_some());
        tasks.sort_by_key(place);
    }
    run.tasks = tasks;
}

/// A copy of the run without its tasks.
pub(super) fn without_tasks(run: &RunState) -> RunState {
    RunState {
        version: run.version,
        run_id: run.run_id.clone(),
        started_at: run.started_at,
        updated_at: run.updated_at,
        active_ms: run.active_ms,
        status: run.status.clone(),
        limits: run.limits.clone(),
        task_limits: run.task_limits.clone(),
        parallel: run.parallel,
        wait: run.wait.clone(),
        baseline: run.baseline.clone(),
        questions: run.questions.clone(),
        plan: run.plan.clone(),
        planner_session: run.planner_session.clone(),
        planning: run.planning.clone(),
        halting: run.halting.clone(),
        is_unreported: run.is_unreported,
        waited_ms: run.waited_ms,
        outbox: run.outbox.clone(),
        once: run.once,
        tasks: Vec::new(),
    }
}
