//! What a viewer is told. The values are typed; a server encodes each once, for all of its viewers.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde::Serialize;
use weir_store::Cursor;
use weir_transcript::{AgentEvent, Change, ClassicEvent, View};
use weir_wire::TurnId;

use crate::info::SessionInfo;
use crate::message::{MessageInfo, MessageOutcome};
use crate::viewer::Bye;

/// One event of a watched session. Cloning copies a pointer.
#[derive(Debug, Clone)]
pub struct Frame {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    id: Option<Cursor>,
    event: WatchEvent,
    size: usize,
    encoded: OnceLock<Bytes>,
}

/// What happened in a watched session. Exhaustive, so that a new event does not compile before every transport has a
/// form for it.
#[derive(Debug)]
pub enum WatchEvent {
    /// The first event of every watch.
    Hello(HelloEvent),
    /// The whole view. Replaces what the viewer has.
    Snapshot(Box<SnapshotEvent>),
    /// The view has changed.
    Changes(ChangesEvent),
    /// An event of the `agent` vocabulary.
    Agent(Box<AgentEvent>),
    /// An event of the `classic` vocabulary.
    Classic(Box<ClassicEvent>),
    /// A line of the CLI, byte for byte.
    Line(Bytes),
    /// The session's summary has changed.
    Session(Arc<SessionInfo>),
    /// The queue of messages has changed.
    Messages(MessagesEvent),
    /// The message that is being watched has ended.
    Message(Box<MessageOutcome>),
    /// Nothing has happened for a while.
    Heartbeat(HeartbeatEvent),
    /// The last event of every watch.
    Bye(Bye),
}

/// How a stream begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct HelloEvent {
    /// Whether the stream continues after the client's cursor.
    pub resume: ResumeKind,
    /// Identifies the log. Cursors of another log are not valid here.
    pub epoch: String,
    /// The number of the newest event.
    pub seq: u64,
    /// The longest pause between two events, in milliseconds; null without heartbeats.
    pub heartbeat_ms: Option<u64>,
}

/// Whether a stream continues after the client's cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum ResumeKind {
    /// The client sent no cursor.
    Fresh,
    /// It does.
    Ok,
    /// It does not: the cursor is not in this log, and the client must discard what it has.
    Gap,
}

/// A session as it is now.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SnapshotEvent {
    /// The number of the newest event in the snapshot.
    pub seq: u64,
    /// The session's summary.
    pub session: SessionInfo,
    /// Queued messages.
    pub messages: Vec<MessageInfo>,
    /// The newest entries, and what belongs to them.
    pub view: View,
}

/// What has changed in a session's view.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ChangesEvent {
    /// The number of the newest event in it; for a preview, of the event before.
    pub seq: u64,
    /// The changes, to be applied in order.
    pub changes: Vec<Change<'static>>,
}

/// Queued messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MessagesEvent {
    /// The messages, the next one first.
    pub messages: Vec<MessageInfo>,
}

/// Nothing else has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct HeartbeatEvent {
    /// The server's time, in milliseconds since 1970.
    pub at: i64,
}

impl WatchEvent {
    /// The event's name on the wire: `hello`, `snapshot`, `changes`, `session`, `messages`, `message`, `line`,
    /// `heartbeat`, `bye`, or a name of a vocabulary.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Hello(_) => "hello",
            Self::Snapshot(_) => "snapshot",
            Self::Changes(_) => "changes",
            Self::Agent(event) => event.name(),
            Self::Classic(event) => event.event,
            Self::Line(_) => "line",
            Self::Session(_) => "session",
            Self::Messages(_) => "messages",
            Self::Message(_) => "message",
            Self::Heartbeat(_) => "heartbeat",
            Self::Bye(_) => "bye",
        }
    }

    /// The turn that an event of a vocabulary belongs to.
    pub(crate) fn turn(&self) -> Option<TurnId> {
        match self {
            Self::Agent(event) => event.turn_id,
            Self::Classic(event) => event.turn_id,
            _ => None,
        }
    }
}

impl Frame {
    /// A frame that holds about `size` bytes besides itself.
    pub(crate) fn new(id: Option<Cursor>, event: WatchEvent, size: usize) -> Self {
        Self { inner: Arc::new(Inner { id, event, size, encoded: OnceLock::new() }) }
    }

    /// What happened.
    pub fn event(&self) -> &WatchEvent {
        &self.inner.event
    }

    /// Where a viewer that has seen this frame resumes. Previews have none: they are not in the log.
    pub fn id(&self) -> Option<&Cursor> {
        self.inner.id.as_ref()
    }

    /// The frame as a transport writes it, encoded for the first viewer and shared by the others. All callers must
    /// pass the same function.
    pub fn encoded(&self, encode: impl FnOnce(&Self) -> Bytes) -> Bytes {
        self.inner.encoded.get_or_init(|| encode(self)).clone()
    }

    /// Roughly how many bytes it takes to keep it.
    pub(crate) fn size(&self) -> usize {
        self.inner.size + size_of::<Inner>()
    }
}
