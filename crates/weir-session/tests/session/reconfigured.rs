//! New options for a running session.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use weir_session::{Ask, Decision, Observer, SessionOptions};
use weir_transcript::{Change, View};

use crate::played::{asking, quiet, session, soon};

fn brief() -> SessionOptions {
    let mut options = SessionOptions::new().append_system_prompt("Be brief.");
    options.stop = weir_process::StopOptions::now();
    options
}

#[tokio::test(start_paused = true)]
async fn the_turn_ends_and_the_rest_goes_to_a_new_process() {
    let (session, stage) = session(SessionOptions::new());
    let first = asking(&session, "one");
    let mut cli = stage.ready().await;
    let one = cli.begins("one").await;
    let second = asking(&session, "two");
    quiet().await;
    session.reconfigure(brief());
    let third = asking(&session, "three");
    quiet().await;
    // Even a turn that waits forever for a person does not block other callers.
    assert_eq!(soon(session.view()).await.unwrap().turns.len(), 1);
    cli.result("1", &[&one]).await;
    assert_eq!(soon(first).await.unwrap().unwrap().text, "1");
    cli.hears_nothing_more().await;
    let mut cli = stage.ready().await;
    cli.turn("two", "2").await;
    assert_eq!(soon(second).await.unwrap().unwrap().text, "2");
    cli.turn("three", "3").await;
    assert_eq!(soon(third).await.unwrap().unwrap().text, "3");
    assert!(!session.view().await.unwrap().session.forked);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn background_tasks_are_not_ended() {
    let (session, stage) = session(SessionOptions::new());
    let first = asking(&session, "one");
    let mut cli = stage.ready().await;
    let one = cli.begins("one").await;
    cli.tasks(&["build"]).await;
    cli.result("1", &[&one]).await;
    soon(first).await.unwrap().unwrap();
    session.reconfigure(brief());
    let second = asking(&session, "two");
    cli.hears_nothing_yet().await;
    tokio::time::sleep(Duration::from_secs(100)).await;
    cli.hears_nothing_yet().await;
    // It ends, and the CLI may have something to say about it.
    cli.tasks(&[]).await;
    cli.hears_nothing_more().await;
    stage.ready().await.turn("two", "2").await;
    assert_eq!(soon(second).await.unwrap().unwrap().text, "2");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn equal_or_reverted_options_change_nothing() {
    let (session, stage) = session(SessionOptions::new());
    let mut cli = stage.started(&session).await;
    session.reconfigure(SessionOptions::new());
    let first = asking(&session, "one");
    let one = cli.begins("one").await;
    session.reconfigure(brief());
    session.reconfigure(SessionOptions::new());
    quiet().await;
    cli.result("1", &[&one]).await;
    soon(first).await.unwrap().unwrap();
    let second = asking(&session, "two");
    cli.turn("two", "2").await;
    soon(second).await.unwrap().unwrap();
    assert_eq!(session.facts().await.unwrap().processes, 1);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn stop_does_not_wait_for_a_pending_replacement() {
    let (session, stage) =
        session(SessionOptions::new().handler(|_: Ask| std::future::pending::<Decision>()));
    let first = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.begins("one").await;
    cli.asks_for("r1", "Bash").await;
    session.reconfigure(brief());
    let second = asking(&session, "two");
    quiet().await;
    soon(session.stop()).await;
    soon(first).await.unwrap().unwrap_err();
    soon(second).await.unwrap().unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn a_starting_process_gets_the_new_options() {
    let (session, stage) = session(SessionOptions::new());
    let first = asking(&session, "one");
    quiet().await;
    session.reconfigure(brief());
    quiet().await;
    let mut cli = stage.ready().await;
    cli.turn("one", "1").await;
    soon(first).await.unwrap().unwrap();
    assert_eq!(session.facts().await.unwrap().processes, 1);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_caller_waiting_for_a_start_gets_the_new_process() {
    let (session, stage) = session(SessionOptions::new());
    let started = tokio::spawn({
        let session = session.clone();
        async move { session.start().await }
    });
    let mut cli = stage.next();
    let request = cli.hears_request("initialize").await;
    session.reconfigure(brief());
    quiet().await;
    cli.answers(&request, serde_json::json!({})).await;
    cli.hears_nothing_more().await;
    let _cli = stage.ready().await;
    soon(started).await.unwrap().unwrap();
    assert_eq!(session.facts().await.unwrap().processes, 2);
    session.stop().await;
}

/// Counts changes.
struct Count(Arc<Mutex<usize>>);

impl Observer for Count {
    fn change(&mut self, _view: &View, _change: &Change<'_>) {
        *self.0.lock().unwrap() += 1;
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_handler_and_observer_take_effect_at_once() {
    let (session, stage) = session(SessionOptions::new().handler(|_: Ask| async { Decision::deny("no") }));
    let mut cli = stage.started(&session).await;
    let seen = Arc::new(Mutex::new(0));
    let other = SessionOptions::new()
        .handler(|_: Ask| async { Decision::allow() })
        .observer(Count(Arc::clone(&seen)));
    session.reconfigure(other);
    let first = asking(&session, "one");
    let one = cli.begins("one").await;
    cli.asks_for("r1", "Bash").await;
    assert_eq!(cli.hears_answer("r1").await["response"]["behavior"], "allow");
    cli.result("1", &[&one]).await;
    soon(first).await.unwrap().unwrap();
    assert!(*seen.lock().unwrap() > 0);
    // No new observer was given.
    let before = *seen.lock().unwrap();
    session.reconfigure(SessionOptions::new().handler(|_: Ask| async { Decision::allow() }));
    let second = asking(&session, "two");
    cli.turn("two", "2").await;
    soon(second).await.unwrap().unwrap();
    assert!(*seen.lock().unwrap() > before);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn limits_take_effect_at_once() {
    let (session, stage) = session(SessionOptions::new());
    let mut cli = stage.started(&session).await;
    let mut other = SessionOptions::new();
    other.limits.idle = Some(Duration::from_secs(5));
    session.reconfigure(other);
    cli.hears_nothing_more().await;
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn close_if_idle_closes_only_what_is_idle() {
    let (session, stage) = session(SessionOptions::new());
    assert!(soon(session.close_if_idle()).await.unwrap(), "no process");
    let mut cli = stage.started(&session).await;
    let first = asking(&session, "one");
    let one = cli.begins("one").await;
    assert!(!soon(session.close_if_idle()).await.unwrap());
    cli.result("1", &[&one]).await;
    soon(first).await.unwrap().unwrap();
    assert!(soon(session.close_if_idle()).await.unwrap());
    cli.hears_nothing_more().await;
    let second = asking(&session, "two");
    stage.ready().await.turn("two", "2").await;
    soon(second).await.unwrap().unwrap();
    session.stop().await;
}
