//! What the machine wants done.

use std::path::PathBuf;

use crate::event::LoopEvent;
use crate::news::News;
use crate::outcome::Failure;
use crate::state::RunEnd;
use crate::tasks::TaskId;

/// Something to do. Before any of it is done, the state is written down.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Tell those who watch.
    Tell(LoopEvent),
    /// Tell those who do not watch.
    Notify(News),
    /// Read the task list.
    ReadTasks,
    /// Make the workspace of a task ready.
    Prepare(TaskId),
    /// Put the workspace back to this tree.
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
    /// Look for the log of a session that was cut off.
    Recover {
        /// The task.
        task: TaskId,
        /// The session.
        session_id: String,
    },
    /// Look at what was changed since a commit, and restore what is protected.
    Inspect {
        /// The task.
        task: TaskId,
        /// The commit.
        base: String,
        /// The tree that the session left, if it is known that something in it has to be put back.
        seen: Option<String>,
    },
    /// Make the commit, without setting a branch to it.
    MakeCommit {
        /// The task.
        task: TaskId,
        /// Whether it goes to the branch of the task's own worktree.
        on_branch: bool,
        /// The commit on the task's branch that is to be merged.
        merges: Option<String>,
    },
    /// Set the branch to the commit, if it is still what it was.
    Advance {
        /// The task.
        task: TaskId,
        /// The commit.
        commit: String,
        /// What the branch was before.
        parent: String,
        /// Whether it may have been done already, before a kill.
        is_again: bool,
    },
    /// Put the work of a task away, and leave its workspace as it is.
    Shelve {
        /// The task.
        task: TaskId,
        /// Why it was given up.
        failure: Box<Failure>,
    },
    /// Clean the workspace of a task whose work is put away.
    Clear {
        /// The task.
        task: TaskId,
        /// Where its work is, if there was any.
        kept: Option<String>,
    },
    /// Write down what a session learned.
    Learn {
        /// The task.
        task: TaskId,
        /// Names the note, so that it is written once.
        key: String,
        /// The session's answer.
        text: String,
    },
    /// The same for a session before a kill, from its log: the kill may have come before it was written down.
    LearnAgain {
        /// The task.
        task: TaskId,
        /// Names the note, so that it is written once.
        key: String,
        /// The session's log.
        log: PathBuf,
    },
    /// Come back at this time, in milliseconds since 1970.
    WakeAt(i64),
    /// End the turn of a task's session.
    StopAgent(TaskId),
    /// End the turns of all sessions.
    StopAgents,
    /// The run is over.
    Finish(RunEnd),
}

/// What a session is to do.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentOrder {
    /// The task.
    pub task: TaskId,
    /// Which attempt it is.
    pub number: u32,
    /// The session's name.
    pub session_id: String,
    /// Why the last attempt failed.
    pub failure: Option<Failure>,
    /// Gates that fail already.
    pub broken: Vec<String>,
    /// What it may cost.
    pub max_cost_usd: f64,
    /// How long it may take, in milliseconds.
    pub timeout_ms: u64,
}
