//! The trait for storing sessions.

use std::fmt::Debug;

use crate::checkpoint::{Checkpoint, CheckpointQuery};
use crate::cursor::Check;
use crate::event::{Append, Appended, Event};
use crate::query::{EventPage, Hit, ListQuery, Lookup, ReadQuery, SearchQuery, SessionPage};
use crate::reply::Reply;
use crate::session::{NewStoredSession, SessionId, SessionUpdate, StoredSession};
use crate::space::{Space, Usage};
use crate::tail::Tail;

/// A log of sessions.
///
/// No call waits for the disk or for another call; a small write may be done before the call returns. A thread can
/// wait for a [`Reply`] and a task can await it; a write is done even if its reply is dropped. Writes are done in the
/// order in which they were sent.
pub trait Store: Debug + Send + Sync {
    /// Identifies this log. Event numbers mean nothing in another one.
    fn epoch(&self) -> &str;

    /// Creates a session.
    fn create(&self, new: NewStoredSession) -> Reply<StoredSession>;

    /// The facts about a session.
    fn find(&self, lookup: Lookup) -> Reply<Option<StoredSession>>;

    /// Changes the facts about a session.
    fn update(&self, id: SessionId, update: SessionUpdate) -> Reply<StoredSession>;

    /// Deletes a session and its log; `false` if it does not exist. The space is freed in the background.
    fn delete(&self, id: SessionId) -> Reply<bool>;

    /// Lists sessions.
    fn list(&self, query: ListQuery) -> Reply<SessionPage>;

    /// Appends events to a session's log. When the reply arrives, they are stored: see [`crate::Durability`].
    fn append(&self, append: Append) -> Reply<Appended>;

    /// Reads part of a log.
    fn read(&self, query: ReadQuery) -> Reply<EventPage>;

    /// Reads one event.
    fn event(&self, session: SessionId, seq: u64) -> Reply<Option<Event>>;

    /// The number of the event with this client id, if any.
    fn by_client(&self, session: SessionId, client_id: String) -> Reply<Option<u64>>;

    /// The writer of an event, to compare with a [`crate::Cursor`]; `None` if the event does not exist or an older
    /// version wrote it.
    fn check_at(&self, session: SessionId, seq: u64) -> Reply<Option<Check>>;

    /// Saves the state a reader derived from a log. It changes nothing about the session.
    fn save_checkpoint(&self, session: SessionId, checkpoint: Checkpoint) -> Reply<()>;

    /// The newest matching checkpoint. In a store that drops old events, the oldest one where none matches: reading can
    /// begin nowhere before it.
    fn checkpoint(&self, query: CheckpointQuery) -> Reply<Option<Checkpoint>>;

    /// Searches the text of events, best hits first.
    fn search(&self, query: SearchQuery) -> Reply<Vec<Hit>>;

    /// Follows a session's log. Subscribe first, then read.
    fn subscribe(&self, session: SessionId) -> Reply<Tail>;

    /// Whether there is space to write. Checks the disk, and waits for nothing else.
    fn space(&self) -> Space;

    /// The space the store takes.
    fn usage(&self) -> Reply<Usage>;

    /// Follows all sessions: the number is the newest revision, and [`crate::ListOrder::ChangedAfter`] lists what
    /// changed.
    fn subscribe_all(&self) -> Reply<Tail>;
}
