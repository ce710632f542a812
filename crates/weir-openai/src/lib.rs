//! The OpenAI-compatible front without its HTTP: reads requests, finds the conversation that they continue, recognises
//! retries, and writes replies.
//!
//! Everything here is a function from values to values. Nothing is ignored in silence: what tunes an answer and cannot be
//! honoured is named in [`Request::ignored`], and what the answer would lack is refused. [`Leniency`] is what a server may
//! choose about that.

mod attempt;
mod error;
mod failure;
mod hash;
mod history;
mod index;
mod models;
pub mod reply;
mod request;

pub use attempt::{Attempt, AttemptHeaders, Known, Stage, Verdict, attempt, judge};
pub use error::OpenAiError;
pub use failure::{Ending, FailureSort, TurnFailure};
pub use history::{Candidate, Place, Scope, place, setup};
pub use index::Index;
pub use models::{model, models};
pub use request::{Endpoint, Image, Leniency, OutputFormat, Part, Request, Role, ToolCall, Turn, read};
