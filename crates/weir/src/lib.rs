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
//! A conversation is a [`Session`], many of them are a [`Pool`]. Who may do what is decided by a [`Handler`]; what
//! happens is seen by an [`Observer`], by [`Session::follow`], or in the [`View`] that [`Session::view`] gives. The
//! folder `examples` has a program for each of these.
//!
//! With the feature `mcp`, tools can be functions of your own program: `SessionOptions::mcp_server`.
//!
//! This crate holds no logic of its own. The layers below can be used by themselves: [`wire`] for the protocol,
//! [`transcript`] for the pure fold from lines to a view, [`process`] for starting and stopping, [`session`] for
//! the state machine.

pub use weir_process as process;
pub use weir_session as session;
#[cfg(feature = "mcp")]
pub use weir_session::rmcp;
pub use weir_transcript as transcript;
pub use weir_wire as wire;

pub use weir_process::{Environment, LogOptions, Secrets, StopOptions, Transport};
pub use weir_session::{
    AcceptEdits, AllowTools, Ask, AskChannel, Conversation, Decision, DenyAll, Handler, LeaveOpen, Limits,
    Message, Observer, Phase, Pool, PoolError, PoolOptions, Pooled, Query, Sent, Session, SessionError,
    SessionOptions, TurnEnd, Update, Updates, query,
};
pub use weir_transcript::{Change, Turn, TurnState, View};
pub use weir_wire::{
    MessageId, OutgoingBlock, OutgoingContent, QuestionAnswers, RequestId, SessionId, ToolUseId,
};

/// The examples of the library page run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct LibraryPageExamples;
