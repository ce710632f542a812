//! The same agent from a chat.
//!
//! [`machine::Bridge`] decides everything and does nothing: messages, results of operations, events of the engine and
//! the time come in, actions come out. The driver does what it says: it keeps records, talks to the channels and to
//! the engine.

pub mod channel;
pub mod engine;
pub mod machine;
pub mod markup;
