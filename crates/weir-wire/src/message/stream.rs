//! `stream_event` lines: a message from the model while it is being written.

use super::content::ContentBlock;
use super::conversation::ApiMessage;
use super::usage::Usage;
use crate::decode::object::{Field, Problems, wire_struct};
use crate::id::{ApiMessageId, CliSessionId, IdRef, ToolUseId};
use crate::json::{Node, RawJson, Text};

wire_struct! {
    /// A piece of a message from the model. The same text is repeated in an `assistant` line.
    StreamEventMessage {
        /// The piece.
        required event: StreamEvent<'a> = "event",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
        /// The tool call whose sub-agent this belongs to; null for the main agent.
        optional parent_tool_use_id: IdRef<'a, ToolUseId> = "parent_tool_use_id",
        /// This line's own id.
        optional uuid: Text<'a> = "uuid",
        /// The message that this is a piece of, on newer versions.
        optional api_message_id: IdRef<'a, ApiMessageId> = "api_message_id",
        /// Time to the first token.
        optional ttft_ms: u64 = "ttft_ms",
    }
}

/// What happens to a message while it is being written.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum StreamEvent<'a> {
    /// A message begins.
    MessageStart(MessageStart<'a>),
    /// A block of it begins.
    BlockStart(BlockStart<'a>),
    /// A block grows.
    BlockDelta(BlockDelta<'a>),
    /// A block is complete.
    BlockStop(BlockStop<'a>),
    /// The message's own fields change.
    MessageDelta(MessageDelta<'a>),
    /// The message is complete.
    MessageStop,
    /// Carries nothing; keeps the connection open.
    #[default]
    Ping,
    /// The API aborted the message.
    Error(StreamError<'a>),
    /// A kind of event that this version of Weir does not know.
    Unknown {
        /// Its `type`, if it has one.
        kind: Option<Text<'a>>,
        /// The event.
        json: RawJson<'a>,
    },
}

wire_struct! {
    /// A message begins.
    MessageStart {
        /// The message, still empty.
        required message: Box<ApiMessage<'a>> = "message",
    }
}

wire_struct! {
    /// A block begins.
    BlockStart {
        /// Its place in the message.
        required index: u64 = "index",
        /// The block, still empty.
        required content_block: Box<ContentBlock<'a>> = "content_block",
    }
}

wire_struct! {
    /// A block grows.
    BlockDelta {
        /// Its place in the message.
        required index: u64 = "index",
        /// What is added.
        required delta: Delta<'a> = "delta",
    }
}

wire_struct! {
    /// A block is complete.
    BlockStop {
        /// Its place in the message.
        required index: u64 = "index",
    }
}

wire_struct! {
    /// The message's own fields change.
    MessageDelta {
        /// Why the model stopped.
        required delta: StopDelta<'a> = "delta",
        /// Tokens so far.
        optional usage: Usage<'a> = "usage",
    }
}

wire_struct! {
    /// Why the model stopped.
    StopDelta {
        /// The reason; null if the message was cut off.
        optional stop_reason: Text<'a> = "stop_reason",
        /// The stop sequence that was reached.
        optional stop_sequence: Text<'a> = "stop_sequence",
    }
}

wire_struct! {
    /// The API aborted the message.
    StreamError {
        /// The API's error.
        optional error: RawJson<'a> = "error",
    }
}

/// What is added to a block.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Delta<'a> {
    /// Text for the reader.
    Text(Text<'a>),
    /// Thinking.
    Thinking(Text<'a>),
    /// The thinking's signature.
    Signature(Text<'a>),
    /// A piece of a tool's arguments: part of a JSON text.
    InputJson(Text<'a>),
    /// A kind of delta that this version of Weir does not know, or one that means nothing to a reader.
    Other {
        /// Its `type`, if it has one.
        kind: Option<Text<'a>>,
        /// The delta.
        json: RawJson<'a>,
    },
}

impl Default for Delta<'_> {
    fn default() -> Self {
        Self::Text(Text::default())
    }
}

impl Default for ContentBlock<'_> {
    fn default() -> Self {
        Self::Unknown { kind: None, json: RawJson::default() }
    }
}

impl<'a> Field<'a> for Delta<'a> {
    fn decode(node: Node<'a, '_>, problems: &mut Problems) -> Option<Self> {
        let kind = node.get("type").and_then(|kind| kind.text());
        let mut text = |key: &'static str| {
            problems.in_field(key, |problems| match node.get(key) {
                Some(value) => Text::decode(value, problems),
                None => {
                    problems.report("is missing");
                    None
                }
            })
        };
        match kind {
            Some(kind) if kind == "text_delta" => text("text").map(Self::Text),
            Some(kind) if kind == "thinking_delta" => text("thinking").map(Self::Thinking),
            Some(kind) if kind == "signature_delta" => text("signature").map(Self::Signature),
            Some(kind) if kind == "input_json_delta" => text("partial_json").map(Self::InputJson),
            kind => Some(Self::Other { kind, json: node.raw() }),
        }
    }
}

impl<'a> Field<'a> for StreamEvent<'a> {
    fn decode(node: Node<'a, '_>, problems: &mut Problems) -> Option<Self> {
        let kind = node.get("type").and_then(|kind| kind.text());
        let name = kind.map(|kind| kind.to_str());
        match name.as_deref() {
            Some("message_start") => Field::decode(node, problems).map(Self::MessageStart),
            Some("content_block_start") => Field::decode(node, problems).map(Self::BlockStart),
            Some("content_block_delta") => Field::decode(node, problems).map(Self::BlockDelta),
            Some("content_block_stop") => Field::decode(node, problems).map(Self::BlockStop),
            Some("message_delta") => Field::decode(node, problems).map(Self::MessageDelta),
            Some("message_stop") => Some(Self::MessageStop),
            Some("ping") => Some(Self::Ping),
            Some("error") => Field::decode(node, problems).map(Self::Error),
            _ => Some(Self::Unknown { kind, json: node.raw() }),
        }
    }
}
