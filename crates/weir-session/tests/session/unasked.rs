//! Unsolicited results and turns do not answer any message.

use serde_json::{Value, json};
use tokio::time::Instant;
use weir_session::SessionOptions;
use weir_transcript::{TurnCause, TurnState};

use crate::played::{SESSION, asking, quiet, result, session, soon};

fn empty_result() -> Value {
    let mut line = result("No response requested.");
    line["num_turns"] = json!(0);
    line["total_cost_usd"] = json!(0);
    line
}

#[tokio::test(start_paused = true)]
async fn a_second_unasked_result_answers_no_message() {
    // With and without a result that names its message.
    for named in [1, 0] {
        let (session, stage) = session(SessionOptions::new());
        let mut first = session.send("one").await.unwrap();
        let mut second = session.send("two").await.unwrap();
        let mut cli = stage.ready().await;
        let one = cli.begins("one").await;
        cli.result("1", &[one.as_str()][..named]).await;
        let two = cli.hears_message("two").await;
        // By now the second message is written and waiting. No `init` has arrived for it.
        cli.result("a stray result", &[]).await;
        cli.init().await;
        cli.result("2", &[two.as_str()][..named]).await;
        assert_eq!(soon(first.answer()).await.unwrap().text, "1");
        assert_eq!(soon(second.answer()).await.unwrap().text, "2", "names: {named}");
        session.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_before_any_turn_answers_the_waiting_message() {
    // This is how newer versions report that there is no session to resume.
    let (session, stage) = session(SessionOptions::new().resume(SESSION));
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.hears_message("one").await;
    let mut line = result("");
    line["subtype"] = json!("error_during_execution");
    line["is_error"] = json!(true);
    line["errors"] = json!(["No conversation found with session ID"]);
    cli.says(&line).await;
    let answer = asked.await.unwrap().unwrap();
    assert_eq!(answer.turn.state, TurnState::Failed);
    assert_eq!(answer.turn.result.as_ref().unwrap().errors, ["No conversation found with session ID"]);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_empty_result_first_after_resume_is_not_the_answer() {
    for announced in [true, false] {
        let (session, stage) = session(SessionOptions::new().resume(SESSION));
        let asked = asking(&session, "next");
        let mut cli = stage.ready().await;
        let id = cli.hears_message("next").await;
        if announced {
            cli.init().await;
        }
        cli.says(&empty_result()).await;
        quiet().await;
        assert!(!asked.is_finished(), "an empty result is not an answer");
        cli.init().await;
        cli.text("I continue").await;
        cli.result("I continue", &[&id]).await;
        assert_eq!(asked.await.unwrap().unwrap().text, "I continue");
        session.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_result_that_names_a_message_is_its_answer() {
    // As for `/clear`.
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, weir_session::Message::command("clear", "").unwrap());
    let mut cli = stage.ready().await;
    let id = cli.begins("/clear").await;
    let mut line = empty_result();
    line["user_message_uuids"] = json!([id]);
    cli.says(&line).await;
    assert_eq!(soon(asked).await.unwrap().unwrap().turn.state, TurnState::Empty);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_unasked_turn_is_a_separate_turn() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.turn("one", "1").await;
    asked.await.unwrap().unwrap();
    cli.init().await;
    cli.text("I woke up").await;
    // A message that arrives meanwhile waits for its end.
    let asked = asking(&session, "two");
    cli.hears_nothing_yet().await;
    let mut line = result("I woke up");
    line["origin"] = json!({"kind": "task-notification"});
    cli.says(&line).await;
    cli.turn("two", "2").await;
    assert_eq!(asked.await.unwrap().unwrap().text, "2");
    let view = session.view().await.unwrap();
    let causes: Vec<&TurnCause> = view.turns.iter().map(|turn| &turn.cause).collect();
    let woken = TurnCause::Unasked { origin: Some("task-notification".into()) };
    assert_eq!(causes, [&TurnCause::Message, &woken, &TurnCause::Message]);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_message_that_crosses_an_unasked_turn_keeps_waiting_for_its_own() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    let id = cli.hears_message("one").await;
    // The CLI had begun its own turn before it read the message.
    cli.init().await;
    cli.text("I woke up").await;
    let mut line = result("I woke up");
    line["origin"] = json!({"kind": "task-notification"});
    cli.says(&line).await;
    quiet().await;
    assert!(!asked.is_finished());
    cli.init().await;
    cli.result("1", &[&id]).await;
    assert_eq!(asked.await.unwrap().unwrap().text, "1");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_result_that_was_held_back_still_answers_its_message() {
    // 2.1.325 holds the first result back while a background sub-agent is running, and writes both at the end.
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.begins("one").await;
    cli.text("launched").await;
    cli.tasks(&["t1"]).await;
    cli.tasks(&[]).await;
    cli.init().await;
    cli.text("the agent is done").await;
    cli.result("launched", &[]).await;
    let mut line = result("the agent is done");
    line["origin"] = json!({"kind": "task-notification"});
    cli.says(&line).await;
    assert_eq!(asked.await.unwrap().unwrap().text, "launched");
    soon(session.settled()).await.unwrap();
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn settled_waits_for_background_tasks_and_for_the_turn_that_follows_them() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    let id = cli.begins("one").await;
    cli.tasks(&["t1"]).await;
    cli.result("started it", &[&id]).await;
    assert_eq!(asked.await.unwrap().unwrap().text, "started it");
    let settled = tokio::spawn({
        let session = session.clone();
        async move { session.settled().await }
    });
    quiet().await;
    assert!(!settled.is_finished(), "a task is running");
    cli.tasks(&[]).await;
    quiet().await;
    assert!(!settled.is_finished(), "the CLI is about to begin a turn by itself");
    cli.init().await;
    cli.text("it is done").await;
    quiet().await;
    assert!(!settled.is_finished(), "a turn is running");
    cli.result("it is done", &[]).await;
    settled.await.unwrap().unwrap();
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn settled_does_not_wait_long_for_a_turn_that_never_follows() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    let id = cli.begins("one").await;
    cli.tasks(&["t1"]).await;
    cli.result("started it", &[&id]).await;
    asked.await.unwrap().unwrap();
    let before = Instant::now();
    cli.tasks(&[]).await;
    soon(session.settled()).await.unwrap();
    assert!(before.elapsed().as_secs_f64() < 2.0, "{:?}", before.elapsed());
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn settled_returns_at_once_if_nothing_is_running() {
    let (session, _stage) = session(SessionOptions::new());
    soon(session.settled()).await.unwrap();
    session.stop().await;
}
