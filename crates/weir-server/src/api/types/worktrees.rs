//! Worktrees of git.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use weir_host::{NewWorktree, WorktreeInfo};

/// A worktree to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateWorktree {
    /// A folder in the repository.
    cwd: String,
    /// The name of its new branch; one that begins with `weir/` if left out.
    branch: Option<String>,
    /// What to check out: a branch, tag or commit. The commit that is checked out in the folder if left out.
    from: Option<String>,
}

impl CreateWorktree {
    /// The folder, and the worktree to make of its repository.
    pub(crate) fn split(self) -> (String, NewWorktree) {
        (self.cwd, NewWorktree { branch: self.branch, from: self.from })
    }
}

/// The worktree to remove.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct RemoveWorktreeParams {
    /// Its folder, as the list names it.
    pub(crate) path: String,
    /// Whether it may be removed with uncommitted changes, which are kept under a reference.
    #[serde(default)]
    pub(crate) confirm: bool,
    /// Whether its branch is deleted as well, if its commits are elsewhere too.
    #[serde(default)]
    pub(crate) with_branch: bool,
}

/// The worktrees of a repository.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WorktreeList {
    /// The worktrees, the main one first.
    pub(crate) worktrees: Vec<WorktreeInfo>,
}
