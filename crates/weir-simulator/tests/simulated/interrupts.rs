//! Interrupts and signals.

use crate::support::{Start, is_alive, until};
use rustix::process::Signal;
use weir_simulator::json::Json;
use weir_simulator::object;

const LONG: &str = r#"[{"text":"word word word word word word word word word word word word","wdelay":0.2}]"#;
const SLEEP: &str = r#"[{"tool":"Bash","input":{"command":"echo $$ > pid; sleep 600"}},{"text":"end"}]"#;

fn tool_pid(folder: &std::path::Path) -> i32 {
    let mut pid = None;
    until("the tool starts", || {
        pid = std::fs::read_to_string(folder.join("pid")).ok().and_then(|text| text.trim().parse().ok());
        pid.is_some()
    });
    pid.unwrap()
}

#[test]
fn an_interrupt_is_answered_first_and_the_process_continues() {
    let cli = Start::new(&["--include-partial-messages"]).start();
    cli.script(LONG).wait_for_delta();
    let answer = cli.interrupt();
    assert_eq!(answer.at(&["response", "still_queued"]).unwrap().items().len(), 0);
    let result = cli.result(1);
    assert_eq!(
        (result.str_of("subtype"), result.str_of("terminal_reason")),
        (Some("error_during_execution"), Some("aborted_streaming"))
    );
    assert_eq!(result.number_of("total_cost_usd"), Some(0.0));
    cli.script(r#"[{"text":"after"}]"#).result(2);
    let done = cli.end();
    let place = |wanted: &dyn Fn(&Json) -> bool| done.lines.iter().position(wanted).unwrap();
    let response = place(&|line| line.str_of("type") == Some("control_response"));
    let partial = place(&|line| line.is_true("aborted"));
    let user = place(&|line| line.to_string().contains("[Request interrupted by user]"));
    let end = place(&|line| line.get("abandoned_blocks").is_some());
    let result = place(&|line| line.str_of("type") == Some("result"));
    assert!(response < partial && partial < user && user < end && end < result);
    assert_eq!(done.answers(), ["-", "after"]);
    assert_eq!(done.exit.code, Some(0));
}

#[test]
fn an_interrupt_kills_the_tool() {
    for old in [false, true] {
        let start = Start::new(&["--allowedTools", "Bash"]);
        let cli = if old { start.old() } else { start }.start();
        cli.script(SLEEP);
        let pid = tool_pid(&cli.place.directory());
        cli.interrupt();
        let result = cli.result(1);
        assert_eq!(result.is_true("is_error"), !old);
        until("the tool ends", || !is_alive(pid));
        let done = cli.end();
        assert_eq!(done.tool_results().len(), 1);
        assert!(
            done.lines
                .iter()
                .any(|line| line.to_string().contains("[Request interrupted by user for tool use]"))
        );
    }
}

#[test]
fn an_interrupt_withdraws_a_pending_request() {
    let cli = Start::asking(&[]).responder(Box::new(|_| None)).start();
    cli.script(r#"[{"tool":"Write","input":{"file_path":"x","content":"y"}},{"text":"end"}]"#);
    let request = cli.wait("control_request", None, 1);
    cli.interrupt();
    cli.result(1);
    let done = cli.end();
    let withdrawn = done.of("control_cancel_request", None);
    assert_eq!(withdrawn[0].get("request_id"), request.get("request_id"));
    assert_eq!(done.results()[0].items_of("permission_denials").len(), 1);
}

#[test]
fn an_interrupt_with_nothing_to_stop_is_answered() {
    let cli = Start::new(&[]).start();
    assert_eq!(cli.interrupt().str_of("subtype"), Some("success"));
    cli.script(r#"[{"text":"x"}]"#).result(1);
    assert_eq!(cli.end().answers(), ["x"]);
}

#[test]
fn a_waiting_message_survives_an_interrupt() {
    let cli = Start::new(&["--allowedTools", "Bash"]).start();
    cli.say_as(&format!("A @@{SLEEP}"), "aaaaaaaa-0000-4000-8000-000000000001");
    tool_pid(&cli.place.directory());
    cli.say_as(r#"B @@[{"text":"answer to B"}]"#, "bbbbbbbb-0000-4000-8000-000000000002");
    cli.wait("command_lifecycle", None, 3);
    let answer = cli.interrupt();
    assert_eq!(answer.at(&["response", "still_queued"]).unwrap().items().len(), 1);
    cli.result(2);
    let done = cli.end();
    assert_eq!(done.answers(), ["-", "answer to B"]);
    let states: Vec<_> =
        done.of("command_lifecycle", None).iter().map(|line| line.str_of("state").unwrap()).collect();
    assert!(states.contains(&"cancelled"));
}

#[test]
fn sigint_ends_the_turn_and_the_process() {
    let cli = Start::new(&["--allowedTools", "Bash"]).start();
    cli.script(SLEEP);
    let pid = tool_pid(&cli.place.directory());
    cli.driver.signal(Signal::INT);
    let done = cli.exited();
    assert_eq!((done.exit.code, done.results().len()), (Some(0), 1));
    until("the tool ends", || !is_alive(pid));

    let cli = Start::new(&["--allowedTools", "Bash"]).old().start();
    cli.script(SLEEP);
    tool_pid(&cli.place.directory());
    cli.driver.signal(Signal::INT);
    let done = cli.exited();
    assert_eq!((done.exit.code, done.results().len()), (Some(0), 0), "the older version says nothing");
}

#[test]
fn sigterm_kills_the_tools_and_ends_with_143() {
    for old in [false, true] {
        let start = Start::new(&["--allowedTools", "Bash"]);
        let cli = if old { start.old() } else { start }.start();
        cli.script(SLEEP);
        let pid = tool_pid(&cli.place.directory());
        cli.driver.signal(Signal::TERM);
        let done = cli.exited();
        assert_eq!((done.exit.code, done.results().len()), (Some(143), 0));
        until("the tool ends", || !is_alive(pid));
    }
    let cli = Start::new(&[]).start();
    cli.request("i", object! { "subtype" => "initialize" });
    cli.driver.signal(Signal::TERM);
    assert_eq!(cli.exited().exit.code, Some(143), "also with nothing to do");
}

#[test]
fn sigkill_leaves_the_tool_alive() {
    let cli = Start::new(&["--allowedTools", "Bash"]).start();
    cli.script(SLEEP);
    let pid = tool_pid(&cli.place.directory());
    cli.driver.signal(Signal::KILL);
    let done = cli.exited();
    assert_eq!(done.exit.signal, Some(9));
    assert!(is_alive(pid), "like a tool of the real CLI");
    let group = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process_group(group, Signal::KILL).unwrap();
    until("the tool ends", || !is_alive(pid));
}

#[test]
fn the_end_of_the_input_lets_the_turn_finish() {
    let cli = Start::new(&["--include-partial-messages"]).start();
    cli.script(r#"[{"text":"one two three four","wdelay":0.02}]"#).wait_for_delta();
    let done = cli.end();
    assert_eq!((done.exit.code, done.answers()), (Some(0), vec!["one two three four"]));
}

#[test]
fn an_interrupt_together_with_the_first_message_ends_its_turn() {
    for old in [false, true] {
        let start = Start::new(&[]);
        let cli = if old { start.old() } else { start }.start();
        let message = |text: &str, uuid: &str| {
            object! {
                "type" => "user",
                "message" => object! { "role" => "user", "content" => text },
                "session_id" => "default",
                "parent_tool_use_id" => Json::Null,
                "uuid" => uuid,
            }
        };
        let interrupt = |id: &str| {
            let request = object! { "subtype" => "interrupt" };
            object! { "type" => "control_request", "request_id" => id, "request" => request }
        };
        let first = message(r#"@@[{"text":"never"}]"#, "aaaaaaaa-0000-4000-8000-000000000001");
        cli.driver.send_together(&[first, interrupt("i1")], []).unwrap();
        assert_eq!(cli.result(1).str_of("subtype"), Some("error_during_execution"));
        if !old {
            // The end of the message is told after the result; what is sent before it would be queued first.
            cli.wait("command_lifecycle", None, 3);
        }
        let second = message(r#"@@[{"text":"second"}]"#, "bbbbbbbb-0000-4000-8000-000000000002");
        cli.driver.send_together(&[second, interrupt("i2")], []).unwrap();
        cli.result(2);
        let done = cli.end();
        // The newer version keeps an interrupt only for its first turn, the older one for any.
        assert_eq!(done.answers(), if old { ["-", "-"] } else { ["-", "second"] });
        if !old {
            let answers = done.of("control_response", None);
            let queued =
                |line: &Json| line.at(&["response", "response", "still_queued"]).unwrap().items().len();
            assert_eq!(answers.iter().map(|line| queued(line)).collect::<Vec<_>>(), [1, 1]);
            let states: Vec<_> =
                done.of("command_lifecycle", None).iter().map(|line| line.str_of("state").unwrap()).collect();
            assert_eq!(states, ["queued", "started", "cancelled", "queued", "started", "completed"]);
        }
    }
}
