//! Worktrees: made and removed, also if a kill has left half of one.

use std::path::Path;

use super::{Git, GitError};
use crate::instant;

impl Git {
    /// Whether the folder is a worktree with a commit. In half of one git would find the repository around it and work
    /// there.
    pub async fn is_worktree(&self) -> Result<bool, GitError> {
        if !self.folder().join(".git").exists() {
            return Ok(false);
        }
        let done = self.raw(&["rev-parse", "--show-toplevel", "--verify", "HEAD^{commit}"], b"").await?;
        let text = done.stdout.text();
        let top = text.lines().next().map(Path::new).and_then(|top| top.canonicalize().ok());
        Ok(done.is_success() && top.is_some() && top == self.folder().canonicalize().ok())
    }

    /// Makes a worktree on a branch of its own at a commit. What is there is removed.
    pub async fn add_worktree(&self, folder: &Path, branch: &str, commit: &str) -> Result<(), GitError> {
        let _guard = self.worktrees.lock().await;
        self.remove(folder).await?;
        let path = folder.to_string_lossy();
        let args = ["worktree", "add", "--quiet", "--force", "-B", branch, &path, commit];
        self.run(&args).await.map(drop)
    }

    /// Removes a worktree, and its branch if nobody needs it.
    pub async fn remove_worktree(&self, folder: &Path, branch: Option<&str>) -> Result<(), GitError> {
        let _guard = self.worktrees.lock().await;
        self.remove(folder).await?;
        if let Some(branch) = branch {
            let reference = format!("refs/heads/{branch}");
            self.run(&["update-ref", "-d", &reference]).await?;
        }
        Ok(())
    }

    async fn remove(&self, folder: &Path) -> Result<(), GitError> {
        if folder.exists() {
            instant::begin();
            // By hand: git refuses to remove one of which a part is gone already.
            std::fs::remove_dir_all(folder).map_err(|error| GitError::Failed {
                command: "worktree remove".to_owned(),
                folder: folder.to_owned(),
                message: error.to_string(),
            })?;
            instant::reached("a worktree was removed");
        }
        // One that git was making when it was killed is locked, and would keep its branch for ever.
        self.raw(&["worktree", "unlock", &folder.to_string_lossy()], b"").await?;
        self.run(&["worktree", "prune"]).await.map(drop)
    }
}
