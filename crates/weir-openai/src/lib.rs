//! The OpenAI-compatible front without HTTP: reads requests, finds the session that they continue, recognises retries,
//! and writes replies.
//!
//! Everything here is pure. Nothing is silently ignored: unsupported tuning parameters are listed in
//! [`Request::ignored`], and parameters that change the meaning of the answer are refused. A server can adjust this
//! with [`Leniency`].

mod attempt;
pub mod body;
mod error;
mod failure;
mod hash;
mod history;
mod index;
pub mod reply;
mod request;

pub use attempt::{Attempt, AttemptHeaders, Known, Stage, Verdict, attempt, judge};
pub use error::OpenAiError;
pub use failure::{Ending, TurnFailure};
pub use history::{Candidate, Place, Scope, place, setup};
pub use index::Index;
pub use request::{Endpoint, Image, Leniency, OutputFormat, Part, Request, Role, ToolCall, Turn, read};
