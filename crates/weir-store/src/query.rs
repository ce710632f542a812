//! Queries to the store, and the pages it returns.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::session::{SessionId, StoredSession};

/// Identifies a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// The session with this id.
    Id(SessionId),
    /// The live session with this key.
    Key(String),
    /// The newest session that has or had this CLI session.
    CliSession(String),
}

/// Which sessions to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListQuery {
    /// Whether archived sessions are listed.
    pub archived: Archived,
    /// Only sessions with this status.
    pub status: Option<String>,
    /// Only sessions with this working directory.
    pub cwd: Option<String>,
    /// Only sessions with this text in their title, key or folder, ignoring the case of ASCII letters, or with an
    /// event that [`SearchQuery::text`] finds by it.
    pub text: Option<String>,
    /// The order and the starting point.
    pub order: ListOrder,
    /// At most this many.
    pub limit: usize,
}

impl Default for ListQuery {
    fn default() -> Self {
        Self {
            archived: Archived::Without,
            status: None,
            cwd: None,
            text: None,
            order: ListOrder::Newest,
            limit: 100,
        }
    }
}

/// Whether archived sessions are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Archived {
    /// Only live sessions.
    #[default]
    Without,
    /// All sessions.
    With,
    /// Only archived sessions.
    Only,
}

/// The order of a list of sessions, by revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListOrder {
    /// The most recently changed first.
    Newest,
    /// The same order, continuing after the session with this revision.
    NewestBefore(u64),
    /// Sessions that have changed since this revision, in the order of their changes.
    ChangedAfter(u64),
}

/// A page of sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionPage {
    /// The sessions, in the requested order. The next page starts at the revision of the last one.
    pub sessions: Vec<StoredSession>,
    /// Whether there are more.
    pub more: bool,
}

/// Which events to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadQuery {
    /// The session.
    pub session: SessionId,
    /// Which part of its log, and in which direction.
    pub range: EventRange,
    /// At most this many events.
    pub max_events: usize,
    /// At most this many bytes of payload, but at least one event.
    pub max_bytes: usize,
    /// Only events with this label, and all events written before labels existed, since their labels are unknown.
    pub label: Option<String>,
}

impl ReadQuery {
    /// Oldest first, after this event; zero is the beginning.
    pub fn after(session: SessionId, seq: u64) -> Self {
        Self::of(session, EventRange::After(seq))
    }

    /// The newest events, newest first.
    pub fn newest(session: SessionId) -> Self {
        Self::of(session, EventRange::Before(u64::MAX))
    }

    /// Newest first, before this event.
    pub fn before(session: SessionId, seq: u64) -> Self {
        Self::of(session, EventRange::Before(seq))
    }

    fn of(session: SessionId, range: EventRange) -> Self {
        Self { session, range, max_events: 500, max_bytes: 1 << 20, label: None }
    }
}

/// Part of a log, and the direction in which it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventRange {
    /// Events after this one, oldest first.
    After(u64),
    /// Events before this one, newest first.
    Before(u64),
}

/// A page of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventPage {
    /// The events, in the requested direction.
    pub events: Vec<Event>,
    /// The number of the session's newest event.
    pub newest: u64,
    /// Whether there are more in this direction.
    pub more: bool,
}

/// What to search for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchQuery {
    /// Words as a person types them: all must be present, the last one may be the beginning of a word (from two
    /// letters on), and text in double quotes must match as a phrase. No other character is special.
    pub text: String,
    /// Only in this session.
    pub session: Option<SessionId>,
    /// At most this many.
    pub limit: usize,
    /// Skip this many of the best hits.
    pub offset: usize,
}

impl SearchQuery {
    /// The best twenty hits in all sessions.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), session: None, limit: 20, offset: 0 }
    }
}

/// An event found by a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// Its session.
    pub session: SessionId,
    /// The session's title.
    pub title: Option<String>,
    /// Its number.
    pub seq: u64,
    /// When it happened.
    pub at: i64,
    /// The kind of event.
    pub kind: String,
    /// The text around the match.
    pub snippet: Snippet,
}

/// A piece of text with a match. Not escaped in any way.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Snippet {
    /// The text, with an ellipsis where it was cut.
    pub text: String,
    /// The matches, as byte ranges of the text.
    pub marks: Vec<Range<usize>>,
}
