//! Tools of a client: offered, called, answered, timed out and taken back.

use std::time::Duration;

use serde_json::{Value, json};
use weir_host::{
    Actor, ClientTool, ClientTools, Format, Frame, Host, HostError, MessageWatch, NewMessage, NewSession,
    SessionId, SessionStatus, ToolAnswer, ToolContent, WatchQuery,
};
use weir_testkit::real::RealCli;
use weir_transcript::{Request, RequestKind, RequestState, ToolState};

use crate::place::{Place, id_of, json as data, me, says, script, soon};
use crate::real::host_on;

fn add(timeout_s: u32) -> ClientTools {
    let schema = json!({"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}});
    let Value::Object(input_schema) = schema else { panic!() };
    let tool =
        ClientTool { name: "add".to_owned(), description: "Adds two numbers.".to_owned(), input_schema };
    ClientTools { tools: vec![tool], timeout_s: Some(timeout_s) }
}

fn text(text: &str) -> ToolAnswer {
    ToolAnswer { content: vec![ToolContent::Text { text: text.to_owned() }], is_error: false }
}

fn calls() -> String {
    script(&json!([{"tool": "mcp__client__add", "input": {"a": 1, "b": 2}}, {"text": "done"}]))
}

async fn session(host: &Host, cwd: String, client_tools: ClientTools) -> SessionId {
    let new = NewSession { client_tools, ..NewSession::new(cwd) };
    id_of(&host.create(new, &me()).await.unwrap().session)
}

/// Sends a message and watches what comes of it.
async fn stream(host: &Host, id: &SessionId, message: String, format: Format) -> MessageWatch {
    let query = WatchQuery { format, ..WatchQuery::default() };
    let me = me();
    let sent = host.send_and_watch(id, NewMessage::text(message), &me, query);
    soon(sent).await.unwrap().1.unwrap()
}

/// The next frame with this name.
async fn next(watch: &mut MessageWatch, name: &str) -> Frame {
    loop {
        let frame = soon(watch.next()).await.unwrap_or_else(|| panic!("no {name} came"));
        if frame.event().name() == name {
            return frame;
        }
    }
}

/// The last call: how it went, and what came back.
async fn last_call(host: &Host, id: &SessionId) -> (ToolState, String, Request) {
    let view = host.view(id).await.unwrap();
    let (_, tool) = view.tools().last().expect("a tool was called");
    let output = tool.output.as_ref().map(|output| output.text.to_str().into_owned());
    (tool.state, output.unwrap_or_default(), view.requests.last().cloned().expect("a request"))
}

/// The whole way, with nothing but the stream of the client's own message.
async fn call_and_answer(host: &Host, id: &SessionId) {
    let mut watch = stream(host, id, calls(), Format::Agent).await;
    let asked = data(&next(&mut watch, "agent-tool-request").await);
    assert_eq!(asked["name"], "add");
    assert_eq!(asked["input"], json!({"a": 1, "b": 2}));
    assert_eq!(asked["state"]["state"], "open");
    assert!(asked["tool_use_id"].is_string(), "{asked}");
    assert_eq!(host.info(id).await.unwrap().status, SessionStatus::Running, "no person is waited for");
    let request = asked["request_id"].as_str().unwrap().into();
    soon(host.answer_tool_call(id, &request, text("3"), &me())).await.unwrap();
    let late = host.answer_tool_call(id, &request, text("4"), &Actor::new("late")).await;
    assert!(matches!(&late, Err(HostError::AlreadyAnswered { by: Some(by) }) if by == "me"), "{late:?}");
    let outcome = data(&next(&mut watch, "message").await);
    assert_eq!((&outcome["state"], &outcome["text"]), (&json!("answered"), &json!("done")));
    let (state, output, request) = last_call(host, id).await;
    assert_eq!((state, output.as_str()), (ToolState::Succeeded, "3"));
    assert!(matches!(&request.kind, RequestKind::ClientTool { name, .. } if name == "add"));
    assert!(matches!(&request.state, RequestState::Allowed { by: Some(by), .. } if by == "me"));
}

#[tokio::test]
async fn a_client_answers_the_calls_of_its_tools() {
    let place = Place::new();
    let host = place.host().await;
    let id = session(&host, place.work(), add(60)).await;
    call_and_answer(&host, &id).await;
    // The next process has them too.
    soon(host.stop(&id, &me())).await.unwrap();
    call_and_answer(&host, &id).await;
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn real_clis_call_the_tools_of_a_client() {
    for cli in RealCli::required() {
        let version = cli.version;
        let (host, place, _api) = host_on(cli, |_| {}).await;
        let id = session(&host, place.directory().to_string_lossy().into_owned(), add(60)).await;
        call_and_answer(&host, &id).await;
        // And an unanswered call does not block the agent.
        soon(host.set_client_tools(&id, add(1), &me())).await.unwrap();
        let mut watch = stream(&host, &id, calls(), Format::Agent).await;
        next(&mut watch, "message").await;
        let (state, output, _) = last_call(&host, &id).await;
        assert!(
            state == ToolState::Failed && output.contains("did not answer within 1 s"),
            "{version}: {output}"
        );
        soon(host.shut_down(Duration::ZERO)).await;
    }
}

#[tokio::test]
async fn the_model_is_told_that_no_client_answered() {
    let place = Place::new();
    let host = place.host().await;
    let id = session(&host, place.work(), add(1)).await;
    let mut watch = stream(&host, &id, calls(), Format::Classic).await;
    next(&mut watch, "done").await;
    next(&mut watch, "message").await;
    let (state, output, request) = last_call(&host, &id).await;
    assert_eq!(state, ToolState::Failed);
    assert!(output.contains("did not answer within 1 s"), "{output}");
    assert_eq!(request.state, RequestState::Expired);
    let late = host.answer_tool_call(&id, &request.id, text("3"), &me()).await;
    assert!(matches!(late, Err(HostError::NoSuchRequest)), "{late:?}");
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_tool_that_fails_is_told_as_failed() {
    let place = Place::new();
    let host = place.host().await;
    let id = session(&host, place.work(), add(60)).await;
    let mut watch = stream(&host, &id, calls(), Format::Agent).await;
    let asked = data(&next(&mut watch, "agent-tool-request").await);
    let request = asked["request_id"].as_str().unwrap().into();
    let failed = ToolAnswer { is_error: true, ..text("no such number") };
    soon(host.answer_tool_call(&id, &request, failed, &me())).await.unwrap();
    next(&mut watch, "message").await;
    let (state, output, request) = last_call(&host, &id).await;
    assert!(state == ToolState::Failed && output.contains("no such number"), "{state:?} {output}");
    assert!(matches!(request.state, RequestState::Denied { .. }));
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn an_interrupt_takes_the_call_back() {
    let place = Place::new();
    let host = place.host().await;
    let id = session(&host, place.work(), add(60)).await;
    let mut watch = stream(&host, &id, calls(), Format::Agent).await;
    let asked = data(&next(&mut watch, "agent-tool-request").await);
    assert!(soon(host.interrupt(&id, &me())).await.unwrap());
    next(&mut watch, "message").await;
    let view = host.view(&id).await.unwrap();
    assert_eq!(view.requests[0].state, RequestState::Cancelled);
    let request = asked["request_id"].as_str().unwrap().into();
    let late = host.answer_tool_call(&id, &request, text("3"), &me()).await;
    assert!(matches!(late, Err(HostError::NoSuchRequest)), "{late:?}");
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn tools_can_be_offered_later() {
    let place = Place::new();
    let host = place.host().await;
    let id = session(&host, place.work(), ClientTools::default()).await;
    let mut watch = stream(&host, &id, says("hello"), Format::Agent).await;
    next(&mut watch, "message").await;
    soon(host.set_client_tools(&id, add(60), &me())).await.unwrap();
    call_and_answer(&host, &id).await;
    let bad = ClientTools { timeout_s: Some(0), ..add(60) };
    let refused = host.set_client_tools(&id, bad, &me()).await;
    assert!(matches!(refused, Err(HostError::Invalid(_))), "{refused:?}");
    soon(host.shut_down(Duration::ZERO)).await;
}
