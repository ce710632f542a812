//! MCP servers that run in our own process.

use std::sync::atomic::Ordering;

use serde_json::json;
use weir_session::{Ask, Decision, Session, TurnEnd};
use weir_transcript::ToolState;

use crate::calc::calc;
use crate::place::{Place, script, soon};

/// A prompt that makes the model call a tool.
fn calls(tool: &str, input: &serde_json::Value) -> String {
    script(&json!([{"tool": format!("mcp__calc__{tool}"), "input": input}, {"text": "done"}]))
}

/// The last tool call: its state and its output.
async fn last_tool(session: &Session) -> (ToolState, String) {
    let view = session.view().await.unwrap();
    let (_, tool) = view.tools().last().expect("a tool was called");
    let output = tool.output.as_ref().map(|output| output.text.to_str().into_owned());
    (tool.state, output.unwrap_or_default())
}

fn answered(end: &TurnEnd) {
    assert_eq!((end.text.as_str(), end.is_error()), ("done", false));
}

#[tokio::test]
async fn the_model_calls_our_tool_in_each_process() {
    for version in ["2.1.325", "2.1.9"] {
        let place = Place::new();
        let (make, _events, made) = calc();
        let mut options = place.options().mcp_server("calc", make).allowed_tools(["mcp__calc"]);
        options.environment = options.environment.set("SIMULATED_CLAUDE_VERSION", version);
        let session = Session::new(options);
        for (a, b, sum) in [(1, 2, "3"), (20, 22, "42")] {
            answered(&soon(session.ask(calls("add", &json!({"a": a, "b": b})))).await.unwrap());
            assert_eq!(last_tool(&session).await, (ToolState::Succeeded, sum.to_owned()));
        }
        assert_eq!(made.load(Ordering::SeqCst), 1, "one server per process");
        soon(session.close()).await.unwrap();
        answered(&soon(session.ask(calls("add", &json!({"a": 2, "b": 2})))).await.unwrap());
        assert_eq!(made.load(Ordering::SeqCst), 2, "another one for the next process");
        soon(session.stop()).await;
        place.assert_clean().await;
    }
}

#[tokio::test]
async fn server_failures_are_reported_to_the_model() {
    let place = Place::new();
    let (make, _events, _) = calc();
    let session = Session::new(place.options().mcp_server("calc", make).allowed_tools(["mcp__calc"]));
    for (tool, words) in [
        ("refuse", "not with these numbers"),
        ("panic", "panicked while handling this request"),
        ("add", "missing field"),
    ] {
        answered(&soon(session.ask(calls(tool, &json!({})))).await.unwrap());
        let (state, output) = last_tool(&session).await;
        assert_eq!(state, ToolState::Failed, "{tool}: {output}");
        assert!(output.contains(words), "{tool}: {output}");
    }
    answered(&soon(session.ask(calls("add", &json!({"a": 1, "b": 1})))).await.unwrap());
    assert_eq!(last_tool(&session).await, (ToolState::Succeeded, "2".to_owned()), "the server keeps running");
    soon(session.stop()).await;
}

#[tokio::test]
async fn a_server_that_cannot_be_created_does_not_break_the_session() {
    let place = Place::new();
    fn broken() -> crate::calc::Calc {
        panic!("on purpose, in a test")
    }
    let session = Session::new(place.options().mcp_server("calc", broken).allowed_tools(["mcp__calc"]));
    answered(&soon(session.ask(script(&json!([{"text": "done"}])))).await.unwrap());
    let servers = &session.view().await.unwrap().session.mcp_servers;
    assert!(servers.iter().all(|server| server.status != "connected"), "{servers:?}");
    soon(session.stop()).await;
}

#[tokio::test]
async fn an_interrupted_call_is_cancelled_in_the_server() {
    for version in ["2.1.325", "2.1.9"] {
        let place = Place::new();
        let (make, mut events, _) = calc();
        let mut options = place.options().mcp_server("calc", make).allowed_tools(["mcp__calc"]);
        options.environment = options.environment.set("SIMULATED_CLAUDE_VERSION", version);
        let session = Session::new(options);
        let mut sent = soon(session.send(calls("wait", &json!({})))).await.unwrap();
        assert_eq!(soon(events.recv()).await, Some("waiting"));
        assert!(soon(session.interrupt()).await.unwrap());
        assert_eq!(soon(events.recv()).await, Some("cancelled"));
        assert!(soon(sent.answer()).await.unwrap().is_interrupted());
        answered(&soon(session.ask(calls("add", &json!({"a": 1, "b": 1})))).await.unwrap());
        soon(session.stop()).await;
        place.assert_clean().await;
    }
}

#[tokio::test]
async fn a_server_ends_with_its_session() {
    let place = Place::new();
    let (make, mut events, _) = calc();
    let session = Session::new(place.options().mcp_server("calc", make).allowed_tools(["mcp__calc"]));
    let sent = soon(session.send(calls("wait", &json!({})))).await.unwrap();
    assert_eq!(soon(events.recv()).await, Some("waiting"));
    let other_handle = session.clone();
    soon(session.stop()).await;
    drop((session, sent));
    // The sender is gone together with the server and its factory, even if a handle is left.
    while soon(events.recv()).await.is_some() {}
    drop(other_handle);
    place.assert_clean().await;
}

#[tokio::test]
async fn server_notifications_reach_the_cli_before_the_answer() {
    let place = Place::new();
    let (make, _events, _) = calc();
    let session = Session::new(place.options().mcp_server("calc", make).allowed_tools(["mcp__calc"]));
    answered(&soon(session.ask(calls("report", &json!({})))).await.unwrap());
    assert_eq!(last_tool(&session).await, (ToolState::Succeeded, "reported".to_owned()));
    let logs = session.facts().await.unwrap().logs.expect("a log exists");
    let sent = std::fs::read_to_string(&logs.input).unwrap();
    let at = |words: &str| sent.find(words).unwrap_or_else(|| panic!("{words} was not sent: {sent}"));
    let (progress, changed) = (at("notifications/progress"), at("notifications/tools/list_changed"));
    assert!(progress < changed && changed < at("reported"));
    soon(session.stop()).await;
}

#[tokio::test]
async fn permissions_are_still_decided_by_the_handler() {
    let place = Place::new();
    let (make, _events, _) = calc();
    let options = place.options().mcp_server("calc", make).handler(|ask: Ask| async move {
        match ask {
            Ask::Request(ask) if ask.kind.tool_name() == Some("mcp__calc__add") => Decision::allow(),
            ask => Decision::deny(format!("{ask:?}")),
        }
    });
    let session = Session::new(options);
    answered(&soon(session.ask(calls("add", &json!({"a": 1, "b": 2})))).await.unwrap());
    assert_eq!(last_tool(&session).await.0, ToolState::Succeeded);
    answered(&soon(session.ask(calls("report", &json!({})))).await.unwrap());
    assert_eq!(last_tool(&session).await.0, ToolState::Denied);
    soon(session.stop()).await;
}
