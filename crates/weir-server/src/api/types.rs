//! The server's own request and response bodies. Data of the host and the transcript has types in their crates.
//!
//! Unknown fields are refused: a request with the CLI's path, its flags or an invented scope fails instead of being
//! half understood.

mod decisions;
mod history;
mod loops;
mod messages;
mod panels;
mod reviews;
mod server;
mod sessions;
mod worktrees;

pub(crate) use decisions::*;
pub(crate) use history::*;
pub use loops::*;
pub(crate) use messages::*;
pub(crate) use panels::*;
pub(crate) use reviews::*;
pub(crate) use server::*;
pub(crate) use sessions::*;
pub(crate) use worktrees::*;
