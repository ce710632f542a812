//! Room in the pool: which sessions get it, and which give it up.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use weir_process::ProcessId;
use weir_session::{Observer, PoolError};
use weir_transcript::{HostEvent, TurnState};

use crate::place::{Place, is_reaped, running, script, soon, until};
use crate::pool::{options, pool, says};

#[tokio::test]
async fn a_burst_of_messages_takes_no_more_room_than_its_sessions() {
    let place = Place::new();
    let pool = pool(|options| options.max_processes = 2);
    let asks = (0..16).map(|number| {
        let conversation = pool.session(["a", "b"][number % 2], options(&place));
        tokio::spawn(async move { conversation.ask(says(&number.to_string())).await })
    });
    for (number, ask) in asks.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(soon(ask).await.unwrap().unwrap().text, number.to_string());
    }
    soon(pool.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn many_new_sessions_share_one_place_or_are_refused() {
    let place = Place::new();
    let pool = pool(|options| options.max_processes = 1);
    let asks = (0..6).map(|number: usize| {
        let conversation = pool.session(number.to_string(), options(&place));
        tokio::spawn(async move {
            loop {
                match conversation.ask(says("mine")).await {
                    Err(PoolError::Full { .. }) => tokio::time::sleep(Duration::from_millis(5)).await,
                    other => return other.map(|end| end.text.clone()),
                }
            }
        })
    });
    let asks: Vec<_> = asks.collect();
    for ask in asks {
        assert_eq!(soon(ask).await.unwrap().unwrap(), "mine");
        assert!(pool.list().iter().filter(|(_, is_live)| *is_live).count() <= 1);
    }
    soon(pool.shut_down(Duration::ZERO)).await;
    assert_eq!(place.living(), Vec::<u32>::new());
}

#[tokio::test]
async fn other_options_in_mid_turn_lose_nothing() {
    let place = Place::new();
    let pool = pool(|_| {});
    let a = pool.session("a", options(&place));
    let mut slow = soon(a.send(script(&json!([{"text": "slow", "sleep": 600}])))).await.unwrap();
    running(a.session()).await;
    let mut waiting = soon(a.send(says("waited"))).await.unwrap();
    // The turn takes longer than a process may take to start, which must not matter.
    let mut brief = options(&place).append_system_prompt("Be brief.");
    brief.limits.starting = Some(Duration::from_secs(20));
    let again = pool.session("a", brief);
    let mut last = soon(again.send(says("last"))).await.unwrap();
    assert!(soon(a.session().interrupt()).await.unwrap());
    let first = soon(slow.answer()).await.unwrap();
    assert_eq!(first.turn.state, TurnState::Interrupted);
    let second = soon(waiting.answer()).await.unwrap();
    let third = soon(last.answer()).await.unwrap();
    assert_eq!((second.text.as_str(), third.text.as_str()), ("waited", "last"));
    assert_eq!(third.session_id, first.session_id);
    let view = again.session().view().await.unwrap();
    assert!(!view.session.forked);
    assert_eq!(view.turns.len(), 3, "all turns are in one session");
    assert_eq!(again.session().facts().await.unwrap().processes, 2);
    soon(pool.shut_down(Duration::ZERO)).await;
    assert_eq!(place.living(), Vec::<u32>::new());
}

#[tokio::test]
async fn a_dead_spare_is_not_used() {
    let place = Arc::new(Place::new());
    let pool = pool(|_| {});
    let recipe = Arc::clone(&place);
    pool.prewarm(move || options(&recipe));
    // The process is found by its environment, which it may not have yet.
    until("the spare is started", || pool.live_spares() == 1 && !place.living().is_empty()).await;
    let pid = rustix::process::Pid::from_raw(i32::try_from(place.living()[0]).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    until("its end is noticed", || pool.live_spares() == 0).await;
    let a = pool.session("a", options(&place));
    assert_eq!(soon(a.ask(says("one"))).await.unwrap().text, "one");
    assert_eq!(a.session().facts().await.unwrap().processes, 1);
    until("another spare is started", || pool.live_spares() == 1).await;
    soon(pool.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_spare_gets_the_limits_of_the_session_that_takes_it() {
    let place = Arc::new(Place::new());
    let pool = pool(|options| options.spares = 1);
    let recipe = Arc::clone(&place);
    pool.prewarm(move || options(&recipe));
    until("the spare is started", || pool.live_spares() == 1).await;
    let mut brief = options(&place);
    brief.limits.idle = Some(Duration::from_millis(50));
    let a = pool.session("a", brief);
    assert_eq!(a.session().facts().await.unwrap().processes, 1, "it is the spare");
    until("it is closed for being idle", || pool.list() == [("a".to_owned(), false)]).await;
    soon(pool.shut_down(Duration::ZERO)).await;
}

/// Panics on purpose in the middle of the session.
struct Panics;

impl Observer for Panics {
    fn host(&mut self, event: &HostEvent) {
        assert!(!matches!(event, HostEvent::MessageSent { .. }), "a panic on purpose");
    }
}

#[tokio::test]
async fn a_session_that_panicked_takes_no_room() {
    let place = Place::new();
    let pool = pool(|options| options.max_processes = 1);
    let a = pool.session("a", options(&place).observer(Panics));
    soon(a.session().start()).await.unwrap();
    let process = ProcessId::of(a.session().facts().await.unwrap().pid.unwrap()).unwrap();
    soon(a.ask(says("one"))).await.unwrap_err();
    assert_eq!(pool.list(), [("a".to_owned(), false)]);
    let b = pool.session("b", options(&place));
    assert_eq!(soon(b.ask(says("two"))).await.unwrap().text, "two");
    until("the end of its process", || is_reaped(process)).await;
    // The session itself can also continue.
    let a = pool.session("a", options(&place));
    assert_eq!(soon(a.ask(says("three"))).await.unwrap().text, "three");
    soon(pool.shut_down(Duration::ZERO)).await;
}
