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
}

/// The error for a run that failed: what git printed, or that it took too long.
pub fn failure(folder: &Path, args: &[&str], done: &CommandOutput) -> GitError {
    let printed = if done.stderr.bytes.is_empty() { done.stdout.text() } else { done.stderr.text() };
    let message = if done.timed_out { "it took too long".to_owned() } else { printed.trim().to_owned() };
    GitError::Failed { command: args.join(" "), folder: folder.to_owned(), message }
}
