//! Standard input, standard error, and readers that close early.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use crate::support::{
    INIT, SAYS_HELLO, SUCCESS, capture, command, file_of, replay_file, replay_input, stream,
};

#[test]
fn a_dash_and_nothing_are_the_standard_input() {
    let input = stream(&[INIT, SAYS_HELLO, SUCCESS]);
    let dash = replay_input(&["-"], &input);
    let nothing = replay_input(&[], &input);
    assert_eq!(dash.code, Some(0));
    assert_eq!(nothing.code, Some(0));
    assert_eq!(dash.stdout, nothing.stdout);
    assert_eq!(dash.json()["final_text"], "Hello");
}

#[test]
fn the_summary_is_on_the_standard_error_and_can_be_turned_off() {
    let path = capture("2.1.325", "tools");
    for output in ["json", "events", "view", "raw"] {
        let told = replay_file(&["-o", output], &path);
        assert_eq!(
            told.stderr,
            "weir: 17 lines: 0 unknown, 0 malformed, 0 oversize; 1 turn, 5 tool calls, $0.007\n"
        );
        for quiet in ["-q", "--quiet"] {
            let done = replay_file(&["-o", output, quiet], &path);
            assert_eq!(done.stderr, "");
            assert_eq!(done.stdout, told.stdout);
            assert_eq!(done.code, told.code);
        }
    }
}

#[test]
fn a_reader_that_closes_early_is_not_an_error() {
    let tools = std::fs::read(capture("2.1.325", "tools")).unwrap();
    // Far more than fits into the pipe and the program's buffer, so writing has to fail.
    let (_folder, path) = file_of(&tools.repeat(300));
    for args in [
        &["-o", "raw"][..],
        &["-o", "raw", "--speed", "1000000"],
        &["-o", "events"],
        &["-o", "events", "--format", "classic"],
        &["-o", "view"],
    ] {
        let mut command = command(args);
        command.arg(&path).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut first = [0; 16];
        let mut stdout = BufReader::with_capacity(16, child.stdout.take().unwrap());
        stdout.read_exact(&mut first).unwrap();
        drop(stdout);
        let done = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(0), "{args:?}: {stderr}");
        assert_eq!(stderr, "", "{args:?}");
    }
}

#[test]
fn events_come_while_the_input_is_still_open() {
    use std::io::Write as _;
    let mut command = command(&["-o", "events"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&stream(&[INIT, SAYS_HELLO])).unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut told = String::new();
    while !told.contains("agent-text-delta") {
        assert!(stdout.read_line(&mut told).unwrap() > 0, "ended after {told}");
    }
    stdin.write_all(&stream(&[SUCCESS])).unwrap();
    drop(stdin);
    stdout.read_to_string(&mut told).unwrap();
    assert!(told.contains("agent-message-end"));
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
