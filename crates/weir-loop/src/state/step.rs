//! The step of a task that is in progress. It is saved before it is done, and each step can be repeated.

use serde::{Deserialize, Serialize};

use crate::agent::AgentRun;
use crate::outcome::{Failure, GateResult, Inspection};

/// The step of a task that is in progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// The workspace is being prepared.
    Preparing,
    /// The gates run, to know what is already broken.
    GatesBefore {
        /// The tree that the task starts from.
        tree: String,
    },
    /// A session works on the task.
    Agent {
        /// Number of the attempt.
        number: u32,
        /// Id of the session, by which its log is found again.
        session_id: String,
        /// The tree that the session started from.
        tree: String,
        /// Whether the one retry after a crash was used.
        retried: bool,
    },
    /// A session was cut off. The workspace is restored, and another session starts.
    Restoring {
        /// Number of the attempt.
        number: u32,
        /// The tree to restore.
        tree: String,
        /// Whether the one retry after a crash was used.
        retried: bool,
    },
    /// The work is being inspected.
    Inspecting {
        /// Number of the attempt.
        number: u32,
        /// The tree that the session started from.
        tree: String,
        /// Whether the one retry after a crash was used.
        retried: bool,
        /// How the session went.
        run: Box<AgentRun>,
        /// The tree that the session left, if something in it has to be restored.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<String>,
    },
    /// The gates run on the work.
    GatesAfter {
        /// Number of the attempt.
        number: u32,
        /// How the session went.
        run: Box<AgentRun>,
        /// The changes to the files.
        work: Box<Inspection>,
    },
    /// Another session reviews the work, which has passed the gates.
    Reviewing {
        /// Number of the attempt.
        number: u32,
        /// How the session went that did the work.
        run: Box<AgentRun>,
        /// The changes to the files.
        work: Box<Inspection>,
        /// The results of the gates.
        gates: Vec<GateResult>,
        /// Id of the reviewing session. `None` while it waits for a limit, or was stopped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<String>,
    },
    /// The task is done in its own worktree, and waits until earlier ones are merged.
    Merging {
        /// The commit on its branch.
        commit: String,
        /// The changes to the files.
        work: Box<Inspection>,
    },
    /// The commit is being made.
    Committing {
        /// The changes to the files.
        work: Box<Inspection>,
        /// The commit on its branch that is merged, if the task has its own worktree.
        merges: Option<String>,
    },
    /// The commit exists; the branch is being set to it.
    Advancing {
        /// The commit.
        commit: String,
        /// The commit that the branch was at before.
        parent: String,
        /// The changes to the files.
        work: Box<Inspection>,
    },
    /// The task is given up: its work is being kept.
    Shelving {
        /// Why it was given up.
        failure: Box<Failure>,
    },
    /// The work has been kept; the workspace is being cleaned.
    Clearing {
        /// Why it was given up.
        failure: Box<Failure>,
        /// Where the work is kept, if there was any.
        kept: Option<String>,
    },
}

impl Step {
    /// For people.
    pub fn words(&self) -> &'static str {
        match self {
            Self::Preparing => "preparing",
            Self::GatesBefore { .. } => "gates before",
            Self::Agent { .. } => "at work",
            Self::Restoring { .. } => "restoring",
            Self::Inspecting { .. } => "inspecting the work",
            Self::GatesAfter { .. } => "gates after",
            Self::Reviewing { .. } => "review",
            Self::Merging { .. } => "waiting to be merged",
            Self::Committing { .. } | Self::Advancing { .. } => "committing",
            Self::Shelving { .. } | Self::Clearing { .. } => "keeping the work",
        }
    }
}
