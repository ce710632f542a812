//! A write in progress: what it does, and who waits for it.

use rusqlite::Connection;

use super::heads::Grown;
use super::queue::Queue;
use super::write::Failure;
use crate::error::StoreError;
use crate::reply::Promise;
use crate::session::SessionId;
use crate::tail::TailState;

/// What viewers are told when a write is done.
#[derive(Debug)]
pub(super) struct Notice {
    pub(super) session: SessionId,
    pub(super) end: TailState,
    /// `None` if viewers were already told of this revision.
    pub(super) revision: Option<u64>,
    /// For the next append, if nothing but events was written.
    pub(super) grown: Option<Grown>,
}

/// The result of a write, and what viewers are told about it.
pub(super) type Done<T> = Result<(T, Option<Notice>), Failure>;

/// A write. It can be run again if its transaction fails.
pub(super) trait Write: Send {
    /// Runs it. A refusal is kept for the reply and is not a failure.
    fn run(&mut self, connection: &Connection) -> rusqlite::Result<()>;
    /// Notifies viewers and replies, after the commit.
    fn acknowledge(self: Box<Self>, queue: &Queue);
    /// Replies that it was not done.
    fn fail(self: Box<Self>, error: StoreError);
    /// Whether it is done even if the disk is full.
    fn is_essential(&self) -> bool;
}

pub(super) struct Task<T, F> {
    operation: F,
    promise: Promise<T>,
    essential: bool,
    outcome: Option<Result<(T, Option<Notice>), StoreError>>,
}

impl<T, F> Task<T, F> {
    pub(super) fn new(operation: F, promise: Promise<T>, essential: bool) -> Self {
        Self { operation, promise, essential, outcome: None }
    }
}

impl<T, F> Write for Task<T, F>
where
    T: Send,
    F: FnMut(&Connection) -> Done<T> + Send,
{
    fn run(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.outcome = Some(match (self.operation)(connection) {
            Ok(done) => Ok(done),
            Err(Failure::Refused(error)) => Err(error),
            Err(Failure::Database(error)) => return Err(error),
        });
        Ok(())
    }

    fn acknowledge(self: Box<Self>, queue: &Queue) {
        let answer = match self.outcome {
            Some(Ok((value, notice))) => {
                if let Some(notice) = notice {
                    queue.tails().set(&notice.session, notice.end);
                    if let Some(revision) = notice.revision {
                        queue.tails().set_revision(revision);
                    }
                    if let Some(grown) = &notice.grown {
                        queue.heads().note(notice.session, grown);
                    }
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

    fn is_essential(&self) -> bool {
        self.essential
    }
}
