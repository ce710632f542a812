//! The trait for storing sessions: the log, and what can be asked about many sessions at once.

use crate::log::Log;
use crate::query::{Hit, ListQuery, Lookup, SearchQuery, SessionPage};
use crate::reply::Reply;
use crate::session::{SessionId, SessionUpdate, StoredSession};
use crate::space::{Space, Usage};

/// A log of sessions with the facts about them, lists and search.
///
/// All of it follows from the log; [`Log`] says how calls and replies behave.
pub trait Store: Log {
    /// The facts about a session.
    fn find(&self, lookup: Lookup) -> Reply<Option<StoredSession>>;

    /// Changes the facts about a session.
    fn update(&self, id: SessionId, update: SessionUpdate) -> Reply<StoredSession>;

    /// Lists sessions.
    fn list(&self, query: ListQuery) -> Reply<SessionPage>;

    /// Searches the text of events, best hits first.
    fn search(&self, query: SearchQuery) -> Reply<Vec<Hit>>;

    /// Whether there is space to write. Checks the disk, and waits for nothing else.
    fn space(&self) -> Space;

    /// The space the store takes.
    fn usage(&self) -> Reply<Usage>;
}
