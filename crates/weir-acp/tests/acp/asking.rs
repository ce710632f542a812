//! Permissions, plans and questions.

use serde_json::{Value, json};
use weir_host::{Actor, Decision};
use weir_testkit::soon;

use crate::peer::text_of;
use crate::place::{Place, end, id_of, script};

fn write(place: &Place, name: &str) -> String {
    let file = place.directory().join(name);
    script(&json!([{"tool": "Write", "input": {"file_path": file, "content": "x\n"}}, {"text": "done"}]))
}

fn question() -> String {
    let question = json!({
        "question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
    });
    script(&json!([{"tool": "AskUserQuestion", "input": {"questions": [question]}}, {"text": "thanks"}]))
}

fn selected(option: &str) -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": option}})
}

#[tokio::test]
async fn only_an_allowing_answer_allows() {
    let place = Place::new();
    let host = place.host().await;
    let mut editor = place.editor(&host).await;
    let session = place.session(&mut editor).await;
    let answers = [
        ("denied", selected("reject"), "end_turn", false),
        ("denied_to_the_end", selected("reject_and_stop"), "cancelled", false),
        // In the protocol it means that the turn was cancelled.
        ("closed", json!({"outcome": {"outcome": "cancelled"}}), "cancelled", false),
        ("invented", selected("allow_all_forever"), "end_turn", false),
        ("nonsense", json!({"surprise": true}), "end_turn", false),
        ("allowed", selected("allow"), "end_turn", true),
    ];
    for (name, answer, stop, is_allowed) in answers {
        let asked = editor.prompt(&session, &write(&place, name)).await;
        let ask = editor.asked("session/request_permission").await;
        assert_eq!(ask["params"]["options"][0]["kind"], "allow_once", "{ask}");
        editor.respond(&ask["id"], answer).await;
        assert_eq!(editor.response(asked).await.unwrap()["stopReason"], stop, "{name}");
        assert_eq!(place.directory().join(name).exists(), is_allowed, "{name}");
    }
    // An editor without permissions.
    let asked = editor.prompt(&session, &write(&place, "unsupported")).await;
    let ask = editor.asked("session/request_permission").await;
    editor.respond_with_error(&ask["id"], -32601).await;
    assert_eq!(editor.response(asked).await.unwrap()["stopReason"], "end_turn");
    assert!(!place.directory().join("unsupported").exists());
    end(&host).await;
}

/// The description of a call is the agent's own word for it.
#[tokio::test]
async fn a_command_is_shown_as_it_is_and_complete() {
    let place = Place::new();
    let host = place.host().await;
    let mut editor = place.editor(&host).await;
    let session = place.session(&mut editor).await;
    let command = format!("ls {}\n\n\n\n\n\nrm -rf important", "x".repeat(300));
    let input = json!({"command": command, "description": "Lists files"});
    let steps = json!([{"tool": "Bash", "input": input}, {"text": "done"}]);
    let asked = editor.prompt(&session, &script(&steps)).await;
    let ask = editor.asked("session/request_permission").await;
    let call = &ask["params"]["toolCall"];
    assert!(call["title"].as_str().unwrap().starts_with("`ls x"), "{call}");
    let shown = call["content"][0]["content"]["text"].as_str().unwrap();
    assert!(shown.contains("blank lines⟩\nrm -rf important"), "{shown}");
    editor.respond(&ask["id"], selected("reject")).await;
    editor.response(asked).await.unwrap();
    end(&host).await;
}

#[tokio::test]
async fn a_reason_for_a_denial_reaches_the_model() {
    let place = Place::new();
    let host = place.host().await;
    let mut editor = place.editor(&host).await;
    let session = place.session(&mut editor).await;
    let asked = editor.prompt(&session, &write(&place, "a")).await;
    let ask = editor.asked("session/request_permission").await;
    let answer = json!({"outcome": {"outcome": "selected", "optionId": "reject"}, "_meta": {"reason": "use b instead"}});
    editor.respond(&ask["id"], answer).await;
    editor.response(asked).await.unwrap();
    let log = serde_json::to_string(&host.log(&id_of(&session), 0).await.unwrap().events).unwrap();
    assert!(log.contains("use b instead"), "{log}");
    end(&host).await;
}

#[tokio::test]
async fn a_question_is_a_form_or_a_list_of_options() {
    let place = Place::new();
    let host = place.host().await;
    let mut with_forms = place.editor_with(&host, json!({"elicitation": {"form": {}}})).await;
    let session = place.session(&mut with_forms).await;
    let asked = with_forms.prompt(&session, &question()).await;
    let ask = with_forms.asked("elicitation/create").await;
    let properties = &ask["params"]["requestedSchema"]["properties"];
    assert_eq!(properties["q0"]["oneOf"][1]["const"], "Blue", "{ask}");
    with_forms.respond(&ask["id"], json!({"action": "accept", "content": {"q0": "Blue"}})).await;
    assert_eq!(with_forms.response(asked).await.unwrap()["stopReason"], "end_turn");

    let mut without = place.editor(&host).await;
    let other = place.session(&mut without).await;
    let asked = without.prompt(&other, &question()).await;
    let ask = without.asked("session/request_permission").await;
    let names: Vec<&str> =
        ask["params"]["options"].as_array().unwrap().iter().map(|o| o["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Red: warm", "Blue: cold", "Decline to answer"]);
    without.respond(&ask["id"], selected("answer_0")).await;
    assert_eq!(without.response(asked).await.unwrap()["stopReason"], "end_turn");
    for (session, label) in [(&session, "Blue"), (&other, "Red")] {
        let view = host.view(&id_of(session)).await.unwrap();
        let said = serde_json::to_value(&view.requests[0].state).unwrap();
        assert_eq!(said["answers"]["Which colour?"], label, "{said}");
    }
    // Declined, never answered empty.
    let asked = with_forms.prompt(&session, &question()).await;
    let ask = with_forms.asked("elicitation/create").await;
    with_forms.respond(&ask["id"], json!({"action": "accept", "content": {}})).await;
    assert_eq!(with_forms.response(asked).await.unwrap()["stopReason"], "end_turn");
    let view = host.view(&id_of(&session)).await.unwrap();
    let said = serde_json::to_value(&view.requests[1].state).unwrap();
    assert_eq!(said["state"], "denied", "{said}");
    end(&host).await;
}

/// A prompt in which an MCP server asks the person for something.
fn elicitation(request: &Value) -> String {
    script(&json!([{"text": "ordered", "misbehave": {"elicit": request}}]))
}

/// What the MCP server got, as the simulated CLI reports it.
fn got(updates: &[Value]) -> Value {
    let said = text_of(updates, "agent_message_chunk");
    let answer = said.split("The server got ").nth(1).unwrap_or_else(|| panic!("no answer: {said}"));
    serde_json::Deserializer::from_str(answer).into_iter().next().unwrap().unwrap()
}

#[tokio::test]
async fn what_an_mcp_server_asks_is_a_form_a_link_or_a_list_of_options() {
    let place = Place::new();
    let host = place.host().await;
    let form = json!({
        "mcp_server_name": "shop", "message": "Your order", "mode": "form",
        "requested_schema": {"type": "object", "properties": {"gift": {"type": "boolean", "title": "As a gift"}}, "required": ["gift"]},
    });
    let link = json!({"mcp_server_name": "shop", "message": "Sign in", "mode": "url", "url": "https://example.org/sign-in", "elicitation_id": "e1"});
    let mut able = place.editor_with(&host, json!({"elicitation": {"form": {}, "url": {}}})).await;
    let session = place.session(&mut able).await;

    let asked = able.prompt(&session, &elicitation(&form)).await;
    let ask = able.asked("elicitation/create").await;
    assert_eq!(ask["params"]["requestedSchema"]["properties"]["gift"]["type"], "boolean", "{ask}");
    assert_eq!(ask["params"]["message"], "Your order", "{ask}");
    able.respond(&ask["id"], json!({"action": "accept", "content": {"gift": true}})).await;
    able.response(asked).await.unwrap();
    assert_eq!(got(&able.updates()), json!({"action": "accept", "content": {"gift": true}}));

    let asked = able.prompt(&session, &elicitation(&link)).await;
    let ask = able.asked("elicitation/create").await;
    assert_eq!(ask["params"]["url"], "https://example.org/sign-in", "{ask}");
    able.respond(&ask["id"], json!({"action": "decline"})).await;
    able.response(asked).await.unwrap();
    assert_eq!(got(&able.updates()), json!({"action": "decline"}));

    let mut unable = place.editor(&host).await;
    let session = place.session(&mut unable).await;
    let asked = unable.prompt(&session, &elicitation(&form)).await;
    let ask = unable.asked("session/request_permission").await;
    let names: Vec<&str> =
        ask["params"]["options"].as_array().unwrap().iter().map(|o| o["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Yes", "No", "Decline to answer"], "{ask}");
    unable.respond(&ask["id"], selected("answer_1")).await;
    unable.response(asked).await.unwrap();
    assert_eq!(got(&unable.updates()), json!({"action": "accept", "content": {"gift": false}}));

    let asked = unable.prompt(&session, &elicitation(&link)).await;
    let ask = unable.asked("session/request_permission").await;
    assert!(ask["params"]["toolCall"]["title"].as_str().unwrap().contains("https://example.org"), "{ask}");
    // Nonsense is never an agreement.
    unable.respond(&ask["id"], json!({"outcome": {"outcome": "selected", "optionId": "yes"}})).await;
    unable.response(asked).await.unwrap();
    assert_eq!(got(&unable.updates()), json!({"action": "decline"}));
    end(&host).await;
}

#[tokio::test]
async fn the_first_answer_wins_and_the_others_are_withdrawn() {
    let place = Place::new();
    let host = place.host().await;
    let (mut one, mut two) = (place.editor(&host).await, place.editor(&host).await);
    let session = place.session(&mut one).await;
    soon(two.call("session/load", json!({"sessionId": session, "cwd": place.work(), "mcpServers": []})))
        .await
        .unwrap();
    let asked = one.prompt(&session, &write(&place, "a")).await;
    let (first, second) =
        (one.asked("session/request_permission").await, two.asked("session/request_permission").await);
    two.respond(&second["id"], selected("allow")).await;
    let withdrawn = one.until("a cancellation", |message| message["method"] == "$/cancel_request").await;
    assert_eq!(withdrawn["params"]["requestId"], first["id"]);
    assert_eq!(one.response(asked).await.unwrap()["stopReason"], "end_turn");
    assert!(place.directory().join("a").exists());
    // Too late: it changes nothing, and the connection lives.
    one.respond(&first["id"], selected("reject")).await;
    // A caller that is not an editor answers.
    let asked = one.prompt(&session, &write(&place, "b")).await;
    let (first, _) =
        (one.asked("session/request_permission").await, two.asked("session/request_permission").await);
    let request = host.open_requests(&id_of(&session)).await.unwrap().remove(0);
    host.answer(&id_of(&session), &request.id, Decision::deny("no"), &Actor::new("page")).await.unwrap();
    let withdrawn = one.until("a cancellation", |message| message["method"] == "$/cancel_request").await;
    assert_eq!(withdrawn["params"]["requestId"], first["id"]);
    assert_eq!(one.response(asked).await.unwrap()["stopReason"], "end_turn");
    assert!(!place.directory().join("b").exists());
    end(&host).await;
}

#[tokio::test]
async fn a_plan_is_approved_with_a_mode() {
    let place = Place::new();
    let host = place.host().await;
    let mut editor = place.editor(&host).await;
    let session = place.session(&mut editor).await;
    soon(editor.call("session/set_mode", json!({"sessionId": session, "modeId": "plan"}))).await.unwrap();
    let steps = json!([{"tool": "ExitPlanMode", "input": {"plan": "# Plan\n1. Do it."}}, {"text": "done"}]);
    let asked = editor.prompt(&session, &script(&steps)).await;
    let ask = editor.asked("session/request_permission").await;
    assert_eq!(ask["params"]["toolCall"]["kind"], "switch_mode");
    let shown = ask["params"]["toolCall"]["content"][0]["content"]["text"].as_str().unwrap();
    assert!(shown.contains("Do it."), "{ask}");
    editor.respond(&ask["id"], selected("allow_edits")).await;
    assert_eq!(editor.response(asked).await.unwrap()["stopReason"], "end_turn");
    let changed = editor.until("the mode", |message| {
        message["params"]["update"]["sessionUpdate"] == "current_mode_update"
            && message["params"]["update"]["currentModeId"] == "acceptEdits"
    });
    changed.await;
    end(&host).await;
}
