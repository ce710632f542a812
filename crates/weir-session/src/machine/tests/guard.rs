//! What the guard's hook refuses.

use serde_json::{Value, json};
use weir_wire::RequestId;

use super::host::Host;
use super::{init, running};
use crate::machine::MachineSettings;

/// What the CLI is told about a call.
fn verdict(host: &mut Host, tool: &str, input: &Value) -> Option<String> {
    let id = format!("h{}", host.written.len());
    host.says(&json!({"type": "control_request", "request_id": id, "request": {
        "subtype": "hook_callback", "callback_id": "weir-guard", "tool_use_id": "t",
        "input": {"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input},
    }}));
    let answer = host.written.last().unwrap();
    assert_eq!(answer["response"]["request_id"], id.as_str(), "{answer}");
    assert!(!host.asked.contains(&RequestId::new(id.as_str())), "no one is asked");
    let specific = &answer["response"]["response"]["hookSpecificOutput"];
    match specific["permissionDecision"].as_str() {
        Some("deny") => Some(specific["permissionDecisionReason"].as_str().unwrap().to_owned()),
        None => {
            assert_eq!(answer["response"]["response"], json!({}), "nothing may be allowed");
            None
        }
        other => panic!("{other:?}"),
    }
}

fn in_folder() -> Host {
    let mut host = running(MachineSettings::default());
    let mut line = init();
    line["cwd"] = json!("/srv/project");
    host.says(&line);
    host
}

#[test]
fn every_process_registers_the_guard() {
    let host = in_folder();
    let hooks = &host.written[0]["request"]["hooks"]["PreToolUse"][0];
    assert_eq!(hooks["hookCallbackIds"], json!(["weir-guard"]));
    for tool in ["Skill", "SlashCommand", "CronCreate", "ScheduleWakeup", "SendMessage", "ListAgents"] {
        assert!(hooks["matcher"].as_str().unwrap().split('|').any(|name| name == tool), "{tool}");
    }
}

#[test]
fn the_arguments_of_a_skill_stay_inside() {
    let mut host = in_folder();
    for args in [
        "@/etc/passwd",
        "x @~/secret",
        "'@a'",
        "\"@a b\"",
        "\u{a0}@x",
        "/etc/passwd",
        "~/x",
        "../x",
        "a/../../x",
        "--file=/etc/passwd",
        "\"/etc/pass\"wd",
        "/srv/project/../x",
        "/srv/projects/x",
        "a\\ /etc",
        "/srv/project/.\"\"./x",
        "\"/\"etc",
        ".\\./x",
    ] {
        assert!(verdict(&mut host, "Skill", &json!({"skill": "x", "args": args})).is_some(), "{args}");
    }
    for args in
        ["", "src/main.rs", "/srv/project/src", "ann@example.org", "fix #12", "a/b..c", "https://x.org/a"]
    {
        assert_eq!(verdict(&mut host, "Skill", &json!({"skill": "x", "args": args})), None, "{args}");
    }
    assert_eq!(verdict(&mut host, "Skill", &json!({"skill": "x"})), None);
    assert!(verdict(&mut host, "Skill", &json!({"skill": "x", "other": [{"deep": "@y"}]})).is_some());
}

#[test]
fn scheduled_prompts_and_commands_name_no_file() {
    let mut host = in_folder();
    for (tool, argument) in
        [("CronCreate", "prompt"), ("ScheduleWakeup", "prompt"), ("SlashCommand", "command")]
    {
        assert!(verdict(&mut host, tool, &json!({argument: "/look @/etc/passwd"})).is_some(), "{tool}");
        assert_eq!(
            verdict(&mut host, tool, &json!({argument: "/loop check ann@example.org"})),
            None,
            "{tool}"
        );
    }
}

#[test]
fn messages_stay_in_the_session() {
    let mut host = in_folder();
    host.says(&json!({"type": "assistant", "session_id": "s1", "parent_tool_use_id": null, "message": {
        "id": "a1", "type": "message", "role": "assistant", "model": "m", "content": [
            {"type": "tool_use", "id": "t1", "name": "Agent", "input": {"name": "bob", "prompt": "x", "description": "y"}},
            {"type": "tool_use", "id": "t2", "name": "Bash", "input": {"name": "eve", "command": "x"}},
        ]}}));
    host.says(&json!({"type": "system", "subtype": "task_started", "task_id": "a17", "tool_use_id": "t1",
        "task_type": "local_agent", "description": "y", "session_id": "s1"}));
    for to in ["main", "bob", "a17"] {
        assert_eq!(verdict(&mut host, "SendMessage", &json!({"to": to, "message": "@x"})), None, "{to}");
    }
    for to in ["", "eve", "bob-2f", "bob [3fa9c1]", "uds:/tmp/cc-socks/1.sock", "*", "BOB"] {
        assert!(verdict(&mut host, "SendMessage", &json!({"to": to, "message": "x"})).is_some(), "{to}");
    }
    assert!(verdict(&mut host, "SendMessage", &json!({})).is_some());
    assert!(verdict(&mut host, "ListAgents", &json!({})).is_some());
    assert!(verdict(&mut host, "ListPeers", &json!({})).is_some());
}
