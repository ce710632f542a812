//! [`SqliteStore`]: sends writes to the writer and queries to the readers.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use super::checkpointer::Checkpointer;
use super::disk::{Disk, Spend};
use super::open::{DEFAULT_RESERVE, Database, Durability, SqliteOptions};
use super::queue::{Queue, Weight};
use super::read_gate::ReadGate;
use super::readers::Readers;
use super::writer::Writer;
use super::{heads, index, read, vacuum, write};
use crate::checkpoint::{Checkpoint, CheckpointQuery};
use crate::cursor::Check;
use crate::error::StoreError;
use crate::event::{Append, Appended, Event};
use crate::lease::{Acquired, Lease, LeaseRequest, LocalLeases, check_name};
use crate::log::Log;
use crate::query::{EventPage, Hit, ListQuery, Lookup, ReadQuery, SearchQuery, SessionPage};
use crate::reply::Reply;
use crate::session::{NewStoredSession, SessionId, SessionUpdate, StoredSession};
use crate::space::{Space, Usage};
use crate::store::Store;
use crate::tail::{Tail, TailState, Tails, Wakes};

/// A write without events. It is rare, and may wait for a thread.
const WITHOUT_EVENTS: Weight = Weight { bytes: 1024, texts: 0, at_once: false, essential: false };
/// The same for a write that is done even if the disk is full: it deletes, or changes existing data.
const ESSENTIAL: Weight = Weight { essential: true, ..WITHOUT_EVENTS };

/// A store in a SQLite file.
///
/// Dropping it completes waiting writes, and blocks until that is done.
pub struct SqliteStore {
    epoch: String,
    check: Check,
    path: PathBuf,
    queue: Arc<Queue>,
    tails: Arc<Tails>,
    /// Between those who use this store in this process. The lock of the data folder keeps other processes out.
    leases: Arc<LocalLeases>,
    wakes: Wakes,
    writer: Option<JoinHandle<()>>,
    readers: Option<Readers>,
}

impl SqliteStore {
    /// Opens the file. Creates it and its folder if necessary, accessible only to the owner.
    ///
    /// # Errors
    /// If the file cannot be used: it is damaged, written by a newer version, or not a log. It is then left
    /// unchanged.
    pub fn open(path: impl Into<PathBuf>, options: &SqliteOptions) -> Result<Self, StoreError> {
        let database = Database { path: path.into() };
        let disk = Arc::new(Disk::new(&database.path, options.reserve));
        disk.make_room();
        let connection = loop {
            match database.open_writer(options) {
                // On a full disk not even the side files can be created.
                Err(StoreError::Full(_)) if disk.give_up(Spend::All) => {}
                opened => break opened?,
            }
        };
        disk.start();
        let epoch = read::epoch(&connection).map_err(|source| database.error(source))?;
        let gate = Arc::new(ReadGate::default());
        let checkpointer = Checkpointer::start(database.clone(), Arc::clone(&gate), Arc::clone(&disk))?;
        let at_once = options.durability == Durability::Process;
        let queue = Queue::new(connection, database.clone(), disk, options.queue_limit, at_once);
        let queue = Arc::new(queue);
        let writer = Writer { queue: Arc::clone(&queue), checkpointer, poll_interval: options.poll_interval };
        let thread = std::thread::Builder::new().name("weir-store-write".to_owned());
        let thread = thread.spawn(move || writer.run()).map_err(|source| database.no_thread(source))?;
        Ok(Self {
            epoch,
            check: Check::random(),
            path: database.path.clone(),
            tails: Arc::clone(queue.tails()),
            queue,
            leases: Arc::default(),
            wakes: Wakes::default(),
            writer: Some(thread),
            readers: Some(Readers::new(database, gate, options.readers)),
        })
    }

    /// Gives part of this file's reserve back to a full disk, for a caller that has to write something before the store
    /// can be opened. Returns whether there was anything left to give.
    pub fn give_up_reserve(path: &Path) -> bool {
        Disk::new(path, DEFAULT_RESERVE).give_up(Spend::All)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the whole file and reports whether it is sound. Takes long for a large file.
    pub fn check(&self) -> Reply<()> {
        let path = self.path.clone();
        self.ask(move |_| {
            // A separate connection: the check of the search index trusts what its connection has cached, even if
            // another connection has written since, and would report damage that does not exist.
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

impl Log for SqliteStore {
    fn epoch(&self) -> &str {
        &self.epoch
    }

    fn create(&self, new: NewStoredSession) -> Reply<StoredSession> {
        self.queue.send(WITHOUT_EVENTS, move |connection| write::create(connection, &new))
    }

    fn delete(&self, id: SessionId) -> Reply<bool> {
        self.queue.send(ESSENTIAL, move |connection| write::delete(connection, &id))
    }

    fn append(&self, append: Append) -> Reply<Appended> {
        let texts = append.events.iter().filter(|event| event.search_text.is_some()).count();
        let weight = Weight { bytes: append.size(), texts, at_once: true, essential: append.essential };
        let check = self.check;
        let known = Arc::clone(self.queue.heads());
        self.queue.send(weight, move |connection| write::append(connection, &append, check, &known))
    }

    fn read(&self, query: ReadQuery) -> Reply<EventPage> {
        self.ask(move |connection| read::events(connection, &query))
    }

    fn event(&self, session: SessionId, seq: u64) -> Reply<Option<Event>> {
        self.ask(move |connection| read::event(connection, &session, seq))
    }

    fn by_client(&self, session: SessionId, client_id: String) -> Reply<Option<u64>> {
        self.ask(move |connection| read::by_client(connection, &session, &client_id))
    }

    fn check_at(&self, session: SessionId, seq: u64) -> Reply<Option<Check>> {
        self.ask(move |connection| read::check_at(connection, &session, seq))
    }

    fn save_checkpoint(&self, session: SessionId, checkpoint: Checkpoint) -> Reply<()> {
        let weight = Weight { bytes: WITHOUT_EVENTS.bytes + checkpoint.data.len(), ..WITHOUT_EVENTS };
        self.queue.send(weight, move |connection| write::save_checkpoint(connection, &session, &checkpoint))
    }

    fn checkpoint(&self, query: CheckpointQuery) -> Reply<Option<Checkpoint>> {
        self.ask(move |connection| Ok(read::checkpoint(connection, &query)?))
    }

    fn subscribe(&self, session: SessionId) -> Reply<Tail> {
        let tails = Arc::clone(&self.tails);
        let tail = tails.subscribe(&session);
        self.queue.nudge();
        self.ask(move |connection| match read::newest(connection, &session)? {
            Some(newest) => {
                tails.set(&session, TailState::Newest(newest));
                Ok(tail)
            }
            None => Err(StoreError::NotFound(session).into()),
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

    fn generation(&self, session: SessionId) -> Reply<u64> {
        self.ask(move |connection| read::generation(connection, &session))
    }

    fn acquire(&self, request: LeaseRequest) -> Reply<Acquired> {
        let (queue, leases) = (Arc::clone(&self.queue), Arc::clone(&self.leases));
        self.ask(move |_| {
            request.check()?;
            if let Some(held) = leases.holder(&request.name, Instant::now()) {
                return Ok(held);
            }
            // Also on a full disk: what is there must still be usable.
            let generation = queue.send(ESSENTIAL, write::next_lease).wait()?;
            Ok(leases.acquire(request, generation, Instant::now()))
        })
    }

    fn renew(&self, lease: Lease) -> Reply<Lease> {
        Reply::ready(self.leases.renew(lease, Instant::now()))
    }

    fn release(&self, lease: Lease) -> Reply<()> {
        self.leases.release(&lease);
        Reply::ready(Ok(()))
    }

    fn wake(&self, topic: String) -> Reply<()> {
        Reply::ready(check_name("topic", &topic).map(|()| self.wakes.wake(&topic)))
    }

    fn listen(&self, topic: String) -> Reply<Tail> {
        Reply::ready(check_name("topic", &topic).map(|()| self.wakes.listen(&topic)))
    }

    fn put_blob(&self, session: SessionId, name: String, data: Vec<u8>) -> Reply<()> {
        let weight = Weight { bytes: WITHOUT_EVENTS.bytes + data.len(), ..WITHOUT_EVENTS };
        self.queue.send(weight, move |connection| write::put_blob(connection, &session, &name, &data))
    }

    fn blob(&self, session: SessionId, name: String) -> Reply<Option<Vec<u8>>> {
        self.ask(move |connection| read::blob(connection, &session, &name))
    }
}

impl Store for SqliteStore {
    fn find(&self, lookup: Lookup) -> Reply<Option<StoredSession>> {
        let queue = Arc::clone(&self.queue);
        self.ask(move |connection| {
            count(&queue, connection)?;
            Ok(read::find(connection, &lookup)?)
        })
    }

    fn update(&self, id: SessionId, update: SessionUpdate) -> Reply<StoredSession> {
        self.queue.send(ESSENTIAL, move |connection| write::update(connection, &id, &update))
    }

    fn list(&self, query: ListQuery) -> Reply<SessionPage> {
        let queue = Arc::clone(&self.queue);
        self.ask(move |connection| {
            count(&queue, connection)?;
            if query.text.is_some() {
                catch_up(&queue, connection)?;
            }
            Ok(read::list(connection, &query)?)
        })
    }

    fn search(&self, query: SearchQuery) -> Reply<Vec<Hit>> {
        let queue = Arc::clone(&self.queue);
        self.ask(move |connection| {
            catch_up(&queue, connection)?;
            read::search(connection, &query)
        })
    }

    fn space(&self) -> Space {
        if let Some(advice) = self.queue.health().complaint() {
            return Space::Unusable { advice };
        }
        self.queue.disk().space()
    }

    fn usage(&self) -> Reply<Usage> {
        let queue = Arc::clone(&self.queue);
        self.ask(move |connection| Ok(vacuum::usage(connection, queue.disk(), queue.database())?))
    }
}

/// Waits until the facts match the logs. If they cannot be written, as on a full disk, they stay outdated: better to
/// show those than none.
fn count(queue: &Queue, connection: &rusqlite::Connection) -> Result<(), write::Failure> {
    if heads::is_behind(connection)? {
        let _not_now = queue.send(ESSENTIAL, heads::catch_up).wait();
    }
    Ok(())
}

/// Waits until everything written before can be found. On a full disk the newest texts are not found: better to find
/// the others than none.
fn catch_up(queue: &Queue, connection: &rusqlite::Connection) -> Result<(), write::Failure> {
    if index::is_behind(connection)? {
        match queue.send(WITHOUT_EVENTS, index::catch_up).wait() {
            Ok(()) | Err(StoreError::Full(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SqliteStore").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.queue.close();
        // Readers end first, so that the writer's connection is the last one and can clean up.
        self.readers = None;
        if let Some(writer) = self.writer.take() {
            // If it panicked, all waiting callers were answered by broken promises.
            let _panicked = writer.join();
        }
        if self.queue.disk().is_full() {
            self.queue.disk().retake();
        }
        self.tails.close();
        self.wakes.close();
    }
}
