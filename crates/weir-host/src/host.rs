//! The host: what programs use.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::mpsc;
use weir_session::Decision;
use weir_store::{ConversationId, Hit, SearchQuery};
use weir_transcript::Entry;
use weir_wire::{MessageId, RequestId, ToolUseId};

use crate::error::HostError;
use crate::files::FileDiff;
use crate::hub::WatchAll;
use crate::info::{SessionInfo, SessionStatus};
use crate::message::{Accepted, Finished, MessageInfo, MessageState, NewMessage};
use crate::metrics::HostMetrics;
use crate::options::HostOptions;
use crate::settings::{Actor, NewSession};
use crate::watch::{Watch, WatchQuery};

/// Sessions that outlive their processes. Cloning it gives another handle to the same host.
#[derive(Debug, Clone)]
pub struct Host {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    options: HostOptions,
}

/// A session that was created, or was there.
#[derive(Debug, Clone, PartialEq)]
pub struct Created {
    /// The session.
    pub session: SessionInfo,
    /// Whether it is new. Otherwise it had the key already.
    pub new: bool,
}

/// Which sessions to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListSessions {
    /// Only those that are doing this.
    pub status: Option<SessionStatus>,
    /// Only those with this in their name, key or folder, whatever the case.
    pub search: Option<String>,
    /// Those that were put away (`true`), the others (`false`), or all.
    pub archived: Option<bool>,
    /// At most so many; 100 where none is given.
    pub limit: Option<usize>,
    /// Where to go on: `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// Some sessions, the one that changed last first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<SessionInfo>,
    /// Where to go on, if there are more.
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

/// What [`Host::resume`] did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ResumeReport {
    /// The message that tells the agent to go on, where a turn was interrupted.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub message_id: Option<MessageId>,
    /// How many held messages are sent.
    pub released: u32,
}

impl Host {
    /// Opens a host. Processes that an earlier one left are ended, turns that ran are marked as interrupted, messages
    /// that were accepted and not given to the CLI are held.
    pub async fn open(options: HostOptions) -> Result<Self, HostError> {
        Ok(Self { inner: Arc::new(Inner { options }) })
    }

    /// The options that it was opened with.
    pub fn options(&self) -> &HostOptions {
        &self.inner.options
    }

    /// Names the log. Cursors mean nothing in another one.
    pub fn epoch(&self) -> &str {
        self.inner.options.store.epoch()
    }

    /// Creates a session, or gives the one that has the key.
    pub async fn create(&self, new: NewSession, by: &Actor) -> Result<Created, HostError> {
        let _ = (new, by);
        todo!()
    }

    /// Lists sessions.
    pub async fn list(&self, query: ListSessions) -> Result<SessionPage, HostError> {
        let _ = query;
        todo!()
    }

    /// A session at a glance.
    pub async fn info(&self, id: &ConversationId) -> Result<SessionInfo, HostError> {
        let _ = id;
        todo!()
    }

    /// Gives a session another name, or none.
    pub async fn rename(&self, id: &ConversationId, name: Option<String>) -> Result<SessionInfo, HostError> {
        let _ = (id, name);
        todo!()
    }

    /// Puts a session away, which ends its process, or takes it back.
    pub async fn archive(&self, id: &ConversationId, archived: bool) -> Result<SessionInfo, HostError> {
        let _ = (id, archived);
        todo!()
    }

    /// Ends the process of a session and deletes it with its log.
    pub async fn delete(&self, id: &ConversationId) -> Result<(), HostError> {
        let _ = id;
        todo!()
    }

    /// Begins a new session with a copy of this one's history.
    pub async fn fork(
        &self,
        id: &ConversationId,
        name: Option<String>,
        by: &Actor,
    ) -> Result<SessionInfo, HostError> {
        let _ = (id, name, by);
        todo!()
    }

    /// Accepts a message: it is in the log when this returns.
    pub async fn send(
        &self,
        id: &ConversationId,
        message: NewMessage,
        by: &Actor,
    ) -> Result<Accepted, HostError> {
        let _ = (id, message, by);
        todo!()
    }

    /// The newest messages of a session, oldest first, and all that wait.
    pub async fn messages(
        &self,
        id: &ConversationId,
        state: Option<MessageState>,
    ) -> Result<Vec<MessageInfo>, HostError> {
        let _ = (id, state);
        todo!()
    }

    /// Takes a message back.
    pub async fn cancel_message(
        &self,
        id: &ConversationId,
        message: &MessageId,
        by: &Actor,
    ) -> Result<(), HostError> {
        let _ = (id, message, by);
        todo!()
    }

    /// Waits for the end of the turn that answers a message.
    pub async fn finished(&self, id: &ConversationId, message: &MessageId) -> Result<Finished, HostError> {
        let _ = (id, message);
        todo!()
    }

    /// Ends the running turn. Says whether there was one.
    pub async fn interrupt(&self, id: &ConversationId, by: &Actor) -> Result<bool, HostError> {
        let _ = (id, by);
        todo!()
    }

    /// Ends everything that a session does, and takes its waiting messages back. When this returns, no process is left.
    pub async fn stop(&self, id: &ConversationId, by: &Actor) -> Result<(), HostError> {
        let _ = (id, by);
        todo!()
    }

    /// Goes on after a restart: held messages are sent, and where a turn was interrupted the agent is told to go on.
    pub async fn resume(&self, id: &ConversationId, by: &Actor) -> Result<ResumeReport, HostError> {
        let _ = (id, by);
        todo!()
    }

    /// Answers a permission request or a question. The first answer counts; later ones hear who was first.
    pub async fn answer(
        &self,
        id: &ConversationId,
        request: &RequestId,
        decision: Decision,
        by: &Actor,
    ) -> Result<(), HostError> {
        let _ = (id, request, decision, by);
        todo!()
    }

    /// Uses another model from the next request on; none for the default.
    pub async fn set_model(
        &self,
        id: &ConversationId,
        model: Option<String>,
        by: &Actor,
    ) -> Result<SessionInfo, HostError> {
        let _ = (id, model, by);
        todo!()
    }

    /// Uses another permission mode from now on.
    pub async fn set_permission_mode(
        &self,
        id: &ConversationId,
        mode: String,
        by: &Actor,
    ) -> Result<SessionInfo, HostError> {
        let _ = (id, mode, by);
        todo!()
    }

    /// Entries of the conversation, newest first, before this one.
    pub async fn transcript(
        &self,
        id: &ConversationId,
        before: Option<u64>,
        limit: usize,
    ) -> Result<TranscriptPage, HostError> {
        let _ = (id, before, limit);
        todo!()
    }

    /// A part of the log, oldest first, after this event. Ask again after the last one while there are more.
    pub async fn log(&self, id: &ConversationId, after: u64) -> Result<LogPage, HostError> {
        let _ = (id, after);
        todo!()
    }

    /// All changes of the session to files.
    pub async fn diff(&self, id: &ConversationId) -> Result<Vec<FileDiff>, HostError> {
        let _ = id;
        todo!()
    }

    /// The whole output of a tool call, of which the view keeps the beginning and the end.
    pub async fn tool_output(&self, id: &ConversationId, tool: &ToolUseId) -> Result<String, HostError> {
        let _ = (id, tool);
        todo!()
    }

    /// Writes a session out, piece by piece.
    pub async fn export(&self, id: &ConversationId, format: ExportFormat) -> Result<Export, HostError> {
        let _ = (id, format);
        todo!()
    }

    /// Searches what was said in all sessions, the best first.
    pub async fn search(&self, query: SearchQuery) -> Result<Vec<Hit>, HostError> {
        Ok(self.inner.options.store.search(query).await?)
    }

    /// Watches a session.
    pub async fn watch(&self, id: &ConversationId, query: WatchQuery) -> Result<Watch, HostError> {
        let _ = (id, query);
        todo!()
    }

    /// Watches all sessions. Subscribe first, then list.
    pub fn watch_all(&self) -> WatchAll {
        todo!()
    }

    /// Numbers about the host.
    pub fn metrics(&self) -> HostMetrics {
        todo!()
    }

    /// Takes no more messages, lets running turns end until `patience` is over, ends all processes, and tells viewers.
    /// Messages that wait are held for the next start.
    pub async fn shut_down(&self, patience: Duration) {
        let _ = patience;
        todo!()
    }
}
