//! The scripted Messages API: a model for the real CLI that says what the prompt tells it to say.
//!
//! [`ScriptedApi`] listens on loopback and plays the scripts of [`crate::script`]. It knows the few requests that
//! the CLI makes and answers everything else with an empty object. It runs on plain threads, because it has to
//! be able to stall, cut and mangle an answer at any byte.
//!
//! Besides the keys of [`crate::script`], a step may hold:
//!
//! | key | what it does |
//! |---|---|
//! | `stall` | seconds of silence in the middle of the answer, with the connection open |
//! | `break` | besides `"stream"`: `"malformed"` for an event that is not JSON, `"error"` for an error event in the stream, `"connection"` for a connection that is closed without any answer |
//! | `full_delta` | the last usage of the stream repeats the input tokens |
//!
//! `break` comes for the first `times` tries only if the step has `times`. `{{PLAN}}` in a step becomes the path
//! of the plan file that the CLI names in its request. A request for a summary of the conversation gets one, after the `sleep`
//! of a script in the instructions for it.
//!
//! This module never looks at the CLI's own protocol, and makes no connection to anywhere.

mod answer;
mod choose;
mod http;
mod log;
mod message;
mod server;
mod stream;

pub use log::RecordedRequest;
pub use server::{ApiError, ScriptedApi};
