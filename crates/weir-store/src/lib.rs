//! The durable log of sessions.
//!
//! A session is a row of facts and a log of events, numbered from one without gaps. The store never looks into an
//! event: `weir-transcript` interprets events, and `weir-session` decides what happens next. Every reader (terminal,
//! server, loop, bridge) reads the same log.
//!
//! [`Log`] is what one machine and a cluster both have: logs with fenced writers, leases, wake-ups. [`Store`] adds what can
//! be asked about many sessions: facts, lists, search. [`SqliteStore`] keeps a file; [`MemoryStore`] lasts only as long as
//! the process and is for tests. `weir-store-conformance` has the tests that every log passes. Each call returns a [`Reply`], which a thread can wait for and a task can await; no call waits for
//! the disk or for another call, and no runtime is needed.
//!
//! - **Acknowledged means stored.** The reply to a write comes after its transaction has been committed.
//!   [`Durability`] says what it then survives: always a kill, and a power loss if the store is told to wait for the
//!   disk.
//! - **Live without loss.** First [`Log::subscribe`], then [`Log::read`] up to the newest event, then wait for
//!   [`Tail::changed`] and read again. No queue between writer and reader can overflow.
//! - **Once.** An event with a client id is stored once, no matter how often it is sent.
//!
//! ```
//! use weir_store::{Append, Log, SessionId, MemoryStore, NewStoredSession, NewEvent, ReadQuery};
//!
//! let store = MemoryStore::new();
//! let id = SessionId::random();
//! store.create(NewStoredSession::new(id.clone(), 1_000)).wait()?;
//! let event = NewEvent::new(1_001, "line", br#"{"type":"system"}"#.to_vec());
//! let stored = store.append(Append::new(id.clone(), vec![event])).wait()?;
//! assert_eq!(stored.newest, 1);
//!
//! let page = store.read(ReadQuery::after(id, 0)).wait()?;
//! assert_eq!(page.events[0].payload, br#"{"type":"system"}"#);
//! # Ok::<(), weir_store::StoreError>(())
//! ```

mod checkpoint;
mod cursor;
mod error;
mod event;
mod lease;
mod log;
mod memory;
mod ndjson;
mod query;
mod reply;
mod session;
mod space;
mod sqlite;
mod store;
mod tail;
mod terms;

pub use checkpoint::{Checkpoint, CheckpointQuery};
pub use cursor::{Check, Cursor, Resume};
pub use error::StoreError;
pub use event::{Append, Appended, Event, NewEvent, Placed};
pub use lease::{Acquired, Lease, LeaseRequest, check_name};
pub use log::Log;
pub use memory::MemoryStore;
pub use ndjson::{ExportError, export_lines};
pub use query::{
    Archived, EventPage, EventRange, Hit, ListOrder, ListQuery, Lookup, ReadQuery, SearchQuery, SessionPage,
    Snippet,
};
pub use reply::{Promise, Reply};
pub use session::{NewStoredSession, Parent, SessionId, SessionUpdate, StoredSession};
pub use space::{Space, Usage};
pub use sqlite::{
    BackedUp, Compacted, DEFAULT_RESERVE, Durability, FileReport, Restored, SqliteOptions, SqliteStore,
    back_up, check_file, compact, restore,
};
pub use store::Store;
pub use tail::{Changed, Tail, TailState, Tails, Wakes};
