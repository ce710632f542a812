//! The state of a run: plain data that is written down before anything is done.
//!
//! `run.json` with its journal is the truth; [`load`] reads both. `budget.json`, `claude-session.json` and the files of
//! tasks that have a worktree of their own are made from it for whoever reads those.

mod atomic;
mod budget;
mod derived;
mod file;
mod journal;
mod planning;
mod step;
#[cfg(test)]
mod tests;
mod write;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use atomic::{replace_atomically, stream_atomically, write_atomically};
pub use budget::{Budget, LimitReached};
pub use derived::{BudgetFile, SessionFile, budget_file, session_file, worker_file};
pub use file::{StateError, VERSION, keep_aside, load, parse};
pub use journal::Changed;
pub use planning::{Planned, absorb, forget_absorbed, note_planned, planned};
pub use step::Step;
pub use write::StateWriter;

use crate::agent::{ModelUse, Setup};
use crate::config::{Limits, TaskLimits};
use crate::news::News;
use crate::outcome::{Failure, GateResult, Outcome};
use crate::tasks::{Task, TaskId};

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// Which form this is.
    pub version: u32,
    /// Names the run.
    pub run_id: String,
    /// When it began, in milliseconds since 1970.
    pub started_at: i64,
    /// When it was last written.
    pub updated_at: i64,
    /// How long it was at work, in milliseconds, over all starts of the program.
    pub active_ms: u64,
    /// Whether it goes on, or how it ended.
    pub status: RunStatus,
    /// The limits that hold.
    pub limits: Limits,
    /// The limits of each task.
    pub task_limits: TaskLimits,
    /// How many tasks are worked on at a time.
    pub parallel: usize,
    /// A wait that was announced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Wait>,
    /// What the gates said about a commit, so that they need not run again for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// Questions that wait for a person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<OpenQuestion>,
    /// The account's window, as last heard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<crate::agent::LimitInfo>,
    /// The planner's session, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planner_session: Option<String>,
    /// What planning has cost, which counts in the budget.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub planning: Vec<Planned>,
    /// Why no other task begins, while others are still at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halting: Option<RunEnd>,
    /// Whether it has ended and its report is not written yet.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_unreported: bool,
    /// How long limits of the account were waited for since a session last got anything done, in milliseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waited_ms: u64,
    /// News that were not told yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outbox: Vec<News>,
    /// Tasks that have ended since a start with `--once`, also if a kill came between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub once: Option<u32>,
    /// The tasks, in the order of the list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskRecord>,
}

/// Whether a run goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum RunStatus {
    /// It goes on, or was killed.
    Running,
    /// It has ended.
    Ended {
        /// How.
        end: RunEnd,
        /// When.
        at: i64,
    },
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum RunEnd {
    /// All tasks are done.
    Completed,
    /// Nothing more can be done, and not all tasks are done.
    Unfinished,
    /// What was asked for is done: `--once`, `--until`.
    Enough,
    /// A limit was reached.
    Limit {
        /// Which.
        limit: LimitReached,
    },
    /// A tool was not allowed.
    Denied {
        /// The task.
        task: TaskId,
    },
    /// A wait would be too long.
    WaitTooLong {
        /// Until when, in milliseconds since 1970.
        until: i64,
    },
    /// The same failure came again and again, in one task after the other.
    SameFailure {
        /// What it is.
        reason: String,
    },
    /// The CLI could not be started.
    NotStarted {
        /// Why.
        why: String,
    },
    /// Somebody wanted it to end.
    Interrupted,
    /// The loop itself could not go on.
    Error {
        /// Why.
        why: String,
    },
}

impl RunEnd {
    /// Whether the next start goes on with the run. Otherwise it begins another one.
    pub fn can_go_on(&self) -> bool {
        !matches!(self, Self::Completed | Self::Unfinished)
    }

    /// Whether it holds also after a kill while the last sessions came to their end. The others are found again, or
    /// the next start is to try again.
    pub fn outlives_a_kill(&self) -> bool {
        matches!(self, Self::Denied { .. } | Self::SameFailure { .. })
    }
}

/// A wait that was announced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// Until when, in milliseconds since 1970.
    pub until: i64,
    /// Since when.
    pub since: i64,
    /// What for.
    pub reason: String,
}

/// What the gates said about a commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// The commit.
    pub commit: String,
    /// What they said.
    pub gates: Vec<GateResult>,
}

/// A question that waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenQuestion {
    /// Names it.
    pub id: String,
    /// The task that waits.
    pub task: TaskId,
    /// What is asked: a question, or a permission.
    pub asked: Asked,
    /// Since when.
    pub since: i64,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Asked {
    /// Questions with choices.
    Questions {
        /// The questions.
        questions: Vec<AskedQuestion>,
    },
    /// May this tool be used?
    Permission {
        /// The tool and what it is to do, in a line.
        what: String,
        /// The rule that would allow it.
        rule: String,
    },
}

impl Asked {
    /// In a line.
    pub fn words(&self) -> String {
        match self {
            Self::Permission { what, .. } => format!("wants to use {what}"),
            Self::Questions { questions } => {
                let question = |asked: &AskedQuestion| match asked.options.as_slice() {
                    [] => asked.question.clone(),
                    options => format!("{} ({})", asked.question, options.join(", ")),
                };
                format!("asks: {}", questions.iter().map(question).collect::<Vec<_>>().join(" "))
            }
        }
    }
}

/// A question with its choices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedQuestion {
    /// The question.
    pub question: String,
    /// The labels of the choices.
    pub options: Vec<String>,
    /// Whether several may be chosen.
    #[serde(default)]
    pub several: bool,
}

/// A task and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// The task as the list has it.
    #[serde(flatten)]
    pub task: Task,
    /// How far it is.
    pub state: TaskState,
    /// What is being done about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Step>,
    /// Whether a person wants it left out, as soon as what is being done about it is over.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_unwanted: bool,
    /// The commit that its work is based on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// What the gates said before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<GateResult>,
    /// Every session that was had for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Attempt>,
    /// Time at work on it. Waiting for a rate limit or for a person does not count, and a retry begins anew.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub active_ms: u64,
    /// What it came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Box<Receipt>>,
    /// Why it was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Box<Failure>>,
    /// Where its work is kept, if it was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// What a person answered: question to answer.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, String>,
}

impl TaskRecord {
    /// A task that nobody has worked on.
    pub fn new(task: Task) -> Self {
        let state = if task.done { TaskState::Done } else { TaskState::Pending };
        Self {
            task,
            state,
            step: None,
            is_unwanted: false,
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

    /// What all its sessions cost, as far as that is known.
    pub fn cost_usd(&self) -> f64 {
        // An empty sum is minus zero, which would be shown as such.
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

    /// Sessions that count as attempts.
    pub fn counted(&self) -> u32 {
        u32::try_from(self.attempts.iter().filter(|attempt| attempt.counted).count()).unwrap_or(u32::MAX)
    }

    /// The outcome, once there is one.
    pub fn outcome(&self) -> Option<Outcome> {
        match self.state {
            TaskState::Done => Some(Outcome::Done),
            TaskState::Failed => self.failure.as_ref().map(|failure| failure.outcome),
            TaskState::Pending | TaskState::Active | TaskState::Skipped => None,
        }
    }
}

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// Nobody has begun.
    Pending,
    /// It is being worked on.
    Active,
    /// It is done and committed.
    Done,
    /// It was given up.
    Failed,
    /// A person wants it left out.
    Skipped,
}

/// One session that was had for a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Which attempt it belongs to.
    pub number: u32,
    /// Whether it counts as an iteration. A rate limit and an interruption do not.
    pub counted: bool,
    /// What came of it.
    pub outcome: Outcome,
    /// Why, in a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Box<Failure>>,
    /// When it ended, in milliseconds since 1970.
    pub ended_at: i64,
    /// How long the session took.
    pub duration_ms: u64,
    /// What it cost; none where that is not known.
    pub cost_usd: Option<f64>,
    /// Tokens, caches and sub-agents included.
    pub tokens: u64,
    /// Rounds with the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// The models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelUse>,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Whether the CLI went on under another id.
    #[serde(default, skip_serializing_if = "is_false")]
    pub forked: bool,
    /// Whether its answer is only what was said.
    #[serde(default, skip_serializing_if = "is_false")]
    pub degraded: bool,
    /// Lines that were not as expected.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub malformed_lines: u64,
    /// Where the raw lines are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Arc<Path>>,
    /// What the session worked with. That of one that succeeded is in the receipt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<Arc<Setup>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// What a task that is done came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// The commit.
    pub commit: String,
    /// What all its sessions cost; none where no session said so.
    pub cost_usd: Option<f64>,
    /// Their tokens.
    pub tokens: u64,
    /// Their time.
    pub duration_ms: u64,
    /// Rounds with the model in the last one.
    pub turns: Option<u64>,
    /// How many attempts it took.
    pub attempts: u32,
    /// The models.
    pub models: Vec<String>,
    /// The last session.
    pub session_id: Option<String>,
    /// Its log.
    pub log: Option<Arc<Path>>,
    /// The gates that passed, and how long they took.
    pub gates: Vec<(String, u64)>,
    /// Files, added and removed lines.
    pub diff: (u64, u64, u64),
    /// What the last session worked with, as the CLI said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<Arc<Setup>>,
}

impl RunState {
    /// A run that has not begun.
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
            baseline: None,
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

    /// A task by its name.
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

    /// How many tasks are in a state.
    pub fn count(&self, state: TaskState) -> usize {
        self.tasks.iter().filter(|record| record.state == state).count()
    }

    /// What was spent.
    pub fn budget(&self) -> Budget {
        Budget::of(self)
    }
}
