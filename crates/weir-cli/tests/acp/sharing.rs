//! Who has the sessions: a server, another editor's program, or this one; and what happens when it ends.

use rustix::process::Signal;
use serde_json::json;

use crate::common::Place;
use crate::editor::Editor;
use crate::support::{Served, says};

#[test]
fn only_the_protocol_is_printed_and_nothing_is_left() {
    let place = Place::new();
    let mut editor = Editor::start(&place, &[]);
    let session = editor.session(&place);
    let file = place.workspace().join("made");
    let write = json!([{"tool": "Write", "input": {"file_path": file, "content": "x"}}, {"text": "done"}]);
    let asked = editor.prompt(&session, &format!("@@{write}"));
    editor.answer(
        "session/request_permission",
        &json!({"outcome": {"outcome": "selected", "optionId": "allow"}}),
    );
    assert_eq!(editor.response(asked)["result"]["stopReason"], "end_turn");
    assert!(file.exists());
    let done = editor.close().expect(0);
    for line in done.text().lines() {
        let message: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
    }
    assert!(!place.path("data/acp.sock").exists());
    place.wait_until_empty();
}

#[test]
fn an_editor_that_starts_later_shares_the_sessions_of_the_first() {
    let place = Place::new();
    let mut one = Editor::start(&place, &[]);
    let session = one.session(&place);
    assert_eq!(one.ask(&session, &says("to one"))["result"]["stopReason"], "end_turn");
    let mut two = Editor::start(&place, &[]);
    let load = json!({"sessionId": session, "cwd": place.workspace(), "mcpServers": []});
    assert!(two.call("session/load", &load)["result"].is_object());
    assert_eq!(two.heard(), "to one");
    // The first editor closes; its program stays for the second.
    let mut first = one;
    let closing = std::thread::spawn(move || {
        let session = first.request("session/list", &json!({}));
        first.response(session);
        first.close().expect(0)
    });
    assert_eq!(two.ask(&session, &says("to two"))["result"]["stopReason"], "end_turn");
    assert_eq!(two.heard(), "to oneto two");
    two.close().expect(0);
    closing.join().unwrap();
    place.wait_until_empty();
}

#[test]
fn an_editor_works_with_the_sessions_of_a_server_and_survives_its_kill() {
    let mut served = Served::start();
    let mut editor = Editor::start(&served.place, &[]);
    let session = editor.session(&served.place);
    assert_eq!(editor.ask(&session, &says("before"))["result"]["stopReason"], "end_turn");
    let info = served.info(&session);
    assert_eq!(info["origin"], "acp", "{info}");
    // Somebody at the page answers what the editor was asked.
    let file = served.place.workspace().join("made");
    let write = json!([{"tool": "Write", "input": {"file_path": file, "content": "x"}}, {"text": "written"}]);
    let asked = editor.prompt(&session, &format!("@@{write}"));
    let shown = editor.wait("a permission", |message| message["method"] == "session/request_permission");
    served.wait_for_status(&session, "waiting");
    let snapshot = served.follow(&session, "view").wait("snapshot").json();
    let request = snapshot["view"]["requests"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/sessions/{session}/permissions/{request}");
    served.client.post(&path, &json!({"behavior": "allow"})).expect(200);
    assert_eq!(editor.response(asked)["result"]["stopReason"], "end_turn");
    let withdrawn = editor.wait("the withdrawal", |message| message["method"] == "$/cancel_request");
    assert_eq!(withdrawn["params"]["requestId"], shown["id"]);
    assert!(file.exists());
    // The server is killed in the middle of a turn.
    let asked = editor.prompt(&session, r#"@@[{"text":"one two three","wdelay":60}]"#);
    editor.wait("a piece", |message| {
        message["params"]["update"]["content"]["text"].as_str().is_some_and(|text| text.starts_with("one"))
    });
    served.signal(Signal::KILL);
    let error = editor.response(asked);
    assert_eq!(error["error"]["code"], -32603, "{error}");
    let _ = served.finish();
    served.restart();
    assert_eq!(editor.ask(&session, &says("after"))["result"]["stopReason"], "end_turn");
    assert!(editor.heard().ends_with("after"), "{}", editor.heard());
    editor.close().expect(0);
    served.stop();
}

#[test]
fn an_editor_works_with_the_sessions_of_a_server_elsewhere() {
    let mut served = Served::start();
    let (_, token) = served.token("ann", "driver");
    let file = served.place.path("token");
    std::fs::write(&file, format!("{token}\n")).unwrap();
    let address = format!("http://{}{}", served.client.address, served.client.base);
    let args = ["--server", &address, "--token-file", &file.display().to_string()];
    let mut editor = Editor::start_in(&served.place, "elsewhere", &args);
    let session = editor.session(&served.place);
    assert_eq!(editor.ask(&session, &says("from afar"))["result"]["stopReason"], "end_turn");
    assert_eq!(editor.heard(), "from afar");
    assert_eq!(served.info(&session)["origin"], "acp");
    let made = served.place.workspace().join("made");
    let write = json!([{"tool": "Write", "input": {"file_path": made, "content": "x"}}, {"text": "done"}]);
    let asked = editor.prompt(&session, &format!("@@{write}"));
    let allow = json!({"outcome": {"outcome": "selected", "optionId": "allow"}});
    editor.answer("session/request_permission", &allow);
    assert_eq!(editor.response(asked)["result"]["stopReason"], "end_turn");
    assert!(made.exists());
    // Nothing is hosted here, and a server that has gone is an error and not silence.
    assert!(!served.place.path("elsewhere").exists());
    let asked = editor.prompt(&session, r#"@@[{"text":"one two three","wdelay":60}]"#);
    editor.wait("a piece", |message| {
        message["params"]["update"]["content"]["text"].as_str().is_some_and(|text| text.starts_with("one"))
    });
    served.signal(Signal::KILL);
    assert_eq!(editor.response(asked)["error"]["code"], -32603);
    let _ = served.finish();
    let error = editor.ask(&session, &says("nobody there"));
    assert!(error["error"]["message"].as_str().unwrap().contains("cannot be reached"), "{error}");
    // It comes back, and the next prompt works.
    let address = served.client.address.clone();
    served.restart_with(&["--listen", &address]);
    assert_eq!(editor.ask(&session, &says("back again"))["result"]["stopReason"], "end_turn");
    assert!(editor.heard().ends_with("back again"), "{}", editor.heard());
    editor.close().expect(0);
    served.stop();
}

#[test]
fn an_editor_whose_server_is_gone_for_good_has_the_sessions_itself() {
    let mut served = Served::start();
    let mut editor = Editor::start(&served.place, &[]);
    let session = editor.session(&served.place);
    editor.ask(&session, &says("before"));
    served.signal(Signal::TERM);
    served.finish().expect(0);
    assert_eq!(editor.ask(&session, &says("alone"))["result"]["stopReason"], "end_turn");
    assert!(editor.heard().ends_with("alone"));
    editor.close().expect(0);
    served.place.wait_until_empty();
}

#[test]
fn servers_and_folders_of_the_editor_reach_the_cli() {
    let place = Place::new();
    let more = place.workspace().join("more");
    std::fs::create_dir(&more).unwrap();
    let mut editor = Editor::start(&place, &[]);
    let server = json!({"name": "from-the-editor", "command": "/bin/false", "args": [], "env": [{"name": "KEY", "value": "hidden"}]});
    let new = json!({"cwd": place.workspace(), "mcpServers": [server], "additionalDirectories": [more]});
    let opened = editor.call("session/new", &new);
    let session = opened["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{opened}")).to_owned();
    editor.ask(&session, &says("hello"));
    let outside = json!({"cwd": place.workspace(), "mcpServers": [], "additionalDirectories": ["/"]});
    assert_eq!(editor.call("session/new", &outside)["error"]["code"], -32602);
    let log = editor.call("session/list", &json!({}));
    assert_eq!(log["result"]["sessions"].as_array().unwrap().len(), 1, "a refused session is not there");
    let config = place.path(&format!("data/acp/{session}.json"));
    let written = std::fs::read_to_string(&config).unwrap();
    assert!(written.contains("from-the-editor") && written.contains("hidden"), "{written}");
    editor.close().expect(0);
    place.wait_until_empty();
}

#[test]
fn what_an_editor_cannot_show_is_denied_unless_another_one_can() {
    let place = Place::new();
    let mut one = Editor::start(&place, &[]);
    let session = one.session(&place);
    let write = |name: &str| {
        let file = place.workspace().join(name);
        let steps = json!([{"tool": "Write", "input": {"file_path": file, "content": "x"}}, {"text": name}]);
        format!("@@{steps}")
    };
    let shown = |editor: &Editor, name: &str| {
        editor.wait(name, |message| {
            message["method"] == "session/request_permission" && message["params"].to_string().contains(name)
        })
    };
    let asked = one.prompt(&session, &write("alone"));
    let ask = shown(&one, "alone");
    one.refuse(&ask);
    assert_eq!(one.response(asked)["result"]["stopReason"], "end_turn");
    assert!(!place.workspace().join("alone").exists());
    // The other one may answer what the first cannot show.
    let mut two = Editor::start(&place, &[]);
    let load = json!({"sessionId": session, "cwd": place.workspace(), "mcpServers": []});
    assert!(two.call("session/load", &load)["result"].is_object());
    let asked = one.prompt(&session, &write("together"));
    let ask = shown(&one, "together");
    one.refuse(&ask);
    let ask = shown(&two, "together");
    two.answer_to(&ask, &json!({"outcome": {"outcome": "selected", "optionId": "allow"}}));
    assert_eq!(one.response(asked)["result"]["stopReason"], "end_turn");
    assert!(place.workspace().join("together").exists());
    two.close().expect(0);
    one.close().expect(0);
    place.wait_until_empty();
}

#[test]
fn a_signal_ends_it_and_leaves_nothing() {
    let place = Place::new();
    let mut editor = Editor::start(&place, &[]);
    let session = editor.session(&place);
    editor.prompt(&session, r#"@@[{"text":"one two three","wdelay":60}]"#);
    editor.wait("a piece", |message| {
        message["params"]["update"]["content"]["text"].as_str().is_some_and(|text| text.starts_with("one"))
    });
    editor.running().signal(Signal::TERM);
    editor.close().expect(0);
    place.wait_until_empty();
}
