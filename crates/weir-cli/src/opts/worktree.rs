//! Options of `weir worktree`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::DataOpts;

/// Makes, lists and removes git worktrees, in which sessions work next to each other
///
/// Each has a branch of its own and lies in `.weir/worktrees` of the repository, where git ignores it. No hook, filter or
/// other program of the repository runs.
#[derive(Debug, Args)]
pub(crate) struct WorktreeOpts {
    #[command(subcommand)]
    pub(crate) command: WorktreeCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorktreeCommand {
    /// Lists the worktrees of the repository
    List {
        /// Print JSON, one object per line
        #[arg(long)]
        json: bool,

        #[command(flatten)]
        place: RepositoryOpts,
    },
    /// Makes a worktree with a new branch, and prints its folder
    Add {
        /// The new branch
        #[arg(value_name = "BRANCH")]
        branch: String,

        /// What to check out: a branch, a tag or a commit; what is checked out now by default
        #[arg(long, value_name = "REVISION")]
        from: Option<String>,

        #[command(flatten)]
        data: DataOpts,

        #[command(flatten)]
        place: RepositoryOpts,
    },
    /// Says what new worktrees of the project get, or changes it; prints one JSON object
    ///
    /// It applies to `weir worktree add` and to the server's sessions in worktrees. No request of the server and no file
    /// of the repository can change it.
    Setup {
        /// Copy this file from the main worktree, such as .env; may be repeated
        #[arg(long, value_name = "FILE")]
        copy: Vec<String>,

        /// Run this in the shell, in the new worktree
        #[arg(long, value_name = "COMMAND")]
        run: Option<String>,

        /// Copy and run nothing
        #[arg(long, conflicts_with_all = ["copy", "run"])]
        clear: bool,

        #[command(flatten)]
        data: DataOpts,

        #[command(flatten)]
        place: RepositoryOpts,
    },
    /// Removes a worktree that Weir has made; its branch stays
    ///
    /// Files that git ignores are lost. One with other uncommitted changes is only removed with --discard, which keeps them
    /// under a reference and prints its name.
    Remove {
        /// Its folder or its branch
        #[arg(value_name = "WORKTREE")]
        worktree: String,

        /// Remove it even if it has uncommitted changes
        #[arg(long)]
        discard: bool,

        /// Delete its branch as well, if its commits are elsewhere too
        #[arg(long)]
        with_branch: bool,

        #[command(flatten)]
        place: RepositoryOpts,
    },
}

/// Which repository.
#[derive(Debug, Args)]
pub(crate) struct RepositoryOpts {
    /// A folder in the repository; the current one by default
    #[arg(short = 'C', long = "cwd", value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}
