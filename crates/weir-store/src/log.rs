//! The trait for the durable log of sessions: what one machine and a cluster both have.

use std::fmt::Debug;

use crate::checkpoint::{Checkpoint, CheckpointQuery};
use crate::cursor::Check;
use crate::event::{Append, Appended, Event};
use crate::lease::{Acquired, Lease, LeaseRequest};
use crate::query::{EventPage, ReadQuery};
use crate::reply::Reply;
use crate::session::{NewStoredSession, SessionId, StoredSession};
use crate::tail::Tail;

/// The durable log of sessions.
///
/// No call waits for the disk, the network or another call; a small write may be done before the call returns. A thread
/// can wait for a [`Reply`] and a task can await it; a write is done even if its reply is dropped. Writes to a session are
/// done in the order in which they were sent.
///
/// Each session has a *generation*: the highest one that an append to it had. An append with a lower one is refused with
/// [`crate::StoreError::Fenced`], now and for ever, so a writer that has been replaced cannot write. On a single machine
/// nothing replaces the writer, and every append has generation zero.
pub trait Log: Debug + Send + Sync {
    /// Identifies this log. Event numbers mean nothing in another one.
    fn epoch(&self) -> &str;

    /// Creates a session.
    fn create(&self, new: NewStoredSession) -> Reply<StoredSession>;

    /// Deletes a session and its log; `false` if it does not exist. The space is freed in the background.
    fn delete(&self, id: SessionId) -> Reply<bool>;

    /// Appends events to a session's log. When the reply arrives, they are stored: see [`crate::Durability`]. An append
    /// without events that has a higher generation fences all writers with a lower one.
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

    /// The generation of a session.
    fn generation(&self, session: SessionId) -> Reply<u64>;

    /// Saves the state a reader derived from a log. It changes nothing about the session.
    fn save_checkpoint(&self, session: SessionId, checkpoint: Checkpoint) -> Reply<()>;

    /// The newest matching checkpoint. In a store that drops old events, the oldest one where none matches: reading can
    /// begin nowhere before it.
    fn checkpoint(&self, query: CheckpointQuery) -> Reply<Option<Checkpoint>>;

    /// Follows a session's log. Subscribe first, then read.
    fn subscribe(&self, session: SessionId) -> Reply<Tail>;

    /// Follows all sessions: the number is the newest revision. In a [`crate::Store`],
    /// [`crate::ListOrder::ChangedAfter`] lists what changed.
    fn subscribe_all(&self) -> Reply<Tail>;

    /// Takes a lease that is free.
    fn acquire(&self, request: LeaseRequest) -> Reply<Acquired>;

    /// Prolongs a lease by its whole time, counted from now. Fails with [`crate::StoreError::LeaseLost`] once it has
    /// ended, even if it is still free.
    fn renew(&self, lease: Lease) -> Reply<Lease>;

    /// Gives a lease back before it ends. Nothing happens if it has ended already.
    fn release(&self, lease: Lease) -> Reply<()>;

    /// Wakes everyone who listens on this topic. It carries nothing: a listener that is woken looks at the log.
    fn wake(&self, topic: String) -> Reply<()>;

    /// Listens on a topic: the number of the tail grows with each wake-up from now on. Wake-ups close together may count
    /// as one, and after a lost connection there may be one without a cause, because one with a cause may have been missed.
    fn listen(&self, topic: String) -> Reply<Tail>;

    /// Keeps a file that belongs to a session, in place of one with the same name. It is deleted with the session.
    fn put_blob(&self, session: SessionId, name: String, data: Vec<u8>) -> Reply<()>;

    /// A file that belongs to a session.
    fn blob(&self, session: SessionId, name: String) -> Reply<Option<Vec<u8>>>;
}
