//! Moves what was written from the write-ahead log into the file, in a thread and on a connection of its own: it waits
//! for the disk, and no write waits for it.

use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use super::open::{Database, LOCK_WAIT};
use super::queue::Written;
use crate::error::StoreError;

/// How long the writer waits for those who read. They read a page at a time.
const READERS: Duration = Duration::from_millis(500);

/// The thread, and what it has to do.
pub(super) struct Checkpointer {
    database: Database,
    thread: Option<(SyncSender<()>, JoinHandle<()>)>,
    /// Written since the thread was last told to begin.
    written: Written,
    /// How long the write-ahead log may become. A quarter of it is moved while it is not quiet. Where the thread cannot
    /// keep up, because something is always written or read in between, the writer cuts it off and waits for those who
    /// read; others wait for the writer.
    limit: u64,
    /// The length from which on the writer does so: the limit, or more after a try that failed, because somebody reads for
    /// long and is not to be waited for each time.
    too_much: u64,
}

impl Checkpointer {
    pub(super) fn start(database: Database, limit: u64) -> Result<Self, StoreError> {
        let connection = database.open_checkpointer()?;
        let (sender, begin) = sync_channel(1);
        let run = move || {
            for () in begin {
                // What fails now is done the next time, and at the latest when the file is closed.
                let _ = checkpoint(&connection);
            }
        };
        let thread = std::thread::Builder::new().name("weir-store-checkpoint".to_owned());
        let thread = thread.spawn(run).map_err(|source| database.no_thread(source))?;
        Ok(Self {
            database,
            thread: Some((sender, thread)),
            written: Written::default(),
            limit,
            too_much: limit,
        })
    }

    /// Whether something was written that the thread was not told of.
    pub(super) fn has_work(&self) -> bool {
        self.written != Written::default()
    }

    /// Looks at what was written. A quiet moment is a good one.
    pub(super) fn look(&mut self, writer: &Connection, written: Written, is_quiet: bool) {
        self.written.merge(written);
        if !(is_quiet && self.has_work() || self.written.bytes >= self.limit / 4) {
            return;
        }
        let length = self.database.wal_length();
        if length > self.too_much {
            let is_cut = matches!(cut_off(writer, Cut::Short), Ok(true));
            self.too_much = if is_cut { self.limit } else { length + self.limit };
        }
        if let Some((sender, _)) = &self.thread
            && !matches!(sender.try_send(()), Err(TrySendError::Full(())))
        {
            self.written = Written::default();
        }
    }
}

impl Drop for Checkpointer {
    /// The writer's connection is to be the last one.
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.thread.take() {
            drop(sender);
            // A panic there has done no harm here.
            let _ = thread.join();
        }
    }
}

/// What becomes of the space of the write-ahead log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// It is given back to the disk.
    Short,
    /// It is kept for what is written next: on a full disk another program might take it.
    Kept,
}

/// Moves everything into the file and begins the write-ahead log anew, if nobody reads from it for long. Tells whether it
/// did. For the connection that writes, outside a transaction.
pub(super) fn cut_off(writer: &Connection, cut: Cut) -> rusqlite::Result<bool> {
    let sql = match cut {
        Cut::Short => "PRAGMA wal_checkpoint(TRUNCATE)",
        Cut::Kept => "PRAGMA wal_checkpoint(RESTART)",
    };
    writer.busy_timeout(READERS)?;
    let is_busy = writer.query_row(sql, [], |row| row.get::<_, bool>(0));
    writer.busy_timeout(LOCK_WAIT)?;
    Ok(!is_busy?)
}

/// Moves as much as is possible without making anybody wait.
fn checkpoint(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}
