//! What can go wrong.

use std::path::{Path, PathBuf};

use weir_process::{CommandOutput, SpawnError};

use crate::name::NameError;

/// Git failed, or was not asked because it must not be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// Git cannot be started.
    #[error("cannot start git: {0}")]
    Spawn(#[from] SpawnError),
    /// A command failed.
    #[error("`git {command}` failed in {}: {message}", folder.display())]
    Failed {
        /// The command.
        command: String,
        /// The folder in which it ran.
        folder: PathBuf,
        /// What git printed.
        message: String,
    },
    /// A name cannot be one of git's.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A file cannot be read or written.
    #[error("cannot use {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// The folder is in no repository.
    #[error("{} is not in a git repository", .0.display())]
    NoRepository(PathBuf),
    /// The folder is in another repository.
    #[error("{} belongs to another git repository", .0.display())]
    OtherRepository(PathBuf),
    /// There is no commit yet.
    #[error("the repository has no commit yet; make a first one")]
    NoCommit,
    /// Nothing has this name.
    #[error("no branch, tag or commit `{0}` found")]
    NoRevision(String),
    /// A branch has this name.
    #[error("a branch `{0}` exists already; choose another name")]
    BranchExists(String),
    /// It is not a worktree that may be removed.
    #[error("{} is not a worktree that Weir has made", .0.display())]
    NotOurs(PathBuf),
    /// A submodule has a history of its own.
    #[error("{} is a submodule; change it with git in its own folder", .0.display())]
    Submodule(PathBuf),
    /// There is no such place in the patch of a file.
    #[error("{} has no hunk {number} that can be reverted by itself", path.display())]
    NoHunk {
        /// The file.
        path: PathBuf,
        /// The number, from 0.
        number: usize,
    },
    /// A file is not as it was shown.
    #[error("{} has changed meanwhile; look at it again", .0.display())]
    Moved(PathBuf),
    /// A file does not differ from the base.
    #[error("{0} does not differ from the base")]
    NoChange(String),
    /// A commit needs a message.
    #[error("a commit needs a message")]
    NoMessage,
    /// A commit needs files.
    #[error("nothing is staged; stage files first")]
    NothingStaged,
    /// A repository inside the worktree would be lost with its history.
    #[error("{} is a repository of its own in the worktree, and would be lost with its history; move it away first", .0.display())]
    Nested(PathBuf),
    /// The worktree has work that is in no commit.
    #[error("{} has changes that are in no commit: {}; commit them, or confirm that they may be set aside", folder.display(), some_of(paths))]
    Uncommitted {
        /// The worktree.
        folder: PathBuf,
        /// The files.
        paths: Vec<String>,
    },
}

/// Some of many names.
fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| name.escape_debug().to_string()).collect();
    let more = names.len().saturating_sub(SHOWN);
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}

/// The error for a run that failed: what git printed, or that it took too long.
pub fn failure(folder: &Path, args: &[&str], done: &CommandOutput) -> GitError {
    let printed = if done.stderr.bytes.is_empty() { done.stdout.text() } else { done.stderr.text() };
    let message = if done.timed_out { "it took too long".to_owned() } else { printed.trim().to_owned() };
    GitError::Failed { command: args.join(" "), folder: folder.to_owned(), message }
}
