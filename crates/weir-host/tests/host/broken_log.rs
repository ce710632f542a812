//! A log that cannot be written: nothing goes on that nobody writes down, and everybody is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use weir_host::{Host, HostError, NewMessage, SessionStatus};
use weir_store::{
    Append, Appended, Checkpoint, CheckpointQuery, Conversation, ConversationId, ConversationPage,
    ConversationUpdate, Event, EventPage, Hit, ListQuery, Lookup, NewConversation, ReadQuery, Reply,
    SearchQuery, Store, StoreError, Tail,
};

use crate::place::{Onlooker, Place, ask, me, says, script, send, soon, status, until};

/// A store whose disk can become full.
#[derive(Debug)]
struct Filling {
    inner: Arc<dyn Store>,
    is_full: AtomicBool,
}

impl Filling {
    fn full<T>(&self) -> Option<Reply<T>> {
        let is_full = self.is_full.load(Ordering::SeqCst);
        is_full.then(|| Reply::ready(Err(StoreError::Full("weir.db".into()))))
    }
}

impl Store for Filling {
    fn epoch(&self) -> &str {
        self.inner.epoch()
    }

    fn create(&self, new: NewConversation) -> Reply<Conversation> {
        self.full().unwrap_or_else(|| self.inner.create(new))
    }

    fn find(&self, lookup: Lookup) -> Reply<Option<Conversation>> {
        self.inner.find(lookup)
    }

    fn update(&self, id: ConversationId, update: ConversationUpdate) -> Reply<Conversation> {
        self.full().unwrap_or_else(|| self.inner.update(id, update))
    }

    fn delete(&self, id: ConversationId) -> Reply<bool> {
        self.inner.delete(id)
    }

    fn list(&self, query: ListQuery) -> Reply<ConversationPage> {
        self.inner.list(query)
    }

    fn append(&self, append: Append) -> Reply<Appended> {
        self.full().unwrap_or_else(|| self.inner.append(append))
    }

    fn read(&self, query: ReadQuery) -> Reply<EventPage> {
        self.inner.read(query)
    }

    fn event(&self, conversation: ConversationId, seq: u64) -> Reply<Option<Event>> {
        self.inner.event(conversation, seq)
    }

    fn save_checkpoint(&self, conversation: ConversationId, checkpoint: Checkpoint) -> Reply<()> {
        self.full().unwrap_or_else(|| self.inner.save_checkpoint(conversation, checkpoint))
    }

    fn checkpoint(&self, query: CheckpointQuery) -> Reply<Option<Checkpoint>> {
        self.inner.checkpoint(query)
    }

    fn search(&self, query: SearchQuery) -> Reply<Vec<Hit>> {
        self.inner.search(query)
    }

    fn subscribe(&self, conversation: ConversationId) -> Reply<Tail> {
        self.inner.subscribe(conversation)
    }

    fn subscribe_all(&self) -> Reply<Tail> {
        self.inner.subscribe_all()
    }
}

#[tokio::test]
async fn a_full_disk_ends_the_process_and_is_told() {
    let place = Place::new();
    let mut options = place.options();
    let store = Arc::new(Filling { inner: Arc::clone(&options.store), is_full: AtomicBool::new(false) });
    options.store = store.clone();
    let host = Host::open(options).await.unwrap();
    let id = place.session(&host).await;
    ask(&host, &id, says("before")).await;
    let steps =
        json!([{"tool": "Bash", "input": {"command": "sleep 0.3; echo x"}}, {"sleep": 60, "text": "never"}]);
    let running = send(&host, &id, script(&steps)).await;
    status(&host, &id, SessionStatus::Running).await;
    let mut onlooker = Onlooker::new(&host, &id, None).await;
    store.is_full.store(true, Ordering::SeqCst);
    let ended = soon(host.finished(&id, &running.message_id)).await;
    assert!(matches!(ended, Err(HostError::Store(StoreError::Full(_)))), "{ended:?}");
    while onlooker.step().await {}
    until("the process is ended", || place.living().is_empty()).await;
    let refused = soon(host.send(&id, NewMessage::text("x"), &me())).await;
    assert!(matches!(refused, Err(HostError::Store(StoreError::Full(_)))), "{refused:?}");
    store.is_full.store(false, Ordering::SeqCst);
    let again = Onlooker::new(&host, &id, onlooker.cursor.clone()).await;
    assert_eq!(again.hello["resume"], "ok", "no number was lost");
    assert_eq!(host.info(&id).await.unwrap().status, SessionStatus::Interrupted);
    assert_eq!(ask(&host, &id, says("after")).await, "after");
    soon(host.shut_down(Duration::ZERO)).await;
}
