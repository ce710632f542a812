//! What the actions of a run share.

use std::path::PathBuf;
use std::sync::Arc;

use weir_process::Secrets;

use super::folders::Folders;
use super::git::Git;
use super::tasks::ListFile;
use crate::agent::Agent;
use crate::config::Config;
use crate::tasks::TaskId;

/// What the actions of a run share. Nothing in it changes, apart from what is known about the list.
pub(super) struct Context {
    pub(super) config: Config,
    pub(super) config_file: Option<PathBuf>,
    pub(super) folders: Folders,
    pub(super) git: Git,
    pub(super) agent: Arc<dyn Agent>,
    pub(super) secrets: Secrets,
    pub(super) run_id: String,
    pub(super) skip_permissions: bool,
    /// The task list.
    pub(super) list: ListFile,
    /// Whether each task has its own worktree.
    pub(super) is_parallel: bool,
}

impl Context {
    /// Where a task is worked on.
    pub(super) fn workspace(&self, task: &TaskId) -> PathBuf {
        if self.is_parallel {
            self.folders.worktrees().join(task.as_str())
        } else {
            self.folders.workspace.clone()
        }
    }

    /// Git in the workspace of a task.
    pub(super) fn git_of(&self, task: &TaskId) -> Git {
        self.git.at(self.workspace(task))
    }

    /// The run's id in branch names.
    fn short_run(&self) -> &str {
        self.run_id.get(..8).unwrap_or(&self.run_id)
    }

    /// The branch of a task's worktree.
    pub(super) fn branch(&self, task: &TaskId) -> String {
        format!("weir/{}/{task}", self.short_run())
    }

    /// The branch of a task that was given up after this many attempts.
    pub(super) fn failed_branch(&self, task: &TaskId, attempts: usize) -> String {
        format!("weir/failed/{}/{task}-{attempts}", self.short_run())
    }

    /// Where the work of a session that was cut off is kept, below `refs/weir`.
    pub(super) fn cut_off(&self, task: &TaskId, sessions: usize) -> String {
        format!("cut-off/{}/{task}-{sessions}", self.short_run())
    }

    /// The paths that no task may change.
    pub(super) fn protected(&self) -> Vec<PathBuf> {
        self.config.protected_paths(self.config_file.as_deref())
    }
}
