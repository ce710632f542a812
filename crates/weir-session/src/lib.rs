//! Drives conversations with the claude CLI: turns, permissions, resume and fork, the pool.
//!
//! [`Session`] is what programs use. Behind it is [`machine::Machine`], which decides everything and does
//! nothing, and a driver that does everything and decides nothing.

mod arguments;
mod ask;
mod driver;
mod edits;
mod error;
mod feed;
mod handler;
pub mod machine;
mod observer;
mod options;
mod pool;
mod query;
mod session;
mod status;

pub use arguments::FLAGS;
pub use ask::{
    Ask, Decision, ElicitationRequest, HookRequest, McpRequest, PermissionRequest, QuestionRequest,
};
pub use driver::Facts;
pub use edits::AcceptEdits;
pub use error::{SessionError, StartError};
pub use feed::{Batch, Update, Updates};
pub use handler::{AllowTools, AskChannel, Deciding, DenyAll, Handler, LeaveOpen, OpenQuestion};
pub use machine::{Limits, Phase, SendMode, TurnEnd};
pub use observer::Observer;
pub use options::{Conversation, SessionOptions};
pub use pool::{Fingerprint, Pool, PoolError, PoolOptions, Pooled, Reservation};
pub use query::{Query, query};
pub use session::{Message, Sent, Session};
