//! What all parts of the log share, and reading records from the leader.

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_nats::Client;
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::Stream;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use weir_store::{Check, Reply, SessionId, StoreError, TailState, Tails, Wakes};

use crate::connect::JetStreamOptions;
use crate::driver::Sent;
use crate::headers::{self, Parts};
use crate::names::Names;
use crate::record::{Kind, Placed};
use crate::request;

/// What all parts of the log share.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) client: Client,
    pub(crate) log: Stream,
    pub(crate) parts: Stream,
    pub(crate) leases: Stream,
    pub(crate) names: Names,
    pub(crate) epoch: String,
    pub(crate) check: Check,
    pub(crate) options: JetStreamOptions,
    pub(crate) runtime: Handle,
    pub(crate) tails: Tails,
    pub(crate) wakes: Wakes,
    /// The tasks that write, by session.
    pub(crate) writers: Mutex<HashMap<SessionId, mpsc::UnboundedSender<Sent>>>,
    /// Bytes that wait to be written.
    pub(crate) waiting: AtomicUsize,
    /// Where the last page of a session ended: the number of its newest event, and the record that has it.
    pub(crate) places: Mutex<HashMap<SessionId, (u64, u64)>>,
}

/// A record as it was read; its body may be in parts.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) placed: Placed,
    pub(crate) parts: Option<Parts>,
    pub(crate) payload: bytes::Bytes,
}

impl Read {
    pub(crate) fn of(message: StreamMessage) -> Result<Self, StoreError> {
        let (head, parts) = headers::read(&message.headers)?;
        Ok(Self { placed: Placed { position: message.sequence, head }, parts, payload: message.payload })
    }
}

impl Core {
    pub(crate) fn writers(&self) -> MutexGuard<'_, HashMap<SessionId, mpsc::UnboundedSender<Sent>>> {
        self.writers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn places(&self) -> MutexGuard<'_, HashMap<SessionId, (u64, u64)>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers when the work is done, in a task.
    pub(crate) fn answer<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Reply<T> {
        let (promise, reply) = Reply::promise();
        self.runtime.spawn(async move { promise.answer(work.await) });
        reply
    }

    /// The last record of a session, also if it says that the session was deleted.
    pub(crate) async fn last(&self, session: &SessionId) -> Result<Option<Read>, StoreError> {
        let found = request::last(&self.log, &self.names.log(session)).await?;
        found.map(Read::of).transpose()
    }

    /// The last record of a session that exists.
    pub(crate) async fn alive(&self, session: &SessionId) -> Result<Read, StoreError> {
        let last = self.last(session).await?.filter(|last| last.placed.head.kind != Kind::Deleted);
        last.ok_or_else(|| StoreError::NotFound(session.clone()))
    }

    /// The first record of a session from this position on.
    pub(crate) async fn next(&self, session: &SessionId, from: u64) -> Result<Option<Read>, StoreError> {
        let found = request::next(&self.log, &self.names.log(session), from).await?;
        found.map(Read::of).transpose()
    }

    /// The record at this position.
    pub(crate) async fn at(&self, position: u64) -> Result<Option<Read>, StoreError> {
        request::at(&self.log, position).await?.map(Read::of).transpose()
    }

    /// The whole body of a record.
    pub(crate) async fn body(&self, read: &Read) -> Result<bytes::Bytes, StoreError> {
        match &read.parts {
            None => Ok(read.payload.clone()),
            Some(parts) => self.get_parts(read.placed.head.born, read.placed.head.id, parts).await,
        }
    }

    /// Tells readers about a record.
    pub(crate) fn tell(&self, session: &SessionId, placed: &Placed) {
        let end = match placed.head.kind {
            Kind::Created | Kind::Events => TailState::Newest(placed.head.newest),
            Kind::Deleted => TailState::Deleted,
        };
        self.tails.set(session, end);
        self.tails.set_revision(placed.position);
    }
}
