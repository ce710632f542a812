//! Requests of the CLI: permissions, questions, hooks, MCP servers, elicitations.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;
use weir_session::{AllowTools, Ask, AskChannel, Decision, LeaveOpen, Session, SessionError, SessionOptions};
use weir_transcript::{RequestKind, RequestState, Status};
use weir_wire::{QuestionAnswers, RequestId};

use crate::played::{Cli, asking, quiet, session, soon};

/// A session in mid-turn with these options.
async fn running(options: SessionOptions) -> (Session, Cli) {
    let (session, stage) = session(options);
    let _asked = asking(&session, "go");
    let mut cli = stage.ready().await;
    cli.begins("go").await;
    (session, cli)
}

async fn state(session: &Session, request: &str) -> RequestState {
    let view = session.view().await.unwrap();
    view.request(&RequestId::new(request)).expect("the request is in the view").state.clone()
}

fn question() -> Value {
    json!({"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "tool_use_id": "toolu_q", "input":
        {"questions": [{"question": "Which colour?", "header": "Colour", "multiSelect": false,
            "options": [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}]}]}})
}

#[tokio::test(start_paused = true)]
async fn without_a_handler_everything_is_denied() {
    let (session, mut cli) = running(SessionOptions::new()).await;
    cli.asks_for("r1", "Bash").await;
    let answer = cli.hears_answer("r1").await;
    assert_eq!(answer["response"]["behavior"], "deny");
    assert!(matches!(state(&session, "r1").await, RequestState::Denied { .. }));
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_allows_repeats_the_arguments() {
    let (session, mut cli) = running(SessionOptions::new().handler(AllowTools::new(["Bash"]))).await;
    cli.asks_for("r1", "Bash").await;
    let answer = cli.hears_answer("r1").await;
    assert_eq!(answer["response"], json!({"behavior": "allow", "updatedInput": {"command": "ls"}}));
    assert!(matches!(state(&session, "r1").await, RequestState::Allowed { .. }));
    cli.asks_for("r2", "Write").await;
    assert_eq!(cli.hears_answer("r2").await["response"]["behavior"], "deny");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_allows_by_name_leaves_requests_for_a_person_alone() {
    let (session, mut cli) = running(SessionOptions::new().handler(AllowTools::new(["Bash"]))).await;
    let rule = json!({"source": "userSettings", "tool_name": "Bash", "rule_content": "rm:*"});
    let members = [
        ("requires_user_interaction", json!(true)),
        ("default_to_no", json!(true)),
        ("classifier_approvable", json!(false)),
        ("matched_ask_rule", rule),
    ];
    for (member, value) in members {
        let mut ask = json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}});
        ask[member] = value;
        cli.asks(member, ask).await;
        assert_eq!(cli.hears_answer(member).await["response"]["behavior"], "deny", "{member}");
    }
    let passes = json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {}, "default_to_no": false,
        "classifier_approvable": true, "suppress_always_allow_rule": true});
    cli.asks("r1", passes).await;
    assert_eq!(cli.hears_answer("r1").await["response"]["behavior"], "allow");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_permission_not_answered_in_time_is_denied_and_shown_as_expired() {
    let mut options = SessionOptions::new().handler(LeaveOpen);
    options.limits.answer = Some(Duration::from_secs(10));
    let (session, mut cli) = running(options).await;
    cli.asks_for("r1", "Bash").await;
    let before = Instant::now();
    let answer = cli.hears_answer("r1").await;
    assert_eq!(before.elapsed().as_secs(), 10);
    assert_eq!(answer["response"]["behavior"], "deny");
    assert_eq!(state(&session, "r1").await, RequestState::Expired);
    let late = session.answer(&RequestId::new("r1"), Decision::allow(), None).await;
    assert!(matches!(late, Err(SessionError::AlreadyAnswered { by: None })), "{late:?}");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_takes_too_long_is_dropped_and_denied() {
    let dropped = Arc::new(Notify::new());
    let mut options = SessionOptions::new().handler(never(&dropped));
    options.limits.answer = Some(Duration::from_secs(10));
    let (session, mut cli) = running(options).await;
    cli.asks_for("r1", "Bash").await;
    assert_eq!(cli.hears_answer("r1").await["response"]["behavior"], "deny");
    soon(dropped.notified()).await;
    assert_eq!(state(&session, "r1").await, RequestState::Expired);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_withdrawn_request_drops_the_handlers_future() {
    let dropped = Arc::new(Notify::new());
    let (session, mut cli) = running(SessionOptions::new().handler(never(&dropped))).await;
    cli.asks_for("r1", "Bash").await;
    quiet().await;
    assert_eq!(session.view().await.unwrap().status, Status::WaitingForPerson);
    cli.takes_back("r1").await;
    soon(dropped.notified()).await;
    cli.hears_nothing_yet().await;
    assert_eq!(state(&session, "r1").await, RequestState::Cancelled);
    let late = session.answer(&RequestId::new("r1"), Decision::allow(), None).await;
    assert!(matches!(late, Err(SessionError::NoSuchRequest)), "{late:?}");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_process_drops_the_handlers_future() {
    let dropped = Arc::new(Notify::new());
    let (session, mut cli) = running(SessionOptions::new().handler(never(&dropped))).await;
    cli.asks_for("r1", "Bash").await;
    quiet().await;
    cli.exits(1);
    soon(dropped.notified()).await;
    assert_eq!(state(&session, "r1").await, RequestState::Cancelled);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_turn_closes_its_open_requests() {
    let dropped = Arc::new(Notify::new());
    let (session, mut cli) = running(SessionOptions::new().handler(never(&dropped))).await;
    cli.asks_for("r1", "Bash").await;
    quiet().await;
    cli.interrupted().await;
    soon(dropped.notified()).await;
    // In case the CLI still waits, it is denied.
    assert_eq!(cli.hears_answer("r1").await["response"]["behavior"], "deny");
    assert_eq!(state(&session, "r1").await, RequestState::Settled);
    let late = session.answer(&RequestId::new("r1"), Decision::allow(), None).await;
    assert!(late.is_err());
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_first_answer_wins_and_the_second_is_told_who_was_first() {
    let (session, mut cli) = running(SessionOptions::new().handler(LeaveOpen)).await;
    cli.asks_for("r1", "Bash").await;
    quiet().await;
    let request = RequestId::new("r1");
    session.answer(&request, Decision::allow(), Some("Ada".into())).await.unwrap();
    let second = session.answer(&request, Decision::deny("no"), Some("Bob".into())).await.unwrap_err();
    assert!(matches!(&second, SessionError::AlreadyAnswered { by: Some(by) } if by == "Ada"), "{second}");
    assert!(second.to_string().contains("Ada"));
    assert_eq!(cli.hears_answer("r1").await["response"]["behavior"], "allow");
    cli.hears_nothing_yet().await;
    let allowed = RequestState::Allowed { by: Some("Ada".into()), answers: None };
    assert_eq!(state(&session, "r1").await, allowed);
    let unknown = session.answer(&RequestId::new("r9"), Decision::allow(), None).await;
    assert!(matches!(unknown, Err(SessionError::NoSuchRequest)));
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_caller_can_answer_before_the_handler() {
    let dropped = Arc::new(Notify::new());
    let (session, mut cli) = running(SessionOptions::new().handler(never(&dropped))).await;
    cli.asks_for("r1", "Bash").await;
    quiet().await;
    session.answer(&RequestId::new("r1"), Decision::deny("no"), Some("Ada".into())).await.unwrap();
    soon(dropped.notified()).await;
    assert_eq!(cli.hears_answer("r1").await["response"]["message"], "no");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_question_is_never_answered_empty() {
    let (session, mut cli) = running(SessionOptions::new().handler(LeaveOpen)).await;
    cli.asks("q1", question()).await;
    quiet().await;
    let request = RequestId::new("q1");
    let wrong = [
        Decision::allow(),
        Decision::Answers(QuestionAnswers::new()),
        Decision::Answers(QuestionAnswers::new().choose("Which size?", "Large")),
        Decision::Value(json!({})),
        Decision::LeaveOpen,
    ];
    for decision in wrong {
        let refused = session.answer(&request, decision.clone(), None).await;
        assert!(matches!(refused, Err(SessionError::BadAnswer(_))), "{decision:?}: {refused:?}");
        cli.hears_nothing_yet().await;
    }
    let answers = QuestionAnswers::new().choose("Which colour?", "Blue");
    session.answer(&request, Decision::Answers(answers), None).await.unwrap();
    let answer = cli.hears_answer("q1").await;
    assert_eq!(answer["response"]["behavior"], "allow");
    assert_eq!(answer["response"]["updatedInput"]["answers"], json!({"Which colour?": "Blue"}));
    assert_eq!(answer["response"]["updatedInput"]["questions"], question()["input"]["questions"]);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_allows_a_question_denies_it() {
    let handler = |_: Ask| async { Decision::allow() };
    let (session, mut cli) = running(SessionOptions::new().handler(handler)).await;
    cli.asks("q1", question()).await;
    let answer = cli.hears_answer("q1").await;
    assert_eq!(answer["response"]["behavior"], "deny", "{answer}");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_denies() {
    let handler = |ask: Ask| async move {
        assert!(matches!(ask, Ask::Hook(_)), "a panic on purpose");
        Decision::Value(json!({}))
    };
    let (session, mut cli) = running(SessionOptions::new().handler(handler)).await;
    cli.asks_for("r1", "Bash").await;
    assert_eq!(cli.hears_answer("r1").await["response"]["behavior"], "deny");
    cli.asks("h1", json!({"subtype": "hook_callback", "callback_id": "c", "input": {}})).await;
    assert_eq!(cli.hears_answer("h1").await["subtype"], "success");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_channel_gets_requests_and_their_withdrawal() {
    let (handler, mut asks) = AskChannel::new();
    let (session, mut cli) = running(SessionOptions::new().handler(handler)).await;
    cli.asks_for("r1", "Bash").await;
    let open = soon(asks.recv()).await.unwrap();
    assert_eq!(open.ask.kind().and_then(RequestKind::tool_name), Some("Bash"));
    assert!(open.answer(Decision::allow()));
    assert_eq!(cli.hears_answer("r1").await["response"]["behavior"], "allow");
    cli.asks_for("r2", "Bash").await;
    let mut open = soon(asks.recv()).await.unwrap();
    cli.takes_back("r2").await;
    soon(open.withdrawn()).await;
    assert!(!open.answer(Decision::allow()));
    cli.asks_for("r3", "Bash").await;
    drop(soon(asks.recv()).await.unwrap());
    assert_eq!(cli.hears_answer("r3").await["response"]["behavior"], "deny");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_message_for_an_mcp_server_before_the_handshake_is_answered() {
    let handler = |ask: Ask| async move {
        match ask {
            Ask::Mcp(ask) => Decision::Value(json!({"server": ask.server, "echo": ask.message["id"]})),
            _ => Decision::deny("no"),
        }
    };
    let mut options = SessionOptions::new().handler(handler);
    options.mcp_servers = vec!["tools".into()];
    let (session, stage) = session(options);
    let asked = asking(&session, "go");
    let mut cli = stage.next();
    let request = cli.hears_request("initialize").await;
    assert_eq!(request["request"]["sdkMcpServers"], json!(["tools"]), "{request}");
    // The CLI contacts the server before it is ready itself.
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": "initialize"});
    cli.asks("m1", json!({"subtype": "mcp_message", "server_name": "tools", "message": message})).await;
    let answer = cli.hears_answer("m1").await;
    assert_eq!(answer["response"]["mcp_response"], json!({"server": "tools", "echo": 7}));
    cli.answers(&request, json!({})).await;
    cli.turn("go", "gone").await;
    assert_eq!(asked.await.unwrap().unwrap().text, "gone");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_hook_is_answered_by_the_handler() {
    let handler = |ask: Ask| async move {
        match ask {
            Ask::Hook(ask) => Decision::Value(json!({"decision": "block", "reason": ask.callback})),
            _ => Decision::deny("no"),
        }
    };
    let (session, mut cli) = running(SessionOptions::new().handler(handler)).await;
    cli.asks("h1", json!({"subtype": "hook_callback", "callback_id": "before", "input": {"a": 1}})).await;
    let answer = cli.hears_answer("h1").await;
    assert_eq!(answer["response"], json!({"decision": "block", "reason": "before"}));
    // A hook is not for a person to decide.
    assert_eq!(session.view().await.unwrap().status, Status::Running);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn hooks_and_servers_get_an_error_if_the_handler_has_no_answer() {
    // Allowing means nothing to a hook, and no other answer will come.
    for decision in [Decision::allow(), Decision::LeaveOpen] {
        let handler = move |_: Ask| std::future::ready(decision.clone());
        let (session, mut cli) = running(SessionOptions::new().handler(handler)).await;
        cli.asks("h1", json!({"subtype": "hook_callback", "callback_id": "c", "input": {}})).await;
        assert_eq!(cli.hears_answer("h1").await["subtype"], "error");
        cli.asks("m1", json!({"subtype": "mcp_message", "server_name": "s", "message": {}})).await;
        assert_eq!(cli.hears_answer("m1").await["subtype"], "error");
        session.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_elicitation_is_answered_declined_or_expired_in_its_own_form() {
    let ask = json!({"subtype": "elicitation", "mcp_server_name": "s", "message": "Your name?",
        "mode": "form", "requested_schema": {"type": "object"}});
    let mut options = SessionOptions::new().handler(LeaveOpen);
    options.limits.answer = Some(Duration::from_secs(10));
    let (session, mut cli) = running(options).await;
    cli.asks("e1", ask.clone()).await;
    quiet().await;
    let value = json!({"action": "accept", "content": {"name": "Ada"}});
    session.answer(&RequestId::new("e1"), Decision::Value(value.clone()), None).await.unwrap();
    assert_eq!(cli.hears_answer("e1").await["response"], value);
    // An answer that does not match a form that Weir knows is refused, and the request stays open.
    let form = json!({"subtype": "elicitation", "mcp_server_name": "s", "message": "Your size?", "mode": "form",
        "requested_schema": {"type": "object", "required": ["size"], "properties": {"size": {"enum": ["s", "l"]}}}});
    cli.asks("e0", form).await;
    quiet().await;
    for bad in [
        json!({"action": "accept"}),
        json!({"action": "accept", "content": {"size": "m"}}),
        json!({"action": "perhaps"}),
        json!({}),
    ] {
        let refused = session.answer(&RequestId::new("e0"), Decision::Value(bad.clone()), None).await;
        assert!(matches!(refused, Err(SessionError::BadAnswer(_))), "{bad}");
    }
    let value = json!({"action": "accept", "content": {"size": "l"}});
    session.answer(&RequestId::new("e0"), Decision::Value(value.clone()), None).await.unwrap();
    assert_eq!(cli.hears_answer("e0").await["response"], value);
    cli.asks("e2", ask.clone()).await;
    quiet().await;
    session.answer(&RequestId::new("e2"), Decision::deny("no"), None).await.unwrap();
    assert_eq!(cli.hears_answer("e2").await["response"], json!({"action": "decline"}));
    cli.asks("e3", ask).await;
    assert_eq!(cli.hears_answer("e3").await["response"], json!({"action": "decline"}));
    assert_eq!(state(&session, "e3").await, RequestState::Expired);
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn many_requests_at_once_each_get_their_own_answer() {
    let handler = |ask: Ask| async move {
        // The first requests are answered last.
        let Ask::Request(ask) = ask else { return Decision::deny("no") };
        let number: u64 = ask.id.as_str().trim_start_matches('r').parse().unwrap();
        tokio::time::sleep(Duration::from_millis(100 - number)).await;
        Decision::deny(ask.id.as_str())
    };
    let (session, mut cli) = running(SessionOptions::new().handler(handler)).await;
    for number in 0..50 {
        cli.asks_for(&format!("r{number}"), "Bash").await;
    }
    for number in (0..50).rev() {
        let id = format!("r{number}");
        assert_eq!(cli.hears_answer(&id).await["response"]["message"], id.as_str());
    }
    session.stop().await;
}

/// A handler that never decides, and reports when its future is dropped.
fn never(dropped: &Arc<Notify>) -> impl weir_session::Handler {
    struct Tells(Arc<Notify>);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let dropped = Arc::clone(dropped);
    move |_: Ask| {
        let tells = Tells(Arc::clone(&dropped));
        async move {
            let _tells = tells;
            std::future::pending().await
        }
    }
}
