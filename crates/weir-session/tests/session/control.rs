//! Control requests: independent of consumers, and always answered.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use weir_session::{SessionError, SessionOptions};
use weir_transcript::TurnState;

use crate::played::{asking, session, soon};

#[tokio::test(start_paused = true)]
async fn an_unknown_control_request_is_answered_with_an_error_at_once() {
    let (session, stage) = session(SessionOptions::new());
    let mut cli = stage.started(&session).await;
    cli.asks("x1", json!({"subtype": "make_coffee"})).await;
    let answer = cli.hears_answer("x1").await;
    assert_eq!(answer["subtype"], "error");
    assert!(answer["error"].as_str().unwrap().contains("make_coffee"), "{answer}");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn control_requests_of_a_strange_shape_are_answered_too() {
    let (session, stage) = session(SessionOptions::new());
    let mut cli = stage.started(&session).await;
    cli.says(&json!({"type": "control_request", "request_id": "x1"})).await;
    assert_eq!(cli.hears_answer("x1").await["subtype"], "error");
    cli.says(&json!({"type": "control_request", "request_id": "x2", "request": "a text"})).await;
    assert_eq!(cli.hears_answer("x2").await["subtype"], "error");
    cli.asks("x3", json!({"subtype": "can_use_tool", "tool_name": 5, "input": []})).await;
    let answer = cli.hears_answer("x3").await;
    assert!(answer["subtype"] == "error" || answer["response"]["behavior"] == "deny", "{answer}");
    // Without an id it cannot be answered, and nothing breaks.
    cli.says(&json!({"type": "control_request", "request": {"subtype": "make_coffee"}})).await;
    cli.asks("x4", json!({"subtype": "make_tea"})).await;
    cli.hears_answer("x4").await;
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn interrupt_is_answered_even_if_updates_are_not_read() {
    let (session, stage) = session(SessionOptions::new());
    let _unread = session.follow().await.unwrap();
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    let id = cli.begins("one").await;
    for number in 0..20_000 {
        cli.text(&number.to_string()).await;
    }
    let interrupting = tokio::spawn({
        let session = session.clone();
        async move { session.interrupt().await }
    });
    let request = cli.hears_request("interrupt").await;
    cli.answers(&request, json!({})).await;
    let mut line = crate::played::result("");
    line["subtype"] = json!("error_during_execution");
    line["user_message_uuids"] = json!([id]);
    cli.says(&line).await;
    assert!(soon(interrupting).await.unwrap().unwrap());
    assert_eq!(asked.await.unwrap().unwrap().turn.state, TurnState::Interrupted);
    session.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupt_is_answered_while_the_cli_floods_us() {
    let (session, stage) = session(SessionOptions::new());
    let _asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.begins("one").await;
    let interrupting = tokio::spawn({
        let session = session.clone();
        async move { session.interrupt().await }
    });
    // Writes as fast as it can until it receives the interrupt.
    let line = json!({"type": "keep_alive", "filler": "x".repeat(1000)}).to_string() + "\n";
    let flood = line.repeat(1000);
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    let request = loop {
        assert!(std::time::Instant::now() < deadline, "the interrupt never came");
        cli.says_raw(flood.as_bytes()).await;
        if let Ok(Some(line)) = tokio::time::timeout(Duration::ZERO, cli.peer_mut().read_line()).await {
            break serde_json::from_str(&line).unwrap();
        }
    };
    cli.answers(&request, json!({})).await;
    cli.interrupted().await;
    assert!(soon(interrupting).await.unwrap().unwrap());
    drop(cli);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn interrupt_with_nothing_running_says_so() {
    let (session, stage) = session(SessionOptions::new());
    assert!(!session.interrupt().await.unwrap(), "no process");
    let mut cli = stage.started(&session).await;
    assert!(!session.interrupt().await.unwrap(), "no turn");
    cli.hears_nothing_yet().await;
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_cli_that_ignores_an_interrupt_is_ended_and_the_next_message_starts_another() {
    // It may answer nothing, or that it will, or that it will not.
    for answer in [None, Some(true), Some(false)] {
        let mut options = SessionOptions::new();
        options.limits.interrupt = Duration::from_secs(7);
        let (session, stage) = session(options);
        let asked = asking(&session, "one");
        let mut cli = stage.ready().await;
        cli.begins("one").await;
        let before = Instant::now();
        let (interrupted, ()) = tokio::join!(session.interrupt(), async {
            let request = cli.hears_request("interrupt").await;
            match answer {
                Some(true) => cli.answers(&request, json!({})).await,
                Some(false) => cli.refuses(&request, "no").await,
                None => {}
            }
            cli.hears_nothing_more().await;
            assert_eq!(before.elapsed().as_secs(), 7);
            cli.exits(143);
        });
        assert!(interrupted.unwrap(), "{answer:?}");
        assert!(matches!(asked.await.unwrap(), Err(SessionError::Interrupted)), "{answer:?}");
        let asked = asking(&session, "two");
        let mut next = stage.ready().await;
        next.turn("two", "2").await;
        assert_eq!(asked.await.unwrap().unwrap().text, "2");
        session.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn after_an_interrupt_the_process_takes_the_next_message() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.begins("one").await;
    let (interrupted, ()) = tokio::join!(session.interrupt(), async {
        let request = cli.hears_request("interrupt").await;
        cli.answers(&request, json!({})).await;
        cli.interrupted().await;
    });
    assert!(interrupted.unwrap());
    let answer = asked.await.unwrap().unwrap();
    assert_eq!(answer.turn.state, TurnState::Interrupted);
    assert!(answer.is_interrupted() && !answer.is_error());
    let asked = asking(&session, "two");
    cli.turn("two", "2").await;
    assert_eq!(asked.await.unwrap().unwrap().text, "2");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_before_the_turn_has_begun_interrupts_that_turn() {
    // As 2.1.9 and 2.1.325 do it: the answer, then the turn and its immediate end.
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.hears_message("one").await;
    let (interrupted, ()) = tokio::join!(session.interrupt(), async {
        let request = cli.hears_request("interrupt").await;
        cli.answers(&request, json!({})).await;
        cli.init().await;
        cli.interrupted().await;
    });
    assert!(interrupted.unwrap());
    assert_eq!(soon(asked).await.unwrap().unwrap().turn.state, TurnState::Interrupted);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn refused_and_unsupported_requests_are_different_errors() {
    let (session, stage) = session(SessionOptions::new());
    let mut cli = stage.started(&session).await;
    let (error, ()) = tokio::join!(session.set_permission_mode("yolo"), async {
        let request = cli.hears_request("set_permission_mode").await;
        cli.refuses(&request, "no such mode").await;
    });
    assert!(matches!(error, Err(SessionError::Refused { message }) if message == "no such mode"));
    let (error, ()) = tokio::join!(session.context_usage(), async {
        let request = cli.hears_request("get_context_usage").await;
        cli.refuses(&request, "Unsupported control request subtype: get_context_usage").await;
    });
    assert!(matches!(error, Err(SessionError::NotSupported { what: "context usage" })));
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_an_unknown_form_is_an_error_and_not_an_empty_answer() {
    let (session, stage) = session(SessionOptions::new());
    let mut cli = stage.started(&session).await;
    let (error, ()) = tokio::join!(session.context_usage(), async {
        let request = cli.hears_request("get_context_usage").await;
        cli.answers(&request, json!({"totalTokens": "many"})).await;
    });
    assert!(matches!(error, Err(SessionError::UnreadableAnswer { reason }) if reason.contains("many")));
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn requests_without_a_process_say_what_to_do() {
    let (session, _stage) = session(SessionOptions::new());
    let error = session.mcp_status().await.unwrap_err();
    assert!(matches!(error, SessionError::NotRunning), "{error}");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn answers_find_their_requests_in_any_order() {
    let (session, stage) = session(SessionOptions::new());
    let mut cli = stage.started(&session).await;
    let (status, usage, ()) = tokio::join!(session.mcp_status(), session.context_usage(), async {
        let status = cli.hears_request("mcp_status").await;
        let usage = cli.hears_request("get_context_usage").await;
        cli.answers(&usage, json!({"totalTokens": 7})).await;
        // An answer to an unknown request is ignored.
        cli.answers(&json!({"request_id": "never-asked"}), json!({})).await;
        cli.answers(&status, json!({"mcpServers": [{"name": "db", "status": "failed"}]})).await;
    });
    assert_eq!(status.unwrap().servers[0].status, "failed");
    assert_eq!(usage.unwrap().total_tokens, 7);
    session.stop().await;
}
