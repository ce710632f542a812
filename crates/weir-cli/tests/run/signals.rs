//! Signals, closed pipes, and what is left afterwards: nothing.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::common::{IS_SLOW, Place, Running, script};

/// A tool in its own session that resists ending.
const STUBBORN: &str = r#"{"tool":"Bash","input":{"command":"trap '' TERM HUP; touch begun; setsid sleep 300 & sleep 300"}},{"text":"x"}"#;

#[test]
fn a_second_ctrl_c_quits_immediately_and_leaves_nothing() {
    let place = Place::new().set("SIMULATED_CLAUDE_MISBEHAVE", "ignore_interrupt,ignore_sigterm");
    let running = Running::start(place.command(&["run", IS_SLOW]));
    running.wait_for("one");
    running.signal(Signal::INT);
    running.wait_for_stderr("press Ctrl-C again");
    running.signal(Signal::INT);
    running.finish().expect(130);
    place.assert_clean();
}

#[test]
fn one_ctrl_c_before_the_cli_is_ready_withdraws_the_prompt() {
    let place = Place::new().set("SIMULATED_CLAUDE_MISBEHAVE", r#"{"slow_start": 2}"#);
    let tool = script(r#"{"tool":"Bash","input":{"command":"touch ran"}},{"text":"done"}"#);
    let running = Running::start(place.command(&["run", "--allowed-tools", "Bash", &tool]));
    // The process exists and has printed nothing yet.
    let records = place.state().join("processes");
    place.wait_until("a process", || {
        std::fs::read_dir(&records).is_ok_and(|mut files| files.next().is_some())
    });
    running.signal(Signal::INT);
    let done = running.finish().expect(130);
    assert!(done.stderr.contains("interrupt"), "{}", done.stderr);
    place.assert_clean();
    assert!(!place.workspace().join("ran").exists());
}

#[test]
fn a_process_that_tries_to_escape_does_not_survive_a_kill_of_weir() {
    let place = Place::new();
    let tool = "env -i setsid sh -c '(sh -c \"echo \\$\\$ > runaway.new; mv runaway.new runaway; exec sleep 300\" & )'\n\
        while ! test -s runaway; do sleep 0.02; done; touch begun; sleep 300\n";
    std::fs::write(place.workspace().join("tool.sh"), tool).unwrap();
    let prompt = script(r#"{"tool":"Bash","input":{"command":"sh tool.sh"}},{"text":"x"}"#);
    let running = Running::start(place.command(&["run", "--allowed-tools", "Bash", &prompt]));
    place.wait_for_file("workspace/begun");
    let pid = std::fs::read_to_string(place.workspace().join("runaway")).unwrap();
    let runaway = weir_process::ProcessId::of(pid.trim().parse().unwrap()).expect("it lives");
    running.signal(Signal::KILL);
    running.finish();
    place.wait_until("the end of the runaway", || !runaway.is_alive());
}

#[test]
fn sigterm_ends_the_run_and_its_tools() {
    let place = Place::new();
    let running = Running::start(place.command(&["run", "--allowed-tools", "Bash", &script(STUBBORN)]));
    place.wait_for_file("workspace/begun");
    running.signal(Signal::TERM);
    running.finish().expect(130);
    place.assert_clean();
}

#[test]
fn sigkill_of_weir_leaves_nothing_alive() {
    let place = Place::new();
    let running = Running::start(place.command(&["run", "--allowed-tools", "Bash", &script(STUBBORN)]));
    place.wait_for_file("workspace/begun");
    running.signal(Signal::KILL);
    let done = running.finish();
    assert_eq!(done.code, None);
    place.wait_until_empty();
}

#[test]
fn a_reader_that_goes_away_ends_the_run_quietly() {
    let place = Place::new();
    let mut command = place.command(&["run", &script(r#"{"text":"one two three four five","wdelay":0.1}"#)]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 3]).unwrap();
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    place.assert_clean();
}

#[test]
fn a_blocked_reader_does_not_block_ctrl_c() {
    let place = Place::new();
    // More than fits into the pipe and our queue for a slow reader.
    let prompt = script(r#"{"text":"x","misbehave":{"small_lines":20}}"#);
    let mut command = place.command(&["run", "-o", "raw", &prompt]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 1000]).unwrap();
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::INT).unwrap();
    let mut told = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut told).unwrap();
    assert!(told.contains("press Ctrl-C again"), "{told}");
    kill_process(pid, Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(stdout);
    place.assert_clean();
}

#[test]
fn a_full_disk_is_an_error() {
    let place = Place::new();
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    let mut command = place.command(&["run", crate::common::SAYS_HELLO]);
    let output = command.stdout(full).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write"), "{output:?}");
    place.assert_clean();
}
