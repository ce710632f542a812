//! The OpenAI-compatible front without its HTTP: reads requests, finds the conversation that they continue, and writes
//! replies.
//!
//! Everything here is a function from values to values. What cannot be honoured is refused with the name of the
//! parameter, never ignored in silence; [`Leniency`] lists what a server may choose to ignore.

mod error;
mod history;
mod models;
pub mod reply;
mod request;

pub use error::OpenAiError;
pub use history::{HistoryIndex, Place, place};
pub use models::models;
pub use request::{Endpoint, Image, Leniency, Request, Role, Turn, read};
