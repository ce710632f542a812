//! Messages and their answers.

use serde_json::json;
use weir_session::{SessionError, SessionOptions};
use weir_transcript::{EntryBody, MessageState, TurnState, View};

use crate::played::{SESSION, asking, result, session, soon};

#[tokio::test(start_paused = true)]
async fn a_message_is_answered_by_its_result() {
    let (session, stage) = session(SessionOptions::new());
    let asking = asking(&session, "Hello");
    let mut cli = stage.ready().await;
    cli.turn("Hello", "Hi there").await;
    let answer = asking.await.unwrap().unwrap();
    assert_eq!(answer.text, "Hi there");
    assert!(!answer.is_error());
    assert_eq!(answer.cost_usd(), Some(0.25));
    assert_eq!(answer.session_id.as_ref().map(weir_wire::CliSessionId::as_str), Some(SESSION));
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_message_waits_for_the_handshake_and_for_the_running_turn() {
    let (session, stage) = session(SessionOptions::new());
    let mut first = session.send("one").await.unwrap();
    let mut second = session.send("two").await.unwrap();
    let mut cli = stage.next();
    let request = cli.hears_request("initialize").await;
    cli.hears_nothing_yet().await;
    cli.answers(&request, json!({})).await;
    cli.turn("one", "1").await;
    cli.turn("two", "2").await;
    assert_eq!(first.answer().await.unwrap().text, "1");
    assert_eq!(second.answer().await.unwrap().text, "2");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_result_ends_a_turn_and_not_the_session() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.turn("one", "1").await;
    asked.await.unwrap().unwrap();
    // The input is open: one process serves many turns.
    cli.hears_nothing_yet().await;
    let asked = asking(&session, "two");
    cli.turn("two", "2").await;
    assert_eq!(asked.await.unwrap().unwrap().text, "2");
    assert_eq!(session.facts().await.unwrap().processes, 1);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn one_result_for_two_coalesced_messages_ends_both() {
    let (session, stage) = session(SessionOptions::new());
    let mut first = session.send("one").await.unwrap();
    let mut cli = stage.ready().await;
    let one = cli.hears_message("one").await;
    cli.lifecycle(&one, "queued").await;
    cli.init().await;
    let mut second = session.steer("two").await.unwrap();
    let mut third = session.steer("three").await.unwrap();
    let two = cli.hears_message("two").await;
    let three = cli.hears_message("three").await;
    cli.result("1", &[&one]).await;
    cli.init().await;
    cli.result("2 and 3", &[&two, &three]).await;
    assert_eq!(soon(first.answer()).await.unwrap().text, "1");
    assert_eq!(soon(second.answer()).await.unwrap().text, "2 and 3");
    assert_eq!(soon(third.answer()).await.unwrap().text, "2 and 3");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_turn_is_an_answer_that_says_so() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    let id = cli.begins("one").await;
    // The subtype says success although the API failed.
    let mut line = result("API Error: 400");
    line["is_error"] = json!(true);
    line["user_message_uuids"] = json!([id]);
    cli.says(&line).await;
    let answer = asked.await.unwrap().unwrap();
    assert!(answer.is_error());
    assert_eq!(answer.turn.state, TurnState::Failed);
    assert_eq!(answer.text, "API Error: 400");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_failed_is_an_error_for_who_asks() {
    let (session, stage) = session(SessionOptions::new());
    let asked = {
        let session = session.clone();
        tokio::spawn(async move { session.ask("one").await })
    };
    let mut cli = stage.ready().await;
    let id = cli.begins("one").await;
    let mut line = result("API Error: 400");
    line["is_error"] = json!(true);
    line["user_message_uuids"] = json!([id]);
    cli.says(&line).await;
    let error = asked.await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "the turn failed: API Error: 400");
    let SessionError::TurnFailed(end) = error else { panic!("{error}") };
    assert_eq!(end.turn.state, TurnState::Failed);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_result_in_a_shape_that_changed_still_ends_the_turn() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    let id = cli.begins("one").await;
    let mut line = result("fine");
    line["num_turns"] = json!("many");
    line["user_message_uuids"] = json!([id]);
    cli.says(&line).await;
    assert_eq!(asked.await.unwrap().unwrap().text, "fine");
    assert_eq!(session.view().await.unwrap().oddities.mismatches, 1);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_death_of_the_cli_in_mid_turn_fails_every_waiter_with_its_stderr() {
    let (session, stage) = session(SessionOptions::new());
    let mut first = session.send("one").await.unwrap();
    let mut cli = stage.ready().await;
    cli.begins("one").await;
    cli.text("half an ans").await;
    let status = tokio::spawn({
        let session = session.clone();
        async move { session.mcp_status().await }
    });
    cli.hears_request("mcp_status").await;
    cli.peer_mut().write_stderr("out of memory\n");
    cli.exits(9);
    for error in [soon(first.answer()).await.unwrap_err(), status.await.unwrap().unwrap_err()] {
        let SessionError::Died { exit, stderr, .. } = &error else { panic!("{error}") };
        assert_eq!(exit.code, Some(9));
        assert_eq!(stderr, "out of memory\n");
        assert!(error.to_string().contains("exit code 9"), "{error}");
        assert!(error.to_string().contains("out of memory"), "{error}");
    }
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn text_before_the_death_is_in_the_error() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.begins("one").await;
    cli.text("half an ans").await;
    cli.exits(1);
    let error = asked.await.unwrap().unwrap_err();
    let SessionError::Died { text, .. } = &error else { panic!("{error}") };
    assert_eq!(text.as_deref(), Some("half an ans"));
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_message_that_was_written_is_never_written_again() {
    let (session, stage) = session(SessionOptions::new());
    let mut first = session.send("one").await.unwrap();
    let mut second = session.send("two").await.unwrap();
    let mut cli = stage.ready().await;
    cli.begins("one").await;
    cli.tool("1").await;
    cli.exits(1);
    assert!(matches!(soon(first.answer()).await, Err(SessionError::Died { .. })));
    // Only the message that had not been written goes to the next process.
    let mut cli = stage.ready().await;
    cli.turn("two", "2").await;
    assert_eq!(soon(second.answer()).await.unwrap().text, "2");
    cli.hears_nothing_yet().await;
    let view = session.view().await.unwrap();
    assert_eq!(deliveries(&view), [("one", MessageState::Indeterminate), ("two", MessageState::Answered)]);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_message_id_is_refused_and_the_first_is_still_answered() {
    let (session, stage) = session(SessionOptions::new());
    let id = weir_wire::MessageId::new("6f6ad5d1-157d-44c1-9cc3-385839fd37ce");
    let message = |text: &str| weir_session::Message { id: Some(id.clone()), ..text.into() };
    let mut first = session.send(message("one")).await.unwrap();
    let error = session.send(message("again")).await.unwrap_err();
    assert!(error.to_string().contains("waiting"), "{error}");
    let mut cli = stage.ready().await;
    cli.turn("one", "1").await;
    assert_eq!(soon(first.answer()).await.unwrap().text, "1");
    session.stop().await;
}

/// Our messages, and what has become of them.
pub(crate) fn deliveries(view: &View) -> Vec<(&str, MessageState)> {
    let messages = view.entries.iter().filter_map(|entry| match &entry.body {
        EntryBody::User(user) => Some((user.text.as_str(), user.delivery)),
        _ => None,
    });
    messages.collect()
}
