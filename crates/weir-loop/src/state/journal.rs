//! The journal: the state of a run. Its first line is the whole state as of some step, and each further line is what one
//! step has changed since then. Pure.
//!
//! So a step costs the same in a list of ten tasks and of ten thousand, and is there completely or not at all. The lines
//! of steps are numbered from one. A journal that has become long is replaced as a whole by one with a single line.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::{RunState, TaskRecord, VERSION};
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

    /// Whether tasks were added, removed or reordered.
    pub fn is_list(&self) -> bool {
        self.list
    }

    /// The tasks that may have changed.
    pub(super) fn tasks(&self) -> &[TaskId] {
        &self.tasks
    }
}

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
struct Whole<'a> {
    whole: Cow<'a, RunState>,
}

/// One step.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Line<'a> {
    /// In a journal of version 2: the `run.json` that the line follows.
    #[serde(default, skip_serializing)]
    pub(super) of: Cow<'a, str>,
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

/// Why the text of a state cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wrong {
    /// It is damaged.
    Damaged(String),
    /// It has another version.
    OtherVersion(u64),
}

impl From<serde_json::Error> for Wrong {
    fn from(error: serde_json::Error) -> Self {
        Self::Damaged(error.to_string())
    }
}

/// Writes the first line.
pub(super) fn write_whole(file: &mut impl Write, run: &RunState) -> io::Result<()> {
    serde_json::to_writer(&mut *file, &Whole { whole: Cow::Borrowed(run) })?;
    file.write_all(b"\n")
}

/// Encodes a step as a line. `head` is the run without its tasks as last written, and is updated.
pub(super) fn encode(
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
        of: Cow::default(),
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

/// Reads a journal.
pub(super) fn read(text: &[u8]) -> Result<RunState, Wrong> {
    #[derive(Deserialize)]
    struct Head {
        whole: Version,
    }
    #[derive(Deserialize)]
    struct Version {
        version: u64,
    }
    let cut = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
    let (first, rest) = text.split_at(cut);
    // The version first: the rest of another version may have any shape.
    let head: Head = serde_json::from_slice(first)?;
    if head.whole.version != u64::from(VERSION) {
        return Err(Wrong::OtherVersion(head.whole.version));
    }
    let whole: Whole<'_> = serde_json::from_slice(first)?;
    let mut run = whole.whole.into_owned();
    catch_up(&mut run, lines(rest)?)?;
    Ok(run)
}

/// The lines of steps. A last line that a kill has cut off was never acted upon, and is ignored; anything else that is
/// invalid is an error.
pub(super) fn lines(text: &[u8]) -> Result<Vec<Line<'_>>, Wrong> {
    let mut lines = Vec::new();
    let mut rest = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).peekable();
    while let Some(line) = rest.next() {
        match serde_json::from_slice(line) {
            Ok(line) => lines.push(line),
            Err(_) if rest.peek().is_none() => {}
            Err(error) => return Err(Wrong::Damaged(format!("a line of the journal is invalid: {error}"))),
        }
    }
    Ok(lines)
}

/// Applies steps to a state.
pub(super) fn catch_up(run: &mut RunState, mut lines: Vec<Line<'_>>) -> Result<(), Wrong> {
    lines.sort_by_key(|line| line.number);
    for (expected, line) in (1..).zip(lines) {
        if line.number != expected {
            return Err(Wrong::Damaged(format!("line {expected} of the journal is missing")));
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
        paused: run.paused.clone(),
        earlier: run.earlier.clone(),
        baseline: run.baseline.clone(),
        line: run.line.clone(),
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
