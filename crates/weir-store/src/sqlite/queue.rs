//! Access to the one connection that writes: who uses it, and the writes waiting for it.
//!
//! A small write that finds the connection free and nothing waiting is done immediately, on the sending thread: two
//! thread switches take longer than such a write. Everything else waits for the writer. Either way, writes are done
//! in the order in which they were sent.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use rusqlite::Connection;

use super::disk::Disk;
use super::heads::KnownHeads;
use super::health::Health;
use super::open::{Database, LOCK_WAIT};
use super::task::{Done, Task, Write};
use crate::error::StoreError;
use crate::reply::Reply;
use crate::tail::Tails;

/// Limits for one transaction, so that its memory and its pages in the write-ahead log are bounded. It also takes no
/// more than the log may hold.
const MAX_BATCH_BYTES: usize = 16 << 20;
const MAX_BATCH_WRITES: usize = 4096;
/// Larger writes are left to the writer.
const MAX_AT_ONCE: usize = 64 << 10;
/// Approximate space a write takes in the write-ahead log apart from its events: the pages it changes.
const WRITE_OVERHEAD: u64 = 20 << 10;

/// The cost of a write.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weight {
    pub(super) bytes: usize,
    /// Texts to index.
    pub(super) texts: usize,
    /// Whether the sending thread may do it.
    pub(super) at_once: bool,
    /// Whether it is done even if the disk is full.
    pub(super) essential: bool,
}

/// The cost of completed writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) texts: u64,
    /// Approximate growth of the write-ahead log.
    pub(super) bytes: u64,
}

struct Waiting {
    write: Box<dyn Write>,
    weight: Weight,
}

/// Waiting writes, and the connection.
pub(super) struct Queue {
    /// Held while writing. It is locked before the state, or tried without waiting.
    connection: Mutex<Connection>,
    state: Mutex<State>,
    changed: Condvar,
    limit: usize,
    /// Whether a write completes without waiting for the disk, so that the sending thread may do it.
    at_once: bool,
    database: Database,
    disk: Arc<Disk>,
    health: Health,
    tails: Arc<Tails>,
    heads: Arc<KnownHeads>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    /// Since the writer last looked.
    written: Written,
    /// The writer sleeps until there is something to do.
    is_asleep: bool,
    closed: bool,
}

/// What the writer gets from the queue.
pub(super) enum Found {
    /// Writes, to be done in this order; empty after a timeout.
    Batch(Vec<Box<dyn Write>>),
    /// Everything is done, and nothing more will come.
    Closed,
}

impl Queue {
    pub(super) fn new(
        connection: Connection,
        database: Database,
        disk: Arc<Disk>,
        limit: usize,
        at_once: bool,
    ) -> Self {
        Self {
            // The file exists: the connection has it open.
            health: Health::of(&database.path),
            connection: Mutex::new(connection),
            state: Mutex::default(),
            changed: Condvar::new(),
            limit,
            at_once,
            database,
            disk,
            tails: Arc::new(Tails::new()),
            heads: Arc::default(),
        }
    }

    pub(super) fn tails(&self) -> &Arc<Tails> {
        &self.tails
    }

    pub(super) fn heads(&self) -> &Arc<KnownHeads> {
        &self.heads
    }

    pub(super) fn database(&self) -> &Database {
        &self.database
    }

    pub(super) fn disk(&self) -> &Disk {
        &self.disk
    }

    pub(super) fn health(&self) -> &Health {
        &self.health
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held and the state is inconsistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does a write, or queues it for the writer. Does not block in either case.
    pub(super) fn send<T: Send + 'static>(
        &self,
        weight: Weight,
        operation: impl FnMut(&Connection) -> Done<T> + Send + 'static,
    ) -> Reply<T> {
        if let Err(gone) = self.health.refuse_if_gone() {
            return Reply::ready(Err(gone));
        }
        if !weight.essential && self.disk.is_still_full() {
            return Reply::ready(Err(StoreError::Full(self.database.path.clone())));
        }
        let (promise, reply) = Reply::promise();
        let mut state = self.lock();
        if state.closed {
            return Reply::ready(Err(StoreError::Closed));
        }
        // A single write that is larger than the limit must still be possible.
        if state.bytes + weight.bytes > self.limit && !state.waiting.is_empty() {
            return Reply::ready(Err(StoreError::Overloaded { waiting: state.bytes }));
        }
        let write = Box::new(Task::new(operation, promise, weight.essential));
        // After many writes it is the writer's turn: the write-ahead log must not grow forever, and a busy sender
        // would always be first.
        let is_writers_turn = state.written.bytes > self.disk.wal_limit() / 2;
        let may_be_done = self.at_once && weight.at_once && weight.bytes <= MAX_AT_ONCE && !is_writers_turn;
        if may_be_done
            && state.waiting.is_empty()
            && let Some(connection) = self.free_connection()
        {
            drop(state);
            self.do_now(connection, write, weight);
            return reply;
        }
        state.wait_for_writer(Waiting { write, weight });
        drop(state);
        self.changed.notify_one();
        reply
    }

    fn free_connection(&self) -> Option<MutexGuard<'_, Connection>> {
        match self.connection.try_lock() {
            Ok(connection) => Some(connection),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn do_now(&self, connection: MutexGuard<'_, Connection>, mut write: Box<dyn Write>, weight: Weight) {
        // If another process is writing, the writer waits for it and not the sender.
        let done = connection
            .busy_timeout(Duration::ZERO)
            .and_then(|()| transaction(&connection, |connection| write.run(connection)));
        let error = match done.map_err(|error| self.database.error(error)) {
            Ok(()) => {
                drop(connection);
                self.health.note_success();
                if self.lock().note(weight, self.disk.wal_limit() / 2) {
                    self.changed.notify_one();
                }
                return write.acknowledge(self);
            }
            Err(error) => error,
        };
        let is_full = matches!(error, StoreError::Full(_));
        if is_full {
            self.disk.note_failure();
        }
        self.health.note_failure(&error);
        let writer_can_do_it = matches!(error, StoreError::Locked { .. }) || (is_full && weight.essential);
        if !writer_can_do_it {
            drop(connection);
            // From now on the writer watches the disk.
            self.nudge();
            return write.fail(error);
        }
        // Ahead of writes sent in the meantime: the writer takes nothing without the connection.
        self.lock().push_front(Waiting { write, weight });
        drop(connection);
        self.changed.notify_one();
    }

    /// Waits for the connection. For the writer: its statements wait for other processes.
    pub(super) fn connection(&self) -> MutexGuard<'_, Connection> {
        // A panic in a write has rolled back its transaction.
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        // This only sets a value, and cannot fail.
        let _ = connection.busy_timeout(LOCK_WAIT);
        connection
    }

    /// Waits for at most this long until there is something to write; without a timeout, also until another thread
    /// has written something. The connection is not held meanwhile.
    pub(super) fn wait(&self, timeout: Option<Duration>) {
        let mut state = self.lock();
        if !state.waiting.is_empty() || state.closed {
            return;
        }
        match timeout {
            Some(timeout) if timeout.is_zero() => {}
            Some(timeout) => drop(self.changed.wait_timeout(state, timeout)),
            None => {
                state.is_asleep = state.written == Written::default();
                drop(self.changed.wait_while(state, |state| state.is_asleep));
            }
        }
    }

    /// The next batch, for the thread that holds the connection.
    pub(super) fn take(&self, _: &MutexGuard<'_, Connection>) -> Found {
        let mut state = self.lock();
        if state.waiting.is_empty() && state.closed {
            return Found::Closed;
        }
        let mut batch = Vec::new();
        let mut bytes = 0;
        let most = usize::try_from(self.disk.wal_limit()).unwrap_or(usize::MAX).min(MAX_BATCH_BYTES);
        while let Some(next) = state.waiting.front() {
            let size = next.weight.bytes;
            if batch.len() >= MAX_BATCH_WRITES || (bytes + size > most && !batch.is_empty()) {
                break;
            }
            let Some(next) = state.waiting.pop_front() else { break };
            bytes += size;
            state.written.add(next.weight);
            batch.push(next.write);
        }
        state.bytes = state.bytes.saturating_sub(bytes);
        Found::Batch(batch)
    }

    /// Returns what was written since the last call.
    pub(super) fn written(&self) -> Written {
        std::mem::take(&mut self.lock().written)
    }

    /// Wakes the writer, so that it checks whether any log has viewers now.
    pub(super) fn nudge(&self) {
        self.lock().is_asleep = false;
        self.changed.notify_one();
    }

    /// Accepts no more writes. Waiting ones are still done.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.is_asleep = false;
        drop(state);
        self.changed.notify_one();
    }

    /// Fails all waiting writes, because the writer has ended.
    pub(super) fn abandon(&self) {
        let mut state = self.lock();
        state.closed = true;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        drop(waiting);
    }
}

impl State {
    fn wait_for_writer(&mut self, waiting: Waiting) {
        self.bytes += waiting.weight.bytes;
        self.waiting.push_back(waiting);
        self.is_asleep = false;
    }

    fn push_front(&mut self, waiting: Waiting) {
        self.bytes += waiting.weight.bytes;
        self.waiting.push_front(waiting);
        self.is_asleep = false;
    }

    /// Records a write by another thread than the writer. Returns whether the writer has to be woken, since it
    /// manages the write-ahead log.
    fn note(&mut self, weight: Weight, max_bytes: u64) -> bool {
        self.written.add(weight);
        std::mem::take(&mut self.is_asleep) || self.written.bytes > max_bytes
    }
}

impl Written {
    fn add(&mut self, weight: Weight) {
        self.texts += weight.texts as u64;
        self.bytes += weight.bytes as u64 + WRITE_OVERHEAD;
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.texts += other.texts;
        self.bytes += other.bytes;
    }
}

/// Does all of the work or nothing.
pub(super) fn transaction<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    // Prepared: parsing this each time would take longer than some of the work.
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let unfinished = Unfinished(connection);
    let value = work(unfinished.0)?;
    unfinished.0.prepare_cached("COMMIT")?.execute([])?;
    Ok(value)
}

/// Rolls back unless it was committed.
struct Unfinished<'a>(&'a Connection);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit() {
            // If that fails too, the next transaction cannot begin and reports it.
            let _ = self.0.execute_batch("ROLLBACK");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rusqlite::TransactionBehavior;

    use super::*;
    use crate::sqlite::SqliteOptions;

    const SMALL: Weight = Weight { bytes: 1, texts: 0, at_once: true, essential: false };

    fn queue(folder: &tempfile::TempDir, limit: usize) -> Queue {
        let database = Database { path: folder.path().join("weir.db") };
        let connection = database.open_writer(&SqliteOptions::default()).unwrap();
        let disk = Arc::new(Disk::new(&database.path, 0));
        Queue::new(connection, database, disk, limit, true)
    }

    #[test]
    fn when_the_writer_is_gone_no_caller_waits() {
        let folder = tempfile::tempdir().unwrap();
        let queue = queue(&folder, 100);
        let reply = queue.send(Weight { at_once: false, ..SMALL }, |_| Ok(((), None)));
        queue.abandon();
        assert!(matches!(reply.wait(), Err(StoreError::Closed)));
        assert!(matches!(queue.send(SMALL, |_| Ok(((), None))).wait(), Err(StoreError::Closed)));
    }

    #[test]
    fn the_limit_never_refuses_the_only_write() {
        let folder = tempfile::tempdir().unwrap();
        let queue = queue(&folder, 100);
        let large = queue.send(Weight { bytes: 1_000, at_once: false, ..SMALL }, |_| Ok(((), None)));
        let refused = queue.send(SMALL, |_| Ok(((), None)));
        assert!(matches!(refused.wait(), Err(StoreError::Overloaded { waiting: 1_000 })));
        drop(large);
    }

    #[test]
    fn a_small_write_needs_no_writer_if_nothing_waits() {
        let folder = tempfile::tempdir().unwrap();
        let queue = queue(&folder, 100);
        assert_eq!(queue.send(SMALL, |_| Ok((7, None))).wait().unwrap(), 7);
        // No writer takes this one, and later writes queue up behind it.
        let first = queue.send(Weight { at_once: false, ..SMALL }, |_| Ok((1, None)));
        let second = queue.send(SMALL, |_| Ok((2, None)));
        let connection = queue.connection();
        let Found::Batch(batch) = queue.take(&connection) else { panic!("closed") };
        assert_eq!(batch.len(), 2);
        drop((batch, connection, first, second));
    }

    #[test]
    fn a_panic_breaks_its_promise_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let queue = queue(&folder, 100);
        let broken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            queue.send::<()>(SMALL, |connection| {
                connection.execute("UPDATE meta SET value = 99 WHERE name = 'revision'", []).unwrap();
                panic!("on purpose")
            })
        }));
        assert!(broken.is_err());
        let revision = queue.send(SMALL, |connection| {
            let sql = "SELECT value FROM meta WHERE name = 'revision'";
            Ok((connection.query_row(sql, [], |row| row.get::<_, i64>(0))?, None))
        });
        assert_eq!(revision.wait().unwrap(), 0);
    }

    #[test]
    fn while_another_process_writes_a_write_keeps_its_place_in_the_queue() {
        let folder = tempfile::tempdir().unwrap();
        let queue = queue(&folder, 100);
        let mut other = Connection::open(folder.path().join("weir.db")).unwrap();
        let theirs = other.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&runs);
        let reply = queue.send(SMALL, move |_| Ok((counted.fetch_add(1, Ordering::SeqCst), None)));
        assert_eq!(runs.load(Ordering::SeqCst), 0);
        drop(theirs);
        let connection = queue.connection();
        let Found::Batch(batch) = queue.take(&connection) else { panic!("closed") };
        for mut write in batch {
            transaction(&connection, |connection| write.run(connection)).unwrap();
            write.acknowledge(&queue);
        }
        assert_eq!(reply.wait().unwrap(), 0);
    }
}
