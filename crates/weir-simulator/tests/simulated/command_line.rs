//! The command line.

use crate::support::Start;

fn output(arguments: &[&str]) -> (i32, String) {
    let done = Start::plain(arguments).start().end();
    let text =
        done.raw.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect::<Vec<_>>().join("\n");
    (done.exit.code.unwrap(), text)
}

#[test]
fn the_version_is_the_one_that_is_imitated() {
    assert_eq!(output(&["--version"]), (0, "2.1.325 (Claude Code)".to_owned()));
    let done = Start::plain(&["-v"]).env("SIMULATED_CLAUDE_VERSION", "2.1.197").start().end();
    assert_eq!(done.raw, [b"2.1.197 (Claude Code)"]);
}

#[test]
fn help_lists_every_flag_that_a_driver_passes() {
    let (status, text) = output(&["--help"]);
    assert_eq!(status, 0);
    for flag in [
        "-p, --print",
        "--verbose",
        "--input-format",
        "--output-format",
        "--include-partial-messages",
        "--permission-prompt-tool",
        "--permission-mode",
        "--allowedTools, --allowed-tools",
        "--disallowedTools, --disallowed-tools",
        "--model",
        "--system-prompt",
        "--append-system-prompt",
        "--session-id",
        "--resume",
        "--continue",
        "--fork-session",
        "--no-session-persistence",
        "--max-turns",
        "--max-budget-usd",
        "--replay-user-messages",
        "--include-hook-events",
        "--forward-subagent-text",
        "--mcp-config",
        "--settings",
        "--add-dir",
        "--dangerously-skip-permissions",
    ] {
        assert!(text.contains(flag), "{flag}");
    }
}

#[test]
fn mistakes_exit_with_status_one() {
    for arguments in [
        ["--nonsense"].as_slice(),
        &["-p", "--output-format", "stream-json"],
        &["-p", "--permission-mode", "bad"],
        &["-p", "--session-id", "abc"],
        &["no print"],
    ] {
        let (status, text) = output(arguments);
        assert_eq!((status, text.as_str()), (1, ""), "{arguments:?}");
    }
}

#[test]
fn an_unknown_misbehaviour_is_refused() {
    let done = Start::new(&[]).misbehave("tomorrow").start().exited();
    assert_eq!(done.exit.code, Some(1));
}
