//! The thin shell around the machine: files, git, gates, sessions, notifications. It performs actions and decides
//! nothing.
//!
//! # Where the work happens, and what is believed
//!
//! Three places never mix. The **person's tree** belongs to the person: their files, index, `HEAD`, stash and list. A
//! **session's place** (`places`) belongs to the session: it may do there what it wants, also with git, because the `.git`
//! there is a copy that Weir never reads. The **gates' place** belongs to Weir, lies outside of the workspace, and holds
//! exactly the files of one commit each time a gate starts. What tools would find outside of it (`outside`) must be as it
//! was when the run began.
//!
//! Weir's own repository (`git::own`) connects them. It has its own configuration, references and indexes, in the loop's
//! folder, and only the store of objects in common with the person's. So no hook, filter, flag or exclusion that a session
//! has set up takes part when Weir reads the files of a place and makes a commit of them.
//!
//! The commits of a run form a **line** (`line`), whose end is in the journal: not a reference, which someone else can
//! move. Each task is based on that end. After a task, the person's branch is brought to it (`git::publish`) by
//! compare-and-swap, with all files that are checked out or with none, and no file that the person has saved is lost
//! (`git::swap`). If that is not safe now, the commits wait, and the next task continues on the line. What the person has
//! committed is merged into the line before the next task (`line::catch_up`).
//!
//! What decides about the gates is taken from the base of the task: a change of a protected file is undone in the tree that
//! is judged, whatever the session did to hide it.

mod conclude;
mod context;
mod folders;
mod gates;
mod git;
mod line;
mod merge;
mod notes;
mod notify;
mod open;
mod outside;
mod patience;
mod perform;
mod person;
mod places;
mod planner;
mod protected;
mod runner;
mod source;
mod steering;
mod tasks;
#[cfg(test)]
mod tests;

pub use conclude::write_reports;
pub use folders::{Folders, FoldersError};
pub use gates::INSIDE;
pub use git::{Git, GitError};
pub use merge::{MergeError, Merged, merge};
pub use notes::{add_note, read_notes};
pub use notify::{Messenger, Messengers};
pub use open::{OpenError, OpenOptions, Opened, open};
pub use person::{Delivered, PersonError, tell};
pub use places::fence_place;
pub use planner::{PlanEnd, PlanError, PlanStart, Planner, PlannerPerson, Said};
pub use runner::{Follower, Handles, LoopOptions, Runner, Watcher};
pub use source::{SourceError, fetch_tasks};
pub use steering::{PersonCommand, Reply};
pub use tasks::{TaskFileError, read_tasks, tick_box};
