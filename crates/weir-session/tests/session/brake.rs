//! The brake: an interrupt in each state, on a CLI played by the test.

use serde_json::json;
use weir_session::{SessionError, SessionOptions};
use weir_transcript::{EntryBody, MessageState, TurnState};
use weir_wire::TaskId;

use crate::played::{asking, quiet, session, soon};

#[tokio::test(start_paused = true)]
async fn an_interrupt_before_the_cli_is_ready_cancels_the_message() {
    let (session, stage) = session(SessionOptions::new());
    let mut sent = session.send("one").await.unwrap();
    let mut cli = stage.next();
    let greeting = cli.hears_request("initialize").await;
    assert_eq!(greeting["request"]["perTaskStopAffordance"], true, "tasks can be stopped individually");
    assert!(soon(session.interrupt()).await.unwrap());
    assert!(matches!(soon(sent.answer()).await, Err(SessionError::Interrupted)));
    cli.answers(&greeting, json!({})).await;
    quiet().await;
    // The process is running, and the first message it receives is the next one.
    let asked = asking(&session, "two");
    cli.turn("two", "2").await;
    assert_eq!(asked.await.unwrap().unwrap().text, "2");
    let view = session.view().await.unwrap();
    let EntryBody::User(user) = &view.entries[0].body else { panic!("a message") };
    assert_eq!((user.text.as_str(), user.delivery), ("one", MessageState::Cancelled));
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_before_there_is_a_process_cancels_the_message() {
    let (session, stage) = session(SessionOptions::new());
    let mut sent = session.send("one").await.unwrap();
    let mut behind = session.send("two").await.unwrap();
    assert!(soon(session.interrupt()).await.unwrap());
    assert!(matches!(soon(sent.answer()).await, Err(SessionError::Interrupted)));
    // The message behind it is another turn.
    let mut cli = stage.ready().await;
    cli.turn("two", "2").await;
    assert_eq!(soon(behind.answer()).await.unwrap().text, "2");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_message_received_but_not_begun_is_cancelled_and_interrupted() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    let one = cli.hears_message("one").await;
    cli.lifecycle(&one, "queued").await;
    quiet().await;
    let interrupting = tokio::spawn({
        let session = session.clone();
        async move { session.interrupt().await }
    });
    let cancel = cli.hears_request("cancel_async_message").await;
    assert_eq!(cancel["request"]["message_uuid"], one.as_str());
    let interrupt = cli.hears_request("interrupt").await;
    assert_eq!(interrupt["request"]["cancel_queued"], true);
    // As 2.1.325 does it: there is no result.
    cli.answers(&cancel, json!({"cancelled": false})).await;
    cli.lifecycle(&one, "cancelled").await;
    cli.answers(&interrupt, json!({"still_queued": []})).await;
    assert!(soon(interrupting).await.unwrap().unwrap());
    assert!(matches!(soon(asked).await.unwrap(), Err(SessionError::Interrupted)));
    let asked = asking(&session, "two");
    cli.turn("two", "2").await;
    assert_eq!(asked.await.unwrap().unwrap().text, "2");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_begins_anyway_is_interrupted_again_and_then_ended() {
    let mut options = SessionOptions::new();
    options.limits.interrupt = std::time::Duration::from_secs(3);
    let (session, stage) = session(options);
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.hears_message("one").await;
    let interrupting = tokio::spawn({
        let session = session.clone();
        async move { session.interrupt().await }
    });
    let interrupt = cli.hears_request("interrupt").await;
    cli.answers(&interrupt, json!({})).await;
    cli.init().await;
    cli.hears_request("interrupt").await;
    // It ignores that, so its input is closed.
    cli.hears_nothing_more().await;
    cli.exits(0);
    assert!(soon(interrupting).await.unwrap().unwrap());
    assert!(matches!(soon(asked).await.unwrap(), Err(SessionError::Interrupted)));
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_allowed_in_a_turn_being_interrupted() {
    let (session, stage) = session(SessionOptions::new().handler(weir_session::LeaveOpen));
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    let one = cli.begins("one").await;
    cli.says(&json!({"type": "control_request", "request_id": "r1", "request":
        {"subtype": "can_use_tool", "tool_name": "Bash", "input": {}, "tool_use_id": "toolu"}}))
        .await;
    quiet().await;
    let interrupting = tokio::spawn({
        let session = session.clone();
        async move { session.interrupt().await }
    });
    let interrupt = cli.hears_request("interrupt").await;
    let answered = session.answer(&"r1".into(), weir_session::Decision::allow(), None).await;
    assert!(matches!(answered, Err(SessionError::Interrupted)), "{answered:?}");
    cli.answers(&interrupt, json!({})).await;
    quiet().await;
    assert!(!interrupting.is_finished(), "the turn has not ended");
    cli.says(
        &json!({"type": "result", "subtype": "error_during_execution", "is_error": true, "num_turns": 1,
        "user_message_uuids": [one]}),
    )
    .await;
    assert!(soon(interrupting).await.unwrap().unwrap());
    assert_eq!(soon(asked).await.unwrap().unwrap().turn.state, TurnState::Interrupted);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn discarded_and_refused_messages_are_finished() {
    for state in ["discarded", "refused"] {
        let (session, stage) = session(SessionOptions::new());
        let asked = asking(&session, "one");
        let mut cli = stage.ready().await;
        let one = cli.hears_message("one").await;
        cli.lifecycle(&one, state).await;
        match soon(asked).await.unwrap() {
            Err(SessionError::Discarded) => assert_eq!(state, "discarded"),
            Err(SessionError::Refused { .. }) => assert_eq!(state, "refused"),
            other => panic!("{state}: {other:?}"),
        }
        let asked = asking(&session, "two");
        cli.turn("two", "2").await;
        assert_eq!(asked.await.unwrap().unwrap().text, "2");
        session.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn one_task_is_stopped_if_the_version_supports_it() {
    for (version, can) in
        [(Some("2.1.325"), true), (Some("2.1.61"), true), (Some("2.1.9"), false), (None, false)]
    {
        let (session, stage) = session(SessionOptions::new());
        let mut cli = stage.started(&session).await;
        cli.says(&json!({"type": "system", "subtype": "init", "session_id": "s", "model": "m", "tools": [],
            "mcp_servers": [], "claude_code_version": version}))
            .await;
        quiet().await;
        let stopping = tokio::spawn({
            let session = session.clone();
            async move { session.stop_task(&TaskId::new("t1")).await }
        });
        if can {
            let request = cli.hears_request("stop_task").await;
            assert_eq!(request["request"]["task_id"], "t1");
            cli.answers(&request, json!({})).await;
            soon(stopping).await.unwrap().unwrap();
        } else {
            let error = soon(stopping).await.unwrap().unwrap_err();
            assert!(matches!(error, SessionError::NotSupported { .. }), "{version:?}: {error}");
        }
        session.kill().await;
    }
}
