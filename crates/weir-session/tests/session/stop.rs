//! A stop works at any time.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use weir_process::PeerSignal;
use weir_session::{Session, SessionError, SessionOptions};

use crate::played::{asking, quiet, session, soon};

fn stopping(session: &Session) -> tokio::task::JoinHandle<()> {
    let session = session.clone();
    tokio::spawn(async move { session.stop().await })
}

#[tokio::test(start_paused = true)]
async fn stop_before_anything_was_started() {
    let (session, _stage) = session(SessionOptions::new());
    soon(session.stop()).await;
    assert!(matches!(session.send("one").await, Err(SessionError::Stopped)));
    assert!(matches!(session.start().await, Err(SessionError::Stopped)));
    assert!(matches!(session.view().await, Err(SessionError::Stopped)));
    soon(session.stop()).await;
}

#[tokio::test(start_paused = true)]
async fn stop_while_the_process_is_being_started() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    quiet().await;
    // A stop does not wait for a process that is no longer wanted, however long its start takes.
    soon(session.stop()).await;
    assert!(matches!(soon(asked).await.unwrap(), Err(SessionError::Stopped)));
    assert!(stage.is_closed());
}

#[tokio::test(start_paused = true)]
async fn stop_while_a_start_is_failing() {
    let (session, stage) = session(SessionOptions::new());
    let (asked, started) = (
        asking(&session, "one"),
        tokio::spawn({
            let session = session.clone();
            async move { session.start().await }
        }),
    );
    quiet().await;
    let stopping = stopping(&session);
    quiet().await;
    drop(stage);
    soon(stopping).await.unwrap();
    assert!(matches!(soon(asked).await.unwrap(), Err(SessionError::Stopped)));
    assert!(matches!(soon(started).await.unwrap(), Err(SessionError::Stopped)));
}

#[tokio::test(start_paused = true)]
async fn stop_while_initialising() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.next();
    cli.hears_request("initialize").await;
    let stopping = stopping(&session);
    cli.hears_nothing_more().await;
    soon(stopping).await.unwrap();
    assert!(matches!(soon(asked).await.unwrap(), Err(SessionError::Stopped)));
}

#[tokio::test(start_paused = true)]
async fn stop_while_a_turn_runs_interrupts_it_first() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let queued = asking(&session, "two");
    let mut cli = stage.ready().await;
    cli.begins("one").await;
    let stopping = stopping(&session);
    let request = cli.hears_request("interrupt").await;
    cli.answers(&request, json!({})).await;
    cli.interrupted().await;
    cli.hears_nothing_more().await;
    soon(stopping).await.unwrap();
    assert!(soon(asked).await.unwrap().unwrap().is_interrupted());
    assert!(matches!(soon(queued).await.unwrap(), Err(SessionError::Stopped)));
}

#[tokio::test(start_paused = true)]
async fn stop_does_not_wait_for_a_turn_that_does_not_end() {
    let mut options = SessionOptions::new();
    options.limits.interrupt = Duration::from_secs(3);
    let (session, stage) = session(options);
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.begins("one").await;
    let before = Instant::now();
    let stopping = stopping(&session);
    cli.hears_request("interrupt").await;
    cli.hears_nothing_more().await;
    assert_eq!(before.elapsed().as_secs(), 3);
    assert_eq!(soon(cli.peer_mut().next_signal()).await, Some(PeerSignal::Kill));
    soon(stopping).await.unwrap();
    assert!(matches!(soon(asked).await.unwrap(), Err(SessionError::Stopped)));
}

#[tokio::test(start_paused = true)]
async fn stop_twice_and_concurrently() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.begins("one").await;
    let all = [stopping(&session), stopping(&session), stopping(&session)];
    quiet().await;
    let late = stopping(&session);
    cli.hears_request("interrupt").await;
    cli.interrupted().await;
    cli.hears_nothing_more().await;
    for stopping in all {
        soon(stopping).await.unwrap();
    }
    soon(late).await.unwrap();
    soon(session.stop()).await;
    assert!(soon(asked).await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn everything_waiting_ends_with_the_stop() {
    let mut options = SessionOptions::new().handler(weir_session::LeaveOpen);
    options.limits.interrupt = Duration::from_secs(1);
    let (session, stage) = session(options);
    let mut running = session.send("one").await.unwrap();
    let mut queued = session.send("two").await.unwrap();
    let mut cli = stage.ready().await;
    cli.begins("one").await;
    cli.asks_for("r1", "Bash").await;
    let settled = tokio::spawn({
        let session = session.clone();
        async move { session.settled().await }
    });
    let status = tokio::spawn({
        let session = session.clone();
        async move { session.mcp_status().await }
    });
    let closing = tokio::spawn({
        let session = session.clone();
        async move { session.close().await }
    });
    let mut updates = session.follow().await.unwrap();
    cli.hears_request("mcp_status").await;
    soon(session.stop()).await;
    assert!(matches!(soon(running.answer()).await, Err(SessionError::Stopped)));
    assert!(matches!(soon(queued.answer()).await, Err(SessionError::Stopped)));
    assert!(matches!(soon(status).await.unwrap(), Err(SessionError::Stopped)));
    soon(settled).await.unwrap().unwrap();
    soon(closing).await.unwrap().unwrap();
    while soon(updates.next()).await.is_some() {}
}

#[tokio::test(start_paused = true)]
async fn a_message_after_the_stop_is_refused_at_once() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.begins("one").await;
    let stopping = stopping(&session);
    cli.hears_request("interrupt").await;
    assert!(matches!(session.send("two").await, Err(SessionError::Stopped)));
    assert!(matches!(session.start().await, Err(SessionError::Stopped)));
    cli.interrupted().await;
    soon(stopping).await.unwrap();
    asked.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_handle_ends_the_process() {
    let (session, stage) = session(SessionOptions::new());
    let mut cli = stage.started(&session).await;
    let other = session.clone();
    drop(session);
    cli.hears_nothing_yet().await;
    drop(other);
    cli.hears_nothing_more().await;
    assert_eq!(soon(cli.peer_mut().next_signal()).await, Some(PeerSignal::Kill));
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_handle_ends_the_process_even_if_it_ignores_the_interrupt() {
    let mut options = SessionOptions::new();
    options.limits.interrupt = Duration::from_secs(3);
    let (session, stage) = session(options);
    let sent = session.send("one").await.unwrap();
    let mut cli = stage.ready().await;
    cli.begins("one").await;
    drop((session, sent));
    cli.hears_request("interrupt").await;
    cli.hears_nothing_more().await;
    assert_eq!(soon(cli.peer_mut().next_signal()).await, Some(PeerSignal::Kill));
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_handle_while_it_starts_ends_the_process() {
    let (session, stage) = session(SessionOptions::new());
    let sent = session.send("one").await.unwrap();
    drop(session);
    quiet().await;
    assert!(stage.is_closed());
    drop(sent);
}
