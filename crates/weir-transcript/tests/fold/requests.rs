//! Requests of the CLI to a person.

use serde_json::json;
use weir_transcript::{
    HostEvent, PermissionRequest, RequestAnswer, RequestKind, RequestState, Status, ToolDetail, ToolState,
};

use crate::support::TestSession;

fn asks(talk: &mut TestSession, tool: &str, name: &str, input: &serde_json::Value) {
    talk.calls(None, tool, name, input);
    let request = json!({"subtype": "can_use_tool", "tool_name": name, "input": input, "tool_use_id": tool});
    talk.json(&json!({"type": "control_request", "request_id": format!("r_{tool}"), "request": request}));
}

fn answer(talk: &mut TestSession, request: &str, answer: RequestAnswer, by: &str) {
    talk.host(&HostEvent::RequestAnswered { request: request.into(), answer, by: Some(by.into()) });
}

#[test]
fn a_tool_waits_runs_and_ends() {
    let mut talk = TestSession::new();
    asks(talk.init(), "t", "Bash", &json!({"command": "rm -r /tmp/x"}));
    assert_eq!(talk.tool("t").state, ToolState::WaitingForPermission);
    assert_eq!(talk.view().status, Status::WaitingForPerson);
    answer(&mut talk, "r_t", RequestAnswer::Allow { answers: None }, "anna");
    assert_eq!(talk.tool("t").state, ToolState::Running);
    assert_eq!(talk.view().status, Status::Running);
    talk.returns(None, "t", "gone");
    assert_eq!(talk.tool("t").state, ToolState::Succeeded);
    let state = &talk.view().requests[0].state;
    assert_eq!(*state, RequestState::Allowed { by: Some("anna".into()), answers: None });
}

#[test]
fn durations_leave_out_the_time_of_a_person() {
    let mut talk = TestSession::new();
    talk.fold.set_time(1_000);
    asks(talk.init(), "t", "Bash", &json!({"command": "make"}));
    talk.fold.set_time(61_000);
    answer(&mut talk, "r_t", RequestAnswer::Allow { answers: None }, "anna");
    talk.fold.set_time(64_000);
    talk.returns(None, "t", "made");
    assert_eq!(talk.tool("t").duration_ms, Some(3_000), "how long the command ran");
    assert_eq!(talk.view().turns[0].waited_ms, 60_000, "how long the turn stood still");
}

#[test]
fn the_time_of_several_requests_is_counted_once() {
    let mut talk = TestSession::new();
    talk.fold.set_time(0);
    asks(talk.init(), "first", "Bash", &json!({"command": "make"}));
    talk.fold.set_time(10_000);
    asks(&mut talk, "second", "Bash", &json!({"command": "make test"}));
    talk.fold.set_time(20_000);
    answer(&mut talk, "r_first", RequestAnswer::Allow { answers: None }, "anna");
    assert_eq!(talk.view().turns[0].waited_ms, 0, "it still waits");
    talk.fold.set_time(30_000);
    talk.line(r#"{"type":"control_cancel_request","request_id":"r_second"}"#);
    assert_eq!(talk.view().turns[0].waited_ms, 30_000);
}

#[test]
fn the_first_answer_counts() {
    let mut talk = TestSession::new();
    asks(talk.init(), "t", "Bash", &json!({}));
    answer(&mut talk, "r_t", RequestAnswer::Deny { message: "no".into() }, "anna");
    answer(&mut talk, "r_t", RequestAnswer::Allow { answers: None }, "ben");
    assert!(
        matches!(&talk.view().requests[0].state, RequestState::Denied { by: Some(by), .. } if by == "anna")
    );
    assert_eq!(talk.tool("t").state, ToolState::Denied);
    talk.line(r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"no","is_error":true}]}}"#);
    assert_eq!(talk.tool("t").state, ToolState::Denied, "and not failed");
}

#[test]
fn a_request_without_a_decision_in_time_expires() {
    let mut talk = TestSession::new();
    asks(talk.init(), "t", "Bash", &json!({}));
    talk.host(&HostEvent::RequestAnswered {
        request: "r_t".into(),
        answer: RequestAnswer::Expired,
        by: None,
    });
    assert_eq!(talk.view().requests[0].state, RequestState::Expired);
    assert_eq!(talk.tool("t").state, ToolState::Denied);
}

#[test]
fn the_cli_cancels_a_request() {
    let mut talk = TestSession::new();
    asks(talk.init(), "t", "Bash", &json!({}));
    talk.line(r#"{"type":"control_cancel_request","request_id":"r_t"}"#);
    assert_eq!(talk.view().requests[0].state, RequestState::Cancelled);
    assert_eq!(talk.view().status, Status::Running);
}

#[test]
fn an_invalid_question_still_waits_for_a_person() {
    for input in [
        json!({}),
        json!({"questions": []}),
        json!({"questions": "Which?"}),
        json!({"questions": [7]}),
        json!({"questions": [{"options": [{"label": "A"}]}]}),
        json!({"questions": [{"question": "Which?", "options": "A"}]}),
        json!([]),
    ] {
        let mut talk = TestSession::new();
        asks(talk.init(), "t", "AskUserQuestion", &input);
        let RequestKind::Permission(PermissionRequest { tool_name, input: shown, .. }) =
            &talk.view().requests[0].kind
        else {
            panic!("{input}: {:?}", talk.view().requests[0].kind)
        };
        assert_eq!((tool_name.as_str(), shown), ("AskUserQuestion", &input));
        assert_eq!(talk.view().status, Status::WaitingForPerson, "{input}");
        answer(&mut talk, "r_t", RequestAnswer::Deny { message: "no".into() }, "anna");
        assert_eq!(talk.tool("t").state, ToolState::Denied, "{input}");
    }
}

#[test]
fn a_question_has_its_choices_and_its_answers() {
    let mut talk = TestSession::new();
    let questions = json!([{"question": "Which?", "header": "W", "options": [{"label": "A"}, {"label": "B"}], "multiSelect": false}]);
    asks(talk.init(), "t", "AskUserQuestion", &json!({"questions": questions}));
    let RequestKind::Question { questions, .. } = &talk.view().requests[0].kind else { panic!() };
    assert_eq!(questions[0].options.as_ref().unwrap()[1].label, "B");
    answer(&mut talk, "r_t", RequestAnswer::Allow { answers: Some(json!({"Which?": "B"})) }, "anna");
    let ToolDetail::Questions { answers, .. } = &talk.tool("t").detail else { panic!() };
    assert_eq!(answers.as_ref().unwrap()["Which?"], "B");
}

#[test]
fn a_plan_is_shown_even_if_only_the_call_has_it() {
    let mut talk = TestSession::new();
    talk.init().calls(None, "t", "ExitPlanMode", &json!({"plan": "1. do it"}));
    talk.line(r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"ExitPlanMode","input":{},"tool_use_id":"t","requires_user_interaction":true}}"#);
    let kind = &talk.view().requests[0].kind;
    assert!(matches!(kind, RequestKind::Plan { plan: Some(plan), .. } if plan == "1. do it"));
    // As a permission, for those who only know tools, it has the plan too.
    let permission = kind.permission().unwrap();
    assert_eq!(
        (permission.tool_name.as_str(), &permission.input["plan"]),
        ("ExitPlanMode", &json!("1. do it"))
    );
}

#[test]
fn a_request_without_a_known_call_is_still_a_request() {
    let mut talk = TestSession::new();
    talk.init().line(r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"}}}"#);
    assert_eq!(talk.view().requests.len(), 1);
    talk.line(r#"{"type":"control_request","request_id":"e","request":{"subtype":"elicitation","mcp_server_name":"db","message":"Password?"}}"#);
    assert!(matches!(&talk.view().requests[1].kind, RequestKind::Elicitation { .. }));
}

#[test]
fn a_request_before_its_call_is_linked_when_the_call_comes() {
    let mut talk = TestSession::new();
    talk.init().line(r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{},"tool_use_id":"t"}}"#);
    talk.calls(None, "t", "Bash", &json!({}));
    assert_eq!(talk.tool("t").state, ToolState::WaitingForPermission);
    talk.returns(None, "t", "ok");
    assert_eq!(talk.view().requests[0].state, RequestState::Settled);
}

#[test]
fn a_request_that_is_repeated_is_not_opened_again() {
    let mut talk = TestSession::new();
    let line = r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{}}}"#;
    talk.init().line(line);
    answer(&mut talk, "r", RequestAnswer::Deny { message: "no".into() }, "anna");
    talk.line(line);
    assert!(matches!(talk.view().requests[0].state, RequestState::Denied { .. }));
}

#[test]
fn the_requests_of_a_turn_are_settled_when_it_ends() {
    let mut talk = TestSession::new();
    talk.init().line(r#"{"type":"control_request","request_id":"e","request":{"subtype":"elicitation","mcp_server_name":"db","message":"?"}}"#);
    talk.result("done");
    assert_eq!(talk.view().requests[0].state, RequestState::Settled);
    assert_eq!(talk.view().status, Status::Idle);
}

#[test]
fn a_denied_tool_stays_denied_when_the_cli_dies() {
    let mut talk = TestSession::new();
    asks(talk.init(), "t", "Bash", &json!({}));
    answer(&mut talk, "r_t", RequestAnswer::Deny { message: "no".into() }, "anna");
    talk.exits(None, Some(9), "");
    assert_eq!(talk.tool("t").state, ToolState::Denied);
}

#[test]
fn the_time_of_people_is_no_work() {
    let mut talk = TestSession::new();
    talk.fold.set_time(1_000);
    asks(talk.init(), "t", "Bash", &json!({}));
    // Two at a time are waited for once.
    talk.fold.set_time(3_000);
    asks(&mut talk, "u", "Bash", &json!({}));
    talk.fold.set_time(11_000);
    answer(&mut talk, "r_t", RequestAnswer::Allow { answers: None }, "anna");
    assert_eq!(talk.view().turns[0].waited_ms, 0, "the other one is still waited for");
    talk.fold.set_time(11_500);
    talk.returns(None, "t", "x");
    assert_eq!(talk.tool("t").duration_ms, Some(500), "the call began when it was allowed");
    talk.fold.set_time(21_000);
    answer(&mut talk, "r_u", RequestAnswer::Deny { message: "no".into() }, "anna");
    assert_eq!(talk.view().turns[0].waited_ms, 20_000);
    // Another wait is added.
    talk.fold.set_time(30_000);
    asks(&mut talk, "v", "Bash", &json!({}));
    talk.fold.set_time(31_000);
    talk.result("done");
    assert_eq!(talk.view().turns[0].waited_ms, 21_000);
}

#[test]
fn nothing_waits_for_an_agent_in_the_background() {
    let mut talk = TestSession::new();
    talk.fold.set_time(1_000);
    talk.init().calls(
        None,
        "a",
        "Task",
        &json!({"description": "look", "prompt": "look", "run_in_background": true}),
    );
    talk.json(&json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "a", "content": "launched"}]},
        "tool_use_result": {"status": "async_launched", "isAsync": true}, "parent_tool_use_id": null}));
    talk.calls(Some("a"), "t", "Bash", &json!({}));
    talk.json(&json!({"type": "control_request", "request_id": "r", "request": {"subtype": "can_use_tool", "tool_name": "Bash", "input": {}, "tool_use_id": "t"}}));
    talk.fold.set_time(9_000);
    answer(&mut talk, "r", RequestAnswer::Allow { answers: None }, "anna");
    assert_eq!(talk.view().turns[0].waited_ms, 0);
}
