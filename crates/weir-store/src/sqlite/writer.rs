//! The one thread that writes. It takes all writes that wait, does them in one transaction, syncs once, and only
//! then answers each.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};

use super::open::Database;
use super::read;
use super::write::{self, Failure};
use crate::conversation::ConversationId;
use crate::error::StoreError;
use crate::reply::{Promise, Reply};
use crate::tail::{TailState, Tails};

/// One transaction takes no more than this, so that its memory and its pages in the write-ahead log are bounded.
const MAX_BATCH_BYTES: usize = 16 << 20;
const MAX_BATCH_WRITES: usize = 4096;
/// So many events of a deleted log are removed at a time, between other writes.
const PURGE_STEP: usize = 500;

/// What followers are told when a write is done.
#[derive(Debug)]
pub(super) struct Notice {
    pub(super) conversation: ConversationId,
    pub(super) end: TailState,
    pub(super) revision: u64,
}

/// A write. It can be done again, in case the transaction that it was part of fails.
trait Write: Send {
    /// Does it. A refusal is kept for the answer and is no failure.
    fn run(&mut self, connection: &Connection) -> rusqlite::Result<()>;
    /// Tells followers and answers, after the commit.
    fn acknowledge(self: Box<Self>, tails: &Tails);
    /// Answers that it was not done.
    fn fail(self: Box<Self>, error: StoreError);
}

struct Task<T, F> {
    operation: F,
    promise: Promise<T>,
    outcome: Option<Result<(T, Option<Notice>), StoreError>>,
}

impl<T, F> Write for Task<T, F>
where
    T: Send,
    F: FnMut(&Connection) -> Result<(T, Option<Notice>), Failure> + Send,
{
    fn run(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.outcome = Some(match (self.operation)(connection) {
            Ok(done) => Ok(done),
            Err(Failure::Refused(error)) => Err(error),
            Err(Failure::Database(error)) => return Err(error),
        });
        Ok(())
    }

    fn acknowledge(self: Box<Self>, tails: &Tails) {
        let answer = match self.outcome {
            Some(Ok((value, notice))) => {
                if let Some(notice) = notice {
                    tails.set(&notice.conversation, notice.end);
                    tails.set_revision(notice.revision);
                }
                Ok(value)
            }
            Some(Err(error)) => Err(error),
            None => Err(StoreError::Closed),
        };
        self.promise.answer(answer);
    }

    fn fail(self: Box<Self>, error: StoreError) {
        self.promise.answer(Err(error));
    }
}

struct Waiting {
    write: Box<dyn Write>,
    size: usize,
}

/// Writes that wait for the thread.
pub(super) struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
    limit: usize,
}

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    closed: bool,
}

impl Queue {
    pub(super) fn new(limit: usize) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), limit }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a write to the thread. Never blocks.
    pub(super) fn send<T: Send + 'static>(
        &self,
        size: usize,
        operation: impl FnMut(&Connection) -> Result<(T, Option<Notice>), Failure> + Send + 'static,
    ) -> Reply<T> {
        let (promise, reply) = Reply::promise();
        let mut state = self.lock();
        if state.closed {
            return Reply::ready(Err(StoreError::Closed));
        }
        // A write that is larger than the limit must still be possible.
        if state.bytes + size > self.limit && !state.waiting.is_empty() {
            return Reply::ready(Err(StoreError::Overloaded { waiting: state.bytes }));
        }
        state.bytes += size;
        state
            .waiting
            .push_back(Waiting { write: Box::new(Task { operation, promise, outcome: None }), size });
        drop(state);
        self.changed.notify_one();
        reply
    }

    /// Wakes the thread, so that it looks whether anybody follows a log now.
    pub(super) fn nudge(&self) {
        drop(self.lock());
        self.changed.notify_one();
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_one();
    }

    /// Nobody takes anything any more: whoever waits is told so.
    fn abandon(&self) {
        let mut state = self.lock();
        state.closed = true;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        drop(waiting);
    }

    /// The next batch; an empty one if there is nothing to write by then; none when all is done.
    fn take(&self, wait: Option<Duration>) -> Option<Vec<Box<dyn Write>>> {
        let mut state = self.lock();
        if state.waiting.is_empty() && !state.closed {
            state = match wait {
                Some(wait) if wait.is_zero() => state,
                Some(wait) => {
                    self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        if state.waiting.is_empty() && state.closed {
            return None;
        }
        let mut batch = Vec::new();
        let mut bytes = 0;
        while let Some(next) = state.waiting.front() {
            if batch.len() >= MAX_BATCH_WRITES || (bytes + next.size > MAX_BATCH_BYTES && !batch.is_empty()) {
                break;
            }
            let Some(next) = state.waiting.pop_front() else { break };
            bytes += next.size;
            batch.push(next.write);
        }
        state.bytes = state.bytes.saturating_sub(bytes);
        Some(batch)
    }
}

/// The thread's own.
pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) database: Database,
    pub(super) queue: Arc<Queue>,
    pub(super) tails: Arc<Tails>,
    pub(super) poll_interval: Duration,
}

impl Drop for Writer {
    /// Also when the thread panics.
    fn drop(&mut self) {
        self.queue.abandon();
    }
}

impl Writer {
    /// Writes until the queue is closed and empty.
    pub(super) fn run(mut self) {
        let mut purging = true;
        let mut seen = None;
        loop {
            let wait = match self.tails.followed() {
                _ if purging => Some(Duration::ZERO),
                Some(_) => Some(self.poll_interval),
                None => None,
            };
            let Some(batch) = self.queue.take(wait) else { break };
            if !batch.is_empty() {
                self.write(batch);
                purging = true;
            } else if purging {
                // What is left on a failure is tried again after the next write.
                purging = self.purge().unwrap_or(false);
            }
            self.look_for_others(&mut seen);
        }
    }

    fn write(&mut self, mut batch: Vec<Box<dyn Write>>) {
        let done =
            self.transaction(|connection| batch.iter_mut().try_for_each(|write| write.run(connection)));
        match done {
            Ok(()) => batch.into_iter().for_each(|write| write.acknowledge(&self.tails)),
            Err(error) => {
                let error = self.database.error(error);
                if batch.len() == 1 || matches!(error, StoreError::Locked { .. }) {
                    batch.into_iter().for_each(|write| write.fail(error.clone()));
                } else {
                    // One of them may be too much for the disk; the others need not suffer for it.
                    batch.into_iter().for_each(|write| self.write(vec![write]));
                }
            }
        }
    }

    fn transaction<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let value = work(&transaction)?;
        transaction.commit()?;
        Ok(value)
    }

    /// Removes a part of what was deleted. Tells whether there may be more.
    fn purge(&mut self) -> rusqlite::Result<bool> {
        let Some(number) = write::trash(&self.connection)? else { return Ok(false) };
        self.transaction(|connection| write::purge(connection, number, PURGE_STEP))?;
        Ok(true)
    }

    /// Tells followers what another process has written. This connection's own writes do not change the number.
    fn look_for_others(&self, seen: &mut Option<i64>) {
        let Some(followed) = self.tails.followed() else { return };
        let version = self.connection.pragma_query_value(None, "data_version", |row| row.get::<_, i64>(0));
        let Ok(version) = version else { return };
        if seen.replace(version) == Some(version) {
            return;
        }
        for id in followed {
            // An error here is met again, and reported, by whoever reads the log.
            if let Ok(newest) = read::newest(&self.connection, &id) {
                self.tails.set(&id, newest.map_or(TailState::Deleted, TailState::Newest));
            }
        }
        if let Ok(revision) = read::revision(&self.connection) {
            self.tails.set_revision(revision);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Queue;
    use crate::error::StoreError;

    #[test]
    fn when_the_thread_is_gone_nobody_waits() {
        let queue = Queue::new(100);
        let reply = queue.send(1, |_| Ok(((), None)));
        queue.abandon();
        assert!(matches!(reply.wait(), Err(StoreError::Closed)));
        assert!(matches!(queue.send(1, |_| Ok(((), None))).wait(), Err(StoreError::Closed)));
    }

    #[test]
    fn the_limit_refuses_but_never_the_only_one() {
        let queue = Queue::new(100);
        let large = queue.send(1_000, |_| Ok(((), None)));
        let refused = queue.send(1, |_| Ok(((), None)));
        assert!(matches!(refused.wait(), Err(StoreError::Overloaded { waiting: 1_000 })));
        drop(large);
    }
}
