//! Drives the Claude Code CLI from Rust.
//!
//! One answer:
//!
//! ```no_run
//! # async fn example() -> Result<(), weir::SessionError> {
//! let answer = weir::query("What is a weir?").await?;
//! println!("{}", answer.text);
//! # Ok(())
//! # }
//! ```
//!
//! A [`Session`] has many turns, and a [`Pool`] has many sessions. A [`Handler`] decides what the CLI may do.
//! To watch what happens, use an [`Observer`], [`Session::follow`], or the [`View`] that [`Session::view`]
//! returns. The folder `examples` has a program for each of these.
//!
//! With the feature `mcp`, functions of your own program can be tools: `SessionOptions::mcp_server`.
//!
//! This crate has no logic of its own. The layers below it can also be used directly: [`wire`] for the
//! protocol, [`transcript`] for the pure fold from lines to a view, [`process`] for starting and stopping,
//! [`session`] for the state machine.

pub use weir_process as process;
pub use weir_session as session;
#[cfg(feature = "mcp")]
pub use weir_session::rmcp;
pub use weir_transcript as transcript;
pub use weir_wire as wire;

pub use weir_process::{
    Environment, LogOptions, OsUser, ProbeCache, Sandbox, Secrets, StopOptions, Transport,
};
pub use weir_session::{
    AcceptEdits, AgentSpec, AllowTools, Ask, AskChannel, Attachment, AttachmentError, Decision, DenyAll,
    DialogRequest, Effort, FolderPolicy, FolderTrust, Handler, HookRequest, LeaveOpen, Limits, Message,
    Observer, Origin, Phase, Pool, PoolError, PoolOptions, Pooled, PreviewFormat, Query, Sent, Session,
    SessionError, SessionOptions, SessionSpec, SettingSource, Spares, TurnEnd, Update, Updates, query,
};
pub use weir_transcript::{
    Change, FoldOptions, PermissionRequest, Request, RequestKind, Turn, TurnState, View,
};
pub use weir_wire::{
    CliSessionId, HookDetails, HookEvent, HookInput, HookOutput, HookRegistration, McpServerConfig,
    MessageId, MessageOrigin, MessagePriority, OutgoingBlock, OutgoingContent, QuestionAnswers, RequestId,
    ToolUseId,
};

/// Runs the examples of the library page as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct LibraryPageExamples;
