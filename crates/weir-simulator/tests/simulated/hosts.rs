//! Hooks and MCP servers of the host.

use crate::support::{Start, json};
use weir_simulator::json::Json;
use weir_simulator::{array, object};

#[test]
fn hooks_of_the_host_are_called_and_may_refuse() {
    let cli = Start::asking(&[]).answer(|request| match request.str_of("subtype") {
        Some("hook_callback") if request.at(&["input", "tool_input", "command"]).and_then(Json::as_str) == Some("echo no") => {
            Some(json(r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"never"}}"#))
        }
        _ => Some(object! {}),
    });
    let cli = cli.start();
    let hooks = json(
        r#"{"PreToolUse":[{"matcher":"Bash","hookCallbackIds":["before"]}],"PostToolUse":[{"hookCallbackIds":["after"]}],"Stop":[{"hookCallbackIds":["end"]}]}"#,
    );
    cli.request("init-1", object! { "subtype" => "initialize", "hooks" => hooks });
    cli.script(r#"[{"tool":"Bash","input":{"command":"echo yes"}},{"tool":"Bash","input":{"command":"echo no"}},{"text":"end"}]"#).result(1);
    let done = cli.end();
    let called: Vec<_> = done
        .of("control_request", None)
        .iter()
        .filter_map(|line| line.at(&["request", "callback_id"])?.as_str())
        .collect();
    assert_eq!(called, ["before", "after", "before", "end"]);
    assert_eq!(done.outputs(), ["yes", "PreToolUse:Bash hook error: never"]);
}

#[test]
fn hooks_of_the_settings_are_commands_and_are_reported() {
    let settings = r#"{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"echo hook-out"}]}],"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"echo blocked >&2; exit 2"}]}]}}"#;
    let cli = Start::new(&["--settings", settings, "--include-hook-events"]).start();
    cli.script(r#"[{"tool":"Bash","input":{"command":"echo 1"}},{"text":"end"}]"#).result(1);
    let done = cli.end();
    let outputs: Vec<_> =
        done.of("system", Some("hook_response")).iter().map(|line| line.str_of("output").unwrap()).collect();
    assert_eq!(outputs, ["hook-out\n", "blocked\n"]);
    assert_eq!(done.lines[0].str_of("subtype"), Some("hook_started"), "before the first init");
    assert_eq!(done.outputs(), ["PreToolUse:Bash hook error: blocked"]);
}

fn server(request: &Json) -> Option<Json> {
    if request.str_of("subtype") != Some("mcp_message") {
        return Some(object! { "behavior" => "allow", "updatedInput" => request.get("input")? });
    }
    let message = request.get("message")?;
    let result = match message.str_of("method")? {
        "initialize" => json(
            r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"host","version":"1"}}"#,
        ),
        "tools/list" => {
            json(r#"{"tools":[{"name":"add","description":"adds","inputSchema":{"type":"object"}}]}"#)
        }
        "tools/call" => {
            let sum = message.at(&["params", "arguments", "a"])?.as_i64()?
                + message.at(&["params", "arguments", "b"])?.as_i64()?;
            object! { "content" => array![object! { "type" => "text", "text" => sum.to_string() }] }
        }
        _ => object! {},
    };
    let id = message.get("id").cloned().unwrap_or(Json::Integer(0));
    Some(object! { "mcp_response" => object! { "jsonrpc" => "2.0", "id" => id, "result" => result } })
}

#[test]
fn tools_of_the_hosts_servers_are_called() {
    for old in [false, true] {
        let start = Start::asking(&[]).answer(server);
        let cli = if old { start.old() } else { start }.start();
        cli.request("init-1", object! { "subtype" => "initialize", "sdkMcpServers" => array!["host"] });
        cli.script(r#"[{"tool":"mcp__host__add","input":{"a":1,"b":2}},{"text":"three"}]"#).result(1);
        if !old {
            let status = cli.request("mcp-1", object! { "subtype" => "mcp_status" });
            assert_eq!(status.at(&["response", "mcpServers"]).unwrap().items().len(), 1);
        }
        let done = cli.end();
        let (block, structured) = done.tool_results()[0];
        assert_eq!(block.items_of("content")[0].str_of("text"), Some("3"));
        assert_eq!(structured, block.get("content"));
        let init = done.of("system", Some("init"))[0];
        assert!(init.items_of("tools").contains(&Json::from("mcp__host__add")));
    }
}
