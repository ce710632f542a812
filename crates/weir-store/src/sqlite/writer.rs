//! The thread that writes. It takes all waiting writes, does them in one transaction, syncs once, and only then
//! replies to each. Work that can wait (counting facts, indexing, removing deleted logs, the write-ahead log) is done
//! while there is nothing else to write.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::checkpointer::{Checkpointer, Cut};
use super::disk::Spend;
use super::queue::{Found, Queue, Written, transaction};
use super::task::Write;
use super::{heads, index, read, vacuum, write};
use crate::error::StoreError;
use crate::tail::TailState;

/// Events of a deleted log removed at a time, between other writes.
const PURGE_STEP: usize = 500;
/// The same on a full disk, where a transaction must be small.
const SMALL_PURGE_STEP: usize = 32;
/// How often a disk that is full or failing is checked while nothing is written.
const DISK_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How long it must be quiet before postponed work is done.
const QUIET: Duration = Duration::from_millis(250);
/// How many texts may wait for the index if it is never quiet. Beyond it all of them are indexed: one write in
/// thousands waits.
const MAX_UNINDEXED: u64 = 4096;

/// State of the writer thread.
pub(super) struct Writer {
    pub(super) queue: Arc<Queue>,
    pub(super) checkpointer: Checkpointer,
    pub(super) poll_interval: Duration,
}

/// Work for a quiet moment.
struct Chores {
    /// Parts of deleted logs may exist. They are removed between other writes: the space may be needed.
    trash: bool,
    /// There may be free space inside the file.
    vacuum: bool,
    /// Something was deleted on a full disk: its space must become free, whatever that takes.
    frees: bool,
    /// Facts may have to be counted.
    heads: bool,
    /// Texts may wait for the index.
    index: bool,
    /// Number of texts waiting from our own writes.
    texts: u64,
    last_write: Option<Instant>,
}

impl Chores {
    fn is_quiet(&self) -> bool {
        self.last_write.is_none_or(|at| at.elapsed() >= QUIET)
    }

    fn is_index_due(&self) -> bool {
        self.index && (self.texts > MAX_UNINDEXED || self.is_quiet())
    }

    fn are_heads_due(&self) -> bool {
        self.heads && self.is_quiet()
    }

    fn is_vacuum_due(&self) -> bool {
        self.vacuum && self.is_quiet()
    }

    fn note(&mut self, written: Written) {
        self.index |= written.texts > 0;
        self.texts += written.texts;
        if written != Written::default() {
            self.heads = true;
            self.last_write = Some(Instant::now());
        }
    }
}

impl Drop for Writer {
    /// Runs even if the thread panics.
    fn drop(&mut self) {
        self.queue.abandon();
    }
}

impl Writer {
    /// Writes until the queue is closed and empty.
    pub(super) fn run(mut self) {
        // An earlier process may have left work.
        let mut chores = Chores {
            trash: true,
            vacuum: true,
            frees: false,
            heads: true,
            index: true,
            texts: 0,
            last_write: None,
        };
        let mut seen = None;
        loop {
            self.queue.wait(self.wait_time(&chores));
            let queue = Arc::clone(&self.queue);
            let connection = queue.connection();
            let batch = match queue.take(&connection) {
                Found::Batch(batch) => batch,
                Found::Closed => {
                    // A closed file should have current facts. If this fails, the next process to open it counts.
                    let _not_now = heads::step(&connection);
                    return;
                }
            };
            let is_full = queue.disk().is_full();
            chores.frees &= is_full;
            if !batch.is_empty() {
                self.write(&connection, batch);
                chores.trash = true;
            } else if queue.health().is_failing() {
                // Nothing else is done until a write succeeds again.
                self.probe(&connection);
            } else if chores.trash {
                // After a failure the rest is tried again after the next write.
                chores.trash = self.purge(&connection).unwrap_or(false);
                chores.frees |= is_full && chores.trash;
                chores.vacuum = true;
            } else if chores.vacuum && is_full || chores.is_vacuum_due() {
                let step = || vacuum::step(&connection, is_full);
                chores.vacuum = self.with_room(Spend::All, step).unwrap_or(false);
                if is_full {
                    self.relieve(&connection, chores.frees);
                } else if !chores.vacuum {
                    // The file becomes shorter when the write-ahead log has been moved into it, or later if a reader
                    // is active.
                    let _not_now = self.checkpointer.cut_off(&connection, Cut::Truncate);
                }
            } else if is_full {
                // Postponed work is not done. The reserve is allocated again when there is space.
                self.relieve(&connection, chores.frees);
                queue.disk().set_free_inside(vacuum::unreturnable(&connection).unwrap_or(0));
                // Retry removing what could not be removed before.
                chores.trash = queue.disk().recover();
            } else if chores.are_heads_due() {
                // If this fails, facts are counted when they are requested.
                let _not_now = heads::step(&connection);
                chores.heads = false;
            } else if chores.is_index_due() {
                let step = if chores.is_quiet() { index::SMALL_STEP } else { index::LARGE_STEP };
                chores.index = index::step(&connection, step).unwrap_or(false);
                chores.texts = if chores.index { chores.texts } else { 0 };
            }
            let written = queue.written();
            chores.note(written);
            self.checkpointer.note_written(&connection, written, chores.is_quiet());
            self.poll_other_processes(&connection, &mut seen);
        }
    }

    /// How long to wait for a write before doing postponed work.
    fn wait_time(&self, chores: &Chores) -> Option<Duration> {
        let polls = self.queue.tails().followed().map(|_| self.poll_interval);
        if self.queue.health().is_failing() {
            Some(DISK_CHECK_INTERVAL)
        } else if self.queue.disk().is_full() {
            let is_busy = chores.trash || chores.vacuum;
            Some(if is_busy { Duration::ZERO } else { DISK_CHECK_INTERVAL })
        } else if chores.trash || chores.are_heads_due() || chores.is_index_due() || chores.is_vacuum_due() {
            Some(Duration::ZERO)
        } else if chores.heads || chores.index || chores.vacuum || self.checkpointer.has_work() {
            Some(polls.map_or(QUIET, |polls| polls.min(QUIET)))
        } else {
            polls
        }
    }

    fn write(&self, connection: &Connection, mut batch: Vec<Box<dyn Write>>) {
        let is_essential = batch.len() == 1 && batch.iter().all(|write| write.is_essential());
        let mut attempt = || {
            transaction(connection, |connection| batch.iter_mut().try_for_each(|write| write.run(connection)))
        };
        let done = if is_essential { self.with_room(Spend::All, attempt) } else { attempt() };
        match done {
            Ok(()) => {
                self.queue.health().note_success();
                batch.into_iter().for_each(|write| write.acknowledge(&self.queue));
            }
            Err(error) => {
                let error = self.queue.database().error(error);
                self.queue.health().note_failure(&error);
                if matches!(error, StoreError::Full(_)) {
                    self.queue.disk().note_failure();
                }
                if batch.len() == 1 || matches!(error, StoreError::Locked { .. }) {
                    batch.into_iter().for_each(|write| write.fail(error.clone()));
                } else {
                    // One of them may be too large for the disk; the others should not fail because of it.
                    batch.into_iter().for_each(|write| self.write(connection, vec![write]));
                }
            }
        }
    }

    /// Writes something, to find out whether the disk works again. The value must be new, or SQLite does not write
    /// it.
    fn probe(&self, connection: &Connection) {
        let sql = "INSERT OR REPLACE INTO meta VALUES ('probe', lower(hex(randomblob(8))))";
        match transaction(connection, |connection| connection.execute(sql, [])) {
            Ok(_) => self.queue.health().note_success(),
            Err(error) => self.queue.health().note_failure(&self.queue.database().error(error)),
        }
    }

    /// Removes part of what was deleted. Returns whether there may be more.
    fn purge(&self, connection: &Connection) -> rusqlite::Result<bool> {
        let Some(number) = write::trash(connection)? else { return Ok(false) };
        let is_full = self.queue.disk().is_full();
        let max_events = if is_full { SMALL_PURGE_STEP } else { PURGE_STEP };
        self.with_room(Spend::All, || {
            transaction(connection, |connection| write::purge(connection, number, max_events))
        })?;
        if is_full {
            self.relieve(connection, true);
        }
        Ok(true)
    }

    /// On a full disk, moves the write-ahead log into the file. The space of a long log is returned; that of a short
    /// one is kept for essential writes. What was given up for it and is free afterwards becomes part of the reserve
    /// again.
    fn relieve(&self, connection: &Connection, must_free: bool) {
        let disk = self.queue.disk();
        let length = self.queue.database().wal_length();
        let cut = if length > disk.wal_limit() / 2 { Cut::Truncate } else { Cut::Keep };
        // In one piece: an attempt that fails has written most of the log, and leaves time to other programs.
        let spend = if must_free { Spend::AllInPiecesOf(length) } else { Spend::HalfInPiecesOf(length) };
        // If this fails, it is tried again a moment later.
        let _not_now = self.with_room(spend, || self.checkpointer.cut_off(connection, cut));
        disk.retake();
    }

    /// Does work that must be possible on a full disk: retries as long as there is a reserve to give up.
    fn with_room<T>(
        &self,
        spend: Spend,
        mut work: impl FnMut() -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        loop {
            let error = match work() {
                Err(error) if self.queue.database().is_full(&error) => error,
                done => return done,
            };
            let disk = self.queue.disk();
            disk.note_failure();
            if !disk.is_full() || !disk.give_up(spend) {
                return Err(error);
            }
        }
    }

    /// Tells viewers what other processes have written. This connection's own writes do not change the number.
    fn poll_other_processes(&self, connection: &Connection, seen: &mut Option<i64>) {
        let tails = self.queue.tails();
        let Some(followed) = tails.followed() else { return };
        let version = connection.pragma_query_value(None, "data_version", |row| row.get::<_, i64>(0));
        let Ok(version) = version else { return };
        if seen.replace(version) == Some(version) {
            return;
        }
        for id in followed {
            // A reader of the log will meet and report the same error.
            if let Ok(newest) = read::newest(connection, &id) {
                tails.set(&id, newest.map_or(TailState::Deleted, TailState::Newest));
            }
        }
        if let Ok(revision) = read::revision(connection) {
            tails.set_revision(revision);
        }
    }
}
