//! Version 2 of the protocol, a draft: by the same adapter, on the same sessions.

use std::sync::{Arc, Mutex};

use agent_client_protocol::Client;
use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v2::schema::{
    ContentBlock, Implementation, InitializeRequest, NewSessionRequest, PromptRequest,
    RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse, SelectedPermissionOutcome,
    SessionUpdate, StateUpdate, StopReason, UpdateSessionNotification,
};
use agent_client_protocol::v2::{ConnectionTo, InitializeOutcome};
use serde_json::{Value, json};
use tokio::sync::Notify;
use weir_host::{Host, MessageState};
use weir_testkit::soon;

use crate::peer::{Peer, text_of};
use crate::place::{Place, end, id_of, says, script};

/// An editor that speaks version 2 and has forms if `capabilities` say so.
async fn draft_editor(host: &Host, capabilities: Value) -> Peer {
    let mut peer = Place::silent_editor(host);
    let info = json!({"name": "test", "version": "1"});
    let hello = json!({"protocolVersion": 2, "info": info, "capabilities": capabilities});
    let greeted = soon(peer.call("initialize", hello)).await.unwrap();
    assert_eq!((&greeted["protocolVersion"], &greeted["info"]["name"]), (&json!(2), &json!("weir")));
    peer
}

async fn new_session(place: &Place, peer: &mut Peer) -> String {
    let opened = soon(peer.call("session/new", json!({"cwd": place.work()}))).await.unwrap();
    assert!(opened.get("modes").is_none(), "{opened}");
    let ids: Vec<&str> = opened["configOptions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|option| option["configId"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["mode", "model", "effort"]);
    opened["sessionId"].as_str().unwrap().to_owned()
}

/// Sends a prompt, and waits until it is accepted; the id of its message.
async fn accepted(peer: &mut Peer, session: &str, text: &str) -> String {
    let response = peer.ask(session, text).await.unwrap();
    response["messageId"].as_str().unwrap_or_else(|| panic!("{response}")).to_owned()
}

fn is_state(message: &Value, state: &str) -> bool {
    let update = &message["params"]["update"];
    update["sessionUpdate"] == "state_update" && update["state"] == state
}

/// Waits for the end of the turn; what is told of it.
async fn idle(peer: &mut Peer) -> Value {
    let is_end = |message: &Value| {
        is_state(message, "idle") && message["params"]["update"].get("stopReason").is_some()
    };
    peer.until("the end of the turn", is_end).await["params"]["update"].take()
}

fn selected(option: &str) -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": option}})
}

#[tokio::test]
async fn each_editor_gets_the_version_that_it_asks_for() {
    let place = Place::new();
    let host = place.host().await;
    for (asked, got) in [(json!(1), 1), (json!(2), 2), (json!(999), 2)] {
        let mut editor = Place::silent_editor(&host);
        let info = json!({"name": "test", "version": "1"});
        let greeted =
            editor.call("initialize", json!({"protocolVersion": asked, "info": info})).await.unwrap();
        assert_eq!(greeted["protocolVersion"], got, "{greeted}");
    }
    let mut editor = draft_editor(&host, json!({})).await;
    for (method, params, code) in [
        ("session/load", json!({"sessionId": "x", "cwd": "/"}), -32601),
        ("session/set_mode", json!({"sessionId": "x", "modeId": "plan"}), -32601),
        ("session/prompt", json!({"sessionId": "nobody", "prompt": [{"type": "text", "text": "x"}]}), -32002),
        ("session/prompt", json!({"sessionId": "nobody"}), -32602),
        ("session/resume", json!({"sessionId": "nobody", "cwd": place.work()}), -32002),
        ("tool_call/cancel", json!({"sessionId": "nobody", "toolCallId": "t"}), -32602),
        ("auth/logout", json!({}), -32602),
        ("auth/login", json!({"methodId": "other"}), -32602),
    ] {
        let error = editor.call(method, params).await.unwrap_err();
        assert_eq!(error["code"], code, "{method}: {error}");
    }
    assert!(editor.call("auth/login", json!({"methodId": "claude-login"})).await.is_ok());
    end(&host).await;
}

#[tokio::test]
async fn a_turn_is_told_as_the_state_of_its_session() {
    let place = Place::new();
    let host = place.host().await;
    let mut editor = draft_editor(&host, json!({})).await;
    let session = new_session(&place, &mut editor).await;
    place.write("a.txt", "one\ntwo\n").unwrap();
    let file = place.directory().join("a.txt");
    let edit = json!({"file_path": file, "old_string": "two", "new_string": "2"});
    let steps = json!([
        {"thinking": "Let me see.", "text": "I look.", "tool": "Read", "input": {"file_path": file}},
        {"tool": "Edit", "input": edit},
        {"tool": "Bash", "input": {"command": "touch made && echo hi", "description": "Says hi"}},
        {"text": "All done."},
    ]);
    let message = accepted(&mut editor, &session, &script(&steps)).await;
    for kind in ["edit", "execute"] {
        let ask = editor.asked("session/request_permission").await;
        assert_eq!(ask["params"]["subject"]["type"], "tool_call", "{ask}");
        assert_eq!(ask["params"]["subject"]["toolCall"]["kind"], kind, "{ask}");
        assert!(!ask["params"]["title"].as_str().unwrap().is_empty());
        editor.until("requires_action", |message| is_state(message, "requires_action")).await;
        editor.respond(&ask["id"], selected("allow")).await;
    }
    let ended = idle(&mut editor).await;
    assert_eq!(ended["stopReason"], "end_turn", "{ended}");
    assert!(ended["usage"]["totalTokens"].as_u64().unwrap() > 0, "{ended}");
    let updates = editor.updates();
    let own = updates.iter().find(|update| update["sessionUpdate"] == "user_message_chunk").unwrap();
    assert_eq!(own["messageId"], json!(message));
    assert_eq!(text_of(&updates, "agent_message_chunk"), "I look.All done.");
    assert_eq!(text_of(&updates, "agent_thought_chunk"), "Let me see.");
    let texts = |kind: &str, text: &str| -> Vec<Value> {
        let of_kind = updates.iter().filter(|update| update["sessionUpdate"] == kind);
        let of_text = of_kind.filter(|update| text.contains(update["content"]["text"].as_str().unwrap()));
        of_text.map(|update| update["messageId"].clone()).collect()
    };
    let (thought, first, last) = (
        texts("agent_thought_chunk", "Let me see."),
        texts("agent_message_chunk", "I look."),
        texts("agent_message_chunk", "All done."),
    );
    assert!(thought[0] != first[0] && first[0] != last[0], "each text has an id of its own");
    assert!(
        updates.iter().all(|update| update["sessionUpdate"] != "tool_call"),
        "version 2 has updates only"
    );
    // The edit is a patch that Git understands, and the command has a terminal.
    let mut diffs = updates.iter().filter_map(|update| update["content"].as_array()).flatten();
    let patch = diffs.rfind(|content| content["type"] == "diff").unwrap();
    assert_eq!(patch["changes"][0]["operation"], "modify", "{patch}");
    let text = patch["patch"]["text"].as_str().unwrap();
    assert!(text.ends_with("@@ -1,2 +1,2 @@\n one\n-two\n+2\n"), "{text}");
    let terminal = updates.iter().rfind(|update| update["sessionUpdate"] == "terminal_update").unwrap();
    assert_eq!(
        (&terminal["command"], &terminal["output"]["data"]),
        (&json!("touch made && echo hi"), &json!("aGk=")),
        "{terminal}"
    );
    assert_eq!(terminal["exitStatus"]["exitCode"], 0, "{terminal}");
    end(&host).await;
}

#[tokio::test]
async fn every_turn_ends_and_says_how() {
    let place = Place::new();
    let host = place.host().await;
    let mut editor = draft_editor(&host, json!({})).await;
    let session = new_session(&place, &mut editor).await;
    let step = |step: Value| script(&json!([step]));
    for (prompt, stop) in [
        (says("fine"), "end_turn"),
        (step(json!({"text": "no", "stop_reason": "refusal"})), "refusal"),
        (step(json!({"status": 400, "etype": "invalid_request_error", "msg": "bad things"})), "error"),
        (
            step(
                json!({"text": "I am not to be relied on", "misbehave": {"crash": {"at": "mid", "exit": 3}}}),
            ),
            "error",
        ),
        (says("again"), "end_turn"),
    ] {
        accepted(&mut editor, &session, &prompt).await;
        let ended = idle(&mut editor).await;
        assert_eq!(ended["stopReason"], stop, "{ended}");
        if prompt.contains("bad things") {
            assert!(ended["error"]["message"].as_str().unwrap().contains("bad things"), "{ended}");
        }
    }
    // A cancelled turn, and a prompt that waits behind it.
    editor.updates();
    let slow = script(&json!([{"text": "one two three four five", "wdelay": 30}]));
    accepted(&mut editor, &session, &slow).await;
    editor.update("agent_message_chunk").await;
    let queued = accepted(&mut editor, &session, &says("queued")).await;
    editor.notify("session/cancel", json!({"sessionId": session})).await;
    assert_eq!(idle(&mut editor).await["stopReason"], "cancelled");
    let cancelled = soon(host.finished(&id_of(&session), &queued.as_str().into())).await.unwrap();
    assert_eq!(cancelled.state, MessageState::Cancelled);
    // One that is cancelled before it has begun has an end too.
    accepted(&mut editor, &session, &slow).await;
    editor.notify("session/cancel", json!({"sessionId": session})).await;
    assert_eq!(idle(&mut editor).await["stopReason"], "cancelled");
    end(&host).await;
}

#[tokio::test]
async fn both_versions_work_on_one_session_at_once() {
    let place = Place::new();
    let host = place.host().await;
    let mut old = place.editor(&host).await;
    let session = place.session(&mut old).await;
    old.ask(&session, &says("before")).await.unwrap();
    let file = place.directory().join("a.txt");
    let write =
        json!([{"tool": "Write", "input": {"file_path": file, "content": "x\n"}}, {"text": "written"}]);
    let asked = old.prompt(&session, &script(&write)).await;
    let first = old.asked("session/request_permission").await;
    // The other one joins in the middle, with the history.
    let mut new = draft_editor(&host, json!({})).await;
    let resume = json!({"sessionId": session, "cwd": place.work(), "replayFrom": {"type": "start"}});
    let id = new.request("session/resume", resume).await;
    let snapshot = new.until("the state", |message| is_state(message, "requires_action")).await;
    assert!(snapshot.get("id").is_none());
    assert!(new.response(id).await.unwrap()["configOptions"].is_array());
    let ask = new.asked("session/request_permission").await;
    assert_eq!(text_of(&new.updates(), "agent_message_chunk"), "before");
    new.respond(&ask["id"], selected("allow")).await;
    let withdrawn = old.until("a withdrawal", |message| message["method"] == "$/cancel_request").await;
    assert_eq!(withdrawn["params"]["requestId"], first["id"]);
    assert_eq!(old.response(asked).await.unwrap()["stopReason"], "end_turn");
    assert_eq!(idle(&mut new).await["stopReason"], "end_turn");
    assert!(file.exists());
    // The other way round.
    accepted(&mut new, &session, &script(&write)).await;
    let (first, ask) =
        (old.asked("session/request_permission").await, new.asked("session/request_permission").await);
    old.respond(&first["id"], selected("reject")).await;
    let withdrawn = new.until("a withdrawal", |message| message["method"] == "$/cancel_request").await;
    assert_eq!(withdrawn["params"]["requestId"], ask["id"]);
    idle(&mut new).await;
    // Options that one changes are told to the other, in its own words.
    let set = json!({"sessionId": session, "configId": "mode", "type": "id", "value": "plan"});
    new.call("session/set_config_option", set).await.unwrap();
    assert_eq!(old.update("current_mode_update").await["currentModeId"], "plan");
    let told = new.update("config_option_update").await;
    assert_eq!(told["configOptions"][0]["currentValue"], "plan", "{told}");
    let listed = new.call("session/list", json!({"cwd": place.work()})).await.unwrap();
    assert_eq!(listed["sessions"][0]["sessionId"], json!(session));
    new.call("session/close", json!({"sessionId": session})).await.unwrap();
    new.call("session/delete", json!({"sessionId": session})).await.unwrap();
    assert!(host.info(&id_of(&session)).await.is_err());
    end(&host).await;
}

#[tokio::test]
async fn questions_lists_and_sub_agents_are_told() {
    let place = Place::new();
    let host = place.host().await;
    let mut editor = draft_editor(&host, json!({"elicitation": {"form": {}}})).await;
    let session = new_session(&place, &mut editor).await;
    let question = json!({
        "question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
    });
    let inner = script(&json!([{"text": "Inside."}]));
    let task = json!({"description": "Inner", "prompt": inner, "subagent_type": "general-purpose", "run_in_background": false});
    let steps = json!([
        {"tool": "AskUserQuestion", "input": {"questions": [question]}},
        {"tool": "Task", "input": task},
        {"text": "thanks"},
    ]);
    accepted(&mut editor, &session, &script(&steps)).await;
    let ask = editor.asked("elicitation/create").await;
    assert_eq!(ask["params"]["requestedSchema"]["properties"]["q0"]["oneOf"][1]["const"], "Blue", "{ask}");
    editor.respond(&ask["id"], json!({"action": "accept", "content": {"q0": "Blue"}})).await;
    idle(&mut editor).await;
    let view = host.view(&id_of(&session)).await.unwrap();
    let said = serde_json::to_value(&view.requests[0].state).unwrap();
    assert_eq!(said["answers"]["Which colour?"], "Blue", "{said}");
    let child = editor.update("subagent_update").await["sessionId"].as_str().unwrap().to_owned();
    let of_child = editor.seen.iter().filter(|message| message["params"]["sessionId"] == json!(child));
    let of_child: Vec<Value> = of_child.map(|message| message["params"]["update"].clone()).collect();
    assert_eq!(text_of(&of_child, "agent_message_chunk"), "Inside.");
    end(&host).await;
}

/// The library's own client, which checks every message against the types of version 2.
#[tokio::test]
async fn the_types_of_version_2_know_everything_that_is_told() {
    let place = Place::new();
    let host = place.host().await;
    let mut new = weir_host::NewSession::new(place.work());
    new.spec.allowed_tools = vec!["TaskCreate".to_owned()];
    let session = host.create(new, &weir_host::Actor::new("page")).await.unwrap().session.id;
    let file = place.directory().join("a.txt");
    let steps = json!([
        {"text": "I write.", "tool": "Write", "input": {"file_path": file, "content": "x"}},
        {"tool": "TaskCreate", "input": {"subject": "Look", "description": "-", "activeForm": "Looking"}},
        {"tool": "Bash", "input": {"command": "true"}},
        {"text": "done"},
    ]);
    let told: Arc<Mutex<Vec<SessionUpdate>>> = Arc::default();
    let is_idle = Arc::new(Notify::new());
    let (heard, ended) = (Arc::clone(&told), Arc::clone(&is_idle));
    let (cwd, text, id) = (place.directory(), script(&steps), session.to_string());
    let done = Client
        .v2()
        .on_receive_notification(
            async move |notification: UpdateSessionNotification, _| {
                let is_end = matches!(
                    &notification.update,
                    SessionUpdate::StateUpdate(StateUpdate::Idle(idle)) if idle.stop_reason == Some(StopReason::EndTurn)
                );
                heard.lock().unwrap().push(notification.update);
                if is_end {
                    ended.notify_one();
                }
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _| {
                let option = request.options[0].option_id.clone();
                let outcome = RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option));
                responder.respond(RequestPermissionResponse::new(outcome))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(Place::transport(&host), async |agent: ConnectionTo<agent_client_protocol::Agent>| {
            let hello = InitializeRequest::new(ProtocolVersion::V2, Implementation::new("test", "1"));
            let greeted = agent.send_initialize(hello).block_task().await?;
            assert!(matches!(greeted, InitializeOutcome::Initialized(_)));
            let opened = agent.send_request(NewSessionRequest::new(cwd.clone())).block_task().await?;
            assert_eq!(opened.config_options.len(), 3);
            let prompt = vec![ContentBlock::from(text.as_str())];
            agent.send_request(PromptRequest::new(id, prompt)).block_task().await?;
            is_idle.notified().await;
            Ok(())
        });
    soon(done).await.unwrap();
    assert!(file.exists());
    let told = std::mem::take(&mut *told.lock().unwrap());
    let unknown: Vec<&SessionUpdate> =
        told.iter().filter(|update| matches!(update, SessionUpdate::Other(_))).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    for is_it in [
        |update: &SessionUpdate| matches!(update, SessionUpdate::PlanUpdate(_)),
        |update: &SessionUpdate| matches!(update, SessionUpdate::TerminalUpdate(_)),
        |update: &SessionUpdate| matches!(update, SessionUpdate::ToolCallUpdate(_)),
        |update: &SessionUpdate| matches!(update, SessionUpdate::UsageUpdate(_)),
        |update: &SessionUpdate| matches!(update, SessionUpdate::AvailableCommandsUpdate(_)),
    ] {
        assert!(told.iter().any(is_it), "{told:?}");
    }
    end(&host).await;
}
