//! A store that does not work as it should, on request.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use weir_store::{
    Acquired, Append, Appended, Check, Checkpoint, CheckpointQuery, Event, EventPage, Hit, Lease,
    LeaseRequest, ListQuery, Log, Lookup, NewStoredSession, Promise, ReadQuery, Reply, SearchQuery,
    SessionId, SessionPage, SessionUpdate, Space, Store, StoreError, StoredSession, Tail, Usage,
};

/// A store whose disk can become full, and whose checkpoints can be made to wait.
#[derive(Debug)]
pub(crate) struct Faulty {
    inner: Arc<dyn Store>,
    is_full: AtomicBool,
    /// Questions for checkpoints that wait, while they are held.
    held: Mutex<Option<Vec<Held>>>,
}

#[derive(Debug)]
struct Held {
    query: CheckpointQuery,
    promise: Promise<Option<Checkpoint>>,
}

impl Faulty {
    pub(crate) fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, is_full: AtomicBool::new(false), held: Mutex::new(None) }
    }

    /// Whether writes fail from now on.
    pub(crate) fn fill(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::SeqCst);
    }

    /// Blocks requests for a checkpoint.
    pub(crate) fn hold_checkpoints(&self) {
        self.held.lock().unwrap().get_or_insert_default();
    }

    /// The sessions whose checkpoints are waited for.
    pub(crate) fn waiting(&self) -> Vec<SessionId> {
        let held = self.held.lock().unwrap();
        held.iter().flatten().map(|held| held.query.session.clone()).collect()
    }

    /// Answers the waiting requests. Later ones wait again.
    pub(crate) fn let_one_round_pass(&self) {
        let held = self.held.lock().unwrap().replace(Vec::new());
        self.answer(held);
    }

    /// Answers the waiting requests and all later ones.
    pub(crate) fn release_checkpoints(&self) {
        let held = self.held.lock().unwrap().take();
        self.answer(held);
    }

    fn answer(&self, held: Option<Vec<Held>>) {
        for Held { query, promise } in held.into_iter().flatten() {
            promise.answer(self.inner.checkpoint(query).wait());
        }
    }

    fn full<T>(&self) -> Option<Reply<T>> {
        let is_full = self.is_full.load(Ordering::SeqCst);
        is_full.then(|| Reply::ready(Err(StoreError::Full("weir.db".into()))))
    }
}

impl Log for Faulty {
    fn epoch(&self) -> &str {
        self.inner.epoch()
    }

    fn create(&self, new: NewStoredSession) -> Reply<StoredSession> {
        self.full().unwrap_or_else(|| self.inner.create(new))
    }

    fn delete(&self, id: SessionId) -> Reply<bool> {
        self.inner.delete(id)
    }

    fn append(&self, append: Append) -> Reply<Appended> {
        self.full().unwrap_or_else(|| self.inner.append(append))
    }

    fn read(&self, query: ReadQuery) -> Reply<EventPage> {
        self.inner.read(query)
    }

    fn event(&self, session: SessionId, seq: u64) -> Reply<Option<Event>> {
        self.inner.event(session, seq)
    }

    fn by_client(&self, session: SessionId, client_id: String) -> Reply<Option<u64>> {
        self.inner.by_client(session, client_id)
    }

    fn check_at(&self, session: SessionId, seq: u64) -> Reply<Option<Check>> {
        self.inner.check_at(session, seq)
    }

    fn save_checkpoint(&self, session: SessionId, checkpoint: Checkpoint) -> Reply<()> {
        self.full().unwrap_or_else(|| self.inner.save_checkpoint(session, checkpoint))
    }

    fn checkpoint(&self, query: CheckpointQuery) -> Reply<Option<Checkpoint>> {
        if let Some(held) = self.held.lock().unwrap().as_mut() {
            let (promise, reply) = Reply::promise();
            held.push(Held { query, promise });
            return reply;
        }
        self.inner.checkpoint(query)
    }

    fn subscribe(&self, session: SessionId) -> Reply<Tail> {
        self.inner.subscribe(session)
    }

    fn subscribe_all(&self) -> Reply<Tail> {
        self.inner.subscribe_all()
    }

    fn generation(&self, session: SessionId) -> Reply<u64> {
        self.inner.generation(session)
    }

    fn acquire(&self, request: LeaseRequest) -> Reply<Acquired> {
        self.inner.acquire(request)
    }

    fn renew(&self, lease: Lease) -> Reply<Lease> {
        self.inner.renew(lease)
    }

    fn release(&self, lease: Lease) -> Reply<()> {
        self.inner.release(lease)
    }

    fn wake(&self, topic: String) -> Reply<()> {
        self.inner.wake(topic)
    }

    fn listen(&self, topic: String) -> Reply<Tail> {
        self.inner.listen(topic)
    }

    fn put_blob(&self, session: SessionId, name: String, data: Vec<u8>) -> Reply<()> {
        self.full().unwrap_or_else(|| self.inner.put_blob(session, name, data))
    }

    fn blob(&self, session: SessionId, name: String) -> Reply<Option<Vec<u8>>> {
        self.inner.blob(session, name)
    }
}

impl Store for Faulty {
    fn find(&self, lookup: Lookup) -> Reply<Option<StoredSession>> {
        self.inner.find(lookup)
    }

    fn update(&self, id: SessionId, update: SessionUpdate) -> Reply<StoredSession> {
        self.full().unwrap_or_else(|| self.inner.update(id, update))
    }

    fn list(&self, query: ListQuery) -> Reply<SessionPage> {
        self.inner.list(query)
    }

    fn search(&self, query: SearchQuery) -> Reply<Vec<Hit>> {
        self.inner.search(query)
    }

    fn space(&self) -> Space {
        self.inner.space()
    }

    fn usage(&self) -> Reply<Usage> {
        self.inner.usage()
    }
}
