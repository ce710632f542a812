//! A process for each message, in one session.

use serde_json::json;
use weir_session::{SessionError, SessionOptions};
use weir_transcript::TurnCause;

use crate::played::{SESSION, asking, quiet, result, session, soon};

#[tokio::test(start_paused = true)]
async fn every_message_gets_its_own_process() {
    let (session, stage) = session(SessionOptions::new().keep_process(false));
    let mut sent = Vec::new();
    for number in 0..3 {
        sent.push(session.send(number.to_string()).await.unwrap());
    }
    for number in 0..3 {
        let mut cli = stage.ready().await;
        let line = cli.hears().await;
        assert_eq!(line["message"]["content"], number.to_string().as_str());
        // The session continues: the next process is told its id.
        assert_eq!(line["session_id"], if number == 0 { "default" } else { SESSION });
        cli.init().await;
        cli.hears_nothing_yet().await;
        cli.result(&number.to_string(), &[line["uuid"].as_str().unwrap()]).await;
        // Its input is closed only after its result.
        cli.hears_nothing_more().await;
    }
    for (number, sent) in sent.iter_mut().enumerate() {
        assert_eq!(soon(sent.answer()).await.unwrap().text, number.to_string());
    }
    assert_eq!(session.facts().await.unwrap().processes, 3);
    let view = session.view().await.unwrap();
    assert_eq!(view.turns.len(), 3, "one session");
    assert!(!view.session.forked);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn background_tasks_and_the_turn_after_them_are_waited_for() {
    let (session, stage) = session(SessionOptions::new().keep_process(false));
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    let id = cli.begins("one").await;
    cli.tasks(&["t1"]).await;
    cli.result("started it", &[&id]).await;
    assert_eq!(asked.await.unwrap().unwrap().text, "started it");
    cli.hears_nothing_yet().await;
    cli.tasks(&[]).await;
    cli.hears_nothing_yet().await;
    cli.init().await;
    cli.text("it is done").await;
    cli.hears_nothing_yet().await;
    let mut line = result("it is done");
    line["origin"] = json!({"kind": "task-notification"});
    cli.says(&line).await;
    cli.hears_nothing_more().await;
    let view = session.view().await.unwrap();
    assert!(matches!(view.turns[1].cause, TurnCause::Unasked { .. }));
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_message_sent_while_background_tasks_run_is_for_the_next_process() {
    let (session, stage) = session(SessionOptions::new().keep_process(false));
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    let id = cli.begins("one").await;
    cli.tasks(&["t1"]).await;
    cli.result("started it", &[&id]).await;
    asked.await.unwrap().unwrap();
    let asked = asking(&session, "two");
    cli.hears_nothing_yet().await;
    cli.tasks(&[]).await;
    cli.hears_nothing_more().await;
    stage.ready().await.turn("two", "2").await;
    assert_eq!(asked.await.unwrap().unwrap().text, "2");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_process_that_dies_fails_its_own_message_only() {
    let (session, stage) = session(SessionOptions::new().keep_process(false));
    let mut first = session.send("one").await.unwrap();
    let mut second = session.send("two").await.unwrap();
    let mut cli = stage.ready().await;
    cli.begins("one").await;
    cli.exits(3);
    assert!(matches!(soon(first.answer()).await, Err(SessionError::Died { .. })));
    stage.ready().await.turn("two", "2").await;
    assert_eq!(soon(second.answer()).await.unwrap().text, "2");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_process_started_early_waits_for_its_message() {
    let (session, stage) = session(SessionOptions::new().keep_process(false));
    let mut cli = stage.started(&session).await;
    cli.hears_nothing_yet().await;
    let asked = asking(&session, "one");
    cli.turn("one", "1").await;
    cli.hears_nothing_more().await;
    assert_eq!(asked.await.unwrap().unwrap().text, "1");
    quiet().await;
    assert_eq!(session.facts().await.unwrap().processes, 1);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_total_of_a_resumed_process_is_not_charged_twice() {
    let (session, stage) = session(SessionOptions::new().keep_process(false));
    for (message, total, models) in [("one", 0.5, 100), ("two", 0.75, 150)] {
        let asked = asking(&session, message);
        let mut cli = stage.ready().await;
        let id = cli.begins(message).await;
        let mut line = result("");
        line["total_cost_usd"] = json!(total);
        line["modelUsage"] = json!({"m": {"inputTokens": models, "outputTokens": 1, "costUSD": total}});
        line["user_message_uuids"] = json!([id]);
        cli.says(&line).await;
        asked.await.unwrap().unwrap();
        cli.hears_nothing_more().await;
    }
    assert_eq!(session.view().await.unwrap().cost.usd, Some(0.75));
    session.stop().await;
}
