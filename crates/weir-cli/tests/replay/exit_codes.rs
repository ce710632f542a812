//! The exit codes are a promise to scripts.

use crate::support::{
    INIT, SAYS_HELLO, SUCCESS, capture, demo, file_of, replay, replay_file, replay_input, stream,
};

#[test]
fn recorded_streams_end_in_their_codes() {
    let cases = [
        ("2.1.325", "hello", 0),
        ("2.1.9", "hello", 0),
        ("2.1.325", "api-error-400", 1),
        ("2.1.9", "api-error-400", 1),
        ("2.1.325", "resume-missing", 1),
        ("2.1.9", "resume-missing", 1),
        ("2.1.325", "max-turns", 1),
        ("2.1.9", "max-turns", 1),
        ("2.1.325", "sigint", 130),
        // What comes after the interrupt counts.
        ("2.1.325", "interrupt", 0),
        ("2.1.9", "interrupt", 0),
        // Cut off in the middle of a line.
        ("2.1.9", "big-tool-result", 5),
        ("2.1.9", "sigint", 5),
        ("2.1.325", "sigterm", 5),
        // Nothing was printed at all.
        ("2.1.325", "no-verbose", 5),
        ("2.1.325", "permission-denied-no-host", 6),
        ("2.1.9", "permission-denied-no-host", 6),
        ("2.1.325", "max-budget", 8),
        ("2.1.9", "max-budget", 8),
    ];
    for (version, name, code) in cases {
        let path = capture(version, name);
        for output in ["json", "events", "view", "raw"] {
            let done = replay_file(&["-o", output], &path);
            assert_eq!(done.code, Some(code), "{version}/{name} -o {output}: {}", done.stderr);
        }
    }
    assert_eq!(replay_file(&[], &demo()).code, Some(0));
}

#[test]
fn a_stream_that_ends_with_an_interrupt_is_reported_as_interrupted() {
    for version in ["2.1.325", "2.1.9"] {
        let whole = std::fs::read_to_string(capture(version, "interrupt")).unwrap();
        let is_result = |line: &&str| line.contains(r#""type":"result""#);
        let end = whole.lines().position(|line| is_result(&line)).unwrap();
        let lines: Vec<&str> = whole.lines().take(end + 1).collect();
        let done = replay_input(&[], &stream(&lines));
        assert_eq!(done.code, Some(130), "{version}: {}", done.stderr);
        let json = done.json();
        assert_eq!((&json["is_error"], &json["interrupted"]), (&false.into(), &true.into()));
    }
}

#[test]
fn an_empty_file_has_no_result() {
    let (_folder, path) = file_of(b"");
    let done = replay_file(&[], &path);
    assert_eq!(done.code, Some(5));
    assert_eq!(
        done.stderr,
        "weir: 0 lines: 0 unknown, 0 malformed, 0 oversize; 0 turns, 0 tool calls, cost unknown\n"
    );
    assert_eq!(replay_input(&[], b"\n\r\n  \n").code, Some(5));
    assert_eq!(replay_input(&[], b"no JSON at all\n").code, Some(5));
}

#[test]
fn rate_limits_have_a_code_of_their_own() {
    let refused = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"API Error"}"#;
    assert_eq!(replay_input(&[], &stream(&[INIT, refused])).code, Some(9));

    let failed = r#"{"type":"result","subtype":"success","is_error":true,"result":"limit reached"}"#;
    let rejected = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794740400,"rateLimitType":"five_hour"},"session_id":"s-1"}"#;
    let allowed = rejected.replace("rejected", "allowed_warning");
    assert_eq!(replay_input(&[], &stream(&[INIT, rejected, failed])).code, Some(9));
    assert_eq!(replay_input(&[], &stream(&[INIT, &allowed, failed])).code, Some(1));
    // A limit that did not stop the answer does not count.
    assert_eq!(replay_input(&[], &stream(&[INIT, rejected, SUCCESS])).code, Some(0));
}

#[test]
fn old_versions_report_a_rate_limit_only_as_text() {
    let refused = r#"{"type":"result","subtype":"success","is_error":true,"num_turns":1,"result":"API Error: 429 {\"type\":\"error\"}"}"#;
    assert_eq!(replay_input(&[], &stream(&[INIT, refused])).code, Some(9));
    assert_eq!(replay_input(&[], &stream(&[INIT, &refused.replace("429", "400")])).code, Some(1));
}

/// As written by 2.1.61 when a background agent ends before the result of the turn that started it.
#[test]
fn one_result_after_two_beginnings_is_found() {
    let init = INIT.replace("2.1.325", "2.1.61");
    let text = |id: &str, text: &str| SAYS_HELLO.replace("msg_1", id).replace("Hello", text);
    let notified = r#"{"type":"system","subtype":"task_notification","task_id":"t","tool_use_id":"toolu_1","status":"completed","summary":"done","session_id":"s-1"}"#;
    let (first, second) = (text("msg_1", "Started"), text("msg_2", "Hello"));
    let lines = stream(&[&init, &first, notified, &init, &second, SUCCESS]);
    for output in ["json", "events", "view", "raw"] {
        assert_eq!(replay_input(&["-o", output], &lines).code, Some(0), "-o {output}");
    }
    let summary = replay_input(&[], &lines).json();
    assert_eq!((&summary["final_text"], &summary["is_error"]), (&"Hello".into(), &false.into()));
}

#[test]
fn an_empty_result_falls_back_to_the_streamed_text_or_is_an_error() {
    let empty = SUCCESS.replace("\"result\":\"Hello\"", "\"result\":\"\"");
    let done = replay_input(&[], &stream(&[INIT, SAYS_HELLO, &empty]));
    assert_eq!(done.code, Some(0));
    let summary = done.json();
    assert_eq!((&summary["final_text"], &summary["degraded"]), (&"Hello".into(), &true.into()));
    let done = replay_input(&[], &stream(&[INIT, &empty]));
    assert_eq!(done.code, Some(1));
    assert_eq!(done.json()["is_error"], true);
}

#[test]
fn wrong_usage_is_reported_with_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.ndjson");
    let done = replay_file(&[], &missing);
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("cannot open") && done.stderr.contains("missing.ndjson"));
    let done = replay_file(&[], folder.path());
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("is a folder"), "{}", done.stderr);

    let hello = capture("2.1.325", "hello");
    for speed in ["0", "-1", "fast", "NaN", "inf", "", "1e-300", "1e300"] {
        let done = replay_file(&[&format!("--speed={speed}")], &hello);
        assert_eq!(done.code, Some(2), "--speed={speed}");
        assert!(done.stderr.contains("expected a number from 0.001 to 1000000"), "{}", done.stderr);
        assert!(done.stdout.is_empty());
    }
    for args in [["-o", "yaml"], ["--format", "modern"], ["--line-limit", "many"], ["--line-limit", "-5"]] {
        let done = replay_file(&args, &hello);
        assert_eq!(done.code, Some(2), "{args:?}");
        assert!(done.stdout.is_empty());
        assert!(!done.stderr.is_empty());
    }
    assert_eq!(replay(&["one.ndjson", "two.ndjson"]).code, Some(2));
}
