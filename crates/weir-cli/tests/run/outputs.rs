//! What is printed to which output.

use serde_json::Value;

use crate::common::{Place, Running, SAYS_HELLO, TOUCHES, script};

#[test]
fn text_goes_to_stdout_and_progress_to_stderr_without_escape_codes() {
    let place = Place::new();
    let prompt = script(
        r#"{"text":"I look.","tool":"Bash","input":{"command":"echo hi"}},{"text":"It says **hi**.\n"}"#,
    );
    let done = place.weir(&["run", "--allowed-tools", "Bash", &prompt]).expect(0);
    assert_eq!(done.text(), "I look.\n\nIt says **hi**.\n");
    assert!(done.stderr.starts_with("✓ Bash echo hi"), "{done:?}");
    assert!(
        done.stderr.contains("weir: 1 tool call, $0.00") && done.stderr.contains(", session "),
        "{done:?}"
    );
    assert!(!done.stderr.contains('\u{1b}'), "{done:?}");
}

#[test]
fn quiet_prints_the_answer_alone() {
    let place = Place::new();
    let done = place.weir(&["run", "-q", SAYS_HELLO]).expect(0);
    assert_eq!((done.text(), done.stderr.as_str()), ("Hello there\n", ""));
}

#[test]
fn errors_are_printed_even_if_quiet() {
    let place = Place::new();
    let done = place.weir(&["run", "-q", TOUCHES]).expect(6);
    assert!(done.stderr.contains("not allowed: Bash touch made"), "{done:?}");
}

#[test]
fn the_prompt_comes_from_stdin() {
    let place = Place::new();
    for args in [&["run", "-q"][..], &["run", "-q", "-"]] {
        assert_eq!(place.weir_input(args, SAYS_HELLO).expect(0).text(), "Hello there\n");
    }
    let mut command = place.command(&["run"]);
    let file = place.path("latin");
    std::fs::write(&file, b"\xff\xfe").unwrap();
    command.stdin(std::fs::File::open(file).unwrap());
    assert!(Running::start(command).finish().expect(2).stderr.contains("not UTF-8"));
}

#[test]
fn text_is_streamed() {
    let place = Place::new();
    let running = Running::start(place.command(&["run", &script(r#"{"text":"one two","wdelay":0.5}"#)]));
    running.wait_for("one");
    assert!(!String::from_utf8_lossy(&running.stdout.so_far()).contains("two"));
    assert_eq!(running.finish().expect(0).text(), "one two\n");
}

/// The keys of the contract.
const KEYS: [&str; 22] = [
    "session_id",
    "model",
    "version",
    "final_text",
    "stream_text",
    "degraded",
    "is_error",
    "interrupted",
    "warning",
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

fn object(place: &Place, code: i32, args: &[&str]) -> Value {
    let args = [&["run", "-o", "json"], args].concat();
    let value = place.weir(&args).expect(code).json();
    for key in KEYS {
        assert!(value.get(key).is_some(), "{key} is not in {value:#}");
    }
    value
}

#[test]
fn json_is_one_object_with_everything() {
    let place = Place::new();
    let logs = place.path("logs");
    let object = object(&place, 0, &["--log-dir", logs.to_str().unwrap(), SAYS_HELLO]);
    assert_eq!(object["final_text"], "Hello there");
    assert_eq!(object["is_error"], false);
    assert_eq!(object["error"], Value::Null);
    assert_eq!(object["subtype"], "success");
    assert!(object["cost_usd"].as_f64().unwrap() > 0.0);
    let log = std::fs::read_to_string(object["raw_log"].as_str().unwrap()).unwrap();
    assert!(log.contains("Hello there") && log.ends_with("}\n"), "{log}");
    assert!(std::fs::exists(object["stderr_log"].as_str().unwrap()).unwrap());
}

#[test]
fn json_is_printed_on_every_failure_with_what_is_known() {
    let place = Place::new();
    let not_started = object(&place, 3, &["--claude", "/nowhere/claude", "x"]);
    assert_eq!((&not_started["is_error"], &not_started["session_id"]), (&Value::Bool(true), &Value::Null));
    assert!(not_started["error"].as_str().unwrap().contains("npm install"));

    let died = object(&place, 4, &[&script(r#"{"text":"one two","misbehave":{"crash":"mid"}}"#)]);
    assert_eq!((&died["is_error"], &died["degraded"]), (&Value::Bool(true), &Value::Bool(true)));
    assert!(died["final_text"].as_str().unwrap().starts_with("one"), "{died:#}");
    assert!(died["session_id"].is_string());

    let failed = object(&place, 1, &[&script(r#"{"status":400,"msg":"nonsense"}"#)]);
    assert_eq!(failed["is_error"], true);
    assert!(failed["error"].as_str().unwrap().contains("nonsense"), "{failed:#}");

    let timed_out = object(&place, 7, &["--timeout", "300ms", crate::common::IS_SLOW]);
    assert_eq!(timed_out["is_error"], true);
    assert!(timed_out["session_id"].is_string() && timed_out["error"].is_string(), "{timed_out:#}");

    let denied = object(&place, 6, &[TOUCHES]);
    assert_eq!(denied["permission_denials"][0]["tool_name"], "Bash");
}

#[test]
fn events_in_both_vocabularies() {
    let place = Place::new();
    let prompt = script(r#"{"tool":"Bash","input":{"command":"echo hi"}},{"text":"Done"}"#);
    let run = |format| {
        place.weir(&["run", "-q", "-o", "events", "--format", format, "--allowed-tools", "Bash", &prompt])
    };
    let agent = run("agent").expect(0).json_lines();
    let names: Vec<&str> = agent.iter().filter_map(|event| event["type"].as_str()).collect();
    for name in
        ["agent-message-start", "agent-tool-start", "agent-tool-end", "agent-text-delta", "agent-message-end"]
    {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    assert_eq!((names.first(), names.last()), (Some(&"agent-process-start"), Some(&"agent-process-end")));
    assert_eq!(agent.last().unwrap()["code"], 0, "{agent:?}");
    let classic = run("classic").expect(0).text().to_owned();
    for name in ["system", "tool_use", "tool_result", "text", "result", "done"] {
        assert!(classic.contains(&format!("\"{name}\"")), "{name} is not in {classic}");
    }
}

#[test]
fn raw_is_what_the_cli_wrote() {
    let odd =
        r#"["broken_json","sandbox_debug","blank_lines","unknown_type","reordered_keys","changed_type"]"#;
    for (more, code) in [("[]", 0), (r#""crlf""#, 0), (r#""truncated_result""#, 5)] {
        let place = Place::new();
        let logs = place.path("logs");
        let prompt = script(&format!(r#"{{"text":"Grüße 😀","misbehave":[{odd},{more}]}}"#));
        let args = ["run", "-q", "-o", "raw", "--log-dir", logs.to_str().unwrap(), &prompt];
        let done = place.weir(&args).expect(code);
        let log = std::fs::read_dir(logs).unwrap().map(|file| file.unwrap().path());
        let is_output = |path: &std::path::PathBuf| {
            let name = path.to_string_lossy();
            name.ends_with(".ndjson") && !name.ends_with(".in.ndjson")
        };
        let log = std::fs::read(log.into_iter().find(is_output).unwrap()).unwrap();
        assert_eq!(String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&log));
    }
}

#[test]
fn in_a_shared_file_a_tool_has_its_own_line() {
    let place = Place::new();
    // A sub-agent runs its tool while the main agent speaks.
    let agent = r#"{\"tool\":\"Bash\",\"input\":{\"command\":\"echo x\"}},{\"text\":\"done\"}"#;
    let script = format!(
        r#"@@[{{"tool":"Task","input":{{"description":"d","subagent_type":"general-purpose","run_in_background":true,"prompt":"go @@[{agent}]"}}}},{{"text":"one two three four five six seven eight nine ten","wdelay":0.1}}]"#
    );
    let file = std::fs::File::create(place.path("both")).unwrap();
    let mut command = place.command(&["run", "--allowed-tools", "Bash,Task", &script]);
    command.stdout(file.try_clone().unwrap()).stderr(file);
    let status = command.status().unwrap();
    let both = std::fs::read_to_string(place.path("both")).unwrap();
    assert!(status.success(), "{both}");
    for mark in ["✓", "✗", "!"] {
        let own_line = |(at, _): (usize, &str)| at == 0 || both[..at].ends_with('\n');
        assert!(both.match_indices(&format!("{mark} ")).all(own_line), "{both}");
    }
    assert!(both.contains("✓ "), "{both}");
    let words: Vec<&str> = both.split_whitespace().collect();
    assert!(
        words.iter().position(|word| *word == "one") < words.iter().position(|word| *word == "ten"),
        "{both}"
    );
}
