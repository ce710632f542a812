//! Drives sessions with the claude CLI: turns, permissions, resume and fork, the pool.
//!
//! Programs use [`Session`]. Behind it are [`machine::Machine`], which makes all decisions and performs
//! nothing, and a driver, which performs everything and makes no decisions.
//!
//! With the feature `mcp`, a session can have MCP servers that run in our own process:
//! `SessionOptions::mcp_server`.

mod agents;
mod arguments;
mod ask;
mod attachment;
mod calls;
mod driver;
mod edits;
mod error;
mod feed;
mod fingerprint;
mod folder;
mod handler;
mod hooks;
mod introduction;
mod levels;
mod login;
pub mod machine;
#[cfg(feature = "mcp")]
mod mcp;
mod message;
mod observer;
mod options;
mod pool;
mod preview;
mod query;
mod requests;
mod session;
mod shared_fold;
mod spares;
mod spec;
mod start_files;
mod status;
mod tools;
pub mod transcripts;

pub use agents::AgentSpec;
pub use arguments::FLAGS;
pub use ask::{Ask, Decision, DialogRequest, HookRequest, McpRequest};
pub use attachment::{Attachment, AttachmentError};
pub use driver::Facts;
pub use edits::AcceptEdits;
pub use error::{SessionError, StartError};
pub use feed::{Batch, Update, Updates};
pub use fingerprint::Fingerprint;
pub use folder::{FolderPolicy, FolderTrust};
pub use handler::{AllowTools, AskChannel, Deciding, DenyAll, Handler, LeaveOpen, OpenQuestion};
pub use levels::{Effort, Thinking};
pub use login::Login;
pub use machine::{Limits, Phase, SendMode, TurnEnd};
pub use message::Message;
pub use observer::{Observer, Step};
pub use options::{Origin, PreviewFormat, SYSTEM_PROMPT_BOUNDARY, SessionOptions, SettingSource};
pub use pool::{Pool, PoolError, PoolOptions, Pooled, Reservation};
pub use preview::{file_preview, read_bytes_below, read_text_below};
pub use query::{Query, query};
pub use requests::SettingsFile;
#[cfg(feature = "mcp")]
pub use rmcp;
pub use session::{Sent, Session};
pub use shared_fold::{FoldGuard, SharedFold};
pub use spares::Spares;
pub use spec::SessionSpec;
pub use tools::{KNOWN_TOOLS, Unlisted, narrowed, tools_of_rules};
