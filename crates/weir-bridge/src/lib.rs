//! The same agent from a chat.
//!
//! [`machine::Bridge`] decides everything and does nothing: messages, results of operations, events of the engine and
//! the time come in, actions come out. [`driver::Driver`] does what it says: it keeps records in a
//! [`store::BridgeStore`], talks to the channels and to the engine.

pub mod channel;
pub mod config;
pub mod driver;
pub mod engine;
mod error;
mod file_names;
pub mod host;
pub mod http;
pub mod machine;
pub mod markup;
pub mod store;
pub mod terminal;
pub mod webhook;

pub use error::BridgeError;

/// The time, in milliseconds since 1970.
pub(crate) fn now() -> i64 {
    weir_store::now()
}
