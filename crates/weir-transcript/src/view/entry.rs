//! Entries: the items of the transcript.

use serde::{Deserialize, Serialize};
use weir_wire::{ApiMessageId, MessageId, ToolUseId, TurnId};

use super::{HookRun, Notice, ToolCall, ToolState};

/// The number of an entry. Counted from one, without gaps, never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct EntryId(pub u64);

/// One item of the transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Entry {
    /// Its number.
    pub id: EntryId,
    /// The turn that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The sub-agent that it belongs to; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ToolUseId>,
    /// When it happened, in milliseconds since 1970, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// Its content.
    pub body: EntryBody,
}

impl Entry {
    /// What was streamed so far into an entry that is still being written: its text, or the arguments of a call.
    pub fn streamed_text(&self) -> Option<&str> {
        match &self.body {
            EntryBody::Text(text) if text.state == BlockState::Streaming => Some(&text.text),
            EntryBody::Thinking(thinking) if thinking.state == BlockState::Streaming => Some(&thinking.text),
            EntryBody::Tool(tool) if tool.state == ToolState::Pending => Some(&tool.input_text),
            _ => None,
        }
    }
}

/// The content of an entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EntryBody {
    /// A message to the model.
    User(UserEntry),
    /// Text from the model.
    Text(TextEntry),
    /// Thinking from the model.
    Thinking(ThinkingEntry),
    /// A tool call with its result.
    Tool(Box<ToolCall>),
    /// A run of a hook.
    Hook(Box<HookRun>),
    /// Some other event.
    Notice {
        /// The notice.
        notice: Notice,
    },
    /// Something that Weir does not understand.
    Unknown(Box<UnknownEntry>),
}

/// A message to the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct UserEntry {
    /// Our id for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// The text of the message.
    pub text: String,
    /// Number of attached images.
    pub images: u32,
    /// Number of attached documents, and of images and documents that the model's API fetches from the web.
    #[serde(default, skip_serializing_if = "crate::host::is_zero")]
    pub documents: u32,
    /// Who wrote it.
    pub source: UserSource,
    /// Whether the host composed it by itself, such as the message that resumes a turn: no person wrote it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub automatic: bool,
    /// Its delivery state.
    pub delivery: MessageState,
    /// Why it has no answer, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Who wrote a message to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum UserSource {
    /// The host.
    Host,
    /// The agent that started the sub-agent.
    Agent,
    /// The CLI itself.
    Cli,
}

/// What has become of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum MessageState {
    /// It is waiting, in the host or in the CLI.
    Queued,
    /// It was written to the CLI.
    Sent,
    /// The turn that answers it has begun.
    Started,
    /// It was answered, according to a result.
    Answered,
    /// It was cancelled.
    Cancelled,
    /// It could not be sent, or its turn ended in an error; [`UserEntry::error`] says why.
    Failed,
    /// The CLI ended without saying what became of it.
    Indeterminate,
}

impl MessageState {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Queued,
        Self::Sent,
        Self::Started,
        Self::Answered,
        Self::Cancelled,
        Self::Failed,
        Self::Indeterminate,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sent => "sent",
            Self::Started => "started",
            Self::Answered => "answered",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Indeterminate => "indeterminate",
        }
    }

    /// Whether the state will not change any more.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Queued | Self::Sent | Self::Started)
    }
}

/// Text from the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TextEntry {
    /// The API's message that it is a block of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<ApiMessageId>,
    /// Its index among the blocks of that message, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// The text so far.
    pub text: String,
    /// Whether more is coming.
    pub state: BlockState,
    /// The fenced code blocks in the text, once it is complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub code: Vec<CodeBlock>,
    /// The error that the text reports, if the CLI wrote it in place of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Box<ApiError>>,
}

/// Thinking from the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ThinkingEntry {
    /// The API's message that it is a block of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<ApiMessageId>,
    /// Its index among the blocks of that message, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// The text so far; may stay empty.
    pub text: String,
    /// Whether more is coming.
    pub state: BlockState,
    /// Whether the text is redacted.
    pub redacted: bool,
}

/// Whether a block of a message is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BlockState {
    /// More is coming.
    Streaming,
    /// It is complete.
    Complete,
    /// It was cut off.
    Aborted,
}

/// A fenced code block inside a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CodeBlock {
    /// The word after the fence, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Where the code begins in the text, in bytes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// An API error that the CLI reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ApiError {
    /// The error in a word, such as `rate_limit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The HTTP status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u64>,
    /// The API's type for it, such as `overloaded_error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_type: Option<String>,
}

/// Something that Weir does not understand but keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct UnknownEntry {
    /// What about it is not understood.
    pub reason: UnknownReason,
    /// Its type, with the subtype after a slash, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// What does not match, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Its bytes as text, cut to a bounded length.
    pub raw: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// The number of its line, counted from one over all folded lines but transient ones: the log has it in full
    /// there.
    pub line: u64,
}

/// What about a line or a block is not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum UnknownReason {
    /// A type of line that Weir does not know.
    UnknownType,
    /// A known type of line whose fields do not match.
    Mismatch,
    /// Not JSON.
    NotJson,
    /// Too long.
    Oversize,
    /// A type of content block or stream event that Weir does not know.
    UnknownBlock,
    /// A known type of content block whose fields do not match.
    BlockMismatch,
}
