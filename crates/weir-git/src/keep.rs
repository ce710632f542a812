//! Keeps the files of a worktree under a reference of Weir's own, so that what is removed or reverted can be had back.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::{GitError, failure};
use crate::repository::{Commit, Repository};

/// Where Weir's references are.
const KEPT: &str = "refs/weir/kept/";

/// Who has made the commits that only keep something.
const KEEPER: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "Weir"),
    ("GIT_AUTHOR_EMAIL", "weir@localhost"),
    ("GIT_COMMITTER_NAME", "Weir"),
    ("GIT_COMMITTER_EMAIL", "weir@localhost"),
];

/// An index of Weir's own, removed on drop.
struct ScratchIndex(PathBuf);

impl Drop for ScratchIndex {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Repository {
    /// The files as they are, new ones included and ignored ones not, as a commit on top of `HEAD`. Neither the branch
    /// nor the index of the worktree changes.
    ///
    /// # Errors
    /// If git cannot read a file or write an object.
    pub async fn snapshot(&self, message: &str) -> Result<Commit, GitError> {
        let head = self.head().await?;
        let scratch = self.scratch_index()?;
        let add = ["add", "--all", "--ignore-errors", "--", "."];
        let mut command = self.command(&add, b"");
        command.environment = command.environment.set("GIT_INDEX_FILE", &scratch.0);
        let done = command.run().await?;
        if !done.is_success() {
            return Err(failure(self.top(), &add, &done));
        }
        let write = ["write-tree"];
        let mut command = self.command(&write, b"");
        command.environment = command.environment.set("GIT_INDEX_FILE", &scratch.0);
        let done = command.run().await?;
        if !done.is_success() {
            return Err(failure(self.top(), &write, &done));
        }
        let tree = done.stdout.text();
        let mut args = vec!["commit-tree", tree.trim_end(), "-F", "-"];
        if let Some(head) = &head {
            args.extend(["-p", head.as_str()]);
        }
        let mut command = self.command(&args, message.as_bytes());
        command.environment =
            KEEPER.iter().fold(command.environment, |all, (name, value)| all.set(*name, *value));
        let done = command.run().await?;
        Commit::printed(&done.stdout.text())
            .filter(|_| done.is_success())
            .ok_or_else(|| failure(self.top(), &args, &done))
    }

    /// Keeps the files as they are under a new reference, whose name is returned. `purpose` is a word of Weir's own.
    ///
    /// # Errors
    /// If git cannot read a file or write an object.
    pub async fn keep(&self, purpose: &'static str, message: &str) -> Result<String, GitError> {
        let commit = self.snapshot(message).await?;
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut number = 0_u32;
        loop {
            let name = match number {
                0 => format!("{KEPT}{purpose}-{seconds}"),
                number => format!("{KEPT}{purpose}-{seconds}.{number}"),
            };
            // Forty zeros or none: it must not exist.
            let args = ["update-ref", "-m", "weir", &name, commit.as_str(), ""];
            let done = self.raw(&args, b"").await?;
            if done.is_success() {
                return Ok(name);
            }
            number += 1;
            if number > 100 {
                return Err(failure(self.top(), &args, &done));
            }
        }
    }

    /// A copy of the worktree's index, so that unchanged files are not read again.
    fn scratch_index(&self) -> Result<ScratchIndex, GitError> {
        let mark = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let path = self.git_folder().join(format!("weir-index-{}-{mark}", std::process::id()));
        let index = self.git_folder().join("index");
        let scratch = ScratchIndex(path);
        match std::fs::copy(&index, &scratch.0) {
            Ok(_) => Ok(scratch),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(scratch),
            Err(source) => Err(GitError::File { path: index, source }),
        }
    }
}
