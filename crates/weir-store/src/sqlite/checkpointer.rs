//! Moves the contents of the write-ahead log into the file, on a separate thread and connection: it waits for the
//! disk so that no write has to.

use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use super::disk::Disk;
use super::open::{Database, LOCK_WAIT};
use super::queue::Written;
use super::read_gate::ReadGate;
use crate::error::StoreError;

/// How long the writer waits for readers, which read one page at a time.
const READER_WAIT: Duration = Duration::from_millis(500);

/// The checkpoint thread and its work.
pub(super) struct Checkpointer {
    database: Database,
    readers: Arc<ReadGate>,
    thread: Option<(SyncSender<()>, JoinHandle<()>)>,
    /// Held during each checkpoint of this process. SQLite waits for readers, but refuses a checkpoint while another
    /// one runs: without turns the thread would keep the writer from ever cutting the log off.
    turn: Arc<Mutex<()>>,
    /// Written since the thread was last woken.
    written: Written,
    /// Limit for the length of the write-ahead log. At a quarter of it the thread starts, even if it is not quiet. If
    /// the thread cannot keep up because there is always a write or a read in progress, the writer cuts the log off:
    /// it waits for readers, and other writes wait for it.
    limit: u64,
    /// The length at which the writer does so: the limit, or more after a failed attempt, because a long-running
    /// reader should not be waited for every time.
    too_much: u64,
}

impl Checkpointer {
    pub(super) fn start(
        database: Database,
        readers: Arc<ReadGate>,
        disk: Arc<Disk>,
    ) -> Result<Self, StoreError> {
        let connection = database.open_checkpointer()?;
        let (sender, begin) = sync_channel(1);
        let (turn, limit) = (Arc::new(Mutex::new(())), disk.wal_limit());
        let turns = Arc::clone(&turn);
        let run = move || {
            for () in begin {
                let _turn = lock(&turns);
                // On a full disk the writer does it: the space of the reserve is for what it writes.
                if !disk.is_full() {
                    // If this fails, it is done the next time, at the latest when the file is closed.
                    let _ = checkpoint(&connection);
                }
            }
        };
        let thread = std::thread::Builder::new().name("weir-store-checkpoint".to_owned());
        let thread = thread.spawn(run).map_err(|source| database.no_thread(source))?;
        Ok(Self {
            database,
            readers,
            thread: Some((sender, thread)),
            turn,
            written: Written::default(),
            limit,
            too_much: limit,
        })
    }

    /// Whether something was written since the thread was last woken.
    pub(super) fn has_work(&self) -> bool {
        self.written != Written::default()
    }

    /// Accounts for what was written and wakes the thread if it is due, which it also is in a quiet moment.
    pub(super) fn note_written(&mut self, writer: &Connection, written: Written, is_quiet: bool) {
        self.written.merge(written);
        // Postponed work such as indexing grows the log too, without being counted.
        let length = self.database.wal_length();
        if length > self.too_much {
            let _turn = lock(&self.turn);
            // Nothing is written meanwhile, so this leaves nothing to move while readers wait. If it fails, so does
            // cutting the log off.
            let _ = checkpoint(writer);
            let cut = self.readers.while_closed(READER_WAIT, || cut_off(writer, Cut::Truncate));
            let is_cut = matches!(cut, Ok(true));
            self.too_much = if is_cut { self.limit } else { length + self.limit };
        }
        if !(is_quiet && self.has_work() || self.written.bytes >= self.limit / 4) {
            return;
        }
        if let Some((sender, _)) = &self.thread
            && !matches!(sender.try_send(()), Err(TrySendError::Full(())))
        {
            self.written = Written::default();
        }
    }
}

impl Checkpointer {
    /// Cuts the log off when the thread is not in the middle of a checkpoint.
    pub(super) fn cut_off(&self, writer: &Connection, cut: Cut) -> rusqlite::Result<bool> {
        let _turn = lock(&self.turn);
        cut_off(writer, cut)
    }
}

fn lock(turn: &Mutex<()>) -> MutexGuard<'_, ()> {
    // It protects no data.
    turn.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Checkpointer {
    /// Ends the thread first, so that the writer's connection is the last one.
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.thread.take() {
            drop(sender);
            // A panic there did no harm here.
            let _ = thread.join();
        }
    }
}

/// What happens to the disk space of the write-ahead log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// It is returned to the disk.
    Truncate,
    /// It is kept for the next writes: on a full disk another program might take it.
    Keep,
}

/// Moves everything into the file and restarts the write-ahead log, unless a reader uses it for too long. Returns
/// whether it did. For the writing connection, outside a transaction.
pub(super) fn cut_off(writer: &Connection, cut: Cut) -> rusqlite::Result<bool> {
    let sql = match cut {
        Cut::Truncate => "PRAGMA wal_checkpoint(TRUNCATE)",
        Cut::Keep => "PRAGMA wal_checkpoint(RESTART)",
    };
    writer.busy_timeout(READER_WAIT)?;
    let is_busy = writer.query_row(sql, [], |row| row.get::<_, bool>(0));
    writer.busy_timeout(LOCK_WAIT)?;
    Ok(!is_busy?)
}

/// Moves as much as possible without making any reader or writer wait.
fn checkpoint(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}
