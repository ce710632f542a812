//! Moves what was written from the write-ahead log into the file, in a thread and on a connection of its own: it waits
//! for the disk, and no write waits for it.

use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::open::Database;
use super::queue::Written;
use crate::error::StoreError;

/// So much may stand in the write-ahead log before it is moved, while it is not quiet.
const ENOUGH: u64 = 4 << 20;
/// Where the thread cannot keep up, because something is always written in between, the writer does it. Others wait.
const TOO_MUCH: u64 = 64 << 20;

/// The thread, and what it has to do.
pub(super) struct Checkpointer {
    database: Database,
    thread: Option<(SyncSender<()>, JoinHandle<()>)>,
    /// Written since the thread was last told to begin.
    written: Written,
}

impl Checkpointer {
    pub(super) fn start(database: Database) -> Result<Self, StoreError> {
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
        Ok(Self { database, thread: Some((sender, thread)), written: Written::default() })
    }

    /// Whether something was written that the thread was not told of.
    pub(super) fn has_work(&self) -> bool {
        self.written != Written::default()
    }

    /// Looks at what was written. A quiet moment is a good one.
    pub(super) fn look(&mut self, writer: &Connection, written: Written, is_quiet: bool) {
        self.written.merge(written);
        if !(is_quiet && self.has_work() || self.written.bytes >= ENOUGH) {
            return;
        }
        if self.length() > TOO_MUCH {
            // As above.
            let _ = checkpoint(writer);
        }
        if let Some((sender, _)) = &self.thread
            && !matches!(sender.try_send(()), Err(TrySendError::Full(())))
        {
            self.written = Written::default();
        }
    }

    fn length(&self) -> u64 {
        let mut name = self.database.path.clone().into_os_string();
        name.push("-wal");
        std::fs::metadata(name).map_or(0, |file| file.len())
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

/// Moves as much as is possible without making anybody wait.
fn checkpoint(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}
