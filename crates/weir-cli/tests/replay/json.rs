//! `-o json`: one object for scripts.

use serde_json::{Value, json};

use crate::support::{INIT, SAYS_HELLO, SUCCESS, capture, captures, replay_file, replay_input, stream};

const KEYS: [&str; 21] = [
    "session_id",
    "model",
    "version",
    "final_text",
    "stream_text",
    "degraded",
    "is_error",
    "interrupted",
    "subtype",
    "usage",
    "model_usage",
    "cost_usd",
    "total_cost_usd",
    "num_turns",
    "duration_ms",
    "permission_denials",
    "session_forked",
    "unknown_lines",
    "malformed_lines",
    "raw_log",
    "stderr_log",
];

#[test]
fn the_keys_are_always_the_same() {
    let mut expected = KEYS;
    expected.sort_unstable();
    for path in captures() {
        let done = replay_file(&["-o", "json"], &path);
        let json = done.json();
        let mut keys: Vec<&String> = json.as_object().unwrap().keys().collect();
        keys.sort_unstable();
        assert_eq!(keys, expected, "{}", path.display());
        assert_eq!(json["raw_log"], path.display().to_string());
        // The keys are in the documented order.
        let text = String::from_utf8(done.stdout).unwrap();
        let places = KEYS.map(|key| text.find(&format!("\n  \"{key}\":")).unwrap());
        assert!(places.is_sorted(), "{text}");
    }
}

#[test]
fn json_is_the_default() {
    let path = capture("2.1.325", "hello");
    assert_eq!(replay_file(&[], &path).stdout, replay_file(&["-o", "json"], &path).stdout);
}

/// Without the path of the file, which depends on the machine.
fn summary(version: &str, name: &str) -> Value {
    let mut json = replay_file(&["-o", "json"], &capture(version, name)).json();
    if let Some(path) = json.get_mut("raw_log") {
        *path = Value::Null;
    }
    weir_wire::sorted(&json)
}

#[test]
fn a_plain_answer() {
    insta::assert_json_snapshot!(summary("2.1.325", "hello"), @r#"
    {
      "cost_usd": 0.0014,
      "degraded": false,
      "duration_ms": 341,
      "final_text": "Hello! How can I help?",
      "interrupted": false,
      "is_error": false,
      "malformed_lines": 0,
      "model": "claude-opus-5-5",
      "model_usage": {
        "claude-opus-5-5": {
          "cache_creation_tokens": 0,
          "cache_read_tokens": 0,
          "input_tokens": 100,
          "model": "claude-opus-5-5",
          "output_tokens": 50,
          "usd": 0.0014
        }
      },
      "num_turns": 1,
      "permission_denials": [],
      "raw_log": null,
      "session_forked": false,
      "session_id": "c4861a3b-7da4-474b-9233-0b04c1f0099f",
      "stderr_log": null,
      "stream_text": "Hello! How can I help?",
      "subtype": "success",
      "total_cost_usd": 0.0014,
      "unknown_lines": 0,
      "usage": {
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "input_tokens": 100,
        "output_tokens": 50
      },
      "version": "2.1.325"
    }
    "#);
}

#[test]
fn a_tool_that_was_not_allowed() {
    insta::assert_json_snapshot!(summary("2.1.9", "permission-denied-no-host"), @r#"
    {
      "cost_usd": 0.0021,
      "degraded": false,
      "duration_ms": 967,
      "final_text": "I could not write.",
      "interrupted": false,
      "is_error": false,
      "malformed_lines": 0,
      "model": "claude-sonnet-4-5-20250929",
      "model_usage": {
        "claude-sonnet-4-5-20250929": {
          "cache_creation_tokens": 0,
          "cache_read_tokens": 0,
          "input_tokens": 200,
          "model": "claude-sonnet-4-5-20250929",
          "output_tokens": 100,
          "usd": 0.0021
        }
      },
      "num_turns": 2,
      "permission_denials": [
        {
          "tool_input": {
            "content": "x",
            "file_path": "/workspace/demo/x.txt"
          },
          "tool_name": "Write",
          "tool_use_id": "toolu_000210"
        }
      ],
      "raw_log": null,
      "session_forked": false,
      "session_id": "fbaaea4b-d447-48b3-81f2-da5aa8e200ac",
      "stderr_log": null,
      "stream_text": "I could not write.",
      "subtype": "success",
      "total_cost_usd": 0.0021000000000000003,
      "unknown_lines": 0,
      "usage": {
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "input_tokens": 200,
        "output_tokens": 100
      },
      "version": "2.1.9"
    }
    "#);
}

#[test]
fn without_a_result_the_answer_is_the_streamed_text() {
    let done = replay_input(&[], &stream(&[INIT, SAYS_HELLO]));
    assert_eq!(done.code, Some(5));
    let json = done.json();
    assert_eq!(json["final_text"], "Hello");
    assert_eq!(json["stream_text"], "Hello");
    assert_eq!(json["degraded"], true);
    assert_eq!(json["is_error"], true);
    assert_eq!(json["subtype"], Value::Null);
    assert_eq!(json["cost_usd"], Value::Null);

    let json = replay_input(&[], &stream(&[INIT])).json();
    assert_eq!(json["final_text"], Value::Null);
    assert_eq!(json["degraded"], false);
    assert_eq!(json["is_error"], true);
}

#[test]
fn a_result_makes_the_answer_complete() {
    let done = replay_input(&[], &stream(&[INIT, SAYS_HELLO, SUCCESS]));
    assert_eq!(done.code, Some(0));
    let json = done.json();
    assert_eq!(json["degraded"], false);
    assert_eq!(json["cost_usd"], json!(0.5));
    assert_eq!(json["session_id"], "s-1");
    assert!(json["raw_log"].is_null(), "a pipe has no log");
}

#[test]
fn an_oversize_line_is_counted_and_the_next_one_is_read() {
    let long = format!(r#"{{"type":"assistant","filler":"{}"}}"#, "x".repeat(5000));
    let done = replay_input(&["--line-limit", "1000"], &stream(&[INIT, &long, SAYS_HELLO, SUCCESS]));
    assert_eq!(done.code, Some(0));
    assert_eq!(done.json()["malformed_lines"], 1);
    assert_eq!(done.json()["final_text"], "Hello");
    assert_eq!(
        done.stderr,
        "weir: 4 lines: 0 unknown, 0 malformed, 1 oversize; 1 turn, 0 tool calls, $0.50\n"
    );
}

#[test]
fn odd_lines_are_counted() {
    let lines = [
        INIT,
        r#"{"type":"next_year"}"#,
        "Debugger attached.",
        SAYS_HELLO,
        r#"{"type":"result","subtype":"success","is_error":false,"num_turns":"one","result":"Hello"}"#,
    ];
    let json = replay_input(&[], &stream(&lines)).json();
    assert_eq!(json["unknown_lines"], 1);
    assert_eq!(json["malformed_lines"], 2);
    assert_eq!(json["final_text"], "Hello");
}
