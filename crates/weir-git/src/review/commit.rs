//! Stages files and commits them. No hook runs.

use std::path::PathBuf;

use crate::entry::{bytes_of, path_of};
use crate::error::{GitError, failure};
use crate::repository::{Commit, Repository};

impl Repository {
    /// The files that differ between the last commit and the index.
    ///
    /// # Errors
    /// If git fails.
    pub async fn staged(&self) -> Result<Vec<PathBuf>, GitError> {
        let args = [
            "diff",
            "--cached",
            "--name-only",
            "-z",
            "--no-renames",
            "--no-ext-diff",
            "--ignore-submodules=dirty",
        ];
        let text = self.bytes(&args).await?;
        Ok(text.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(path_of).collect())
    }

    /// Puts files into the index as they are; one that is gone is removed there.
    ///
    /// # Errors
    /// If git does not know such a file, or fails.
    pub async fn stage(&self, paths: &[PathBuf]) -> Result<(), GitError> {
        let args = ["add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"];
        self.run(&args, &listed(paths)).await.map(drop)
    }

    /// Takes files out of the index; they stay as they are on disk.
    ///
    /// # Errors
    /// If git fails.
    pub async fn unstage(&self, paths: &[PathBuf]) -> Result<(), GitError> {
        if self.head().await?.is_none() {
            let args = ["rm", "--cached", "--quiet", "-r", "--pathspec-from-file=-", "--pathspec-file-nul"];
            return self.run(&args, &listed(paths)).await.map(drop);
        }
        let args = ["reset", "--quiet", "--pathspec-from-file=-", "--pathspec-file-nul"];
        self.run(&args, &listed(paths)).await.map(drop)
    }

    /// Commits what is in the index.
    ///
    /// # Errors
    /// If nothing is staged, git has no identity to commit with, or a merge has conflicts.
    pub async fn commit_staged(&self, message: &str) -> Result<Commit, GitError> {
        if message.trim().is_empty() {
            return Err(GitError::NoMessage);
        }
        if self.staged().await?.is_empty() {
            return Err(GitError::NothingStaged);
        }
        let args = [
            "commit",
            "--quiet",
            "--no-verify",
            "--no-gpg-sign",
            "--no-status",
            "--cleanup=whitespace",
            "-F",
            "-",
        ];
        let done = self.raw(&args, message.as_bytes()).await?;
        if !done.is_success() {
            return Err(failure(self.top(), &args, &done));
        }
        self.head().await?.ok_or(GitError::NoCommit)
    }
}

/// Paths as git reads them from its input.
fn listed(paths: &[PathBuf]) -> Vec<u8> {
    let mut text = Vec::new();
    for path in paths {
        text.extend_from_slice(&bytes_of(path));
        text.push(0);
    }
    text
}
