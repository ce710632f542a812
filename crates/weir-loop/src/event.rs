//! What happens in a run, for its viewers: the terminal, `--json`, notifications.

use serde::Serialize;

use crate::agent::DeniedTool;
use crate::limits::{Limits, TaskLimits};
use crate::outcome::{GateResult, Outcome};
use crate::state::{Budget, OpenQuestion, RunEnd};
use crate::tasks::TaskId;

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum LoopEvent {
    /// A run starts or resumes.
    RunStarted {
        /// Id of the run.
        run_id: String,
        /// Whether it resumes an earlier start.
        resumed: bool,
        /// Number of tasks.
        tasks: usize,
        /// Number of tasks that are done.
        done: usize,
        /// The limits of the run.
        limits: Limits,
        /// The limits of each task.
        task_limits: TaskLimits,
        /// What was spent so far.
        budget: Budget,
    },
    /// A task begins.
    TaskStarted {
        /// The task.
        task: TaskId,
        /// Its title.
        title: String,
    },
    /// The gates have run.
    Gates {
        /// The task.
        task: TaskId,
        /// `before` or `after`.
        when: &'static str,
        /// The result of each gate.
        results: Vec<GateResult>,
    },
    /// A session begins.
    AttemptStarted {
        /// The task.
        task: TaskId,
        /// Number of the attempt.
        number: u32,
        /// The session.
        session_id: String,
        /// Whether it repeats a session that was cut off.
        again: bool,
    },
    /// A session has ended and was judged.
    AttemptEnded {
        /// The task.
        task: TaskId,
        /// Number of the attempt.
        number: u32,
        /// The outcome.
        outcome: Outcome,
        /// Why it did not succeed.
        reason: Option<String>,
        /// What it cost.
        cost_usd: Option<f64>,
        /// Whether it counts as an attempt.
        counted: bool,
        /// Tools that were not allowed.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        denials: Vec<DeniedTool>,
    },
    /// A task is done and committed.
    TaskDone {
        /// The task.
        task: TaskId,
        /// The commit.
        commit: String,
        /// What it cost.
        cost_usd: Option<f64>,
        /// Whether gates have checked it. Without gates only the model's word says that it is done.
        checked: bool,
    },
    /// A task was given up.
    TaskFailed {
        /// The task.
        task: TaskId,
        /// The outcome.
        outcome: Outcome,
        /// Why it was given up.
        reason: String,
        /// Where its work is kept.
        kept: Option<String>,
    },
    /// A task is over because a person stopped its session.
    TaskStopped {
        /// The task.
        task: TaskId,
        /// Where its work is kept, if there was any.
        kept: Option<String>,
    },
    /// A person skipped a task.
    TaskSkipped {
        /// The task.
        task: TaskId,
        /// Where its work is kept, if there was any.
        kept: Option<String>,
    },
    /// A wait begins or continues.
    Waiting {
        /// When it ends, in milliseconds since 1970.
        until: i64,
        /// Why the run waits.
        reason: String,
    },
    /// A wait is over.
    WaitEnded,
    /// A person has paused the run: what is in progress is judged, and no session begins.
    Paused {
        /// Who has paused it.
        by: String,
    },
    /// Sessions begin again.
    Unpaused {
        /// Who has ended the pause.
        by: String,
    },
    /// A gate begins, or has ended.
    Gate {
        /// The task.
        task: TaskId,
        /// The gate.
        gate: String,
        /// The result; `None` while it runs.
        result: Option<GateResult>,
    },
    /// A question waits for a person.
    Asked(OpenQuestion),
    /// A question was answered or withdrawn.
    AskEnded {
        /// Id of the question.
        id: String,
        /// Who answered it, if it was answered.
        by: Option<String>,
    },
    /// What a session is doing.
    Activity {
        /// The task.
        task: TaskId,
        /// One line.
        text: String,
    },
    /// Something a person should know.
    Warning {
        /// The warning.
        text: String,
    },
    /// The run has ended.
    RunEnded {
        /// How it ended.
        #[serde(flatten)]
        end: RunEnd,
        /// What was spent.
        budget: Budget,
        /// Tasks that are done.
        done: usize,
        /// Tasks that are done without having been checked, because there are no gates.
        unchecked: usize,
        /// Tasks that were given up.
        failed: usize,
        /// Tasks that are neither done nor given up.
        pending: usize,
    },
}
