//! Many sessions, and which of them have a process.

use std::time::Duration;

use serde_json::json;
use weir_process::ProcessId;
use weir_session::{Pool, PoolError, PoolOptions, SessionOptions};

use crate::place::{Place, script, soon, until};

pub(crate) fn pool(change: impl FnOnce(&mut PoolOptions)) -> Pool {
    let mut options = PoolOptions::default();
    change(&mut options);
    Pool::new(options)
}

/// Options that can be created repeatedly: without the place's own log and observer.
pub(crate) fn options(place: &Place) -> SessionOptions {
    let mut options = place.options();
    options.log = None;
    options.observer = None;
    options
}

pub(crate) fn says(text: &str) -> String {
    script(&json!([{"text": text}]))
}

#[tokio::test]
async fn a_key_keeps_its_process_and_another_key_gets_its_own() {
    let place = Place::new();
    let pool = pool(|_| {});
    let a = pool.session("flow::a", options(&place));
    assert_eq!(soon(a.ask(says("one"))).await.unwrap().text, "one");
    let again = pool.session("flow::a", options(&place));
    assert_eq!(soon(again.ask(says("two"))).await.unwrap().text, "two");
    let b = pool.session("flow::b", options(&place));
    assert_eq!(soon(b.ask(says("three"))).await.unwrap().text, "three");
    let (first, second) = (a.session().facts().await.unwrap(), b.session().facts().await.unwrap());
    assert_eq!((first.processes, second.processes), (1, 1));
    assert_ne!(first.pid, second.pid);
    assert_eq!(pool.list(), [("flow::a".to_owned(), true), ("flow::b".to_owned(), true)]);
    soon(pool.shut_down(Duration::ZERO)).await;
    assert!(!pool.list().iter().any(|(_, has_process)| *has_process));
}

#[tokio::test]
async fn concurrent_callers_get_the_same_session() {
    let place = Place::new();
    let pool = pool(|_| {});
    let asks = (0..8).map(|number| {
        let conversation = pool.session("one", options(&place));
        tokio::spawn(async move { conversation.ask(says(&number.to_string())).await })
    });
    for (number, ask) in asks.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(soon(ask).await.unwrap().unwrap().text, number.to_string());
    }
    let facts = pool.session("one", options(&place)).session().facts().await.unwrap();
    assert_eq!(facts.processes, 1);
    soon(pool.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn the_longest_idle_session_makes_room_and_keeps_its_history() {
    let place = Place::new();
    let pool = pool(|options| options.max_processes = 1);
    let a = pool.session("a", options(&place));
    let first = soon(a.ask(says("one"))).await.unwrap();
    let b = pool.session("b", options(&place));
    soon(b.ask(says("two"))).await.unwrap();
    assert_eq!(pool.list(), [("a".to_owned(), false), ("b".to_owned(), true)]);
    let back = soon(a.ask(says("three"))).await.unwrap();
    assert_eq!(back.session_id, first.session_id);
    assert_eq!(a.session().facts().await.unwrap().processes, 2);
    assert!(!a.session().view().await.unwrap().session.forked);
    soon(pool.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_new_session_is_refused_when_all_processes_are_busy() {
    let place = Place::new();
    let pool = pool(|options| options.max_processes = 1);
    let a = pool.session("a", options(&place));
    let mut running = soon(a.send(script(&json!([{"text": "slow", "sleep": 600}])))).await.unwrap();
    let b = pool.session("b", options(&place));
    let error = soon(b.ask(says("no"))).await.unwrap_err();
    assert!(matches!(error, PoolError::Full { max: 1 }), "{error}");
    until("the turn is running", || pool.list().iter().any(|(key, live)| key == "a" && *live)).await;
    soon(pool.shut_down(Duration::ZERO)).await;
    let ended = soon(running.answer()).await;
    assert!(ended.is_err() || ended.is_ok_and(|end| end.is_error() || end.is_interrupted()));
    // The same happens again, any number of times.
    let again = soon(running.answer()).await;
    assert!(again.is_err() || again.is_ok_and(|end| end.is_error() || end.is_interrupted()));
    let error = soon(b.ask(says("too late"))).await.unwrap_err();
    assert!(matches!(error, PoolError::ShutDown), "{error}");
}

#[tokio::test]
async fn a_message_waits_for_a_place_if_the_pool_says_so() {
    let place = Place::new();
    let pool = pool(|options| (options.max_processes, options.max_wait) = (1, Some(Duration::from_secs(60))));
    let a = pool.session("a", options(&place));
    let mut running = soon(a.send(script(&json!([{"text": "slow", "sleep": 600}])))).await.unwrap();
    let waiting: Vec<_> = ["b", "c"]
        .into_iter()
        .map(|key| {
            let session = pool.session(key, options(&place));
            tokio::spawn(async move { session.ask(says(key)).await })
        })
        .collect();
    until("the turn is running", || pool.list().iter().any(|(key, live)| key == "a" && *live)).await;
    assert!(waiting.iter().all(|ask| !ask.is_finished()));
    soon(a.session().interrupt()).await.unwrap();
    // Whether its turn had begun or not.
    let _ = soon(running.answer()).await;
    for (ask, key) in waiting.into_iter().zip(["b", "c"]) {
        assert_eq!(soon(ask).await.unwrap().unwrap().text, key);
    }
    soon(pool.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_message_waits_no_longer_than_the_pool_says() {
    let place = Place::new();
    let pool =
        pool(|options| (options.max_processes, options.max_wait) = (1, Some(Duration::from_millis(20))));
    let a = pool.session("a", options(&place));
    let _running = soon(a.send(script(&json!([{"text": "slow", "sleep": 600}])))).await.unwrap();
    let error = soon(pool.session("b", options(&place)).ask(says("no"))).await.unwrap_err();
    assert!(matches!(error, PoolError::Full { max: 1 }), "{error}");
    soon(pool.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn other_options_restart_the_process_with_the_same_history() {
    let place = Place::new();
    let pool = pool(|_| {});
    let before = pool.session("a", options(&place));
    let first = soon(before.ask(says("one"))).await.unwrap();
    let old = ProcessId::of(before.session().facts().await.unwrap().pid.unwrap()).unwrap();
    let after = pool.session("a", options(&place).append_system_prompt("Be brief."));
    let second = soon(after.ask(says("two"))).await.unwrap();
    assert_eq!(second.session_id, first.session_id);
    assert!(!old.is_alive(), "the old process is gone before the new one runs");
    soon(pool.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_process_is_replaced_after_max_turns() {
    let place = Place::new();
    let pool = pool(|options| options.max_turns = Some(2));
    let a = pool.session("a", options(&place));
    for number in 0..5 {
        soon(a.ask(says(&number.to_string()))).await.unwrap();
    }
    assert_eq!(a.session().facts().await.unwrap().processes, 3);
    soon(pool.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_process_that_has_grown_too_large_is_replaced() {
    let place = Place::new();
    for (max, processes) in [(1, 3), (u64::MAX, 1)] {
        let pool = pool(|options| options.max_bytes = Some(max));
        let a = pool.session("a", options(&place));
        let mut ids = Vec::new();
        for number in 0..3 {
            ids.push(soon(a.ask(says(&number.to_string()))).await.unwrap().session_id.clone());
        }
        assert_eq!(a.session().facts().await.unwrap().processes, processes);
        ids.dedup();
        assert_eq!(ids.len(), 1, "the session continues");
        soon(pool.shut_down(Duration::ZERO)).await;
    }
}

#[tokio::test]
async fn a_process_that_was_killed_is_replaced_by_the_next_message() {
    let place = Place::new();
    let pool = pool(|_| {});
    let a = pool.session("a", options(&place));
    let first = soon(a.ask(says("one"))).await.unwrap();
    let pid = a.session().facts().await.unwrap().pid.unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    until("the end is noticed", || pool.list().iter().all(|(_, live)| !live)).await;
    let second = soon(a.ask(says("two"))).await.unwrap();
    assert_eq!((second.text.as_str(), &second.session_id), ("two", &first.session_id));
    soon(pool.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_new_session_takes_the_spare_process() {
    let place = std::sync::Arc::new(Place::new());
    let pool = pool(|_| {});
    let recipe = std::sync::Arc::clone(&place);
    pool.prewarm(move || options(&recipe));
    assert_eq!(pool.spares(), 1);
    until("the spare is started", || pool.live_spares() == 1).await;
    let a = pool.session("a", options(&place));
    // It was running before the first message.
    let waiting = a.session().facts().await.unwrap().pid;
    assert!(waiting.is_some());
    assert_eq!(soon(a.ask(says("one"))).await.unwrap().text, "one");
    assert_eq!(a.session().facts().await.unwrap().pid, waiting);
    assert_eq!(pool.spares(), 1, "another one is kept ready");
    soon(pool.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn shutting_down_lets_a_turn_end_and_leaves_nothing() {
    let place = Place::new();
    let pool = pool(|_| {});
    let a = pool.session("a", options(&place));
    let mut running = soon(a.send(script(&json!([{"text": "last words", "sleep": 1}])))).await.unwrap();
    soon(a.session().start()).await.unwrap();
    let process = ProcessId::of(a.session().facts().await.unwrap().pid.unwrap()).unwrap();
    soon(pool.shut_down(Duration::from_secs(60))).await;
    assert_eq!(running.answer().await.unwrap().text, "last words");
    assert!(!process.is_alive());
}
