//! A log that grows faster than checkpoints of it can be made: they do not pile up, and nothing waits for them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use weir_host::{Host, NewMessage, SessionId};
use weir_store::{MemoryStore, Store as _};

use crate::faulty::Faulty;
use crate::place::{Onlooker, Place, ask, me, says, script, send, soon, until};

/// Checkpoints are asked for this often.
const EVERY: u64 = 16;
/// Each answer of the agent has this many lines.
const LINES: u64 = 400;

async fn host(place: &Place) -> (Host, Arc<Faulty>) {
    let mut options = place.options();
    let store = Arc::new(Faulty::new(Arc::clone(&options.store)));
    options.store = store.clone();
    options.checkpoint_every = EVERY;
    (Host::open(options).await.unwrap(), store)
}

async fn flood(host: &Host, id: &SessionId) {
    let flood = json!([{"misbehave": {"messages": LINES}, "text": "that was much"}]);
    assert_eq!(ask(host, id, script(&flood)).await, "that was much");
    let newest = host.info(id).await.unwrap().newest_seq;
    assert!(newest > LINES, "{newest}");
}

#[tokio::test]
async fn a_session_has_one_checkpoint_at_a_time_however_fast_it_grows() {
    let place = Place::new();
    let (host, store) = host(&place).await;
    let id = place.session(&host).await;
    ask(&host, &id, says("before")).await;
    store.hold_checkpoints();
    flood(&host, &id).await;
    until("a checkpoint is begun", || !store.waiting().is_empty()).await;
    assert_eq!(store.waiting(), std::slice::from_ref(&id));
    // What was asked for in the meantime, dozens of times, is one more. Then there is nothing left to do.
    store.let_one_round_pass();
    until("it is done once more", || !store.waiting().is_empty()).await;
    assert_eq!(store.waiting(), std::slice::from_ref(&id));
    let made = host.metrics().checkpoints;
    store.let_one_round_pass();
    until("it is at rest", || host.metrics().checkpoints_running == 0).await;
    assert_eq!((host.metrics().checkpoints, store.waiting().len()), (made + 1, 0));
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn all_sessions_together_have_a_few_checkpoints_at_a_time() {
    let place = Place::new();
    let (host, store) = host(&place).await;
    let mut sessions = Vec::new();
    for _ in 0..5 {
        let id = place.session(&host).await;
        // Loaded into memory before a caller has to wait for it.
        ask(&host, &id, says("before")).await;
        sessions.push(id);
    }
    store.hold_checkpoints();
    let mut floods = tokio::task::JoinSet::new();
    for id in sessions {
        let host = host.clone();
        floods.spawn(async move { flood(&host, &id).await });
    }
    soon(floods.join_all()).await;
    until("checkpoints are begun", || store.waiting().len() == 2).await;
    assert_eq!(host.metrics().checkpoints_running, 2);
    let mut served: BTreeSet<SessionId> = store.waiting().into_iter().collect();
    while served.len() < 5 {
        store.let_one_round_pass();
        until("the next ones are begun", || !store.waiting().is_empty()).await;
        let waiting = store.waiting();
        assert!(waiting.len() <= 2, "{waiting:?}");
        served.extend(waiting);
    }
    store.release_checkpoints();
    until("all are done", || host.metrics().checkpoints_running == 0).await;
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_host_that_ends_makes_no_more_checkpoints() {
    let place = Place::new();
    let (host, store) = host(&place).await;
    let id = place.session(&host).await;
    ask(&host, &id, says("before")).await;
    store.hold_checkpoints();
    flood(&host, &id).await;
    until("a checkpoint is begun", || !store.waiting().is_empty()).await;
    // Nothing waits for it.
    soon(host.shut_down(Duration::ZERO)).await;
    store.let_one_round_pass();
    until("it ends", || host.metrics().checkpoints_running == 0).await;
    assert_eq!(store.waiting().len(), 0, "what was asked for in the meantime is left out");
}

#[tokio::test]
async fn a_store_with_a_budget_stays_small_and_the_session_stays_right() {
    const BUDGET: usize = 96 << 10;
    let place = Place::new();
    let store = Arc::new(MemoryStore::with_budget(BUDGET));
    let open = async || {
        let mut options = place.options();
        options.store = store.clone();
        (options.checkpoint_every, options.keep_entries) = (EVERY, 20);
        Host::open(options).await.unwrap()
    };
    let host = open().await;
    let id = place.session(&host).await;
    let named = |text: String| NewMessage { client_id: Some("first".to_owned()), ..NewMessage::text(text) };
    let first = soon(host.send(&id, named(says("first")), &me())).await.unwrap();
    soon(host.finished(&id, &first.message_id)).await.unwrap();
    let used = || store.usage().wait().unwrap().used;
    for _ in 0..6 {
        flood(&host, &id).await;
        until("what a checkpoint covers is dropped", || used() <= BUDGET as u64).await;
    }
    assert!(host.log(&id, 0).await.unwrap().events[0].seq > LINES, "much was dropped");
    let last = send(&host, &id, says("last")).await;
    soon(host.finished(&id, &last.message_id)).await.unwrap();
    let entries = Onlooker::new(&host, &id, None).await.view.entries;
    let messages = host.messages(&id, None).await.unwrap();
    soon(host.shut_down(Duration::ZERO)).await;

    // Another host has only what is left in the store.
    let host = open().await;
    assert_eq!(Onlooker::new(&host, &id, None).await.view.entries, entries);
    assert_eq!(host.messages(&id, None).await.unwrap(), messages);
    let finished = soon(host.finished(&id, &last.message_id)).await.unwrap();
    assert_eq!((finished.text.as_str(), finished.error), ("last", None));
    let again = soon(host.send(&id, named(says("first")), &me())).await;
    assert!(!again.is_ok_and(|accepted| !accepted.duplicate), "a message is never sent twice");
    assert_eq!(ask(&host, &id, says("more")).await, "more");
    soon(host.shut_down(Duration::ZERO)).await;
}
