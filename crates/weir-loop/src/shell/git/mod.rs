//! Git, by its plumbing: trees are written, commits are made without a branch, and then a branch is set to them if it is
//! still what it was. Each of it can be done again after a kill.

mod command;
mod commit;
mod nested;
mod tree;
mod worktree;

pub use command::{Git, GitError};
pub(super) use tree::Looked;
