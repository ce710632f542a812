//! Talks to the agent from a chat.
//!
//! [`machine::Bridge`] makes all decisions and performs no I/O: messages, results of operations, engine events and the
//! time go in, actions come out. [`driver::Driver`] carries the actions out: it keeps records in a
//! [`store::BridgeStore`] and talks to the channels and the engine.

pub mod channel;
pub mod config;
pub mod driver;
pub mod engine;
mod error;
mod file_names;
pub mod host;
pub mod http;
pub mod loop_chat;
pub mod machine;
pub mod markup;
pub mod store;
pub mod terminal;
pub mod webhook;

pub use error::BridgeError;
