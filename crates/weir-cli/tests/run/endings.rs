//! How a run ends when the CLI misbehaves: the answer, the messages, and the path of the log.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{IS_SLOW, Place, Running, SAYS_HELLO, script};

/// A CLI that is a shell script with these lines.
#[expect(clippy::unwrap_used, reason = "a test without its files should stop")]
fn cli(place: &Place, lines: &str) -> String {
    let path = place.path("claude.sh");
    // Written to another file and moved, so that it is never open for writing when it is started.
    let fresh = place.path("claude.fresh");
    std::fs::write(&fresh, format!("#!/bin/sh\n{lines}\n")).unwrap();
    std::fs::set_permissions(&fresh, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(fresh, &path).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A CLI that reports that it is ready, and prints these lines when it gets a message.
fn says(place: &Place, lines: &[&str]) -> String {
    let mut text = r#"
case "$*" in *--version*) echo '2.1.325 (Claude Code)'; exit;; *--help*) exit;; esac
read -r line
id=$(printf %s "$line" | sed 's/.*"request_id":"\([^"]*\)".*/\1/')
printf '{"type":"control_response","response":{"subtype":"success","request_id":"%s","response":{}}}\n' "$id"
read -r line
"#
    .to_owned();
    for line in lines {
        text.push_str(&format!("printf '%s\\n' '{line}'\n"));
    }
    text.push_str("cat > /dev/null");
    cli(place, &text)
}

const INIT: &str =
    r#"{"type":"system","subtype":"init","session_id":"2c1f8a36-9f5e-4f9a-8a3e-6f2f2d1f0c11","model":"m"}"#;
const EMPTY: &str = r#"{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":""}"#;

/// The files in the default folder for logs.
fn kept_logs(place: &Place) -> Vec<PathBuf> {
    let files = std::fs::read_dir(place.path("home/.cache/weir/logs"));
    let mut files: Vec<PathBuf> =
        files.into_iter().flatten().filter_map(|file| Some(file.ok()?.path())).collect();
    files.sort();
    files
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.permissions().mode() & 0o777)
}

#[test]
fn an_empty_result_is_the_same_answer_in_every_form() {
    let place = Place::new();
    let said = |message: &str, text: &str| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"{message}","content":[{{"type":"text","text":"{text}"}}]}}}}"#
        )
    };
    let lines = [said("m1", "Let me "), said("m1", "look."), said("m2", "Done.")];
    let claude = says(&place, &[INIT, &lines[0], &lines[1], &lines[2], EMPTY]);
    let answer = "Let me look.\n\nDone.";
    let run = |args: &[&str]| place.weir(&[&["run", "--claude", &claude, "hello"], args].concat()).expect(0);
    let text = run(&[]);
    assert_eq!(text.text(), format!("{answer}\n"));
    assert!(text.stderr.contains("the result was empty"), "{text:?}");
    let json = run(&["-o", "json"]).json();
    for key in ["final_text", "stream_text"] {
        assert_eq!(json[key], answer, "{json:#}");
    }
    assert_eq!(
        (&json["degraded"], &json["is_error"], &json["error"]),
        (&true.into(), &false.into(), &Value::Null)
    );
    let agent = run(&["-q", "-o", "events"]).json_lines();
    let end = agent.iter().find(|event| event["type"] == "agent-message-end").unwrap();
    assert_eq!((&end["text"], &end["degraded"]), (&answer.into(), &true.into()));
    let classic = run(&["-q", "-o", "events", "--format", "classic"]).json_lines();
    let end = classic.iter().find(|event| event["event"] == "result").unwrap();
    assert_eq!((&end["data"]["result"], &end["data"]["degraded"]), (&answer.into(), &true.into()));
}

#[test]
fn nothing_at_all_is_an_error_that_names_the_log() {
    let place = Place::new();
    let claude = says(&place, &[INIT, EMPTY]);
    let done = place.weir(&["run", "--claude", &claude, "hello"]).expect(1);
    let logs = kept_logs(&place);
    let [input, output, stderr] = logs.as_slice() else { panic!("{logs:?}") };
    assert!(done.stderr.contains("without an answer"), "{done:?}");
    assert!(done.stderr.contains(output.to_str().unwrap()), "{done:?}");
    assert!(std::fs::read_to_string(output).unwrap().ends_with(&format!("{EMPTY}\n")));
    assert!(std::fs::read_to_string(input).unwrap().contains("hello"));
    assert_eq!(
        [mode(output), mode(input), mode(stderr), mode(output.parent().unwrap())],
        [0o600, 0o600, 0o600, 0o700]
    );
    let json = place.weir(&["run", "-o", "json", "--claude", &claude, "hello"]).expect(1).json();
    assert!(Path::new(json["raw_log"].as_str().unwrap()).exists(), "{json:#}");
}

#[test]
fn every_failure_names_the_log_and_no_unwanted_log_is_kept() {
    let place = Place::new();
    for (code, args) in [
        (1, vec![script(r#"{"status":400,"msg":"nonsense"}"#)]),
        (4, vec![script(r#"{"text":"one two","misbehave":{"crash":{"at":"mid","exit":3}}}"#)]),
        (5, vec![script(r#"{"text":"one two","misbehave":"exit_without_result"}"#)]),
        (7, vec!["--timeout".to_owned(), "300ms".to_owned(), IS_SLOW.to_owned()]),
    ] {
        let args: Vec<&str> = ["run"].into_iter().chain(args.iter().map(String::as_str)).collect();
        let done = place.weir(&args).expect(code);
        let newest = kept_logs(&place)
            .into_iter()
            .rfind(|file| {
                !file.to_string_lossy().contains(".in.") && file.to_string_lossy().ends_with(".ndjson")
            })
            .unwrap();
        assert!(done.stderr.contains(newest.to_str().unwrap()), "{done:?}");
    }
    let place = Place::new();
    place.weir(&["run", "-q", "--no-log", SAYS_HELLO]).expect(0);
    place.weir(&["run", "-q", "--no-session-persistence", SAYS_HELLO]).expect(0);
    assert_eq!(kept_logs(&place), Vec::<PathBuf>::new());
    // A good run names no log, and a folder that cannot be created is not worth a warning.
    let place = place.set("WEIR_CACHE_DIR", "/proc/nowhere");
    assert_eq!(place.weir(&["run", "-q", SAYS_HELLO]).expect(0).stderr, "");
}

#[test]
fn runs_at_the_same_time_keep_their_logs_in_one_folder() {
    let place = Place::new();
    let runs: Vec<Running> =
        (0..6).map(|_| Running::start(place.command(&["run", "-q", SAYS_HELLO]))).collect();
    for run in runs {
        run.finish().expect(0);
    }
    assert_eq!(kept_logs(&place).len(), 18);
}

#[test]
fn a_reason_on_the_standard_output_is_reported() {
    let place = Place::new();
    let claude = cli(&place, "echo 'Reading settings'; echo 'fatal: no licence for this machine'; exit 3");
    let done = place.weir(&["run", "--claude", &claude, "hello"]).expect(4);
    assert!(done.stderr.contains("exit code 3") && done.stderr.contains("fatal: no licence"), "{done:?}");
    let json = place.weir(&["run", "-o", "json", "--claude", &claude, "hello"]).expect(4).json();
    assert!(json["error"].as_str().unwrap().contains("fatal: no licence"), "{json:#}");
    let events =
        place.weir(&["run", "-q", "-o", "events", "--claude", &claude, "hello"]).expect(4).json_lines();
    assert!(
        events.iter().any(|event| event["type"] == "agent-output" && event["text"] == "Reading settings")
    );
    let error = events.iter().find(|event| event["type"] == "agent-error").unwrap();
    assert!(error["message"].as_str().unwrap().contains("fatal: no licence"), "{error}");
}

#[test]
fn a_crash_on_a_terminal_reports_its_reason_as_on_a_pipe() {
    let place = Place::new();
    let claude = cli(&place, "echo 'error: unknown option --frobnicate' >&2; exit 1");
    for transport in ["pipe", "pty"] {
        let done = place.weir(&["run", "--transport", transport, "--claude", &claude, "hello"]).expect(4);
        assert!(
            done.stderr.contains("exit code 1") && done.stderr.contains("unknown option --frobnicate"),
            "{transport}: {done:?}"
        );
    }
}

#[test]
fn an_abnormal_exit_after_a_good_answer_is_reported() {
    let place = Place::new();
    let simulated = place.path("simulated-claude");
    let claude = cli(&place, &format!("{} \"$@\"\necho 'cannot save' >&2; exit 3", simulated.display()));
    let done = place.weir(&["run", "-q", "--claude", &claude, SAYS_HELLO]).expect(0);
    assert_eq!(done.text(), "Hello there\n");
    assert!(done.stderr.contains("exited with code 3") && done.stderr.contains("cannot save"), "{done:?}");
    let json = place.weir(&["run", "-o", "json", "--claude", &claude, SAYS_HELLO]).expect(0).json();
    assert!(json["warning"].as_str().unwrap().contains("code 3"), "{json:#}");
    assert_eq!((&json["is_error"], &json["error"]), (&false.into(), &Value::Null));
}

#[test]
fn an_interrupt_is_not_an_error() {
    let place = Place::new();
    let running = Running::start(place.command(&["run", "-o", "events", IS_SLOW]));
    running.wait_for("one");
    running.signal(rustix::process::Signal::INT);
    let events = running.finish().expect(130).json_lines();
    assert!(events.iter().all(|event| event["type"] != "agent-error"), "{events:#?}");
    let end = events.iter().find(|event| event["type"] == "agent-message-end").unwrap();
    assert_eq!((&end["state"], &end["is_error"]), (&"interrupted".into(), &false.into()));

    let running = Running::start(place.command(&["run", "-o", "json", IS_SLOW]));
    place.wait_until("a process", || {
        place.state().join("processes").read_dir().is_ok_and(|mut files| files.next().is_some())
    });
    running.signal(rustix::process::Signal::INT);
    let json = running.finish().expect(130).json();
    assert_eq!(
        (&json["is_error"], &json["interrupted"], &json["error"]),
        (&false.into(), &true.into(), &Value::Null)
    );
    place.assert_clean();
}
