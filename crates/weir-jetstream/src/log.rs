//! [`JetStreamLog`]: the log on a cluster.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use weir_store::{
    Acquired, Append, Appended, Check, Checkpoint, CheckpointQuery, Event, EventPage, Lease, LeaseRequest,
    Log, NewStoredSession, ReadQuery, Reply, SessionId, StoreError, StoredSession, Tail, TailState, Tails,
    Wakes, check_name,
};

use crate::connect::{self, JetStreamOptions, Warning};
use crate::core::Core;
use crate::driver::{Promised, Sent};
use crate::error::ClusterError;
use crate::follow;
use crate::names::Names;
use crate::request;
use crate::writer::Write;

/// The size that a write without events counts for.
const WITHOUT_EVENTS: usize = 1024;

/// The log of sessions on a cluster.
///
/// Calls return at once; the work is done by tasks on the runtime that opened the log.
#[derive(Debug)]
pub struct JetStreamLog {
    core: Arc<Core>,
    warnings: Vec<Warning>,
    tasks: Vec<JoinHandle<()>>,
}

impl JetStreamLog {
    /// Connects to a cluster, checks it, and makes the streams that do not exist yet.
    ///
    /// # Errors
    /// If the cluster cannot be used; the error says what to do.
    pub async fn open(options: JetStreamOptions) -> Result<Self, ClusterError> {
        let names = Names::new(&options.name)?;
        let connected = connect::connect(&options, &names).await?;
        let unavailable =
            |error: &dyn std::fmt::Display| ClusterError::Unavailable { detail: error.to_string() };
        // Before the first record that is told of.
        let newest = connected.log.get_info().await.map_err(|error| unavailable(&error))?.state.last_sequence;
        let wakes =
            connected.client.subscribe(names.all_wakes()).await.map_err(|error| unavailable(&error))?;
        connected.client.flush().await.map_err(|error| unavailable(&error))?;
        let core = Arc::new(Core {
            client: connected.client,
            log: connected.log,
            parts: connected.parts,
            leases: connected.leases,
            names,
            epoch: connected.epoch,
            check: Check::random(),
            options,
            runtime: Handle::current(),
            tails: Tails::new(),
            wakes: Wakes::default(),
            writers: std::sync::Mutex::default(),
            waiting: AtomicUsize::new(0),
            places: std::sync::Mutex::default(),
        });
        core.tails.set_revision(newest);
        let tasks = vec![
            tokio::spawn(follow::records(Arc::clone(&core), newest)),
            tokio::spawn(follow::wakes(Arc::clone(&core), wakes, connected.connections)),
        ];
        Ok(Self { core, warnings: connected.warnings, tasks })
    }

    /// What is unsafe about the cluster. It was logged, too.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn core(&self) -> Arc<Core> {
        Arc::clone(&self.core)
    }
}

impl Log for JetStreamLog {
    fn epoch(&self) -> &str {
        &self.core.epoch
    }

    fn create(&self, new: NewStoredSession) -> Reply<StoredSession> {
        let (promise, reply) = Reply::promise();
        let (id, write) = (new.id.clone(), Write::Create(Box::new(new.clone())));
        let sent = Sent { write, promise: Promised::Created(promise, Box::new(new)), size: WITHOUT_EVENTS };
        self.core.write(&id, sent);
        reply
    }

    fn delete(&self, id: SessionId) -> Reply<bool> {
        let (promise, reply) = Reply::promise();
        let sent = Sent { write: Write::Delete, promise: Promised::Deleted(promise), size: WITHOUT_EVENTS };
        self.core.write(&id, sent);
        reply
    }

    fn append(&self, append: Append) -> Reply<Appended> {
        let (promise, reply) = Reply::promise();
        let (id, size) = (append.session.clone(), append.size() + WITHOUT_EVENTS);
        let sent =
            Sent { write: Write::Append(Box::new(append)), promise: Promised::Appended(promise), size };
        self.core.write(&id, sent);
        reply
    }

    fn read(&self, query: ReadQuery) -> Reply<EventPage> {
        let core = self.core();
        self.core.answer(async move { core.read(query).await })
    }

    fn event(&self, session: SessionId, seq: u64) -> Reply<Option<Event>> {
        let core = self.core();
        self.core.answer(async move { core.event(&session, seq).await })
    }

    fn by_client(&self, session: SessionId, client_id: String) -> Reply<Option<u64>> {
        let core = self.core();
        self.core.answer(async move { core.by_client(&session, &client_id).await })
    }

    fn check_at(&self, session: SessionId, seq: u64) -> Reply<Option<Check>> {
        let core = self.core();
        self.core.answer(async move {
            let record = core.record_of(&session, seq).await?;
            Ok(record.map(|record| record.placed.head.check))
        })
    }

    fn generation(&self, session: SessionId) -> Reply<u64> {
        let core = self.core();
        self.core.answer(async move { Ok(core.alive(&session).await?.placed.head.generation) })
    }

    fn save_checkpoint(&self, session: SessionId, checkpoint: Checkpoint) -> Reply<()> {
        let core = self.core();
        self.core.answer(async move { core.save_checkpoint(&session, checkpoint).await })
    }

    fn checkpoint(&self, query: CheckpointQuery) -> Reply<Option<Checkpoint>> {
        let core = self.core();
        self.core.answer(async move { core.checkpoint(query).await })
    }

    fn subscribe(&self, session: SessionId) -> Reply<Tail> {
        // Followed from now on; what was before is read.
        let tail = self.core.tails.subscribe(&session);
        let core = self.core();
        self.core.answer(async move {
            let newest = core.alive(&session).await?.placed.head.newest;
            core.tails.set(&session, TailState::Newest(newest));
            Ok(tail)
        })
    }

    fn subscribe_all(&self) -> Reply<Tail> {
        let tail = self.core.tails.subscribe_all();
        let core = self.core();
        self.core.answer(async move {
            let info = core.log.get_info().await;
            let info = info.map_err(|error| StoreError::Unavailable { detail: error.to_string() })?;
            core.tails.set_revision(info.state.last_sequence);
            Ok(tail)
        })
    }

    fn acquire(&self, request: LeaseRequest) -> Reply<Acquired> {
        let core = self.core();
        self.core.answer(async move { core.acquire(request).await })
    }

    fn renew(&self, lease: Lease) -> Reply<Lease> {
        let core = self.core();
        self.core.answer(async move { core.renew(lease).await })
    }

    fn release(&self, lease: Lease) -> Reply<()> {
        let core = self.core();
        self.core.answer(async move { core.release(lease).await })
    }

    fn wake(&self, topic: String) -> Reply<()> {
        let core = self.core();
        self.core.answer(async move {
            check_name("topic", &topic)?;
            let unavailable = |detail: String| StoreError::Unavailable { detail };
            let sent = core.client.publish(core.names.wake(&topic), bytes::Bytes::new()).await;
            sent.map_err(|error| unavailable(error.to_string()))?;
            let flushed = tokio::time::timeout(request::ANSWER_WAIT, core.client.flush()).await;
            let flushed = flushed.map_err(|_| unavailable("not connected".to_owned()))?;
            flushed.map_err(|error| unavailable(error.to_string()))
        })
    }

    fn listen(&self, topic: String) -> Reply<Tail> {
        Reply::ready(check_name("topic", &topic).map(|()| self.core.wakes.listen(&topic)))
    }

    fn put_blob(&self, session: SessionId, name: String, data: Vec<u8>) -> Reply<()> {
        let core = self.core();
        self.core.answer(async move { core.put_blob(&session, name, data).await })
    }

    fn blob(&self, session: SessionId, name: String) -> Reply<Option<Vec<u8>>> {
        let core = self.core();
        self.core.answer(async move { core.blob(&session, &name).await })
    }
}

impl Drop for JetStreamLog {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        // The tasks that write end when they have nothing left to do.
        self.core.writers().clear();
        self.core.tails.close();
        self.core.wakes.close();
    }
}
