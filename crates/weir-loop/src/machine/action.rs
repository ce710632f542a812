//! The actions that the machine requests.

use std::path::PathBuf;

use crate::event::LoopEvent;
use crate::notification::Notification;
use crate::outcome::Failure;
use crate::state::RunEnd;
use crate::tasks::TaskId;

/// Something for the driver to do, after it has saved the state.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Send an event to the viewers of the run.
    Tell(LoopEvent),
    /// Send a notification to people who do not follow the run.
    Notify(Notification),
    /// Read the task list.
    ReadTasks,
    /// Prepare the workspace of a task.
    Prepare(TaskId),
    /// Restore the workspace to this tree.
    Restore {
        /// The task.
        task: TaskId,
        /// The tree.
        tree: String,
    },
    /// Run the gates in the workspace of a task.
    RunGates(TaskId),
    /// Begin a session.
    RunAgent(AgentOrder),
    /// Begin a session that reviews the work of a task.
    Review(ReviewOrder),
    /// Look for the log of a session that was cut off.
    Recover {
        /// The task.
        task: TaskId,
        /// The session.
        session_id: String,
    },
    /// Inspect the changes since a commit, and restore protected files.
    Inspect {
        /// The task.
        task: TaskId,
        /// The commit.
        base: String,
        /// The tree that the session left, if something in it is known to need restoring.
        seen: Option<String>,
    },
    /// Make the commit, without setting a branch to it.
    MakeCommit {
        /// The task.
        task: TaskId,
        /// Whether the commit goes to the branch of the task's own worktree.
        on_branch: bool,
        /// The commit on the task's branch that is to be merged.
        merges: Option<String>,
    },
    /// Set the branch to the commit, if the branch has not moved.
    Advance {
        /// The task.
        task: TaskId,
        /// The commit.
        commit: String,
        /// The commit that the branch was at before.
        parent: String,
    },
    /// Keep the work of a task that was given up, without touching its workspace.
    Shelve {
        /// The task.
        task: TaskId,
        /// Why it was given up.
        failure: Box<Failure>,
    },
    /// Clean the workspace of a task whose work has been kept.
    Clear {
        /// The task.
        task: TaskId,
        /// Where its work is kept, if there was any.
        kept: Option<String>,
    },
    /// Record what a session learned.
    Learn {
        /// The task.
        task: TaskId,
        /// Identifies the note, so that it is written only once.
        key: String,
        /// The session's final text.
        text: String,
    },
    /// Record what a session before a kill learned, from its log: it may not have been recorded before the kill.
    LearnAgain {
        /// The task.
        task: TaskId,
        /// Identifies the note, so that it is written only once.
        key: String,
        /// The session's log.
        log: PathBuf,
    },
    /// Check the last commit of the run once more, with nothing that earlier checks have left.
    CheckLast,
    /// Send a tick at this time, in milliseconds since 1970.
    WakeAt(i64),
    /// Interrupt the turn of a task's session.
    StopAgent(TaskId),
    /// Interrupt the turns of all sessions.
    StopAgents,
    /// The run is over.
    Finish(RunEnd),
}

/// The order for a review.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewOrder {
    /// The task.
    pub task: TaskId,
    /// Id of the session.
    pub session_id: String,
    /// Maximum cost of the session.
    pub max_cost_usd: f64,
}

/// The order for a session.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentOrder {
    /// The task.
    pub task: TaskId,
    /// Number of the attempt.
    pub number: u32,
    /// Id of the session.
    pub session_id: String,
    /// Why the last attempt failed.
    pub failure: Option<Failure>,
    /// Gates that already fail, by name.
    pub broken: Vec<String>,
    /// Maximum cost of the session.
    pub max_cost_usd: f64,
    /// How long the session may take, in milliseconds.
    pub timeout_ms: u64,
}
