//! What is being done about a task. It is written down before it is done, and each can be done again.

use serde::{Deserialize, Serialize};

use crate::agent::AgentRun;
use crate::outcome::{Failure, Inspection};

/// What is being done about a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// Its workspace is made ready.
    Preparing,
    /// The gates run, to know what is broken already.
    GatesBefore {
        /// The tree that it begins with.
        tree: String,
    },
    /// A session works on it.
    Agent {
        /// Which attempt it is.
        number: u32,
        /// The session, by whose id its log is found again.
        session_id: String,
        /// The tree that it began with.
        tree: String,
        /// Whether the one retry after a crash was used.
        retried: bool,
    },
    /// A session was cut off. The workspace is put back, and another one begins.
    Restoring {
        /// Which attempt it is.
        number: u32,
        /// The tree to put back.
        tree: String,
        /// Whether the one retry after a crash was used.
        retried: bool,
    },
    /// What it did is looked at.
    Inspecting {
        /// Which attempt it is.
        number: u32,
        /// The tree that it began with.
        tree: String,
        /// Whether the one retry after a crash was used.
        retried: bool,
        /// What came of the session.
        run: Box<AgentRun>,
        /// The tree that it left, if something in it has to be put back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<String>,
    },
    /// The gates run on what it did.
    GatesAfter {
        /// Which attempt it is.
        number: u32,
        /// What came of the session.
        run: Box<AgentRun>,
        /// What it did to the files.
        work: Box<Inspection>,
    },
    /// It is done in a worktree of its own, and waits until those before it are merged.
    Merging {
        /// The commit on its branch.
        commit: String,
        /// What it did to the files.
        work: Box<Inspection>,
    },
    /// The commit is being made.
    Committing {
        /// What it did to the files.
        work: Box<Inspection>,
        /// The commit on its branch that is merged, for one that was done in a worktree.
        merges: Option<String>,
    },
    /// The commit is there; the branch is being set to it.
    Advancing {
        /// The commit.
        commit: String,
        /// What the branch was before.
        parent: String,
        /// What it did to the files.
        work: Box<Inspection>,
    },
    /// It is given up: its work is being put away.
    Shelving {
        /// Why.
        failure: Box<Failure>,
    },
    /// Its work is put away; the workspace is being cleaned.
    Clearing {
        /// Why it was given up.
        failure: Box<Failure>,
        /// Where its work is, if there was any.
        kept: Option<String>,
    },
}

impl Step {
    /// In words.
    pub fn words(&self) -> &'static str {
        match self {
            Self::Preparing => "preparing",
            Self::GatesBefore { .. } => "gates before",
            Self::Agent { .. } => "at work",
            Self::Restoring { .. } => "putting back",
            Self::Inspecting { .. } => "looking at the work",
            Self::GatesAfter { .. } => "gates after",
            Self::Merging { .. } => "waiting to be merged",
            Self::Committing { .. } | Self::Advancing { .. } => "committing",
            Self::Shelving { .. } | Self::Clearing { .. } => "putting away",
        }
    }
}
