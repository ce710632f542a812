//! What happens in a run, for those who watch it: the terminal, `--json`, notifications.

use serde::Serialize;

use crate::agent::DeniedTool;
use crate::config::{Limits, TaskLimits};
use crate::outcome::{GateResult, Outcome};
use crate::state::{Asked, Budget, RunEnd};
use crate::tasks::TaskId;

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum LoopEvent {
    /// A run begins, or goes on.
    RunStarted {
        /// Names the run.
        run_id: String,
        /// Whether it goes on where it was.
        resumed: bool,
        /// How many tasks there are.
        tasks: usize,
        /// How many of them are done.
        done: usize,
        /// The limits that hold.
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
        /// What they said.
        results: Vec<GateResult>,
    },
    /// A session begins.
    AttemptStarted {
        /// The task.
        task: TaskId,
        /// Which attempt.
        number: u32,
        /// The session.
        session_id: String,
        /// Whether it begins again after it was cut off.
        again: bool,
    },
    /// A session has ended and was judged.
    AttemptEnded {
        /// The task.
        task: TaskId,
        /// Which attempt.
        number: u32,
        /// What came of it.
        outcome: Outcome,
        /// Why.
        reason: Option<String>,
        /// What it cost.
        cost_usd: Option<f64>,
        /// Whether it counts.
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
    },
    /// A task was given up.
    TaskFailed {
        /// The task.
        task: TaskId,
        /// How.
        outcome: Outcome,
        /// Why.
        reason: String,
        /// Where its work is.
        kept: Option<String>,
    },
    /// A task is over because a person stopped its session.
    TaskStopped {
        /// The task.
        task: TaskId,
        /// Where its work is, if there was any.
        kept: Option<String>,
    },
    /// A task is left out, because a person wants that.
    TaskSkipped {
        /// The task.
        task: TaskId,
        /// Where its work is, if there was any.
        kept: Option<String>,
    },
    /// A wait begins or goes on.
    Waiting {
        /// Until when, in milliseconds since 1970.
        until: i64,
        /// What for.
        reason: String,
    },
    /// A wait is over.
    WaitEnded,
    /// A question waits for a person.
    Asked {
        /// Names it.
        id: String,
        /// The task.
        task: TaskId,
        /// What is asked.
        asked: Asked,
    },
    /// A question was answered or is no longer asked.
    AskEnded {
        /// Names it.
        id: String,
        /// By whom, if it was answered.
        by: Option<String>,
    },
    /// What a session is doing.
    Activity {
        /// The task.
        task: TaskId,
        /// In a line.
        text: String,
    },
    /// Something that somebody should know.
    Warning {
        /// What.
        text: String,
    },
    /// The run has ended.
    RunEnded {
        /// How.
        #[serde(flatten)]
        end: RunEnd,
        /// What was spent.
        budget: Budget,
        /// Tasks that are done.
        done: usize,
        /// Tasks that were given up.
        failed: usize,
        /// Tasks that nobody began.
        pending: usize,
    },
}
