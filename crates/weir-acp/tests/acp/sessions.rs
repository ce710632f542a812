//! What an editor is told about the agent, and sessions as a whole: list, fork, close, delete, mode and model.

use serde_json::{Value, json};
use weir_testkit::{soon, until_some};

use crate::peer::text_of;
use crate::place::{Place, end, id_of, says};

#[tokio::test]
async fn initialize_tells_the_truth() {
    let place = Place::new();
    let host = place.host().await;
    let mut editor = Place::silent_editor(&host);
    let hello = editor.call("initialize", json!({"protocolVersion": 1})).await.unwrap();
    assert_eq!(hello["protocolVersion"], 1);
    assert_eq!(hello["agentInfo"]["name"], "weir");
    let able = &hello["agentCapabilities"];
    assert_eq!(able["loadSession"], true);
    assert_eq!(able["promptCapabilities"]["image"], true);
    assert_eq!(able["promptCapabilities"]["embeddedContext"], true);
    assert_ne!(able["promptCapabilities"]["audio"], true);
    // Without a place for them, MCP servers and folders are not used.
    assert_ne!(able["mcpCapabilities"]["http"], true);
    assert!(able["sessionCapabilities"].get("additionalDirectories").is_none(), "{able}");
    for name in ["list", "resume", "close", "delete", "fork"] {
        assert!(able["sessionCapabilities"][name].is_object(), "{name}: {able}");
    }
    let login = &hello["authMethods"][0];
    assert!(login["description"].as_str().unwrap().contains("/login"), "{login}");
    assert!(editor.call("authenticate", json!({"methodId": login["id"]})).await.is_ok());
    assert_eq!(editor.call("authenticate", json!({"methodId": "other"})).await.unwrap_err()["code"], -32602);
    end(&host).await;
}

#[tokio::test]
async fn sessions_are_listed_by_folder_and_page_by_page() {
    let place = Place::new();
    let host = place.host().await;
    let mut editor = place.editor(&host).await;
    let first = place.session(&mut editor).await;
    std::fs::create_dir(place.directory().join("sub")).unwrap();
    let sub = place.directory().join("sub");
    let other = editor.call("session/new", json!({"cwd": sub, "mcpServers": []})).await.unwrap();
    editor.ask(&first, &says("hello")).await.unwrap();
    let ids = |page: &Value| -> Vec<String> {
        let sessions = page["sessions"].as_array().unwrap().iter();
        sessions.map(|session| session["sessionId"].as_str().unwrap().to_owned()).collect()
    };
    let all = editor.call("session/list", json!({})).await.unwrap();
    assert_eq!(ids(&all).len(), 2);
    let listed = all["sessions"].as_array().unwrap().iter().find(|s| s["sessionId"] == json!(first)).unwrap();
    assert!(listed["title"].as_str().is_some(), "{listed}");
    assert!(listed["updatedAt"].as_str().unwrap().contains('T'), "{listed}");
    let below = editor.call("session/list", json!({"cwd": sub})).await.unwrap();
    assert_eq!(ids(&below), [other["sessionId"].as_str().unwrap()]);
    for _ in 0..60 {
        place.session(&mut editor).await;
    }
    let (mut cursor, mut found) = (Value::Null, Vec::new());
    loop {
        let page = editor.call("session/list", json!({"cursor": cursor})).await.unwrap();
        found.extend(ids(&page));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 62);
    let bad = editor.call("session/list", json!({"cursor": "nonsense"})).await.unwrap_err();
    assert_eq!(bad["code"], -32602, "{bad}");
    end(&host).await;
}

#[tokio::test]
async fn sessions_of_a_terminal_are_listed_and_continued_under_their_id() {
    let place = Place::new();
    // Weir's own is forgotten, the CLI's is kept: what a terminal leaves.
    let host = place.host().await;
    let mut editor = place.editor(&host).await;
    let session = place.session(&mut editor).await;
    editor.ask(&session, &says("said in a terminal")).await.unwrap();
    let past = host.info(&id_of(&session)).await.unwrap().cli_session_id.unwrap();
    host.delete(&id_of(&session)).await.unwrap();
    let mut editor = place.editor(&host).await;
    let page = editor.call("session/list", json!({"cwd": place.work()})).await.unwrap();
    let listed = &page["sessions"][0];
    assert_eq!(listed["sessionId"], json!(past), "{page}");
    assert_eq!((&listed["cwd"], &listed["_meta"]["weir"]["status"]), (&json!(place.work()), &json!("past")));
    assert!(listed["updatedAt"].as_str().unwrap().contains('T'), "{listed}");
    let elsewhere = editor.call("session/list", json!({"cwd": place.path("home")})).await.unwrap();
    assert_eq!(elsewhere["sessions"], json!([]));

    let load = json!({"sessionId": past, "cwd": place.work(), "mcpServers": []});
    soon(editor.call("session/load", load.clone())).await.unwrap();
    assert_eq!(text_of(&editor.updates(), "agent_message_chunk"), "said in a terminal");
    assert_eq!(editor.ask(&past, &says("said in the editor")).await.unwrap()["stopReason"], "end_turn");
    let page = editor.call("session/list", json!({})).await.unwrap();
    assert_eq!(page["sessions"].as_array().unwrap().len(), 1, "{page}");
    assert_eq!(page["sessions"][0]["_meta"]["weir"]["status"], "idle");
    let mut other = place.editor(&host).await;
    soon(other.call("session/load", load)).await.unwrap();
    assert_eq!(text_of(&other.updates(), "agent_message_chunk"), "said in a terminalsaid in the editor");
    end(&host).await;
}

#[tokio::test]
async fn a_fork_has_the_history_and_a_deleted_session_is_gone() {
    let place = Place::new();
    let host = place.host().await;
    let mut editor = place.editor(&host).await;
    let session = place.session(&mut editor).await;
    editor.ask(&session, &says("before")).await.unwrap();
    let fork = editor.call("session/fork", json!({"sessionId": session, "cwd": place.work()})).await.unwrap();
    let fork = fork["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(editor.ask(&fork, &says("in the fork")).await.unwrap()["stopReason"], "end_turn");
    let mut other = place.editor(&host).await;
    let load = json!({"sessionId": fork, "cwd": place.work(), "mcpServers": []});
    soon(other.call("session/load", load)).await.unwrap();
    assert_eq!(text_of(&other.updates(), "agent_message_chunk"), "beforein the fork");
    editor.call("session/close", json!({"sessionId": session})).await.unwrap();
    assert!(host.info(&id_of(&session)).await.is_ok(), "a closed session lives on");
    editor.call("session/delete", json!({"sessionId": session})).await.unwrap();
    let gone = editor.ask(&session, "hello").await.unwrap_err();
    assert_eq!((&gone["code"], &gone["data"]["sessionId"]), (&json!(-32002), &json!(session)));
    let load = json!({"sessionId": session, "cwd": place.work(), "mcpServers": []});
    assert_eq!(editor.call("session/load", load).await.unwrap_err()["code"], -32002);
    end(&host).await;
}

#[tokio::test]
async fn mode_and_model_are_chosen_from_what_is_offered() {
    let place = Place::new();
    let host = place.host().await;
    let mut editor = place.editor(&host).await;
    let session = place.session(&mut editor).await;
    editor.call("session/set_mode", json!({"sessionId": session, "modeId": "acceptEdits"})).await.unwrap();
    let bad =
        editor.call("session/set_mode", json!({"sessionId": session, "modeId": "bypassPermissions"})).await;
    assert_eq!(bad.unwrap_err()["code"], -32602);
    let set = |option: &str, value: &str| json!({"sessionId": session, "configId": option, "value": value});
    let chosen = editor.call("session/set_config_option", set("model", "opus")).await.unwrap();
    let option = |id: &str| {
        let all = chosen["configOptions"].as_array().unwrap();
        all.iter().find(|option| option["id"] == id).unwrap()["currentValue"].clone()
    };
    assert_eq!((option("model"), option("mode")), (json!("opus"), json!("acceptEdits")));
    let info = host.info(&id_of(&session)).await.unwrap();
    assert_eq!((info.model.as_deref(), info.permission_mode.as_deref()), (Some("opus"), Some("acceptEdits")));
    for (option, value) in
        [("model", "--dangerous"), ("colour", "red"), ("mode", "bypassPermissions"), ("effort", "extreme")]
    {
        let bad = editor.call("session/set_config_option", set(option, value)).await.unwrap_err();
        assert_eq!(bad["code"], -32602, "{option} {bad}");
    }
    // Others are told.
    let mut other = place.editor(&host).await;
    soon(other.call("session/resume", json!({"sessionId": session, "cwd": place.work()}))).await.unwrap();
    editor.call("session/set_mode", json!({"sessionId": session, "modeId": "plan"})).await.unwrap();
    assert_eq!(other.update("current_mode_update").await["currentModeId"], "plan");
    end(&host).await;
}

#[tokio::test]
async fn the_effort_is_an_option_that_the_next_process_is_started_with() {
    let place = Place::new();
    let host = place.host().await;
    let (mut editor, mut other) = (place.editor(&host).await, place.editor(&host).await);
    let session = place.session(&mut editor).await;
    soon(other.call("session/resume", json!({"sessionId": session, "cwd": place.work()}))).await.unwrap();
    editor.ask(&session, &says("before")).await.unwrap();
    let option = |options: &Value| -> Value {
        options.as_array().unwrap().iter().find(|option| option["id"] == "effort").unwrap().clone()
    };
    for (level, argument) in [("high", Some("high")), ("max", Some("max")), ("default", None)] {
        let set = json!({"sessionId": session, "configId": "effort", "value": level});
        let chosen = editor.call("session/set_config_option", set).await.unwrap();
        let effort = option(&chosen["configOptions"]);
        assert_eq!((&effort["category"], &effort["currentValue"]), (&json!("thought_level"), &json!(level)));
        let is_told = |message: &Value| {
            let update = &message["params"]["update"];
            update["sessionUpdate"] == "config_option_update"
                && option(&update["configOptions"])["currentValue"] == level
        };
        other.until("the new effort", is_told).await;
        assert_eq!(editor.ask(&session, &says(level)).await.unwrap()["stopReason"], "end_turn");
        let commands = until_some("the end of the process before", || {
            let found = place.commands();
            (found.len() == 1).then_some(found)
        });
        let commands = commands.await;
        let given = commands[0].split(' ').find_map(|word| word.strip_prefix("--effort="));
        assert_eq!(given, argument, "{commands:?}");
    }
    assert_eq!(host.info(&id_of(&session)).await.unwrap().effort, None);
    end(&host).await;
}

#[tokio::test]
async fn servers_and_folders_of_an_editor_that_may_not_bring_them_are_named_as_ignored() {
    let place = Place::new();
    let host = place.host().await;
    let mut editor = place.editor(&host).await;
    let server =
        json!({"name": "files", "command": "/bin/touch", "args": [place.path("touched")], "env": []});
    let opened =
        editor.call("session/new", json!({"cwd": place.work(), "mcpServers": [server]})).await.unwrap();
    assert_eq!(opened["_meta"]["weir"]["ignoredMcpServers"], json!(["files"]), "{opened}");
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    editor.ask(&session, &says("hello")).await.unwrap();
    assert!(!place.path("touched").exists());
    end(&host).await;
}
