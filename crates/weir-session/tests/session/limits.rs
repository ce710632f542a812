//! Limits of time, by phase and as a whole, and of cost.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use weir_session::{LeaveOpen, Limits, Phase, SessionError, SessionOptions};
use weir_transcript::{MessageState, TurnState};
use weir_wire::RequestId;

use crate::played::{Answer, Cli, asking, quiet, result, session, soon};
use crate::turns::deliveries;

/// Limits that all differ, so that a test can tell which one fired.
fn limits() -> Limits {
    Limits {
        starting: Some(Duration::from_secs(3)),
        model: Some(Duration::from_secs(4)),
        tool: Some(Duration::from_secs(5)),
        compaction: Some(Duration::from_secs(6)),
        background: Some(Duration::from_secs(7)),
        person: Some(Duration::from_secs(8)),
        interrupt: Duration::from_secs(1),
        ..Limits::default()
    }
}

#[track_caller]
fn assert_timed_out(answer: Answer, expected: Phase, limit: u64) {
    let error = answer.unwrap_err();
    let SessionError::TimedOut { phase, after, .. } = &error else { panic!("{error}") };
    assert_eq!((*phase, after.as_secs()), (expected, limit), "{error}");
    let says_which = error.to_string().contains(&expected.to_string());
    assert!(says_which || expected == Phase::Turn, "{error}");
}

/// A turn that goes silent, and the phase that is reported as too slow.
async fn silence<F: AsyncFnOnce(&mut Cli)>(before: F, expected: Phase, limit: u64) {
    let mut options = SessionOptions::new().handler(LeaveOpen);
    options.limits = limits();
    let (session, stage) = session(options);
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.begins("one").await;
    before(&mut cli).await;
    let since = Instant::now();
    cli.hears_request("interrupt").await;
    assert_eq!(since.elapsed().as_secs(), limit);
    // The interrupt works, and the CLI withdraws its request.
    cli.takes_back("r1").await;
    cli.interrupted().await;
    assert_timed_out(asked.await.unwrap(), expected, limit);
    // And the process continues.
    let asked = asking(&session, "two");
    cli.turn("two", "2").await;
    assert_eq!(asked.await.unwrap().unwrap().text, "2");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_silent_model_has_its_own_limit() {
    silence(async |cli| cli.text("and then").await, Phase::Model, 4).await;
}

#[tokio::test(start_paused = true)]
async fn a_tool_has_its_own_limit() {
    silence(async |cli| cli.tool("1").await, Phase::Tool, 5).await;
}

#[tokio::test(start_paused = true)]
async fn compaction_has_its_own_limit() {
    let compacting = json!({"type": "system", "subtype": "status", "status": "compacting"});
    silence(async |cli| cli.says(&compacting).await, Phase::Compaction, 6).await;
}

#[tokio::test(start_paused = true)]
async fn a_person_has_their_own_limit() {
    silence(async |cli| cli.asks_for("r1", "Bash").await, Phase::Person, 8).await;
}

#[tokio::test(start_paused = true)]
async fn each_line_restarts_the_time() {
    let before = async |cli: &mut Cli| {
        for number in 0..10 {
            tokio::time::sleep(Duration::from_secs(3)).await;
            cli.text(&number.to_string()).await;
        }
    };
    silence(before, Phase::Model, 4).await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_interrupt_ends_the_process_and_the_error_still_names_the_limit() {
    let mut options = SessionOptions::new();
    options.limits = limits();
    let (session, stage) = session(options);
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.begins("one").await;
    cli.tool("1").await;
    cli.peer_mut().write_stderr("stuck\n");
    cli.hears_request("interrupt").await;
    cli.hears_nothing_more().await;
    let error = asked.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("stuck"), "{error}");
    assert_timed_out(Err(error), Phase::Tool, 5);
    let asked = asking(&session, "two");
    stage.ready().await.turn("two", "2").await;
    assert_eq!(asked.await.unwrap().unwrap().text, "2");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_cli_that_never_answers_the_handshake_is_ended_after_the_limit() {
    let mut options = SessionOptions::new();
    options.limits = limits();
    let (session, stage) = session(options);
    let before = Instant::now();
    let mut first = session.send("one").await.unwrap();
    let mut second = session.send("two").await.unwrap();
    let mut cli = stage.next();
    cli.hears_request("initialize").await;
    // Its output is not an answer and does not extend the limit.
    for _ in 0..2 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cli.says(&json!({"type": "keep_alive"})).await;
    }
    cli.hears_nothing_more().await;
    assert_eq!(before.elapsed().as_secs(), 3);
    assert_timed_out(soon(first.answer()).await, Phase::Starting, 3);
    assert_timed_out(soon(second.answer()).await, Phase::Starting, 3);
    // It is not tried again until the next request.
    let asked = asking(&session, "three");
    stage.ready().await.turn("three", "3").await;
    assert_eq!(asked.await.unwrap().unwrap().text, "3");
    assert_eq!(session.facts().await.unwrap().processes, 2);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_cli_that_answers_the_handshake_with_an_error_is_still_usable() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.next();
    let request = cli.hears_request("initialize").await;
    cli.refuses(&request, "Unsupported control request subtype: initialize").await;
    cli.turn("one", "1").await;
    assert_eq!(asked.await.unwrap().unwrap().text, "1");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_has_an_absolute_limit_whatever_happens_in_it() {
    let mut options = SessionOptions::new();
    options.limits.turn = Some(Duration::from_secs(15));
    options.limits.interrupt = Duration::from_secs(1);
    let (session, stage) = session(options);
    let asked = asking(&session, "one");
    let before = Instant::now();
    let mut cli = stage.ready().await;
    cli.begins("one").await;
    for number in 0..14 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cli.text(&number.to_string()).await;
    }
    cli.hears_request("interrupt").await;
    assert_eq!(before.elapsed().as_secs(), 15);
    cli.hears_nothing_more().await;
    assert_timed_out(asked.await.unwrap(), Phase::Turn, 15);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_after_an_hour_gives_the_tool_its_full_time() {
    let mut options = SessionOptions::new().handler(LeaveOpen);
    options.limits = Limits { person: None, ..limits() };
    let (session, stage) = session(options);
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    let id = cli.begins("one").await;
    cli.tool("r1").await;
    cli.asks_for("r1", "Bash").await;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    session.answer(&RequestId::new("r1"), weir_session::Decision::allow(), None).await.unwrap();
    cli.hears_answer("r1").await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    cli.hears_nothing_yet().await;
    cli.result("1", &[&id]).await;
    assert_eq!(asked.await.unwrap().unwrap().text, "1");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_process_is_ended_and_the_next_message_starts_another() {
    let mut options = SessionOptions::new();
    options.limits.idle = Some(Duration::from_secs(5));
    let (session, stage) = session(options);
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.turn("one", "1").await;
    asked.await.unwrap().unwrap();
    let before = Instant::now();
    cli.hears_nothing_more().await;
    assert_eq!(before.elapsed().as_secs(), 5);
    // Nothing is left to wait for, so waiting costs nothing.
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let asked = asking(&session, "two");
    stage.ready().await.turn("two", "2").await;
    assert_eq!(asked.await.unwrap().unwrap().text, "2");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn background_tasks_have_their_own_limit() {
    let mut options = SessionOptions::new();
    options.limits = limits();
    let (session, stage) = session(options);
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    let id = cli.begins("one").await;
    cli.tasks(&["t1"]).await;
    cli.result("1", &[&id]).await;
    asked.await.unwrap().unwrap();
    let before = Instant::now();
    cli.hears_nothing_more().await;
    assert_eq!(before.elapsed().as_secs(), 7);
    soon(session.settled()).await.unwrap();
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_cost_limit_counts_across_turns_and_fails_queued_messages() {
    let (session, stage) = session(SessionOptions::new().max_cost_usd(0.75));
    let mut first = session.send("one").await.unwrap();
    let mut second = session.send("two").await.unwrap();
    let mut third = session.send("three").await.unwrap();
    let mut cli = stage.ready().await;
    for (message, total) in [("one", 0.5), ("two", 1.0)] {
        let id = cli.begins(message).await;
        let mut line = result("");
        line["total_cost_usd"] = json!(total);
        line["user_message_uuids"] = json!([id]);
        cli.says(&line).await;
    }
    assert_eq!(first.answer().await.unwrap().cost_usd(), Some(0.5));
    assert_eq!(second.answer().await.unwrap().total_cost_usd, Some(1.0));
    let error = soon(third.answer()).await.unwrap_err();
    let SessionError::BudgetExhausted { spent, limit } = error else { panic!("{error}") };
    assert_eq!((spent, limit), (1.0, 0.75));
    let error = session.send("four").await.unwrap_err();
    assert!(matches!(error, SessionError::BudgetExhausted { .. }), "{error}");
    cli.hears_nothing_yet().await;
    let view = session.view().await.unwrap();
    assert_eq!(deliveries(&view)[2], ("three", MessageState::Failed));
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn no_process_is_started_for_messages_over_the_cost_limit() {
    let (session, stage) = session(SessionOptions::new().max_cost_usd(0.2).keep_process(false));
    let mut first = session.send("one").await.unwrap();
    let mut second = session.send("two").await.unwrap();
    let mut cli = stage.ready().await;
    cli.turn("one", "1").await;
    cli.hears_nothing_more().await;
    assert_eq!(first.answer().await.unwrap().text, "1");
    assert!(matches!(soon(second.answer()).await, Err(SessionError::BudgetExhausted { .. })));
    quiet().await;
    assert_eq!(session.facts().await.unwrap().processes, 1);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_ends_in_time_is_not_a_timeout() {
    let mut options = SessionOptions::new();
    options.limits = limits();
    let (session, stage) = session(options);
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    let id = cli.begins("one").await;
    tokio::time::sleep(Duration::from_millis(3900)).await;
    cli.result("just in time", &[&id]).await;
    let answer = asked.await.unwrap().unwrap();
    assert_eq!(answer.turn.state, TurnState::Succeeded);
    session.stop().await;
}
