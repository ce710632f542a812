//! Processes come and go; the session stays.

use std::time::Duration;

use weir_session::{Origin, SessionError, SessionOptions};
use weir_wire::CliSessionId;

use crate::played::{SESSION, asking, quiet, session, soon};

const OTHER: &str = "a1b2c3d4-0000-4000-8000-000000000001";

#[tokio::test(start_paused = true)]
async fn a_dead_process_is_replaced_by_the_next_message() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.turn("one", "1").await;
    asked.await.unwrap().unwrap();
    cli.exits(1);
    let asked = asking(&session, "two");
    stage.ready().await.turn("two", "2").await;
    assert_eq!(asked.await.unwrap().unwrap().text, "2");
    assert_eq!(session.facts().await.unwrap().processes, 2);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_process_that_dies_at_startup_is_not_restarted_repeatedly() {
    let (session, stage) = session(SessionOptions::new());
    let mut first = session.send("one").await.unwrap();
    let mut second = session.send("two").await.unwrap();
    let mut cli = stage.next();
    cli.hears_request("initialize").await;
    cli.peer_mut().write_stderr("Error: no such flag\n");
    cli.exits(1);
    for error in [soon(first.answer()).await.unwrap_err(), soon(second.answer()).await.unwrap_err()] {
        assert!(error.to_string().contains("no such flag"), "{error}");
    }
    quiet().await;
    assert_eq!(session.facts().await.unwrap().processes, 1);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_process_that_dies_before_taking_the_message_is_not_restarted_repeatedly() {
    // Ready, busy with something of its own, and dead.
    let (session, stage) = session(SessionOptions::new());
    let started = tokio::spawn({
        let session = session.clone();
        async move { session.start().await }
    });
    let mut cli = stage.next();
    let request = cli.hears_request("initialize").await;
    cli.init().await;
    cli.answers(&request, serde_json::json!({})).await;
    started.await.unwrap().unwrap();
    let asked = asking(&session, "one");
    cli.hears_nothing_yet().await;
    cli.exits(1);
    assert!(matches!(soon(asked).await.unwrap(), Err(SessionError::Died { .. })));
    quiet().await;
    assert_eq!(session.facts().await.unwrap().processes, 1);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_start_is_an_error_for_every_waiting_caller() {
    let (session, stage) = session(SessionOptions::new());
    drop(stage);
    let (started, asked) = tokio::join!(session.start(), session.ask("one"));
    assert!(matches!(started, Err(SessionError::NotStarted(_))), "{started:?}");
    assert!(matches!(asked, Err(SessionError::NotStarted(_))), "{asked:?}");
    soon(session.settled()).await.unwrap();
    soon(session.stop()).await;
}

#[tokio::test(start_paused = true)]
async fn start_waits_until_the_process_is_ready_and_can_be_repeated() {
    let (session, stage) = session(SessionOptions::new());
    let (first, second, _cli) = tokio::join!(session.start(), session.start(), stage.ready());
    first.unwrap();
    second.unwrap();
    soon(session.start()).await.unwrap();
    let facts = session.facts().await.unwrap();
    assert_eq!(facts.processes, 1);
    assert_eq!(facts.introduction, serde_json::json!({"commands": []}));
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_id_that_the_cli_reports_is_authoritative() {
    let (session, stage) = session(SessionOptions::new().resume(SESSION));
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    let id = cli.hears_message("one").await;
    cli.init_as(OTHER).await;
    cli.result("1", &[&id]).await;
    let answer = asked.await.unwrap().unwrap();
    assert_eq!(answer.session_id, Some(CliSessionId::new(OTHER)));
    let view = session.view().await.unwrap();
    assert!(view.session.forked, "not the requested session");
    assert_eq!(view.session.id, Some(CliSessionId::new(OTHER)));
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_resumed_session_that_keeps_its_id_is_not_a_fork() {
    let (session, stage) = session(SessionOptions::new().resume(SESSION));
    let asked = asking(&session, "one");
    stage.ready().await.turn("one", "1").await;
    asked.await.unwrap().unwrap();
    assert!(!session.view().await.unwrap().session.forked);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_requested_fork_is_not_reported_as_an_unexpected_one() {
    let options = SessionOptions::new().origin(Origin::Fork(CliSessionId::new(SESSION)));
    let (session, stage) = session(options);
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    let id = cli.hears_message("one").await;
    cli.init_as(OTHER).await;
    cli.result("1", &[&id]).await;
    asked.await.unwrap().unwrap();
    let view = session.view().await.unwrap();
    assert_eq!(view.session.id, Some(CliSessionId::new(OTHER)));
    assert!(!view.session.forked);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_source_of_the_api_key_is_in_the_view() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    stage.ready().await.turn("one", "1").await;
    asked.await.unwrap().unwrap();
    assert_eq!(session.view().await.unwrap().session.api_key_source.as_deref(), Some("none"));
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_message_names_the_session_once_it_is_known() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    let line = cli.hears().await;
    assert_eq!(line["session_id"], "default", "{line}");
    cli.init().await;
    cli.result("1", &[line["uuid"].as_str().unwrap()]).await;
    asked.await.unwrap().unwrap();
    let _asked = asking(&session, "two");
    let line = cli.hears().await;
    assert_eq!(line["session_id"], SESSION, "{line}");
    assert!(line["parent_tool_use_id"].is_null());
    drop(cli);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn close_waits_for_the_turn_and_the_next_message_starts_another_process() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    let id = cli.begins("one").await;
    let closing = tokio::spawn({
        let session = session.clone();
        async move { session.close().await }
    });
    quiet().await;
    // This message is for the next process.
    let next = asking(&session, "two");
    cli.hears_nothing_yet().await;
    assert!(!closing.is_finished());
    cli.result("1", &[&id]).await;
    cli.hears_nothing_more().await;
    assert_eq!(asked.await.unwrap().unwrap().text, "1");
    soon(closing).await.unwrap().unwrap();
    stage.ready().await.turn("two", "2").await;
    assert_eq!(next.await.unwrap().unwrap().text, "2");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn close_without_a_process_is_done_at_once() {
    let (session, _stage) = session(SessionOptions::new());
    soon(session.close()).await.unwrap();
    soon(session.close()).await.unwrap();
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn close_while_starting_does_not_lose_a_message() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.next();
    cli.hears_request("initialize").await;
    soon(session.close()).await.unwrap();
    cli.hears_nothing_more().await;
    stage.ready().await.turn("one", "1").await;
    assert_eq!(soon(asked).await.unwrap().unwrap().text, "1");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn start_while_the_process_is_being_closed_starts_the_next_one() {
    let (session, stage) = session(SessionOptions::new());
    let cli = stage.started(&session).await;
    // The output stays open for a while, so ending takes some time.
    let closing = tokio::spawn({
        let session = session.clone();
        async move { session.close().await }
    });
    quiet().await;
    let (started, _next) = tokio::join!(session.start(), stage.ready());
    started.unwrap();
    soon(closing).await.unwrap().unwrap();
    assert_eq!(session.facts().await.unwrap().processes, 2);
    drop(cli);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_process_that_closes_its_output_is_ended() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.begins("one").await;
    cli.peer_mut().close_output();
    cli.hears_nothing_more().await;
    assert!(soon(asked).await.unwrap().is_err());
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_lets_time_pass() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.turn("one", "1").await;
    asked.await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_secs(24 * 3600)).await;
    let asked = asking(&session, "two");
    cli.turn("two", "2").await;
    assert_eq!(asked.await.unwrap().unwrap().text, "2");
    session.stop().await;
}
