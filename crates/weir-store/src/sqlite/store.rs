//! [`SqliteStore`]: sends writes to the writer and questions to the readers.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use super::open::{Database, SqliteOptions};
use super::read;
use super::readers::Readers;
use super::write;
use super::writer::{Queue, Writer};
use crate::checkpoint::{Checkpoint, CheckpointQuery};
use crate::conversation::{Conversation, ConversationId, ConversationUpdate, NewConversation};
use crate::error::StoreError;
use crate::event::{Append, Appended, Event};
use crate::query::{ConversationPage, EventPage, Hit, ListQuery, Lookup, ReadQuery, SearchQuery};
use crate::reply::Reply;
use crate::store::Store;
use crate::tail::{Tail, TailState, Tails};

/// About what a write without events takes while it waits.
const SMALL_WRITE: usize = 1024;

/// A store in a SQLite file.
///
/// Dropping it writes what still waits, and blocks until that is done.
pub struct SqliteStore {
    epoch: String,
    path: PathBuf,
    queue: Arc<Queue>,
    tails: Arc<Tails>,
    writer: Option<JoinHandle<()>>,
    readers: Option<Readers>,
}

impl SqliteStore {
    /// Opens the file, and creates it with its folder if it is not there: for the owner alone.
    ///
    /// # Errors
    /// If the file cannot be used: it is damaged, of a newer version, or something else. It is then left as it is.
    pub fn open(path: impl Into<PathBuf>, options: &SqliteOptions) -> Result<Self, StoreError> {
        let database = Database { path: path.into() };
        let connection = database.open_writer(options)?;
        let epoch = read::epoch(&connection).map_err(|source| database.error(source))?;
        let queue = Arc::new(Queue::new(options.queue_limit));
        let tails = Arc::new(Tails::new());
        let writer = Writer {
            connection,
            database: database.clone(),
            queue: Arc::clone(&queue),
            tails: Arc::clone(&tails),
            poll_interval: options.poll_interval,
        };
        let thread = std::thread::Builder::new().name("weir-store-write".to_owned());
        let thread = thread.spawn(move || writer.run()).map_err(|source| StoreError::Io {
            action: "start a thread for",
            path: database.path.clone(),
            source: Arc::new(source),
        })?;
        Ok(Self {
            epoch,
            path: database.path.clone(),
            queue,
            tails,
            writer: Some(thread),
            readers: Some(Readers::new(database, options.readers)),
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the whole file and tells whether it is sound. Takes long for a large one.
    pub fn check(&self) -> Reply<()> {
        let path = self.path.clone();
        self.ask(move |_| {
            // A connection of its own: the check of the search index trusts what a connection remembers of it, also
            // where another connection has written since, and then reports damage that is not there.
            let connection = Database { path: path.clone() }.open_reader()?;
            let mut statement = connection.prepare("PRAGMA integrity_check(1)")?;
            let found: String = statement.query_row([], |row| row.get(0))?;
            if found == "ok" { Ok(()) } else { Err(StoreError::Damaged { path, detail: found }.into()) }
        })
    }

    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&rusqlite::Connection) -> Result<T, write::Failure> + Send + 'static,
    ) -> Reply<T> {
        match &self.readers {
            Some(readers) => readers.ask(question),
            None => Reply::ready(Err(StoreError::Closed)),
        }
    }
}

impl Store for SqliteStore {
    fn epoch(&self) -> &str {
        &self.epoch
    }

    fn create(&self, new: NewConversation) -> Reply<Conversation> {
        self.queue.send(SMALL_WRITE, move |connection| write::create(connection, &new))
    }

    fn find(&self, lookup: Lookup) -> Reply<Option<Conversation>> {
        self.ask(move |connection| Ok(read::find(connection, &lookup)?))
    }

    fn update(&self, id: ConversationId, update: ConversationUpdate) -> Reply<Conversation> {
        self.queue.send(SMALL_WRITE, move |connection| write::update(connection, &id, &update))
    }

    fn delete(&self, id: ConversationId) -> Reply<bool> {
        self.queue.send(SMALL_WRITE, move |connection| write::delete(connection, &id))
    }

    fn list(&self, query: ListQuery) -> Reply<ConversationPage> {
        self.ask(move |connection| Ok(read::list(connection, &query)?))
    }

    fn append(&self, append: Append) -> Reply<Appended> {
        self.queue.send(append.size(), move |connection| write::append(connection, &append))
    }

    fn read(&self, query: ReadQuery) -> Reply<EventPage> {
        self.ask(move |connection| read::events(connection, &query))
    }

    fn event(&self, conversation: ConversationId, seq: u64) -> Reply<Option<Event>> {
        self.ask(move |connection| read::event(connection, &conversation, seq))
    }

    fn save_checkpoint(&self, conversation: ConversationId, checkpoint: Checkpoint) -> Reply<()> {
        let size = SMALL_WRITE + checkpoint.data.len();
        self.queue
            .send(size, move |connection| write::save_checkpoint(connection, &conversation, &checkpoint))
    }

    fn checkpoint(&self, query: CheckpointQuery) -> Reply<Option<Checkpoint>> {
        self.ask(move |connection| Ok(read::checkpoint(connection, &query)?))
    }

    fn search(&self, query: SearchQuery) -> Reply<Vec<Hit>> {
        self.ask(move |connection| read::search(connection, &query))
    }

    fn subscribe(&self, conversation: ConversationId) -> Reply<Tail> {
        let tails = Arc::clone(&self.tails);
        let tail = tails.subscribe(&conversation);
        self.queue.nudge();
        self.ask(move |connection| match read::newest(connection, &conversation)? {
            Some(newest) => {
                tails.set(&conversation, TailState::Newest(newest));
                Ok(tail)
            }
            None => Err(StoreError::NotFound(conversation).into()),
        })
    }

    fn subscribe_all(&self) -> Reply<Tail> {
        let tails = Arc::clone(&self.tails);
        let tail = tails.subscribe_all();
        self.queue.nudge();
        self.ask(move |connection| {
            tails.set_revision(read::revision(connection)?);
            Ok(tail)
        })
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SqliteStore").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.queue.close();
        // Readers end first, so that the writer's connection is the last one and can clean up after itself.
        self.readers = None;
        if let Some(writer) = self.writer.take() {
            // If it panicked, whoever waited was told so by a broken promise.
            let _panicked = writer.join();
        }
        self.tails.close();
    }
}
