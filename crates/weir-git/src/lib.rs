//! Runs git for the loop, the host and the commands.
//!
//! Whatever a repository contains, Weir's git runs no program of it: hooks, a watcher of files, a pager, a helper for
//! credentials and a transport are off ([`plain_command`]), and the filters and merge drivers that the repository itself
//! configures too ([`Repository`]). What a person has configured for all repositories stays as it is. No name that came
//! from outside is ever an option: branches are [`BranchName`]s, revisions are resolved to [`Commit`]s first, and paths
//! are taken literally.
//!
//! The crate knows nothing of sessions, roles or tasks.

mod command;
mod entry;
mod error;
mod keep;
mod name;
mod programs;
mod reach;
mod repository;
mod review;
mod status;
mod worktree;

pub use command::{MAX_DURATION, plain_command};
pub use entry::{Change, Entry, LINK, SYMLINK, bytes_of, parse_index, parse_raw_diff, parse_tree, path_of};
pub use error::{GitError, failure};
pub use name::{BranchName, NameError, RevisionName};
pub use repository::{Commit, Repository};
pub use review::{Base, Changes, FileChange, FileStatus, Hunk, HunkLine, LineKind, Patch, Reverted};
pub use status::{ChangedFile, Status};
pub use worktree::Worktree;
