//! Git, through its plumbing commands: writes trees, makes commits without a branch, and then sets a branch to them if
//! it has not moved. Each step can be repeated after a kill.

mod command;
mod commit;
mod nested;
mod tree;
mod worktree;

pub use command::{Git, GitError};
pub(super) use tree::Looked;
