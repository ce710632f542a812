//! Every exit code, each with a message that says what happened.

use rustix::process::Signal;

use crate::common::{IS_SLOW, Place, Running, SAYS_HELLO, TOUCHES, script};

#[test]
fn code_0_success() {
    let place = Place::new();
    let done = place.weir(&["run", SAYS_HELLO]).expect(0);
    assert_eq!(done.text(), "Hello there\n");
    place.assert_clean();
}

#[test]
fn code_1_error_result() {
    let place = Place::new();
    let done = place.weir(&["run", &script(r#"{"status":400,"msg":"nonsense"}"#)]).expect(1);
    assert!(done.stderr.contains("weir: the run failed: ") && done.stderr.contains("nonsense"), "{done:?}");
    place.assert_clean();
}

#[test]
fn code_2_usage() {
    let place = Place::new();
    for (args, advice) in [
        (vec!["run", "--cwd", "/nowhere", "x"], "folder not found"),
        (vec!["run", ""], "the prompt is empty"),
        (vec!["run"], "the prompt is empty"),
        (vec!["run", "--session-id", "x", "x"], "expected a UUID"),
        (vec!["run", "--resume", "../x", "x"], "`weir sessions` lists them"),
        (vec!["run", "--resume", "abc", "x"], "no session abc found"),
        (vec!["run", "--timeout", "soon", "x"], "such as 90s"),
        (vec!["run", "--max-cost", "0", "x"], "above zero"),
        (vec!["run", "--env", "x", "x"], "NAME=VALUE"),
        (vec!["run", "--require-log", "x"], "--log-dir"),
        (vec!["run", "--secret", "NOT_SET", "x"], "environment variable not set"),
        (vec!["run", "--resume", "a", "--continue", "x"], "cannot be used with"),
        (vec!["run", "--unknown", "x"], "unexpected argument"),
    ] {
        let done = place.weir(&args).expect(2);
        assert!(done.stderr.contains(advice), "{args:?}: {done:?}");
        assert_eq!(done.text(), "");
    }
}

#[test]
fn code_3_not_started() {
    let place = Place::new();
    let done = place.weir(&["run", "--claude", "/nowhere/claude", "x"]).expect(3);
    for advice in ["/nowhere/claude", "npm install -g @anthropic-ai/claude-code", "weir demo"] {
        assert!(done.stderr.contains(advice), "{done:?}");
    }
    let place = place.without("WEIR_CLAUDE").set("PATH", "/nowhere").set("SHELL", "/nowhere/sh");
    let done = place.weir(&["run", "x"]).expect(3);
    assert!(done.stderr.contains("was not found") && done.stderr.contains("npm install"), "{done:?}");
}

#[test]
fn code_4_died() {
    for misbehaviour in [r#"{"crash":{"at":"mid","exit":3}}"#, r#"{"crash":{"at":"mid","signal":"KILL"}}"#] {
        let place = Place::new();
        let prompt = script(&format!(r#"{{"text":"one two","misbehave":{misbehaviour}}}"#));
        let done = place.weir(&["run", &prompt]).expect(4);
        assert!(done.stderr.contains("ended before it answered"), "{done:?}");
        place.assert_clean();
    }
}

#[test]
fn code_5_no_result() {
    for misbehaviour in ["exit_without_result", "truncated_result"] {
        let place = Place::new();
        let prompt = script(&format!(r#"{{"text":"one two","misbehave":"{misbehaviour}"}}"#));
        let done = place.weir(&["run", &prompt]).expect(5);
        assert_eq!(done.text(), "one two\n");
        place.assert_clean();
    }
}

#[test]
fn code_6_permission_denied() {
    let place = Place::new();
    let done = place.weir(&["run", TOUCHES]).expect(6);
    assert!(!place.workspace().join("made").exists());
    assert!(done.stderr.contains("✗ Bash touch made (not allowed)"), "{done:?}");
    assert!(done.stderr.contains("--allowed-tools 'Bash(touch made)' would allow it"), "{done:?}");
    // The advice is right.
    place.weir(&["run", "--allowed-tools", "Bash(touch made)", TOUCHES]).expect(0);
    assert!(place.workspace().join("made").exists());
}

#[test]
fn code_7_timeout() {
    let place = Place::new();
    let done = place.weir(&["run", "--timeout", "300ms", IS_SLOW]).expect(7);
    assert!(done.stderr.contains("raise --timeout"), "{done:?}");
    place.assert_clean();
}

#[test]
fn code_7_timeout_of_the_start() {
    let place = Place::new().set("SIMULATED_CLAUDE_MISBEHAVE", r#"{"silence":"start"}"#);
    place.weir(&["run", "--timeout", "300ms", SAYS_HELLO]).expect(7);
    place.assert_clean();
}

#[test]
fn code_8_budget() {
    let place = Place::new();
    let prompt = script(
        r#"{"tool":"Bash","input":{"command":"echo"}},{"tool":"Bash","input":{"command":"echo"}},{"text":"x"}"#,
    );
    let done = place.weir(&["run", "--max-cost", "0.0001", "--allowed-tools", "Bash", &prompt]).expect(8);
    assert!(done.stderr.contains("weir: "), "{done:?}");
    place.assert_clean();
}

#[test]
fn code_9_rate_limit() {
    let place = Place::new().set("CLAUDE_CODE_MAX_RETRIES", "1");
    let prompt = script(r#"{"status":429,"etype":"rate_limit_error","msg":"too much"}"#);
    let done = place.weir(&["run", &prompt]).expect(9);
    assert!(done.stderr.contains("too much") || done.stderr.contains("429"), "{done:?}");
    place.assert_clean();
}

#[test]
fn code_130_interrupted() {
    let place = Place::new();
    let running = Running::start(place.command(&["run", IS_SLOW]));
    running.wait_for("one");
    running.signal(Signal::INT);
    let done = running.finish().expect(130);
    assert_eq!(done.text(), "one \n");
    place.assert_clean();

    // The JSON object is printed, however often Ctrl-C is pressed.
    let place = Place::new().set("SIMULATED_CLAUDE_MISBEHAVE", "ignore_interrupt");
    let running = Running::start(place.command(&["run", "-o", "json", IS_SLOW]));
    place.wait_for_file("home/.claude/projects");
    running.signal(Signal::INT);
    running.wait_for_stderr("press Ctrl-C again");
    running.signal(Signal::INT);
    let object = running.finish().expect(130).json();
    assert_eq!((&object["interrupted"], &object["is_error"]), (&true.into(), &false.into()), "{object:#}");
    assert!(object["session_id"].is_string(), "{object:#}");
}
