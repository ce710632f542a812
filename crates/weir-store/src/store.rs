//! The trait behind which conversations are kept.

use std::fmt::Debug;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::checkpoint::{Checkpoint, CheckpointQuery};
use crate::conversation::{Conversation, ConversationId, ConversationUpdate, NewConversation};
use crate::cursor::Check;
use crate::event::{Append, Appended, Event};
use crate::query::{ConversationPage, EventPage, Hit, ListQuery, Lookup, ReadQuery, SearchQuery};
use crate::reply::Reply;
use crate::space::{Space, Usage};
use crate::tail::Tail;

/// A log of conversations.
///
/// No call waits for the disk or for another one; a small write may be done before the call returns. A [`Reply`] can be
/// waited for by a thread and awaited by a task; a write that was sent is done even if its reply is dropped. Writes are
/// done in the order in which they were sent.
pub trait Store: Debug + Send + Sync {
    /// Names this log. Numbers of events mean nothing in another one.
    fn epoch(&self) -> &str;

    /// Creates a conversation.
    fn create(&self, new: NewConversation) -> Reply<Conversation>;

    /// The facts about a conversation.
    fn find(&self, lookup: Lookup) -> Reply<Option<Conversation>>;

    /// Changes the facts about a conversation.
    fn update(&self, id: ConversationId, update: ConversationUpdate) -> Reply<Conversation>;

    /// Deletes a conversation and its log; `false` if there was none. The space is given back in the background.
    fn delete(&self, id: ConversationId) -> Reply<bool>;

    /// Lists conversations.
    fn list(&self, query: ListQuery) -> Reply<ConversationPage>;

    /// Appends to the log of a conversation. When the reply comes, they are stored: see
    /// [`crate::Durability`].
    fn append(&self, append: Append) -> Reply<Appended>;

    /// Reads a part of a log.
    fn read(&self, query: ReadQuery) -> Reply<EventPage>;

    /// Reads one event.
    fn event(&self, conversation: ConversationId, seq: u64) -> Reply<Option<Event>>;

    /// The number of the event with this client id, if there is one.
    fn by_client(&self, conversation: ConversationId, client_id: String) -> Reply<Option<u64>>;

    /// Who wrote an event, for comparing it with a [`crate::Cursor`]; none where there is no such event, or where an
    /// older version wrote it.
    fn check_at(&self, conversation: ConversationId, seq: u64) -> Reply<Option<Check>>;

    /// Keeps what a reader has made of a log. It changes nothing about the conversation.
    fn save_checkpoint(&self, conversation: ConversationId, checkpoint: Checkpoint) -> Reply<()>;

    /// The newest checkpoint that fits.
    fn checkpoint(&self, query: CheckpointQuery) -> Reply<Option<Checkpoint>>;

    /// Searches the text of events, the best first.
    fn search(&self, query: SearchQuery) -> Reply<Vec<Hit>>;

    /// Follows the log of a conversation. Subscribe first, then read.
    fn subscribe(&self, conversation: ConversationId) -> Reply<Tail>;

    /// Whether there is space to write. Looks at the disk, and waits for nothing else.
    fn space(&self) -> Space;

    /// What the store takes.
    fn usage(&self) -> Reply<Usage>;

    /// Follows all conversations: the number is the newest revision, and [`crate::ListOrder::ChangedAfter`] lists what changed.
    fn subscribe_all(&self) -> Reply<Tail>;
}

/// The time, in milliseconds since 1970.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
