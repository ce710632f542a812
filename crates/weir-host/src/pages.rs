//! Results of reading from the host.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::mpsc;
use weir_transcript::Entry;
use weir_wire::MessageId;

use crate::error::HostError;
use crate::info::{SessionInfo, SessionStatus};

/// A session that was created, or already existed.
#[derive(Debug, Clone, PartialEq)]
pub struct Created {
    /// The session.
    pub session: SessionInfo,
    /// Whether it is new. Otherwise a session with this key already existed.
    pub new: bool,
}

/// Which sessions to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListSessions {
    /// Only sessions with this status.
    pub status: Option<SessionStatus>,
    /// Only those with this in their name, key or folder, whatever the case, or in what was said.
    pub search: Option<String>,
    /// Archived sessions (`true`), the others (`false`), or all.
    pub archived: Option<bool>,
    /// Maximum number of sessions; 100 by default.
    pub limit: Option<usize>,
    /// Where to continue: `next_cursor` of the previous page.
    pub cursor: Option<String>,
}

/// Some sessions, the one that changed last first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<SessionInfo>,
    /// Where to continue, if there are more.
    pub next_cursor: Option<String>,
}

/// Some entries, newest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TranscriptPage {
    /// The entries.
    pub entries: Vec<Arc<Entry>>,
    /// What to pass as `before` for the next page, if there are more.
    pub next_before: Option<u64>,
    /// The newest event of the log that they were made from.
    pub seq: u64,
}

/// An event of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct LogEvent {
    /// Its number.
    pub seq: u64,
    /// When it happened, in milliseconds since 1970.
    pub at: i64,
    /// `line` (of the CLI), `host` (what was done here), `message` (to the agent) or `note` (about the session).
    pub kind: String,
    /// The event; a string where it is not JSON.
    pub payload: Value,
}

/// Some events of the log, oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct LogPage {
    /// The events.
    pub events: Vec<LogEvent>,
    /// The newest event of the log.
    pub newest: u64,
    /// Whether there are more.
    pub more: bool,
}

/// In which form to export a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExportFormat {
    /// A web page that needs nothing but itself.
    Html,
    /// Markdown.
    Markdown,
    /// The log, an event a line.
    Ndjson,
}

/// An export as it is written. Dropping it ends the work.
#[derive(Debug)]
pub struct Export {
    pub(crate) format: ExportFormat,
    pub(crate) pieces: mpsc::Receiver<Result<Bytes, HostError>>,
}

impl Export {
    /// In which form it is.
    pub fn format(&self) -> ExportFormat {
        self.format
    }

    /// The next piece; nothing at the end. After an error nothing more comes, and what came is not whole. Cancel safe.
    pub async fn next(&mut self) -> Option<Result<Bytes, HostError>> {
        self.pieces.recv().await
    }
}

/// What [`crate::Host::resume`] did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ResumeReport {
    /// The message that tells the agent to continue, if a turn was interrupted.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub message_id: Option<MessageId>,
    /// How many held messages are sent.
    pub released: u32,
}
