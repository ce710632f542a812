//! Control requests from the host.

use crate::support::Start;
use weir_simulator::json::Json;
use weir_simulator::object;

fn subtype(name: &str) -> Json {
    object! { "subtype" => name }
}

#[test]
fn it_describes_itself_before_any_message() {
    let cli = Start::new(&[]).start();
    let answer = cli.request("init-1", object! { "subtype" => "initialize", "hooks" => Json::Null });
    assert_eq!(answer.str_of("subtype"), Some("success"));
    let body = answer.get("response").unwrap();
    assert!(!body.items_of("commands").is_empty() && !body.items_of("models").is_empty());
    assert_eq!(body.at(&["account", "apiKeySource"]).and_then(Json::as_str), Some("ANTHROPIC_API_KEY"));
    assert_eq!(body.str_of("claude_code_version"), Some("2.1.325"));
    assert_eq!(cli.end().exit.code, Some(0));
}

#[test]
fn model_and_mode_are_changed() {
    let cli = Start::new(&[]).start();
    cli.request("m", subtype("set_model").with("model", "claude-haiku-4-5-20251001"));
    cli.request("p", subtype("set_permission_mode").with("mode", "acceptEdits"));
    let refused = cli.request("b", subtype("set_permission_mode").with("mode", "nonsense"));
    assert_eq!(
        (refused.str_of("subtype"), refused.str_of("error_code")),
        (Some("error"), Some("invalid_mode"))
    );
    let bypass = cli.request("c", subtype("set_permission_mode").with("mode", "bypassPermissions"));
    assert_eq!(bypass.str_of("error_code"), Some("bypass_not_launched"));
    cli.script(r#"[{"text":"x"}]"#).result(1);
    let cost = cli.request("k", subtype("get_session_cost"));
    assert!(cost.at(&["response", "text"]).and_then(Json::as_str).unwrap().contains("$0.0003"));
    let done = cli.end();
    let init = done.of("system", Some("init"))[0];
    assert_eq!(
        (init.str_of("model"), init.str_of("permissionMode")),
        (Some("claude-haiku-4-5-20251001"), Some("acceptEdits"))
    );
}

#[test]
fn known_requests_are_answered_and_unknown_ones_are_refused() {
    let cli = Start::new(&[]).start();
    for name in ["mcp_status", "get_context_usage", "get_usage", "list_models", "stop_task"] {
        assert_eq!(cli.request(name, subtype(name)).str_of("subtype"), Some("success"), "{name}");
    }
    let files = cli.request("f", subtype("rewind_files").with("dry_run", true));
    assert_eq!(
        files.at(&["response", "error"]).and_then(Json::as_str),
        Some("File rewinding is not enabled.")
    );
    assert_eq!(cli.request("g", subtype("rewind_files")).str_of("subtype"), Some("error"));
    cli.request("r", subtype("rename_session").with("title", "A title"));
    let unknown = cli.request("u", subtype("no_such_request"));
    assert_eq!(unknown.str_of("error"), Some("Unsupported control request subtype: no_such_request"));
    cli.request("e", subtype("end_session"));
    let done = cli.exited();
    assert_eq!(done.exit.code, Some(0), "it ends with its input open");
    assert_eq!(done.of("system", Some("session_title_changed")).len(), 1);
}

#[test]
fn the_older_version_does_not_answer_unknown_requests() {
    let cli = Start::new(&[]).old().start();
    cli.post("u", subtype("no_such_request"));
    cli.request("p", subtype("set_permission_mode").with("mode", "plan"));
    cli.request("m", subtype("mcp_status"));
    let done = cli.end();
    let answered: Vec<_> = done
        .of("control_response", None)
        .iter()
        .map(|line| line.at(&["response", "request_id"]).unwrap().as_str().unwrap())
        .collect();
    assert_eq!(answered, ["p", "p", "m"], "and it answers a change of the mode twice");
}

#[test]
fn a_waiting_message_can_be_cancelled() {
    let cli = Start::new(&["--include-partial-messages"]).start();
    cli.script(r#"[{"text":"one two three","wdelay":0.05}]"#).wait_for_delta();
    cli.say_as("never", "cccccccc-0000-4000-8000-000000000003");
    cli.wait("command_lifecycle", None, 1);
    let taken = cli.request(
        "c",
        subtype("cancel_async_message").with("message_uuid", "cccccccc-0000-4000-8000-000000000003"),
    );
    assert_eq!(taken.at(&["response", "cancelled"]), Some(&Json::Bool(true)));
    let missing = cli.request("d", subtype("cancel_async_message").with("message_uuid", "unknown"));
    assert_eq!(missing.at(&["response", "cancelled"]), Some(&Json::Bool(false)));
    cli.result(1);
    assert_eq!(cli.end().results().len(), 1);
}

#[test]
fn requests_are_answered_while_a_turn_runs() {
    let cli = Start::new(&["--allowedTools", "Bash"]).start();
    cli.script(
        r#"[{"tool":"Bash","input":{"command":"while [ ! -e go ]; do sleep 0.01; done"}},{"text":"end"}]"#,
    );
    cli.wait("assistant", None, 1);
    assert_eq!(cli.request("m", subtype("mcp_status")).str_of("subtype"), Some("success"));
    std::fs::write(cli.place.directory().join("go"), "").unwrap();
    cli.result(1);
}

/// The answers are those of 2.1.325.
#[test]
fn the_newest_message_is_taken_back_and_then_the_one_before() {
    let uuids: Vec<String> = (1..=3).map(|number| format!("8d0e2a4c-0000-4000-8000-{number:012}")).collect();
    let cli = Start::new(&[]).start();
    for (place, uuid) in uuids.iter().enumerate() {
        cli.say_as(r#"a message @@[{"text":"ok"}]"#, uuid);
        cli.result(place + 1);
    }
    let back = |id: &str, uuid: &str| {
        let answer = cli.request(id, subtype("rewind_conversation").with("target_message_uuid", uuid));
        let word = |name: &str| answer.at(&["response", name]).and_then(Json::as_str).map(str::to_owned);
        word("reason").or(word("prefillText")).unwrap_or_default()
    };
    assert_eq!(back("a", &uuids[1]), "stale_target");
    assert!(back("b", &uuids[2]).starts_with("a message"));
    assert_eq!(back("c", &uuids[2]), "target_not_found");
    assert!(back("d", &uuids[1]).starts_with("a message"));
    let invalid = cli.request("e", subtype("rewind_conversation"));
    assert_eq!(invalid.str_of("error"), Some("rewind_conversation: target_message_uuid must be a string"));
    cli.end();
}
