//! Finds the CLI.
//!
//! The order: an explicit path, `WEIR_CLAUDE`, `PATH`, the places where installers put it, and at last the `PATH` of a
//! login shell, because programs that are started from a desktop have a poor one. What the CLI needs of that `PATH` it is given, too
//! (`handover`). What is searched is a list that is made
//! without looking at the disk, so the order is tested without one.

mod error;
mod files;
mod handover;
mod interpreter;
mod login_shell;
mod search;
mod unix_places;
mod windows_places;

pub use error::FindError;
pub use files::{Files, RealFiles};
pub use interpreter::{find_in_path, interpreter_of};
pub use search::{Found, Place, find, search};
pub use windows_places::git_bash;

/// The variable that names the CLI.
pub const PROGRAM_VARIABLE: &str = "WEIR_CLAUDE";
