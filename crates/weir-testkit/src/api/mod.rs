//! The scripted Messages API: a model for the real CLI that says what the prompt tells it to say.
//!
//! [`ScriptedApi`] listens on loopback and plays the scripts of [`crate::script`]. It knows the few requests that the
//! CLI makes and answers everything else with an empty object. It uses plain threads, because it has to be able to
//! stall, cut and corrupt a response at any byte.
//!
//! In addition to the keys of [`crate::script`], a step may have:
//!
//! | key | what it does |
//! |---|---|
//! | `stall` | seconds of silence in the middle of the response, with the connection open |
//! | `break` | in addition to `"stream"`: `"malformed"` for an event that is not JSON, `"error"` for an error event in the stream, `"connection"` for a connection that is closed without any response |
//! | `full_delta` | the last usage of the stream repeats the input tokens |
//!
//! If the step has `times`, `break` applies only to the first `times` attempts. `{{PLAN}}` in a step becomes the path
//! of the plan file that the CLI names in its request. A request for a summary of the conversation gets one, after
//! the `sleep` of a script in the instructions for it.
//!
//! This module never looks at the CLI's own protocol, and makes no outgoing connections.

mod answer;
mod choose;
mod log;
mod message;
mod server;
mod stream;

pub use log::RecordedRequest;
pub use server::{ApiError, ScriptedApi};
