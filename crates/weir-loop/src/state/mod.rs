//! The state of a run: plain data that is saved before anything is done.
//!
//! The journal is the state; [`load`] reads it. `run.json`, `budget.json`, `claude-session.json` and the files of tasks
//! with their own worktree are exports for other readers, and nothing here reads them back, except to take over a run
//! of the version before ([`load`], too).

mod atomic;
mod budget;
mod export;
mod file;
mod journal;
mod line;
mod mirror;
mod older;
mod planning;
mod question;
mod step;
#[cfg(test)]
mod tests;
mod write;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use atomic::{replace_atomically, stream_atomically, write_atomically};
pub use budget::{Budget, Spent, SpentSession};
pub use export::{BudgetFile, SessionFile, budget_file, export_planner_session, session_file, worker_file};
pub use file::{StateError, VERSION, keep_aside, load, load_archived, load_for_run};
pub use journal::Changed;
pub use line::Line;
pub(crate) use line::run_branch;
pub use mirror::Mirror;
pub use planning::{Planned, absorb, forget_absorbed, note_planned, planned};
pub use question::{Asked, AskedQuestion, OpenQuestion};
pub use step::Step;
pub use write::StateWriter;

use crate::agent::{AgentRun, ModelUse, Setup};
use crate::limits::{LimitReached, Limits, TaskLimits};
use crate::notification::Notification;
use crate::outcome::{Failure, GateResult, Outcome};
use crate::tasks::{Task, TaskId};

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// Version of the format.
    pub version: u32,
    /// Id of the run.
    pub run_id: String,
    /// When it began, in milliseconds since 1970.
    pub started_at: i64,
    /// When it was last written.
    pub updated_at: i64,
    /// Working time in milliseconds, over all starts of the program.
    pub active_ms: u64,
    /// Whether it is running, or how it ended.
    pub status: RunStatus,
    /// The limits of the run.
    pub limits: Limits,
    /// The limits of each task.
    pub task_limits: TaskLimits,
    /// How many tasks are worked on at a time.
    pub parallel: usize,
    /// A wait that was announced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Wait>,
    /// Whether a person has paused it: no session begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<Paused>,
    /// The results of the gates for a commit, so that they need not run again for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// The run's own line of commits. `None` in a run of a weir that worked in the person's tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<Line>,
    /// Questions that wait for a person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<OpenQuestion>,
    /// The account's window, as last reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<crate::agent::LimitInfo>,
    /// The planner's session, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planner_session: Option<String>,
    /// The planner's sessions, which count in the budget.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub planning: Vec<Planned>,
    /// What earlier runs have spent within the period of the limits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Spent>,
    /// Why no more tasks are started, while others are still running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halting: Option<RunEnd>,
    /// Whether it has ended and its report is not written yet.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_unreported: bool,
    /// Time spent waiting for limits of the account since a session last made progress, in milliseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waited_ms: u64,
    /// Notifications that were not sent yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outbox: Vec<Notification>,
    /// Number of tasks that have ended since a start with `--once`, even if the run was killed meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub once: Option<u32>,
    /// The tasks, in the order of the list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskRecord>,
}

/// Whether a run is running.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum RunStatus {
    /// It is running, or was killed.
    Running,
    /// It has ended.
    Ended {
        /// How it ended.
        end: RunEnd,
        /// When it ended, in milliseconds since 1970.
        at: i64,
    },
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum RunEnd {
    /// All tasks are done.
    Completed,
    /// No other task can be started, and not all tasks are done.
    Unfinished,
    /// The request of `--once` or `--until` is fulfilled.
    Enough,
    /// A limit was reached.
    Limit {
        /// The limit.
        limit: LimitReached,
    },
    /// A tool was not allowed.
    Denied {
        /// The task.
        task: TaskId,
    },
    /// A wait would be too long.
    WaitTooLong {
        /// When the limit is lifted, in milliseconds since 1970.
        until: i64,
    },
    /// All tasks are done, and their commits are on branches of their own, as is wanted.
    OnBranches,
    /// Every task is done, and boxes of the list are open: a person has unchecked them, or they could not be checked.
    BoxesOpen {
        /// The tasks.
        tasks: Vec<TaskId>,
    },
    /// The time has come at which the run was to end.
    TimeIsUp {
        /// The time, in milliseconds since 1970.
        at: i64,
    },
    /// Several tasks in a row failed in the same way.
    SameFailure {
        /// The reason of the failure.
        reason: String,
    },
    /// The last check of the run, on its last commit, failed.
    Unconfirmed {
        /// What failed.
        why: String,
    },
    /// The CLI could not be started.
    NotStarted {
        /// The cause.
        why: String,
    },
    /// A person interrupted it.
    Interrupted,
    /// The loop itself could not continue.
    Error {
        /// The error.
        why: String,
    },
}

impl RunEnd {
    /// Whether the next start resumes the run. Otherwise it starts a new one.
    pub fn can_resume(&self) -> bool {
        !matches!(self, Self::Completed | Self::Unfinished | Self::Unconfirmed { .. })
    }

    /// Whether this end still holds if the run is killed while its last sessions are ending. Other ends are found
    /// again, or the next start should try again.
    pub fn outlives_a_kill(&self) -> bool {
        matches!(self, Self::Denied { .. } | Self::SameFailure { .. })
    }
}

/// A wait that was announced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// When it ends, in milliseconds since 1970.
    pub until: i64,
    /// When it began.
    pub since: i64,
    /// Why the run waits.
    pub reason: String,
}

/// That a person has paused a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    /// Since when, in milliseconds since 1970.
    pub since: i64,
    /// Who has paused it.
    pub by: String,
}

/// The results of the gates for a commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// The commit.
    pub commit: String,
    /// The result of each gate.
    pub gates: Vec<GateResult>,
}

/// A task and its progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// The task as in the list.
    #[serde(flatten)]
    pub task: Task,
    /// Its state.
    pub state: TaskState,
    /// The step in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Step>,
    /// Whether a person wants it skipped, as soon as the current step is over.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_unwanted: bool,
    /// Whether its box was checked during the run by anyone but the loop.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_checked_by_hand: bool,
    /// Whether its work could not be merged once, and it is tried again on what was merged before it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_requeued: bool,
    /// The number of its place, while it is active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<u32>,
    /// The commit that its work is based on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The results of the gates before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<GateResult>,
    /// Every session that worked on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Attempt>,
    /// Working time on it. Waiting for a rate limit or for a person does not count, and a retry starts from zero.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub active_ms: u64,
    /// The receipt, once its work has passed the gates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Box<Receipt>>,
    /// Why it was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Box<Failure>>,
    /// Where its work is kept, if it was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// A person's answers, by question.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, String>,
}

impl TaskRecord {
    /// A task without any work.
    pub fn new(task: Task) -> Self {
        let state = if task.done { TaskState::Done } else { TaskState::Pending };
        Self {
            task,
            state,
            step: None,
            is_unwanted: false,
            is_checked_by_hand: false,
            is_requeued: false,
            slot: None,
            base: None,
            before: Vec::new(),
            attempts: Vec::new(),
            active_ms: 0,
            receipt: None,
            failure: None,
            kept: None,
            answers: BTreeMap::new(),
        }
    }

    /// The cost of all its sessions, as far as known.
    pub fn cost_usd(&self) -> f64 {
        // `sum` of nothing is -0.0, which would be printed as such.
        self.attempts.iter().filter_map(|attempt| attempt.cost_usd).fold(0.0, |all, usd| all + usd)
    }

    /// Tokens of all its sessions.
    pub fn tokens(&self) -> u64 {
        self.attempts.iter().map(|attempt| attempt.tokens).sum()
    }

    /// Time of all its sessions.
    pub fn took_ms(&self) -> u64 {
        self.attempts.iter().map(|attempt| attempt.duration_ms).sum()
    }

    /// Whether it is done, and no gate has checked it: only the model's word says so.
    pub fn is_done_unchecked(&self) -> bool {
        let receipt = self.receipt.as_ref().filter(|_| self.state == TaskState::Done);
        receipt.is_some_and(|receipt| receipt.gates.is_empty())
    }

    /// Number of sessions that count as attempts.
    pub fn counted(&self) -> u32 {
        u32::try_from(self.attempts.iter().filter(|attempt| attempt.counted).count()).unwrap_or(u32::MAX)
    }

    /// The outcome, if there is one yet.
    pub fn outcome(&self) -> Option<Outcome> {
        match self.state {
            TaskState::Done => Some(Outcome::Done),
            TaskState::Failed => self.failure.as_ref().map(|failure| failure.outcome),
            TaskState::Pending | TaskState::Active | TaskState::Skipped => None,
        }
    }
}

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// Not started.
    Pending,
    /// It is being worked on.
    Active,
    /// It is done and committed.
    Done,
    /// It was given up.
    Failed,
    /// A person skipped it.
    Skipped,
}

/// One session that worked on a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Number of the attempt that it belongs to.
    pub number: u32,
    /// Whether it counts as an iteration. A rate limit and an interruption do not.
    pub counted: bool,
    /// Whether the loop was stopped or killed when the model was already at work. It counts as an iteration of the run, so
    /// that kills buy nothing, but not as an attempt at the task.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cut_off: bool,
    /// Whether it has reviewed the work of another session. It counts as an iteration, but not as an attempt.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_review: bool,
    /// The outcome.
    pub outcome: Outcome,
    /// Why it did not succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Box<Failure>>,
    /// When it ended, in milliseconds since 1970.
    pub ended_at: i64,
    /// How long the session took.
    pub duration_ms: u64,
    /// The cost; `None` if it is unknown.
    pub cost_usd: Option<f64>,
    /// Tokens, caches and sub-agents included.
    pub tokens: u64,
    /// The end of what the session said at last. Nothing is decided by it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub said: String,
    /// Turns with the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// The models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelUse>,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Whether the CLI continued under another id.
    #[serde(default, skip_serializing_if = "is_false")]
    pub forked: bool,
    /// Whether its text does not come from a result.
    #[serde(default, skip_serializing_if = "is_false")]
    pub degraded: bool,
    /// Number of lines that could not be parsed as expected.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub malformed_lines: u64,
    /// The raw log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Arc<Path>>,
    /// What the session worked with. For a successful session it is in the receipt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<Arc<Setup>>,
}

impl Attempt {
    /// What is known of a session that has ended, apart from why it failed.
    pub(crate) fn of(now: i64, number: u32, outcome: Outcome, run: &AgentRun) -> Self {
        Self {
            number,
            counted: false,
            cut_off: false,
            is_review: false,
            outcome,
            failure: None,
            ended_at: now,
            duration_ms: run.duration_ms,
            cost_usd: run.cost_usd,
            tokens: run.tokens,
            said: last_words(&run.text),
            turns: run.turns,
            models: run.models.clone(),
            session_id: run.session_id.clone(),
            forked: run.forked,
            degraded: run.degraded,
            malformed_lines: run.malformed_lines,
            log: run.log.as_deref().map(Into::into),
            setup: None,
        }
    }
}

/// Bytes of what a session said at last that are kept for the report.
const MAX_SAID: usize = 600;

/// What is kept of what a session said at last.
pub fn last_words(text: &str) -> String {
    crate::prompt::cut_start(text.trim(), MAX_SAID)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// The record of a task that has passed its gates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// The commit.
    pub commit: String,
    /// The commit that it is based on; empty in states of older versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub parent: String,
    /// The branch of its own that the task has, if each has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The cost of all its sessions; `None` if no session reported it.
    pub cost_usd: Option<f64>,
    /// Their tokens.
    pub tokens: u64,
    /// Their time.
    pub duration_ms: u64,
    /// Turns with the model in the last session.
    pub turns: Option<u64>,
    /// Number of attempts.
    pub attempts: u32,
    /// The models.
    pub models: Vec<String>,
    /// The last session.
    pub session_id: Option<String>,
    /// Its log.
    pub log: Option<Arc<Path>>,
    /// The gates that passed, and how long they took.
    pub gates: Vec<(String, u64)>,
    /// The end of what each of them printed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gate_output: Vec<String>,
    /// Numbers of files, added lines and removed lines.
    pub diff: (u64, u64, u64),
    /// What the review said, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
    /// Protected files that it changed because the task may touch them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touched: Vec<String>,
    /// What the last session worked with, according to the CLI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<Arc<Setup>>,
}

/// The verdict of a review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Review {
    /// Whether it approves of the work.
    pub approves: bool,
    /// Its last words.
    pub said: String,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

impl RunState {
    /// A new run.
    pub fn new(run_id: String, now: i64, tasks: Vec<Task>, config: &crate::config::Config) -> Self {
        Self {
            version: VERSION,
            run_id,
            started_at: now,
            updated_at: now,
            active_ms: 0,
            status: RunStatus::Running,
            limits: config.limits.clone(),
            task_limits: config.task_limits.clone(),
            parallel: config.parallel,
            wait: None,
            paused: None,
            earlier: Vec::new(),
            baseline: None,
            line: None,
            questions: Vec::new(),
            plan: None,
            planner_session: None,
            planning: Vec::new(),
            halting: None,
            is_unreported: false,
            waited_ms: 0,
            outbox: Vec::new(),
            once: None,
            tasks: tasks.into_iter().map(TaskRecord::new).collect(),
        }
    }

    /// A task by its id.
    pub fn task(&self, id: &TaskId) -> Option<&TaskRecord> {
        self.tasks.iter().find(|record| record.task.id == *id)
    }

    /// How the run ended, if it has.
    pub fn end(&self) -> Option<&RunEnd> {
        match &self.status {
            RunStatus::Running => None,
            RunStatus::Ended { end, .. } => Some(end),
        }
    }

    /// Number of tasks in a state.
    pub fn count(&self, state: TaskState) -> usize {
        self.tasks.iter().filter(|record| record.state == state).count()
    }
}
