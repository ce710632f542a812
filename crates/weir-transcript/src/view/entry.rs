//! Entries: the conversation itself.

use serde::{Deserialize, Serialize};
use weir_wire::{ApiMessageId, MessageId, ToolUseId, TurnId};

use super::{HookRun, Notice, ToolCall};

/// The number of an entry. Counted from one, without gaps, never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct EntryId(pub u64);

/// One thing that was said or done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Entry {
    /// Its number.
    pub id: EntryId,
    /// The turn that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The sub-agent that it belongs to; none for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ToolUseId>,
    /// When, in milliseconds since 1970, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// What.
    pub body: EntryBody,
}

/// What was said or done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EntryBody {
    /// A message to the model.
    User(UserEntry),
    /// Text of the model.
    Text(TextEntry),
    /// Thinking of the model.
    Thinking(ThinkingEntry),
    /// A tool call with its result.
    Tool(Box<ToolCall>),
    /// A hook that ran.
    Hook(Box<HookRun>),
    /// Something that happened.
    Notice {
        /// What.
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
    /// What it says.
    pub text: String,
    /// How many pictures are with it.
    #[serde(default)]
    pub images: u32,
    /// Who wrote it.
    pub source: UserSource,
    /// What has become of it.
    pub delivery: Delivery,
    /// Why it has no answer, where it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Who wrote a message to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum UserSource {
    /// We did.
    Host,
    /// The agent that started the sub-agent.
    Agent,
    /// The CLI itself.
    Cli,
}

/// What has become of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Delivery {
    /// It waits, with us or with the CLI.
    Queued,
    /// It was written to the CLI.
    Sent,
    /// The turn that answers it has begun.
    Started,
    /// A result says that it was answered.
    Answered,
    /// It was taken back.
    Cancelled,
    /// It could not be sent, or its turn ended in an error; [`UserEntry::error`] says why.
    Failed,
    /// The CLI ended before it said what became of it.
    Indeterminate,
}

/// Text of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TextEntry {
    /// The API's message that it is a block of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<ApiMessageId>,
    /// Its place among the blocks of that message, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// The text so far.
    pub text: String,
    /// Whether more is coming.
    pub state: BlockState,
    /// The fenced code blocks in the text, once it is complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub code: Vec<CodeBlock>,
    /// The error that the text tells of, where the CLI wrote it in place of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Box<ApiError>>,
}

/// Thinking of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ThinkingEntry {
    /// The API's message that it is a block of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<ApiMessageId>,
    /// Its place among the blocks of that message, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// The text so far; may stay empty.
    pub text: String,
    /// Whether more is coming.
    pub state: BlockState,
    /// Whether the text is sealed.
    #[serde(default)]
    pub redacted: bool,
}

/// Whether a block of a message is all there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BlockState {
    /// More is coming.
    Streaming,
    /// It is all there.
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

/// An error of the API that the CLI tells of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ApiError {
    /// The error in a word, such as `rate_limit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The HTTP status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u64>,
    /// The API's name for it, such as `overloaded_error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_type: Option<String>,
}

/// Something that Weir does not understand, kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct UnknownEntry {
    /// What about it is not understood.
    pub reason: UnknownReason,
    /// Its type, with the subtype after a slash, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// What does not fit, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Its bytes as text, cut to a bounded length.
    pub raw: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// The number of its line, counted from one over all lines that were folded: the whole is there, in the log.
    #[serde(default)]
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
    /// A known type of line that does not fit.
    Mismatch,
    /// Not JSON.
    NotJson,
    /// Too long.
    Oversize,
    /// A type of content block or stream event that Weir does not know.
    UnknownBlock,
    /// A known type of content block that does not fit.
    BlockMismatch,
}
