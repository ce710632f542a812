//! The stream-json protocol of the Claude Code CLI: framing, tolerant decoding and encoding, without IO.
//!
//! ```
//! use weir_wire::{Body, Content, ContentBlock, Decoder, Framer, Message};
//!
//! let mut framer = Framer::new();
//! let mut decoder = Decoder::new();
//! framer.push(b"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"Hello\"}]}}\n");
//! while let Some(frame) = framer.next_frame() {
//!     let line = decoder.decode_frame(frame);
//!     if let Body::Known(Message::Assistant(message)) = line.body {
//!         let Content::Blocks(blocks) = message.message.content else { continue };
//!         for block in blocks {
//!             if let ContentBlock::Text(block) = block {
//!                 assert_eq!(block.text, "Hello");
//!             }
//!         }
//!     }
//! }
//! ```
//!
//! This crate uses no runtime, no files and no clock.

pub mod answer;
mod decode;
mod form;
mod frame;
mod hook;
mod id;
mod json;
pub mod message;
mod permission;
mod permission_update;
#[cfg(feature = "schema")]
mod schema;
mod send;
mod tool;

pub use decode::{Body, Decoder, Line, Source, describe};
pub use form::{FieldKind, FormField, FormOption, check_form, form_fields};
pub use frame::{Frame, Framer};
pub use hook::*;
pub use id::{ApiMessageId, CliSessionId, IdRef, MessageId, RequestId, TaskId, ToolUseId, TurnId};
pub use json::{Elements, JsonFault, JsonKind, Members, OwnedJson, OwnedText, RawJson, Text, sorted};
pub use message::*;
pub use permission::{AskRule, McpServerName, PermissionContext};
pub use permission_update::{
    DirectoriesUpdate, ModeUpdate, PermissionRule, PermissionUpdate, RuleBehavior, RuleDestination,
    RulesUpdate,
};
pub use send::*;
pub use tool::*;
