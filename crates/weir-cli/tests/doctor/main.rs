//! `weir doctor` from outside.

#[path = "../common/mod.rs"]
mod common;

use std::os::unix::fs::PermissionsExt as _;

use common::{Done, Place, Running, script};
use rustix::process::Signal;
use serde_json::Value;

/// The check with this name.
#[expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test without it should stop"
)]
fn check(done: &Done, name: &str) -> Value {
    let report = done.json();
    let checks = report["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("{name}: {report:#}")).clone()
}

#[test]
fn a_healthy_installation_has_no_problems() {
    let place = Place::new().set("ANTHROPIC_API_KEY", "sk-dummy-dummy");
    let done = place.weir(&["doctor"]).expect(0);
    for part in [
        "✓ claude     ",
        "(named by WEIR_CLAUDE)",
        "✓ version    2.1.325",
        "✓ supports   all",
        "✓ login      key from ANTHROPIC_API_KEY",
        "! account    ANTHROPIC_API_KEY is set",
        "✓ state",
        "✓ leftovers",
        "✓ self-test",
        "No problems found, 1 warning.",
    ] {
        assert!(done.text().contains(part), "{part}: {done:?}");
    }
    assert!(!done.text().contains("sk-dummy") && !done.text().contains('\u{1b}'), "{done:?}");
    // Checking who is logged in leaves no session.
    assert_eq!(place.weir(&["sessions", "--json"]).text(), "");
    place.assert_clean();
}

#[test]
fn json_says_the_same() {
    let place = Place::new();
    let done = place.weir(&["doctor", "--json"]).expect(0);
    assert_eq!(done.json()["ok"], true);
    assert_eq!(check(&done, "version")["details"], "2.1.325");
    assert_eq!(check(&done, "login")["status"], "warning");
    assert!(check(&done, "login")["advice"].as_str().unwrap().contains("/login"));
    assert_eq!(check(&done, "self-test")["status"], "ok");
}

#[test]
fn a_missing_cli_is_a_problem_with_advice_and_the_rest_is_still_checked() {
    let place = Place::new();
    let done = place.weir(&["doctor", "--json", "--claude", "/nowhere/claude"]).expect(1);
    assert_eq!(done.json()["ok"], false);
    let claude = check(&done, "claude");
    assert_eq!(claude["status"], "failed");
    assert!(claude["advice"].as_str().unwrap().contains("npm install"), "{claude:#}");
    assert_eq!(check(&done, "self-test")["status"], "ok");
}

#[test]
fn missing_features_of_an_old_cli_are_listed() {
    let place = Place::new().set("SIMULATED_CLAUDE_VERSION", "2.1.9");
    let done = place.weir(&["doctor", "--json"]).expect(0);
    assert_eq!(check(&done, "version")["details"], "2.1.9");
    let supports = check(&done, "supports");
    assert_eq!(supports["status"], "warning");
    assert!(supports["details"]["not_supported"].to_string().contains("context usage"), "{supports:#}");
}

#[test]
fn a_script_without_its_interpreter_is_reported() {
    let place = Place::new();
    let script = place.path("claude-script");
    std::fs::write(&script, "#!/usr/bin/env no-such-node\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let done = place.weir(&["doctor", "--json", "--claude", script.to_str().unwrap()]).expect(1);
    assert_eq!(check(&done, "version")["status"], "failed");
    assert!(check(&done, "runs with")["message"].as_str().unwrap().contains("no-such-node"), "{done:?}");
}

#[test]
fn a_cli_that_does_not_answer_is_a_problem() {
    let place = Place::new().set("SIMULATED_CLAUDE_MISBEHAVE", r#"{"crash":"initialize"}"#);
    let done = place.weir(&["doctor", "--json"]).expect(1);
    assert_eq!(check(&done, "login")["status"], "failed", "{done:?}");
    let offline = place.weir(&["doctor", "--json", "--offline"]).expect(0);
    assert!(!offline.text().contains("\"login\""), "{offline:?}");
    place.assert_clean();
}

#[test]
fn a_folder_that_cannot_be_written_is_a_problem() {
    let place = Place::new();
    let file = place.path("file");
    std::fs::write(&file, "").unwrap();
    let place = place.set("WEIR_STATE_DIR", file.join("state"));
    let done = place.weir(&["doctor", "--json", "--offline"]).expect(1);
    let state = check(&done, "state");
    assert!(state["advice"].as_str().unwrap().contains("WEIR_STATE_DIR"), "{state:#}");
}

#[test]
fn leftovers_of_a_killed_run_are_found_and_ended() {
    let place = Place::new();
    let stubborn = r#"{"tool":"Bash","input":{"command":"touch begun; sleep 300"}},{"text":"x"}"#;
    let running = Running::start(place.command(&["run", "--allowed-tools", "Bash", &script(stubborn)]));
    place.wait_for_file("workspace/begun");
    running.signal(Signal::KILL);
    running.finish();
    // Either the watcher was quicker, or the doctor finds them.
    let found = place.weir(&["doctor", "--json", "--offline"]);
    let leftovers = check(&found, "leftovers");
    if leftovers["status"] == "failed" {
        assert!(leftovers["advice"].as_str().unwrap().contains("--clean"), "{leftovers:#}");
    }
    let cleaned = place.weir(&["doctor", "--json", "--offline", "--clean"]).expect(0);
    assert_eq!(check(&cleaned, "leftovers")["status"], "ok");
    place.wait_until_empty();
}
