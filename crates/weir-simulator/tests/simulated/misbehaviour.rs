//! Each misbehaviour, seen from outside. The names are those in the table in the documentation.

use crate::support::{DEADLINE, Finished, Running, Start, is_alive, until};
use rustix::process::Signal;
use weir_simulator::json::{Json, parse};
use weir_simulator::object;

const HELLO: &str = r#"[{"text":"héllo wörld 🙂 and more"}]"#;

/// Runs one message with a misbehaviour.
fn run(what: &str) -> Finished {
    let cli = Start::asking(&["--include-partial-messages"]).misbehave(what).start();
    cli.script(HELLO).result(1);
    cli.end()
}

fn answered(done: &Finished) {
    assert_eq!(done.answers(), ["héllo wörld 🙂 and more"]);
    assert_eq!(done.exit.code, Some(0));
}

#[test]
fn single_bytes_and_split_characters_are_the_same_bytes() {
    for what in ["single_bytes", "split_utf8"] {
        answered(&run(what));
    }
}

#[test]
fn crlf_ends_each_line() {
    let done = run("crlf");
    assert!(done.raw.iter().all(|line| line.ends_with(b"\r")));
    answered(&done);
}

#[test]
fn escapes_surround_each_line() {
    let cli = Start::new(&[]).misbehave("escapes").start();
    cli.script(HELLO);
    let done = cli.end();
    assert!(done.raw.iter().all(|line| line.starts_with(b"\x1b[?25l") && line.ends_with(b"\x1b[?25h")));
}

#[test]
fn reordered_keys_put_the_type_last() {
    let done = run("reordered_keys");
    let init = &done.of("system", Some("init"))[0];
    assert_eq!(init.members().last().unwrap().0, "type");
    answered(&done);
}

#[test]
fn duplicate_responses_come_twice() {
    let cli = Start::new(&[]).misbehave("duplicate_responses").start();
    cli.request("init-1", object! { "subtype" => "initialize" });
    assert_eq!(cli.end().of("control_response", None).len(), 2);
}

#[test]
fn a_huge_line_has_the_requested_length() {
    let done = run(r#"{"huge_line":3}"#);
    assert!(done.raw.iter().any(|line| line.len() > 3 << 20));
    answered(&done);
}

#[test]
fn small_lines_add_up() {
    let done = run(r#"{"small_lines":2}"#);
    let bytes: usize = done.raw.iter().map(|line| line.len() + 1).sum();
    assert!(bytes > 2 << 20 && done.raw.len() > 10_000);
    answered(&done);
}

#[test]
fn many_messages_come_quickly_and_in_order() {
    let done = run(r#"{"messages":3000}"#);
    let texts = done.texts();
    assert_eq!(texts.len(), 3001);
    assert_eq!((texts[0], texts[2999]), ("message 1", "message 3000"));
}

#[test]
fn stderr_is_flooded() {
    let cli = Start::new(&[]).misbehave(r#"{"stderr_flood":2}"#).start();
    cli.script(HELLO).result(1);
    cli.driver.close_input();
    until("all of stderr is read", || cli.driver.wait_for_exit(DEADLINE).unwrap().stderr.len() >= 2 << 20);
    answered(&cli.exited());
}

#[test]
fn unknown_lines_precede_the_reply() {
    for (what, part) in [
        ("unknown_type", r#""type":"tomorrow""#),
        ("unknown_subtype", r#""subtype":"tomorrow""#),
        ("unknown_block", r#""type":"hologram""#),
        ("changed_type", r#""message":"once an object""#),
        ("broken_json", r#""content":[{"type":"text","te"#),
        ("sandbox_debug", "[SandboxDebug] größte"),
        ("keep_alive", r#"{"type":"keep_alive"}"#),
        ("rate_limit", r#""resetsAt":"#),
    ] {
        let done = run(what);
        let found = done.raw.iter().any(|line| String::from_utf8_lossy(line).contains(part));
        assert!(found, "{what}");
        answered(&done);
    }
    let done = run("blank_lines");
    assert!(done.raw.iter().any(Vec::is_empty));
    let broken = run("broken_json").raw;
    assert!(broken.iter().any(|line| parse(&String::from_utf8_lossy(line)).is_err()));
}

#[test]
fn an_unknown_request_waits_for_the_hosts_answer() {
    let refuse = |line: &Json| {
        let error = object! { "subtype" => "error", "request_id" => line.get("request_id")?, "error" => "what is that?" };
        Some(weir_testkit::real::Response { response: error, event: None })
    };
    let cli = Start::asking(&[]).misbehave("unknown_control_request").responder(Box::new(refuse)).start();
    cli.script(HELLO).result(1);
    let done = cli.end();
    assert!(done.texts()[0].ends_with("an error: what is that?"));
    assert_eq!(done.results().len(), 1);
}

#[test]
fn a_cancelled_request_is_withdrawn_immediately() {
    let done = run("cancelled_request");
    let request = done.of("control_request", None)[0];
    assert_eq!(done.of("control_cancel_request", None)[0].get("request_id"), request.get("request_id"));
    answered(&done);
}

#[test]
fn results_come_twice_late_or_never() {
    let done = run("stray_result");
    assert_eq!(done.answers(), ["héllo wörld 🙂 and more", "a stray result"]);

    let cli = Start::new(&["--include-partial-messages"]).misbehave(r#"{"late_result":0.05}"#).start();
    cli.script(r#"[{"text":"word word word word","wdelay":0.2}]"#).wait_for_delta();
    cli.interrupt();
    assert_eq!(cli.result(2).str_of("result"), Some("a late result"));

    let cli = Start::new(&[]).misbehave("no_result").start();
    cli.script(HELLO);
    let done = cli.end();
    assert_eq!((done.results().len(), done.exit.code), (0, Some(0)));

    let done = run("result_object");
    assert!(done.results()[0].get("result").unwrap().is_object());
}

#[test]
fn an_empty_result_comes_first_after_a_resume() {
    let first = Start::new(&[]).start();
    first.script(HELLO).result(1);
    let first = first.end();
    let id = first.of("system", Some("init"))[0].str_of("session_id").unwrap().to_owned();
    let cli = Start::new(&["--resume", &id]).misbehave("empty_result_first").start_in(first.place);
    cli.script(HELLO).result(2);
    let done = cli.end();
    assert_eq!(done.results()[0].integer_of("num_turns"), Some(0));
    assert_eq!(done.answers()[1], "héllo wörld 🙂 and more");
}

#[test]
fn a_result_can_be_empty() {
    let cli = Start::new(&[]).misbehave("empty_result").start();
    cli.script(HELLO).result(1);
    assert_eq!(cli.end().answers(), [""]);
}

#[test]
fn the_last_line_is_cut_and_the_status_is_zero() {
    let cli = Start::new(&[]).misbehave("truncated_result").start();
    cli.script(HELLO);
    let done = cli.exited();
    assert_eq!(done.exit.code, Some(0));
    assert!(parse(&String::from_utf8_lossy(done.raw.last().unwrap())).is_err());
    assert!(done.results().is_empty());
}

fn nothing_comes(cli: &Running) {
    let waited = cli.driver.wait_for("anything more", std::time::Duration::from_millis(150), |_| None::<()>);
    assert!(matches!(waited, Err(weir_testkit::real::DriverError::TimedOut { .. })));
}

#[test]
fn silence_lasts_forever() {
    let cli = Start::new(&[]).misbehave(r#"{"silence":"start"}"#).start();
    cli.script(HELLO);
    nothing_comes(&cli);
    assert!(cli.driver.lines().is_empty());

    let cli = Start::new(&[]).misbehave(r#"{"silence":"initialize"}"#).start();
    cli.post("init-1", object! { "subtype" => "initialize" });
    nothing_comes(&cli);

    for (point, lines) in [("turn", 1), ("mid", 1), ("result", 2)] {
        let cli = Start::new(&[]).misbehave(&format!(r#"{{"silence":"{point}"}}"#)).start();
        cli.script(HELLO);
        cli.wait("system", Some("init"), 1);
        nothing_comes(&cli);
        assert_eq!(cli.driver.lines().len(), lines, "{point}");
        cli.driver.close_input();
        nothing_comes(&cli);
        cli.driver.signal(Signal::KILL);
        assert_eq!(cli.exited().exit.signal, Some(9));
    }
}

#[test]
fn crashes_happen_at_the_requested_point() {
    for (point, lines) in [("start", 0), ("turn", 1), ("mid", 1), ("result", 2)] {
        let cli = Start::new(&[]).misbehave(&format!(r#"{{"crash":{{"at":"{point}","exit":3}}}}"#)).start();
        // It may be gone before the message is written.
        let _gone = cli.driver.send(&crate::support::user(&format!("@@{HELLO}")));
        let done = cli.exited();
        assert_eq!((done.exit.code, done.lines.len()), (Some(3), lines), "{point}");
    }
    let cli = Start::new(&[]).misbehave(r#"{"crash":{"at":"turn","signal":"KILL"}}"#).start();
    cli.script(HELLO);
    assert_eq!(cli.exited().exit.signal, Some(9));
    let cli = Start::new(&[]).misbehave("exit_without_result").start();
    cli.script(HELLO);
    let done = cli.exited();
    assert_eq!((done.exit.code, done.results().len()), (Some(0), 0));
    let cli = Start::new(&[]).misbehave(r#"{"crash":"initialize"}"#).start();
    cli.post("init-1", object! { "subtype" => "initialize" });
    assert_eq!(cli.exited().exit.code, Some(1));
}

#[test]
fn signals_interrupts_and_the_end_of_the_input_are_ignored() {
    let slow = r#"[{"text":"one two three four five six","wdelay":0.05}]"#;
    let cli = Start::new(&["--include-partial-messages"])
        .misbehave("ignore_sigterm,ignore_sigint,ignore_interrupt")
        .start();
    cli.script(slow).wait_for_delta();
    cli.driver.signal(Signal::TERM);
    cli.driver.signal(Signal::INT);
    cli.post("interrupt-1", object! { "subtype" => "interrupt" });
    assert_eq!(cli.result(1).str_of("result"), Some("one two three four five six"));
    assert_eq!(cli.end().exit.code, Some(0));

    let cli = Start::new(&[]).misbehave("ignore_eof").start();
    cli.script(HELLO).result(1);
    cli.driver.close_input();
    nothing_comes(&cli);
    cli.driver.signal(Signal::TERM);
    assert_eq!(cli.exited().exit.code, Some(143));
}

#[test]
fn an_orphan_outlives_the_cli() {
    let done = run(r#"{"orphan":600}"#);
    let pid: i32 = done.texts()[0].strip_prefix("left behind: ").unwrap().parse().unwrap();
    assert!(is_alive(pid));
    let orphan = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(orphan, Signal::HUP).unwrap();
    rustix::process::kill_process(orphan, Signal::TERM).unwrap();
    assert!(is_alive(pid), "it ignores both");
    rustix::process::kill_process(orphan, Signal::KILL).unwrap();
    until("the orphan ends", || !is_alive(pid));
}

#[test]
fn a_start_may_be_slow() {
    let started = std::time::Instant::now();
    let cli = Start::new(&[]).misbehave(r#"{"slow_start":0.2}"#).start();
    cli.script(HELLO).result(1);
    assert!(started.elapsed().as_millis() >= 200);
}

#[test]
fn another_session_is_named() {
    let cli = Start::new(&["--session-id", "11111111-1111-4111-8111-111111111111"])
        .misbehave("other_session")
        .start();
    cli.script(HELLO).result(1);
    let done = cli.end();
    let named = done.of("system", Some("init"))[0].str_of("session_id").unwrap();
    assert_ne!(named, "11111111-1111-4111-8111-111111111111");
}

#[test]
fn messages_are_joined_or_not_contrary_to_the_version() {
    let send = |start: Start| {
        let cli = start.start();
        cli.script(r#"[{"text":"A","sleep":0.2}]"#);
        cli.wait("system", Some("init"), 1);
        cli.script(r#"[{"text":"B"}]"#).script(r#"[{"text":"C"}]"#);
        cli.end().results().len()
    };
    assert_eq!(send(Start::new(&[]).old().misbehave("coalesce")), 2);
    assert_eq!(send(Start::new(&[]).misbehave(r#"{"coalesce":false}"#)), 3);
}

#[test]
fn a_step_of_a_script_misbehaves_too() {
    let cli = Start::new(&[]).start();
    cli.script(r#"[{"text":"fine"}]"#).result(1);
    cli.script(r#"[{"text":"odd","misbehave":["unknown_type","stray_result"]}]"#).result(3);
    cli.script(r#"[{"text":"gone","misbehave":{"crash":{"at":"mid","exit":9}}}]"#);
    let done = cli.exited();
    assert_eq!(done.answers(), ["fine", "odd", "a stray result"]);
    assert_eq!(done.exit.code, Some(9));
}
