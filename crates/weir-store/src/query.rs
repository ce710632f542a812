//! Questions to the store, and the pages that answer them.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::conversation::{Conversation, ConversationId};
use crate::event::Event;

/// Which conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// The one with this id.
    Id(ConversationId),
    /// The live one with this key.
    Key(String),
    /// The newest one that has or had this session of the CLI.
    CliSession(String),
}

/// Which conversations to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListQuery {
    /// Whether those that were put away are listed.
    pub archived: Archived,
    /// Only those with this status.
    pub status: Option<String>,
    /// Only those that work here.
    pub cwd: Option<String>,
    /// Only those with this in their title, key or folder, whatever the case of its ASCII letters.
    pub text: Option<String>,
    /// In which order, and from where.
    pub order: ListOrder,
    /// At most so many.
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

/// Whether conversations that were put away are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Archived {
    /// Only live ones.
    #[default]
    Without,
    /// All.
    With,
    /// Only those that were put away.
    Only,
}

/// In which order conversations are listed, by their revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListOrder {
    /// The one that changed last comes first.
    Newest,
    /// The same, going on after the one with this revision.
    NewestBefore(u64),
    /// Those that have changed since this revision, in the order of their changes.
    ChangedAfter(u64),
}

/// Some conversations.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationPage {
    /// The conversations, in the order that was asked for. The revision of the last one is where to go on.
    pub conversations: Vec<Conversation>,
    /// Whether there are more.
    pub more: bool,
}

/// Which events to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadQuery {
    /// The conversation.
    pub conversation: ConversationId,
    /// Which part of its log, in which direction.
    pub range: EventRange,
    /// At most so many events.
    pub max_events: usize,
    /// At most so many bytes of payload, but one event at least.
    pub max_bytes: usize,
    /// Only events with this label, and those from before there were any: a file of an older version has events of
    /// which nobody can say.
    pub label: Option<String>,
}

impl ReadQuery {
    /// Oldest first, after this event; zero is the beginning.
    pub fn after(conversation: ConversationId, seq: u64) -> Self {
        Self::of(conversation, EventRange::After(seq))
    }

    /// The newest ones, newest first.
    pub fn newest(conversation: ConversationId) -> Self {
        Self::of(conversation, EventRange::Before(u64::MAX))
    }

    /// Newest first, before this event.
    pub fn before(conversation: ConversationId, seq: u64) -> Self {
        Self::of(conversation, EventRange::Before(seq))
    }

    fn of(conversation: ConversationId, range: EventRange) -> Self {
        Self { conversation, range, max_events: 500, max_bytes: 1 << 20, label: None }
    }
}

/// A part of a log, and the direction in which it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventRange {
    /// What came after this event, oldest first.
    After(u64),
    /// What came before this event, newest first.
    Before(u64),
}

/// Some events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventPage {
    /// The events, in the direction that was asked for.
    pub events: Vec<Event>,
    /// The number of the newest event of the conversation.
    pub newest: u64,
    /// Whether there are more in that direction.
    pub more: bool,
}

/// What to search for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchQuery {
    /// Words as a person types them: all must be there, the last one may be the beginning of a word (from two letters
    /// on), and what stands in double quotes must be there as it is. No character has another meaning.
    pub text: String,
    /// Only in this conversation.
    pub conversation: Option<ConversationId>,
    /// At most so many.
    pub limit: usize,
    /// Pass over so many, which are better.
    pub offset: usize,
}

impl SearchQuery {
    /// Everywhere, the best twenty.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), conversation: None, limit: 20, offset: 0 }
    }
}

/// An event that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// Its conversation.
    pub conversation: ConversationId,
    /// What people call that.
    pub title: Option<String>,
    /// Its number.
    pub seq: u64,
    /// When it happened.
    pub at: i64,
    /// What sort of event it is.
    pub kind: String,
    /// The text around what was found.
    pub snippet: Snippet,
}

/// A piece of text in which something was found. It is not escaped for anything.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Snippet {
    /// The text; an ellipsis stands where it was cut.
    pub text: String,
    /// What was found, in bytes of the text.
    pub marks: Vec<Range<usize>>,
}
