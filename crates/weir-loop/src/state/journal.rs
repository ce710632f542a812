//! The journal: what has changed since `run.json` was written as a whole, a line for each step. Pure.
//!
//! A line says all that one step has changed, so that a step costs the same in a list of ten tasks and of ten thousand,
//! and is there as a whole or not at all. Lines are counted from one, over all files that they are in: those of a task
//! that has a worktree of its own are in a file of its own. They name the `run.json` that they follow; those that follow
//! another one are left over from before it was written, and say nothing that it does not say.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{RunState, TaskRecord};
use crate::tasks::TaskId;

/// What has changed since a state was last written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changed {
    /// The tasks that may be different.
    tasks: Vec<TaskId>,
    /// Whether tasks have come, gone, or changed their order.
    list: bool,
}

impl Changed {
    /// A task may be different.
    pub fn add(&mut self, task: &TaskId) {
        if !self.tasks.contains(task) {
            self.tasks.push(task.clone());
        }
    }

    /// Tasks have come, gone, or changed their order.
    pub fn add_list(&mut self) {
        self.list = true;
    }

    /// What has changed so far. From now on nothing has.
    #[must_use]
    pub fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    /// The task that has changed, if it is one and nothing else.
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
    /// The `run.json` that it follows.
    of: Cow<'a, str>,
    number: u64,
    updated_at: i64,
    active_ms: u64,
    /// The run without its tasks, if more of it has changed than its clocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<Cow<'a, RunState>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tasks: Vec<Cow<'a, TaskRecord>>,
    /// All tasks, if some have come, gone, or changed their order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order: Option<Vec<Cow<'a, TaskId>>>,
}

/// Writes a step as a line. `head` is the run without its tasks as it was last written, and is brought up to date.
pub(super) fn encode(
    of: &str,
    number: u64,
    run: &RunState,
    changed: &Changed,
    head: &mut RunState,
) -> Result<Vec<u8>, serde_json::Error> {
    let now = without_tasks(run);
    (head.updated_at, head.active_ms) = (now.updated_at, now.active_ms);
    let is_other = *head != now;
    *head = now;
    let line = Line {
        of: Cow::Borrowed(of),
        number,
        updated_at: run.updated_at,
        active_ms: run.active_ms,
        run: is_other.then_some(Cow::Borrowed(head)),
        tasks: changed.tasks.iter().filter_map(|task| run.task(task)).map(Cow::Borrowed).collect(),
        order: changed.list.then(|| run.tasks.iter().map(|task| Cow::Borrowed(&task.task.id)).collect()),
    };
    let mut text = serde_json::to_vec(&line)?;
    text.push(b'\n');
    Ok(text)
}

/// Brings a state up to date. `journals` are the texts of all files. What a kill has cut off at the end of one was never
/// acted upon, and is left out; anything else that is not as it should be is an error.
pub(super) fn catch_up(run: &mut RunState, of: &str, journals: &[Vec<u8>]) -> Result<(), String> {
    let mut lines = Vec::new();
    for text in journals {
        let mut rest = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).peekable();
        while let Some(line) = rest.next() {
            match serde_json::from_slice::<Line<'_>>(line) {
                Ok(line) if line.of == of => lines.push(line),
                Ok(_) => {}
                Err(_) if rest.peek().is_none() => {}
                Err(error) => return Err(format!("a line of the journal cannot be read: {error}")),
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

/// A copy of all but the tasks.
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
