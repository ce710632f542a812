//! The commits of a run.

use serde::{Deserialize, Serialize};

use super::{Receipt, RunState};

/// The commits of a run, and the branch that they go to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The branch, such as `refs/heads/main`. `None` for a detached `HEAD`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The last commit of the run, or the one that it began with. The next task is based on it.
    pub tip: String,
    /// The commit at which the branch was last seen, as Weir left it or as a person's own commits moved it.
    pub published: String,
    /// Why the branch does not have the last commits, if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<String>,
}

impl RunState {
    /// The commits of the tasks that this run has done.
    pub fn receipts(&self) -> impl Iterator<Item = String> {
        let receipts = self.tasks.iter().filter_map(|record| record.receipt.as_ref());
        receipts.map(|receipt| receipt.commit.clone()).filter(|commit| !commit.is_empty())
    }
}

impl RunState {
    /// The branch that has the commit of a task: its own, or the one that has all commits of the run.
    pub fn branch_of(&self, receipt: &Receipt) -> Option<String> {
        receipt.branch.clone().or_else(|| self.branch_of_all())
    }

    /// The branch that has all commits of the run. `None` if it has begun without a branch.
    pub fn branch_of_all(&self) -> Option<String> {
        match self.line.as_ref()? {
            Line { waits: Some(_), .. } => Some(run_branch(&self.run_id)),
            line => line.branch.as_deref().map(|name| name.trim_start_matches("refs/heads/").to_owned()),
        }
    }
}

/// The branch with the commits of a run that the person's branch does not have.
pub(crate) fn run_branch(run_id: &str) -> String {
    format!("weir/run/{}", run_id.get(..8).unwrap_or(run_id))
}
