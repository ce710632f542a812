//! Every future can be dropped halfway; whatever it started continues without it.

use std::time::Duration;

use serde_json::json;
use weir_session::SessionOptions;

use crate::played::{asking, quiet, session, soon};

/// Polls a future for a moment and drops it.
async fn halfway<F: Future>(future: F) {
    assert!(
        tokio::time::timeout(Duration::from_millis(1), future).await.is_err(),
        "it should not be finished"
    );
}

#[tokio::test(start_paused = true)]
async fn asking_dropped_halfway_leaves_the_session_usable() {
    let (session, stage) = session(SessionOptions::new());
    halfway(session.ask("one")).await;
    let mut cli = stage.ready().await;
    halfway(session.ask("two")).await;
    let asked = asking(&session, "three");
    // All three were accepted, and none is lost.
    cli.turn("one", "1").await;
    cli.turn("two", "2").await;
    cli.turn("three", "3").await;
    assert_eq!(asked.await.unwrap().unwrap().text, "3");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_dropped_halfway_can_be_waited_for_again() {
    let (session, stage) = session(SessionOptions::new());
    let mut sent = session.send("one").await.unwrap();
    halfway(sent.answer()).await;
    stage.ready().await.turn("one", "1").await;
    assert_eq!(soon(sent.answer()).await.unwrap().text, "1");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_dropped_halfway_still_interrupts() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.begins("one").await;
    halfway(session.interrupt()).await;
    let request = cli.hears_request("interrupt").await;
    cli.answers(&request, json!({})).await;
    cli.interrupted().await;
    assert!(soon(asked).await.unwrap().unwrap().is_interrupted());
    let asked = asking(&session, "two");
    cli.turn("two", "2").await;
    assert_eq!(asked.await.unwrap().unwrap().text, "2");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_stop_dropped_halfway_still_stops() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.begins("one").await;
    halfway(session.stop()).await;
    cli.hears_request("interrupt").await;
    cli.interrupted().await;
    cli.hears_nothing_more().await;
    soon(asked).await.unwrap().unwrap();
    soon(session.stop()).await;
}

#[tokio::test(start_paused = true)]
async fn other_calls_dropped_halfway_leave_the_session_usable() {
    let (session, stage) = session(SessionOptions::new());
    halfway(session.start()).await;
    let mut cli = stage.ready().await;
    halfway(session.mcp_status()).await;
    let request = cli.hears_request("mcp_status").await;
    cli.answers(&request, json!({})).await;
    let asked = asking(&session, "one");
    let id = cli.begins("one").await;
    halfway(session.settled()).await;
    halfway(session.close()).await;
    cli.result("1", &[&id]).await;
    assert_eq!(soon(asked).await.unwrap().unwrap().text, "1");
    // The close was requested, and happens.
    cli.hears_nothing_more().await;
    let asked = asking(&session, "two");
    stage.ready().await.turn("two", "2").await;
    assert_eq!(soon(asked).await.unwrap().unwrap().text, "2");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_next_update_dropped_halfway_is_not_lost() {
    let (session, stage) = session(SessionOptions::new());
    let mut updates = session.follow().await.unwrap();
    soon(updates.next()).await.unwrap();
    halfway(updates.next()).await;
    let asked = asking(&session, "one");
    stage.ready().await.turn("one", "1").await;
    asked.await.unwrap().unwrap();
    soon(updates.next()).await.unwrap();
    quiet().await;
    session.stop().await;
}
