//! Finds the CLI.
//!
//! The order: an explicit path, `WEIR_CLAUDE`, `PATH`, the places where installers put it, and finally the
//! `PATH` of a login shell, because programs started from a desktop have a minimal one. The CLI is also given
//! the parts of that `PATH` that it needs (`handover`). The list of candidates is built without looking at the
//! disk, so the order can be tested without one.

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

/// Environment variable with the path of the CLI.
pub const PROGRAM_VARIABLE: &str = "WEIR_CLAUDE";
