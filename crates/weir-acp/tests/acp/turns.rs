//! Prompts: what an editor sees of a turn, and how the turn ends.

use serde_json::{Value, json};
use weir_testkit::soon;

use crate::peer::text_of;
use crate::place::{Place, end, id_of, says, script};

#[tokio::test]
async fn a_prompt_is_answered_after_everything_that_belongs_to_its_turn() {
    let place = Place::new();
    let host = place.host().await;
    let mut editor = place.editor(&host).await;
    let session = place.session(&mut editor).await;
    let steps = json!([
        {"thinking": "Let me see.", "text": "I look.", "tool": "Bash", "input": {"command": "touch made && echo hi", "description": "Says hi"}},
        {"text": "All done."},
    ]);
    let asked = editor.prompt(&session, &script(&steps)).await;
    let ask = editor.asked("session/request_permission").await;
    editor.respond(&ask["id"], json!({"outcome": {"outcome": "selected", "optionId": "allow"}})).await;
    let ended = editor.response(asked).await.unwrap();
    assert_eq!(ended["stopReason"], "end_turn");
    assert!(ended["usage"]["totalTokens"].as_u64().unwrap() > 0, "{ended}");
    let updates = editor.updates();
    assert_eq!(text_of(&updates, "agent_message_chunk"), "I look.All done.");
    assert_eq!(text_of(&updates, "agent_thought_chunk"), "Let me see.");
    assert_eq!(text_of(&updates, "user_message_chunk"), "", "the editor shows its own prompt");
    let calls: Vec<&Value> = updates.iter().filter(|update| update["sessionUpdate"] == "tool_call").collect();
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert_eq!(calls[0]["kind"], "execute");
    let mut changes = updates.iter().filter(|update| update["sessionUpdate"] == "tool_call_update");
    let last = changes.next_back().unwrap();
    assert_eq!((&last["status"], &last["toolCallId"]), (&json!("completed"), &calls[0]["toolCallId"]));
    assert!(last["content"][0]["content"]["text"].as_str().unwrap().contains("hi"), "{last}");
    end(&host).await;
}

#[tokio::test]
async fn a_turn_of_ten_thousand_pieces_arrives_whole() {
    let place = Place::new();
    let host = place.host().await;
    let mut editor = place.editor(&host).await;
    let session = place.session(&mut editor).await;
    let words: Vec<String> = (0..10_000).map(|number| format!("w{number}")).collect();
    let text = words.join(" ");
    let ended = editor.ask(&session, &says(&text)).await.unwrap();
    assert_eq!(ended["stopReason"], "end_turn");
    let updates = editor.updates();
    let pieces = updates.iter().filter(|update| update["sessionUpdate"] == "agent_message_chunk").count();
    assert!(pieces > 5_000, "{pieces} pieces");
    assert_eq!(text_of(&updates, "agent_message_chunk"), text);
    end(&host).await;
}

#[tokio::test]
async fn a_cancelled_prompt_ends_as_cancelled_and_the_next_one_works() {
    let place = Place::new();
    let host = place.host().await;
    let mut editor = place.editor(&host).await;
    let session = place.session(&mut editor).await;
    let slow = script(&json!([{"text": "one two three four five", "wdelay": 30}]));
    let asked = editor.prompt(&session, &slow).await;
    editor.update("agent_message_chunk").await;
    editor.notify("session/cancel", json!({"sessionId": session})).await;
    assert_eq!(editor.response(asked).await.unwrap()["stopReason"], "cancelled");
    // Right behind the prompt, before anything runs.
    let asked = editor.prompt(&session, &slow).await;
    editor.notify("session/cancel", json!({"sessionId": session})).await;
    assert_eq!(editor.response(asked).await.unwrap()["stopReason"], "cancelled");
    // By the request's own cancellation.
    let asked = editor.prompt(&session, &slow).await;
    editor.update("agent_message_chunk").await;
    editor.notify("$/cancel_request", json!({"requestId": asked})).await;
    assert_eq!(editor.response(asked).await.unwrap()["stopReason"], "cancelled");
    assert_eq!(editor.ask(&session, &says("fine")).await.unwrap()["stopReason"], "end_turn");
    // Prompts that wait behind the cancelled one do not begin instead of it.
    let first = editor.prompt(&session, &slow).await;
    editor.update("agent_message_chunk").await;
    let others =
        [editor.prompt(&session, &says("second")).await, editor.prompt(&session, &says("third")).await];
    editor.call("session/list", json!({})).await.unwrap();
    editor.updates();
    editor.notify("session/cancel", json!({"sessionId": session})).await;
    for asked in [first, others[0], others[1]] {
        assert_eq!(editor.response(asked).await.unwrap()["stopReason"], "cancelled");
    }
    let said = text_of(&editor.updates(), "agent_message_chunk");
    assert!(!said.contains("second") && !said.contains("third"), "{said}");
    assert_eq!(editor.ask(&session, &says("fine")).await.unwrap()["stopReason"], "end_turn");
    end(&host).await;
}

#[tokio::test]
async fn a_cancelled_permission_allows_nothing() {
    let place = Place::new();
    let host = place.host().await;
    let mut editor = place.editor(&host).await;
    let session = place.session(&mut editor).await;
    let file = place.directory().join("never.txt");
    let steps = json!([{"tool": "Write", "input": {"file_path": file, "content": "x"}}, {"text": "done"}]);
    let asked = editor.prompt(&session, &script(&steps)).await;
    let ask = editor.asked("session/request_permission").await;
    editor.notify("session/cancel", json!({"sessionId": session})).await;
    editor.respond(&ask["id"], json!({"outcome": {"outcome": "cancelled"}})).await;
    assert_eq!(editor.response(asked).await.unwrap()["stopReason"], "cancelled");
    assert!(!file.exists());
    end(&host).await;
}

#[tokio::test]
async fn errors_and_limits_end_a_prompt_too() {
    let place = Place::new();
    let host = place.host().await;
    let mut editor = place.editor(&host).await;
    let session = place.session(&mut editor).await;
    let refused = script(&json!([{"text": "no", "stop_reason": "refusal"}]));
    assert_eq!(editor.ask(&session, &refused).await.unwrap()["stopReason"], "refusal");
    let broken = script(&json!([{"status": 400, "etype": "invalid_request_error", "msg": "bad things"}]));
    let error = editor.ask(&session, &broken).await.unwrap_err();
    assert_eq!(error["code"], -32603, "{error}");
    assert!(error["message"].as_str().unwrap().contains("bad things"), "{error}");
    let login =
        script(&json!([{"status": 401, "etype": "authentication_error", "msg": "invalid x-api-key"}]));
    let error = editor.ask(&session, &login).await.unwrap_err();
    assert_eq!(error["code"], -32000, "{error}");
    let crash = script(
        &json!([{"text": "I am not to be relied on", "misbehave": {"crash": {"at": "mid", "exit": 3}}}]),
    );
    let error = editor.ask(&session, &crash).await.unwrap_err();
    assert_eq!((&error["code"], &error["data"]["code"]), (&json!(-32603), &json!("died")), "{error}");
    assert_eq!(editor.ask(&session, &says("again")).await.unwrap()["stopReason"], "end_turn");
    end(&host).await;
}

#[tokio::test]
async fn edits_are_shown_as_differences_at_their_lines() {
    let place = Place::new();
    let host = place.host().await;
    let mut editor = place.editor(&host).await;
    let session = place.session(&mut editor).await;
    place.write("a.txt", "one\ntwo\nthree\n").unwrap();
    let file = place.directory().join("a.txt");
    let edit = json!({"file_path": file, "old_string": "two", "new_string": "2"});
    let steps = json!([
        {"tool": "Read", "input": {"file_path": file}},
        {"tool": "Edit", "input": edit},
        {"text": "done"},
    ]);
    let asked = editor.prompt(&session, &script(&steps)).await;
    let ask = editor.asked("session/request_permission").await;
    let call = &ask["params"]["toolCall"];
    assert_eq!(call["kind"], "edit");
    let shown = &call["content"][0];
    assert_eq!((&shown["type"], &shown["path"]), (&json!("diff"), &json!(file)), "{call}");
    assert!(shown["oldText"].as_str().unwrap().contains("two"), "{call}");
    assert!(shown["newText"].as_str().unwrap().contains('2'), "{call}");
    editor.respond(&ask["id"], json!({"outcome": {"outcome": "selected", "optionId": "allow"}})).await;
    assert_eq!(editor.response(asked).await.unwrap()["stopReason"], "end_turn");
    let updates = editor.updates();
    let mut edits = updates.iter().filter(|update| update["kind"] == "edit");
    let last = edits.next_back().unwrap();
    assert_eq!(last["status"], "completed", "{last}");
    assert_eq!(last["locations"][0]["path"], json!(file), "{last}");
    assert_eq!(last["content"][0]["type"], "diff", "{last}");
    let reads: Vec<&Value> = updates.iter().filter(|update| update["kind"] == "read").collect();
    assert_eq!(reads.last().unwrap()["locations"][0]["path"], json!(file), "{reads:?}");
    end(&host).await;
}

#[tokio::test]
async fn a_to_do_list_is_a_plan() {
    let place = Place::new();
    let host = place.host().await;
    let mut editor = place.editor(&host).await;
    // The CLI has these tools only where they are allowed in advance.
    let mut new = weir_host::NewSession::new(place.work());
    new.spec.allowed_tools = vec!["TaskCreate".to_owned(), "TaskUpdate".to_owned()];
    let session = host.create(new, &weir_host::Actor::new("page")).await.unwrap().session.id;
    let load = json!({"sessionId": session, "cwd": place.work(), "mcpServers": []});
    soon(editor.call("session/load", load)).await.unwrap();
    let create = |subject: &str| json!({"subject": subject, "description": "-", "activeForm": format!("{subject}ing")});
    let update = |id: &str, status: &str| json!({"taskId": id, "status": status});
    let steps = json!([
        {"tools": [
            {"tool": "TaskCreate", "input": create("Look")},
            {"tool": "TaskCreate", "input": create("Build")},
            {"tool": "TaskCreate", "input": create("Test")},
        ]},
        {"tool": "TaskUpdate", "input": update("1", "completed")},
        {"tool": "TaskUpdate", "input": update("2", "in_progress")},
        {"text": "done"},
    ]);
    assert_eq!(editor.ask(&session, &script(&steps)).await.unwrap()["stopReason"], "end_turn");
    let updates = editor.updates();
    let plan = updates.iter().rfind(|update| update["sessionUpdate"] == "plan");
    let plan = plan.unwrap_or_else(|| panic!("no plan: {updates:?}"));
    let entries: Vec<(&str, &str)> = plan["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["content"].as_str().unwrap(), entry["status"].as_str().unwrap()))
        .collect();
    assert_eq!(entries, [("Look", "completed"), ("Building", "in_progress"), ("Test", "pending")]);
    assert!(!updates.iter().any(|update| update["sessionUpdate"] == "tool_call"), "{updates:?}");
    end(&host).await;
}

#[tokio::test]
async fn the_calls_of_a_sub_agent_name_its_call() {
    let place = Place::new();
    let host = place.host().await;
    let mut editor = place.editor(&host).await;
    let session = place.session(&mut editor).await;
    let inner = script(&json!([{"tool": "Glob", "input": {"pattern": "*.rs"}}, {"text": "Found none."}]));
    let task = json!({"description": "Search", "prompt": inner, "subagent_type": "general-purpose", "run_in_background": false});
    let steps = json!([{"tool": "Task", "input": task}, {"text": "done"}]);
    assert_eq!(editor.ask(&session, &script(&steps)).await.unwrap()["stopReason"], "end_turn");
    let updates = editor.updates();
    assert_eq!(text_of(&updates, "agent_message_chunk"), "done", "a sub-agent's words are not the agent's");
    let calls: Vec<&Value> = updates.iter().filter(|update| update["sessionUpdate"] == "tool_call").collect();
    let (task, glob) = (calls[0], calls[1]);
    assert_eq!((&task["kind"], &glob["kind"]), (&json!("think"), &json!("search")));
    assert_eq!(glob["_meta"]["weir"]["parentToolCallId"], task["toolCallId"]);
    let last = updates.iter().rfind(|update| update["toolCallId"] == task["toolCallId"]).unwrap();
    assert!(last["content"][0]["content"]["text"].as_str().unwrap().contains("Found none."), "{last}");
    end(&host).await;
}

#[tokio::test]
async fn a_sub_agent_is_a_session_of_its_own_for_editors_that_understand_these() {
    let place = Place::new();
    let host = place.host().await;
    let mut editor = place.editor_with(&host, json!({"subagents": {}})).await;
    let session = place.session(&mut editor).await;
    let file = place.directory().join("made.txt");
    let inner = script(&json!([
        {"text": "I write.", "tool": "Write", "input": {"file_path": file, "content": "x\n"}},
        {"text": "Written."},
    ]));
    let task = json!({"description": "Writing", "prompt": inner, "subagent_type": "general-purpose", "run_in_background": false});
    let asked =
        editor.prompt(&session, &script(&json!([{"tool": "Task", "input": task}, {"text": "done"}]))).await;
    let ask = editor.asked("session/request_permission").await;
    let child = ask["params"]["sessionId"].as_str().unwrap().to_owned();
    assert!(child.starts_with(&format!("{session}.")), "{ask}");
    editor.respond(&ask["id"], json!({"outcome": {"outcome": "selected", "optionId": "allow"}})).await;
    assert_eq!(editor.response(asked).await.unwrap()["stopReason"], "end_turn");
    assert!(file.exists());
    let of = |id: &str| -> Vec<Value> {
        let messages = editor.seen.iter().filter(|message| message["params"]["sessionId"] == *id);
        messages.map(|message| message["params"]["update"].clone()).collect()
    };
    let (own, children) = (of(&session), of(&child));
    assert_eq!(text_of(&own, "agent_message_chunk"), "done");
    assert_eq!(text_of(&children, "agent_message_chunk"), "I write.Written.");
    let announced: Vec<&Value> =
        own.iter().filter(|update| update["sessionUpdate"] == "subagent_update").collect();
    assert_eq!((&announced[0]["sessionId"], &announced[0]["title"]), (&json!(child), &json!("Writing")));
    assert_eq!(announced[0]["state"]["state"], "running", "{announced:?}");
    assert_eq!(announced.last().unwrap()["state"]["stopReason"], "end_turn", "{announced:?}");
    assert_eq!(children[0]["sessionUpdate"], "session_message", "{children:?}");
    let calls = |updates: &[Value]| updates.iter().filter(|u| u["sessionUpdate"] == "tool_call").count();
    assert_eq!((calls(&own), calls(&children)), (1, 1));
    // Nothing can be asked of it.
    for method in ["session/prompt", "session/load", "session/delete", "session/close"] {
        let params = json!({"sessionId": child, "cwd": place.work(), "mcpServers": [], "prompt": [{"type": "text", "text": "x"}]});
        assert_eq!(editor.call(method, params).await.unwrap_err()["code"], -32002, "{method}");
    }
    // Another editor that loads the session sees the same.
    let mut other = place.editor_with(&host, json!({"subagents": {}})).await;
    let load = json!({"sessionId": session, "cwd": place.work(), "mcpServers": []});
    soon(other.call("session/load", load)).await.unwrap();
    let replayed: Vec<Value> = other
        .seen
        .iter()
        .filter(|message| message["params"]["sessionId"] == json!(child))
        .map(|message| message["params"]["update"].clone())
        .collect();
    assert_eq!(text_of(&replayed, "agent_message_chunk"), "I write.Written.");
    assert_eq!(calls(&replayed), 1);
    end(&host).await;
}

#[tokio::test]
async fn text_from_an_editor_reads_no_file_and_runs_no_command() {
    let place = Place::new();
    let host = place.host().await;
    let mut editor = place.editor(&host).await;
    let session = place.session(&mut editor).await;
    place.write("secret.txt", "the secret").unwrap();
    let secret = place.directory().join("secret.txt");
    let prompt = json!([
        {"type": "text", "text": format!("/config theme=dark @{} ", secret.display())},
        {"type": "resource", "resource": {"uri": "file:///x", "text": format!("@{}", secret.display())}},
        {"type": "text", "text": says("heard")},
    ]);
    let ended = editor.call("session/prompt", json!({"sessionId": session, "prompt": prompt})).await.unwrap();
    assert_eq!(ended["stopReason"], "end_turn");
    let page = soon(host.log(&id_of(&session), 0)).await.unwrap();
    let log = serde_json::to_string(&page.events).unwrap();
    assert!(!log.contains("the secret"), "the file was read");
    let updates = editor.updates();
    assert_eq!(text_of(&updates, "agent_message_chunk"), "heard");
    // A listed command is one.
    let ended = editor.ask(&session, "/cost").await;
    assert!(ended.is_ok(), "{ended:?}");
    end(&host).await;
}
