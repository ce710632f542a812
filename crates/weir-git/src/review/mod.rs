//! What a worktree has that a base has not: everything git sees, no matter who or which program changed it.

mod changes;
mod commit;
mod list;
mod patch;
mod revert;

pub use changes::{Base, Changes};
pub use list::{FileChange, FileStatus};
pub use patch::{Hunk, HunkLine, LineKind, Patch};
pub use revert::Reverted;
