//! Plain lines in, plain text out.

use std::io::Write as _;
use std::process::Stdio;

use rustix::process::Signal;

use crate::common::{IS_SLOW, Place, Running, SAYS_HELLO, TOUCHES, script};

#[test]
fn each_line_is_a_message_of_one_session() {
    let place = Place::new();
    let lines = format!("{}\n{}\n", script(r#"{"text":"**one**"}"#), script(r#"{"text":"two"}"#));
    let done = place.weir_input(&["chat"], &lines).expect(0);
    assert_eq!(done.text(), "**one**\ntwo\n");
    assert!(!done.stderr.contains('\u{1b}'), "{done:?}");
    let list = place.weir(&["sessions", "--json"]).expect(0).json_lines();
    assert_eq!(list.len(), 1, "{list:?}");
    assert_eq!(list[0]["messages"], 4);
    place.assert_clean();
}

#[test]
fn a_backslash_joins_lines() {
    let place = Place::new();
    let done = place.weir_input(&["chat", "-q"], "first\\\n@@[{\"text\":\"joined\"}]\n").expect(0);
    assert_eq!(done.text(), "joined\n");
    assert_eq!(done.stderr, "");
}

#[test]
fn the_exit_code_is_that_of_the_last_turn() {
    let place = Place::new();
    let failing = script(r#"{"status":400,"msg":"nonsense"}"#);
    let done = place.weir_input(&["chat"], &format!("{SAYS_HELLO}\n{failing}\n")).expect(1);
    assert!(done.stderr.contains("the turn failed") && done.stderr.contains("nonsense"), "{done:?}");
    place.weir_input(&["chat"], &format!("{failing}\n{SAYS_HELLO}\n")).expect(0);
    place.weir_input(&["chat", "--no-input"], &format!("{TOUCHES}\n")).expect(6);
    place.weir_input(&["chat"], "").expect(0);
}

#[test]
fn a_cli_that_dies_is_replaced_and_the_session_continues() {
    let place = Place::new();
    let dying = script(r#"{"text":"one two","misbehave":{"crash":"result"}}"#);
    let done = place.weir_input(&["chat"], &format!("{dying}\n{SAYS_HELLO}\n")).expect(0);
    assert!(done.text().ends_with("Hello there\n"), "{done:?}");
    assert!(done.stderr.contains("ended before it answered"), "{done:?}");
    let list = place.weir(&["sessions", "--json"]).expect(0).json_lines();
    assert_eq!(list.len(), 1, "{list:?}");
    place.assert_clean();
}

#[test]
fn a_missing_cli_is_reported_before_anything_is_read() {
    let place = Place::new();
    let done = place.weir_input(&["chat", "--claude", "/nowhere/claude"], "hello\n").expect(3);
    assert!(done.stderr.contains("npm install"), "{done:?}");
}

#[test]
fn the_next_line_can_answer_a_request() {
    let place = Place::new();
    let done = place.weir_input(&["chat"], &format!("{TOUCHES}\n1\n")).expect(0);
    assert!(place.workspace().join("made").exists(), "{done:?}");
    assert_eq!(done.text(), "Finished\n");
}

#[test]
fn a_line_that_does_not_answer_is_the_next_message() {
    let place = Place::new();
    let done = place.weir_input(&["chat"], &format!("{TOUCHES}\n{SAYS_HELLO}\n")).expect(0);
    assert!(!place.workspace().join("made").exists(), "{done:?}");
    assert!(done.text().ends_with("Hello there\n"), "{done:?}");
}

#[test]
fn commands_answer_in_plain_text() {
    let place = Place::new();
    let lines = format!(
        "/help\n/tools\n{SAYS_HELLO}\n/cost\n/model\n/model sonnet\n/nonsense\n/new\n{SAYS_HELLO}\n/quit\n{SAYS_HELLO}\n"
    );
    let done = place.weir_input(&["chat"], &lines).expect(0);
    for part in [
        "/resume [N or ID]",
        "No tool calls yet.",
        "so far, by the CLI's estimate",
        "haiku",
        "The model is now sonnet.",
        "New session.",
    ] {
        assert!(done.text().contains(part), "{part}: {done:?}");
    }
    assert!(done.stderr.contains("unknown command /nonsense"), "{done:?}");
    // What comes after the end is not read.
    assert_eq!(done.text().matches("Hello there").count(), 2);
    assert_eq!(place.weir(&["sessions", "--json"]).json_lines().len(), 2);
}

#[test]
fn commands_of_the_cli_are_passed_on() {
    let place = Place::new();
    let lines = format!("{SAYS_HELLO}\n/compact\n");
    let done = place.weir_input(&["chat", "--interpret"], &lines).expect(0);
    assert!(!done.stderr.contains("unknown command"), "{done:?}");
    // Piped text may come from an untrusted source.
    let done = place.weir_input(&["chat"], &lines);
    assert!(done.stderr.contains("unknown command /compact"), "{done:?}");
}

#[test]
fn an_earlier_session_is_listed_and_resumed() {
    let place = Place::new();
    place.weir_input(&["chat", "-q"], &format!("the first one {SAYS_HELLO}\n")).expect(0);
    let id = place.weir(&["sessions", "--json"]).json_lines()[0]["id"].as_str().unwrap().to_owned();
    let done =
        place.weir_input(&["chat"], &format!("/resume\n/resume 1\n{SAYS_HELLO}\n/resume 9\n")).expect(0);
    assert!(done.text().contains("the first one"), "{done:?}");
    assert!(done.stderr.contains("no session 9"), "{done:?}");
    let list = place.weir(&["sessions", "--json"]).json_lines();
    assert_eq!((list.len(), &list[0]["id"], &list[0]["messages"]), (1, &id.into(), &4.into()), "{list:?}");
    place.assert_clean();
}

#[test]
fn ctrl_c_interrupts_the_turn_and_the_next_line_is_read() {
    let place = Place::new();
    let mut command = place.command(&["chat"]);
    command.stdin(Stdio::piped());
    let mut running = Running::start(command);
    writeln!(running.input(), "{IS_SLOW}").unwrap();
    running.wait_for("one");
    running.signal(Signal::INT);
    running.wait_for_stderr("interrupted,");
    writeln!(running.input(), "{SAYS_HELLO}").unwrap();
    running.wait_for("Hello there");
    running.close_input();
    running.finish().expect(0);
    place.assert_clean();
}

#[test]
fn signals_end_the_chat_and_leave_nothing() {
    for signal in [Signal::TERM, Signal::HUP] {
        let place = Place::new();
        let mut command = place.command(&["chat"]);
        command.stdin(Stdio::piped());
        let mut running = Running::start(command);
        writeln!(running.input(), "{IS_SLOW}").unwrap();
        running.wait_for("one");
        running.signal(signal);
        running.finish().expect(130);
        place.assert_clean();
    }
}

#[test]
fn background_tasks_are_listed_and_stopped() {
    let place = Place::new();
    let agent = r#"{"tool":"Task","input":{"description":"Wait","subagent_type":"general-purpose","run_in_background":true,"prompt":"go @@[{\"sleep\":300,\"text\":\"never\"}]"}},{"text":"Started"}"#;
    let lines = format!("/stop\n{}\n/stop\n/stop 7\n/stop 1\n", script(agent));
    let done = place.weir_input(&["chat"], &lines).expect(0);
    let text = done.text();
    assert!(text.starts_with("No background tasks.\n"), "{done:?}");
    assert!(text.contains("1  agent: Wait  (") && text.ends_with("Stopping agent: Wait.\n"), "{done:?}");
    assert!(done.stderr.contains("no background task with the number or id 7"), "{done:?}");
    place.assert_clean();
}
