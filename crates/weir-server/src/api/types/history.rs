//! What a session was: its transcript, its log, its events.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use weir_host::{Bye, SessionInfo};
use weir_transcript::Entry;

/// Which entries of the transcript to return.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct TranscriptParams {
    /// Only entries with a smaller number.
    pub(crate) before: Option<u64>,
    /// Page size.
    #[param(minimum = 1, maximum = 1000)]
    pub(crate) limit: Option<usize>,
}

/// A page of the transcript.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TranscriptPage {
    /// The entries, the newest first.
    pub(crate) entries: Vec<Arc<Entry>>,
    /// `before` for the next page; none if there are no older entries.
    pub(crate) next_before: Option<u64>,
    /// Number of the newest event.
    pub(crate) seq: u64,
}

/// What to look for in all sessions.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchParams {
    /// Words, all of which must be there; a phrase in double quotes.
    pub(crate) text: String,
    /// Maximum number of results.
    #[param(minimum = 1, maximum = 100)]
    pub(crate) limit: Option<usize>,
}

/// What was said with these words, the best match first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SearchResults {
    /// At most one for each session.
    pub(crate) results: Vec<SearchResult>,
}

/// Where a session mentions the words.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SearchResult {
    /// The session.
    pub(crate) session: SessionInfo,
    /// When it was said, in milliseconds since 1970.
    pub(crate) at: i64,
    /// The text around the words.
    pub(crate) snippet: Vec<SnippetPart>,
}

/// A part of a snippet.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct SnippetPart {
    /// Its text.
    pub(crate) text: String,
    /// Whether it is one of the words.
    pub(crate) matches: bool,
}

/// Which part of the log to return.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LogParams {
    /// Only events with a larger number.
    pub(crate) after: Option<u64>,
}

/// Format of an export.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ExportFormat {
    /// One HTML file.
    Html,
    /// Markdown.
    Md,
    /// The log, one JSON object per line.
    Ndjson,
}

/// Format of an export.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExportParams {
    /// The format.
    pub(crate) format: ExportFormat,
}

/// Options of an event stream.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventParams {
    /// Format of the events; `view` by default.
    #[serde(default)]
    #[param(value_type = Option<EventFormat>)]
    pub(crate) format: EventFormat,
}

/// Format of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EventFormat {
    /// A snapshot of the session, then its changes.
    #[default]
    View,
    /// `agent-message-start`, `agent-text-delta` and so on.
    Agent,
    /// `system`, `text`, `tool_use` and so on.
    Classic,
    /// The CLI's lines.
    Raw,
}

/// The last event before the server closes the stream.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ByeEvent {
    /// Why the stream ends.
    pub(crate) reason: ByeReason,
}

/// Why the server closes a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ByeReason {
    /// The client was too slow. It can come back with its cursor.
    Lag,
    /// The server is shutting down.
    Shutdown,
    /// The token was revoked.
    Revoked,
    /// The token has expired.
    Expired,
    /// The session was deleted.
    Deleted,
    /// The log failed. The client can come back.
    Failed,
}

impl From<Bye> for ByeReason {
    fn from(bye: Bye) -> Self {
        match bye {
            Bye::Lag => Self::Lag,
            Bye::Shutdown => Self::Shutdown,
            Bye::Deleted => Self::Deleted,
            Bye::Failed => Self::Failed,
        }
    }
}

/// The sessions that the stream of all sessions starts with.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionsEvent {
    /// The newest sessions.
    pub(crate) sessions: Vec<SessionInfo>,
}

/// A session was deleted.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RemovedEvent {
    /// Id of the deleted session.
    pub(crate) id: String,
}

/// The bytes of a document.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "only used for the description; the bytes are sent as they are")]
pub(crate) struct DocumentBytes(Vec<u8>);

/// The bytes of a picture file.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "only used for the description; the bytes are sent as they are")]
pub(crate) struct PictureBytes(Vec<u8>);
