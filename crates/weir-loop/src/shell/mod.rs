//! The thin shell around the machine: files, git, gates, sessions, notifications. It performs actions and decides
//! nothing.

mod conclude;
mod context;
mod folders;
mod gates;
mod git;
mod mailbox;
mod notes;
mod notify;
mod open;
mod perform;
mod person;
mod planner;
mod runner;
mod tasks;
#[cfg(test)]
mod tests;
mod worktree;

pub use conclude::write_reports;
pub use folders::{Folders, FoldersError};
pub use gates::run_gates;
pub use git::{Git, GitError};
pub use mailbox::{Mail, Mailbox};
pub use notes::{add_note, read_notes};
pub use notify::{Messenger, Messengers};
pub use open::{OpenError, OpenOptions, Opened, open};
pub use person::{Delivered, PersonError, tell};
pub use planner::{PlanEnd, PlanError, PlanStart, Planner, PlannerPerson, Said};
pub use runner::{Handles, LoopOptions, Runner, Watcher};
pub use tasks::{TaskFileError, read_tasks, tick_box};
