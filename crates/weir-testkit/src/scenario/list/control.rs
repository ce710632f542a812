//! Interrupts, other control requests, hooks, servers in the host, signals.

use super::{calls, runs, says, says_for, script};
use crate::json::Json;
use crate::object;
use crate::scenario::model::{Action, Condition, Process, Reply, Scenario};

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = interrupts();
    scenarios.extend(requests());
    scenarios.extend(hooks_and_servers());
    scenarios
}

fn request(subtype: &str) -> Json {
    object! { "subtype" => subtype }
}

fn interrupt() -> [Action; 2] {
    [Action::Request("interrupt-1", request("interrupt")), Action::Await(Condition::Results(1))]
}

fn next_message() -> [Action; 2] {
    [Action::Send(script([says("after the interrupt")])), Action::Await(Condition::Results(2))]
}

fn interrupts() -> Vec<Scenario> {
    let long = "word ".repeat(80);
    vec![
        Scenario::new(
            "interrupt-stream",
            "a turn is interrupted while text arrives; the process continues",
            Process::new(
                [
                    Action::Send(script([says(long.trim()).with("wdelay", 0.1)])),
                    Action::Await(Condition::Deltas(4)),
                ]
                .into_iter()
                .chain(interrupt())
                .chain(next_message()),
            )
            .flags(["--include-partial-messages"]),
        )
        .shows("turn 1 Interrupted*")
        .shows("[1] text Aborted *")
        .shows("[2] text Complete \"after the interrupt\""),
        Scenario::new(
            "interrupt-tool",
            "a turn is interrupted while a command runs; the command is ended",
            Process::new(
                [
                    Action::Send(script([
                        runs("touch started; sleep 61").with("text", "working"),
                        says("never"),
                    ])),
                    Action::Await(Condition::File("started")),
                ]
                .into_iter()
                .chain(interrupt())
                .chain(next_message()),
            ),
        )
        .shows("turn 1 Interrupted*")
        .shows("[1] tool Bash Interrupted *")
        .shows("[2] text Complete \"after the interrupt\""),
        Scenario::new(
            "interrupt-permission",
            "a turn is interrupted while a request to the host is open",
            Process::new(
                [
                    Action::Send(script([runs("touch made.txt"), says("never")])),
                    Action::Await(Condition::PermissionRequests(1)),
                ]
                .into_iter()
                .chain(interrupt())
                .chain(next_message()),
            )
            .reply("Bash", Reply::Hold),
        )
        .shows("turn 1 Interrupted*")
        .shows("[2] text Complete \"after the interrupt\""),
        Scenario::new(
            "interrupt-idle",
            "an interrupt while nothing is running",
            Process::new([
                Action::Send(script([says("first")])),
                Action::Await(Condition::Results(1)),
                Action::Request("interrupt-1", request("interrupt")),
                Action::Await(Condition::Response("interrupt-1")),
                Action::Send(script([says("second")])),
                Action::Await(Condition::Results(2)),
            ]),
        )
        .shows("turn 2 Succeeded*"),
        Scenario::new(
            "interrupt-before-first-turn",
            "an interrupt that comes together with the first message ends its turn as it begins",
            Process::new(
                [
                    Action::SendInterrupted(script([says("never")]), "interrupt-1"),
                    Action::Await(Condition::Results(1)),
                ]
                .into_iter()
                .chain(next_message()),
            ),
        )
        .shows("turn 1 Interrupted*")
        .shows("[2] text Complete \"after the interrupt\""),
        Scenario::new(
            "interrupt-before-later-turn",
            "an interrupt that comes together with a later message: 2.1.325 says that the message is still queued and \
             answers it",
            Process::new([
                Action::Send(script([says("first")])),
                Action::Await(Condition::Results(1)),
                Action::SendInterrupted(script([says("second")]), "interrupt-1"),
                Action::Await(Condition::Results(2)),
                Action::Send(script([says("third")])),
                Action::Await(Condition::Results(3)),
            ]),
        )
        .shows("[3] text Complete \"third\""),
        Scenario::new(
            "terminate-signal",
            "SIGTERM while a command runs: no result, and the command is ended",
            Process::new([
                Action::Send(script([
                    runs("touch started; sleep 62").with("text", "working"),
                    says("never"),
                ])),
                Action::Await(Condition::File("started")),
                Action::TerminateSignal,
                Action::Await(Condition::Exit),
            ]),
        )
        .shows("process 1 ended: code Some(143) *"),
    ]
}

fn requests() -> Vec<Scenario> {
    vec![
        Scenario::new(
            "set-model",
            "another model from the next turn on",
            Process::new([
                Action::Send(script([says_for("on the first model", 1000, 100)])),
                Action::Await(Condition::Results(1)),
                Action::Request("model-1", request("set_model").with("model", "claude-haiku-4-5-20251001")),
                Action::Await(Condition::Response("model-1")),
                Action::Send(script([says_for("on the other model", 1000, 100)])),
                Action::Await(Condition::Results(2)),
            ]),
        )
        .shows("claude-haiku-4-5-20251001 1000 in, 100 out, 0.001500"),
        Scenario::new(
            "set-permission-mode",
            "the handshake, then edits are accepted from now on",
            Process::new([
                Action::Request("initialize-1", request("initialize").with("hooks", Json::Null)),
                Action::Await(Condition::Response("initialize-1")),
                Action::Request("mode-1", request("set_permission_mode").with("mode", "acceptEdits")),
                Action::Await(Condition::Response("mode-1")),
                Action::Send(script([
                    calls("Write", object! { "file_path" => "{{CWD}}/a.txt", "content" => "a\n" }),
                    says("written"),
                ])),
                Action::Await(Condition::Results(1)),
            ]),
        )
        .shows("permission mode acceptEdits")
        .shows("file Created <cwd>/a.txt *"),
    ]
}

fn hooks_and_servers() -> Vec<Scenario> {
    let denies = object! { "hookSpecificOutput" => object! {
        "hookEventName" => "PreToolUse",
        "permissionDecision" => "deny",
        "permissionDecisionReason" => "the hook says no",
    } };
    let settings = r#"{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"echo hook ran"}]}]}}"#;
    vec![
        Scenario::new(
            "hook-callback",
            "hooks of the host before and after a tool, and at the end",
            Process::conversation([script([runs("echo hooked"), says("done")])])
                .hook("PreToolUse", Some("Bash"), object! { "continue" => true })
                .hook("PostToolUse", None, object! {})
                .hook("Stop", None, object! {}),
        )
        .shows("[1] tool Bash Succeeded \"echo hooked\""),
        Scenario::new(
            "hook-callback-deny",
            "a hook of the host denies a command",
            Process::conversation([script([runs("echo hooked"), says("done")])]).hook(
                "PreToolUse",
                Some("Bash"),
                denies,
            ),
        )
        .shows("output \"*the hook says no*"),
        Scenario::new(
            "hook-command",
            "a hook of the settings runs a command",
            Process::conversation([script([runs("echo hooked"), says("done")])])
                .flags(["--settings", settings]),
        )
        .shows("[1] tool Bash Succeeded \"echo hooked\""),
        Scenario::new("mcp-host-server", "a tool of a server in the host", {
            let mut process = Process::conversation([script([
                calls("mcp__hosttools__add", object! { "a" => 1, "b" => 2 }),
                says("three"),
            ])]);
            process.mcp_server = Some("hosttools");
            process
        })
        .shows("mcp server hosttools connected")
        .shows("[1] tool mcp__hosttools__add Succeeded *")
        .shows("output \"3\""),
        Scenario::new(
            "mcp-call-interrupted",
            "a call of a tool in the host is interrupted; the host continues",
            {
                let waits = script([calls("mcp__hosttools__wait", object! {}), says("never")]);
                let called = [Action::Send(waits), Action::Await(Condition::McpCalls(1))];
                let mut process = Process::new(called.into_iter().chain(interrupt()).chain(next_message()));
                process.mcp_server = Some("hosttools");
                process
            },
        )
        .shows("turn 1 Interrupted*")
        .shows("[1] tool mcp__hosttools__wait *")
        .shows("[2] text Complete \"after the interrupt\""),
    ]
}
