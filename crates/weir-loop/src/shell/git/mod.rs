//! Git, through its plumbing commands: writes trees, makes commits without a branch, and then sets a branch to them if
//! it has not moved. Each step can be repeated after a kill.
//!
//! Two repositories are used. The person's ([`Git::new`]) is asked where its branch is, and the branch is set there.
//! Everything about the work of sessions happens in Weir's own ([`own`]), which obeys no configuration but its own and
//! shares only the objects with the person's.

mod command;
mod commit;
mod nested;
mod own;
mod person;
mod publish;
mod swap;
mod tree;

pub use command::{Git, GitError};
pub(crate) use own::OwnRepository;
pub(super) use own::remove;
pub(crate) use publish::{PersonTree, Publication, Published, short};
pub(crate) use swap::replace_expected;
pub(crate) use tree::Looked;
