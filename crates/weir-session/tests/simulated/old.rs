//! A CLI that is too old for the handshake.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use weir_session::{AgentSpec, Effort, Session, SessionError, SessionOptions, SessionSpec};

use crate::place::{Place, soon};

/// A CLI of this version, and what it does with a request that it does not know.
fn old_cli(place: &Place, version: &str, then: &str) -> SessionOptions {
    let script = format!(
        r#"#!/bin/sh
case "$1" in
--version) echo "{version} (Claude Code)"; exit ;;
--help) printf '  -p, --print  Print\n  --allowedTools <tools>  Tools\n  --session-id <uuid>  Id\n  -r, --resume <id>  Id\n'; exit ;;
esac
while read -r line; do
    case "$line" in
    *control_request*) {then} ;;
    *'"user"'*)
        echo '{{"type":"system","subtype":"init","session_id":"s","tools":[],"mcp_servers":[]}}'
        echo '{{"type":"result","subtype":"success","is_error":false,"result":"old","num_turns":1,"session_id":"s"}}' ;;
    esac
done
"#
    );
    let program = place.path("old-claude");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut options = place.options().program(program);
    (options.log, options.observer) = (None, None);
    options
}

#[tokio::test]
async fn a_cli_that_dies_of_the_handshake_is_recognised_and_not_asked_again() {
    let place = Place::new();
    let options = old_cli(&place, "1.0.20", "echo 'unknown type control_request' >&2; exit 1");
    let session = Session::new(options);
    let answer = soon(session.ask("hello")).await.unwrap();
    assert_eq!(answer.text, "old");
    assert_eq!(session.facts().await.unwrap().processes, 2);
    // Its version is known now.
    soon(session.close()).await.unwrap();
    assert_eq!(soon(session.ask("hello")).await.unwrap().text, "old");
    assert_eq!(session.facts().await.unwrap().processes, 3);
    soon(session.stop()).await;
    place.assert_clean().await;
}

#[tokio::test]
async fn a_cli_that_does_not_answer_the_handshake_is_recognised() {
    let place = Place::new();
    let mut options = old_cli(&place, "1.0.20", ":");
    options.limits.starting = Some(Duration::from_secs(1));
    let session = Session::new(options);
    assert_eq!(soon(session.ask("hello")).await.unwrap().text, "old");
    soon(session.stop()).await;
    place.assert_clean().await;
}

#[tokio::test]
async fn a_new_cli_that_dies_of_the_handshake_is_an_error() {
    let place = Place::new();
    let options = old_cli(&place, "2.1.325", "echo 'out of memory' >&2; exit 1");
    let session = Session::new(options);
    let error = soon(session.ask("hello")).await.unwrap_err();
    assert!(matches!(error, SessionError::Died { .. }), "{error}");
    assert!(error.to_string().contains("out of memory"), "{error}");
    soon(session.stop()).await;
    place.assert_clean().await;
}

#[tokio::test]
async fn a_cli_known_to_be_too_old_gets_no_handshake() {
    let place = Place::new();
    let mut options = old_cli(&place, "1.0.20", "exit 1");
    options.handshake = false;
    let session = Session::new(options);
    assert_eq!(soon(session.ask("hello")).await.unwrap().text, "old");
    assert_eq!(session.facts().await.unwrap().processes, 1);
    soon(session.stop()).await;
}

#[tokio::test]
async fn unsupported_options_are_refused_before_anything_runs() {
    let none = SessionSpec::default;
    let refused = [
        ("--no-session-persistence", SessionSpec { no_session_persistence: true, ..none() }),
        ("--max-budget-usd", SessionSpec { max_cost_usd: Some(1.0), ..none() }),
        ("--effort", SessionSpec { effort: Some(Effort::High), ..none() }),
        ("keep copies of the files", SessionSpec { file_checkpointing: true, ..none() }),
        ("--agent", SessionSpec { agent: Some("reviewer".into()), ..none() }),
        ("--agents", SessionSpec { agents: [("a".to_owned(), AgentSpec::new("d", "p"))].into(), ..none() }),
        ("--skills", SessionSpec { skills: Some(Vec::new()), ..none() }),
        ("--agent-summaries", SessionSpec { agent_summaries: true, ..none() }),
        ("--plan-mode-instructions", SessionSpec { plan_mode_instructions: Some("x".into()), ..none() }),
        ("--include-hook-events", SessionSpec { hook_events: true, ..none() }),
        ("--exclude-dynamic", SessionSpec { exclude_dynamic_sections: true, ..none() }),
        ("--system-prompt-snapshot", SessionSpec { system_prompt_snapshot: Some(true), ..none() }),
    ];
    for (named, spec) in refused {
        let place = Place::new();
        let mut options = old_cli(&place, "1.0.124", ":");
        options.spec = spec;
        let session = Session::new(options);
        let error = soon(session.ask("hello")).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("1.0.124") && text.contains(named), "{text}");
        assert!(matches!(error, SessionError::NotStarted(_)));
        assert_eq!(session.facts().await.unwrap().processes, 0);
        soon(session.stop()).await;
        place.assert_clean().await;
    }
}
