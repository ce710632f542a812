//! Views with the changes that lead to them, for the tests of the page, which has its own code to apply
//! changes. With `WEIR_WRITE_PAGE_FILES=1` the files are written, otherwise they are compared.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use weir_transcript::{FoldOptions, HostEvent, RequestAnswer};

use crate::support::{TestSession, captures, fold_bytes};

/// Recorded streams that show every kind of change.
const RECORDED: [&str; 14] = [
    "api-error-401-then-ok",
    "ask-user-question",
    "background-bash",
    "compaction",
    "hooks",
    "interrupt",
    "nested-subagents-partial",
    "partial-tool",
    "plan-mode-allow",
    "subagent-background",
    "subagents-parallel",
    "task-tools",
    "thinking-partial",
    "write-overwrite-edit",
];

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web")
}

fn compare_or_write(path: &Path, text: &str) {
    if std::env::var_os("WEIR_WRITE_PAGE_FILES").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let existing = fs::read_to_string(path).unwrap_or_default();
    assert!(
        existing == text,
        "{} is out of date: run the test again with WEIR_WRITE_PAGE_FILES=1",
        path.display()
    );
}

#[test]
fn the_page_folds_recordings_to_the_same_view() {
    for (version, name, path) in captures() {
        if version != "2.1.325" || !RECORDED.contains(&name.as_str()) {
            continue;
        }
        let (view, changes) = fold_bytes(&fs::read(path).unwrap(), usize::MAX);
        let fixture = format!("{}\n", json!({ "changes": changes, "view": view }));
        compare_or_write(&page().join(format!("tests/fixtures/{name}.json")), &fixture);
    }
}

#[test]
fn the_page_drops_what_a_bounded_view_drops() {
    let options = FoldOptions { keep_entries: Some(8), ..FoldOptions::default() };
    let mut talk = TestSession::with_options(options);
    talk.init();
    for round in 0..12 {
        talk.sends(&format!("m{round}"), "Go on");
        talk.calls(None, &format!("agent{round}"), "Task", &json!({"description": "look", "prompt": "look"}));
        talk.calls(
            Some(&format!("agent{round}")),
            &format!("read{round}"),
            "Read",
            &json!({"file_path": "/a"}),
        );
        talk.returns(Some(&format!("agent{round}")), &format!("read{round}"), "1 text");
        talk.returns(None, &format!("agent{round}"), "done");
        talk.says(&format!("msg{round}"), "Done.");
        talk.result("Done.");
    }
    assert!(talk.view().dropped_entries > 0, "nothing was dropped");
    let fixture = format!("{}\n", json!({ "changes": talk.changes, "view": talk.view() }));
    compare_or_write(&page().join("tests/fixtures/bounded.json"), &fixture);
}

#[test]
fn the_page_applies_changes_that_no_recording_has() {
    let mut talk = TestSession::new();
    talk.init().sends("m1", "Go on");
    let piece = |event: serde_json::Value| json!({"type": "stream_event", "event": event});
    talk.json(&piece(json!({"type": "message_start", "message": {"id": "msg1"}})));
    talk.json(&piece(
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    ));
    talk.json(&piece(
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Wrong"}}),
    ));
    talk.says("msg1", "Right.");
    talk.calls(None, "bash1", "Bash", &json!({"command": "ls"}));
    talk.json(&json!({"type": "control_request", "request_id": "r1", "request": {
        "subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "bash1"}}));
    talk.host(&HostEvent::RequestAnswered {
        request: "r1".into(),
        answer: RequestAnswer::Allow { answers: None },
        by: Some("someone".into()),
    });
    talk.returns(None, "bash1", "a b");
    talk.calls(None, "bash2", "Bash", &json!({"command": "ls -l"}));
    talk.json(&json!({"type": "control_request", "request_id": "r2", "request": {
        "subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls -l"}, "tool_use_id": "bash2"}}));
    talk.json(&json!({"type": "control_cancel_request", "request_id": "r2"}));
    talk.line("not JSON").json(&json!({"type": "unheard_of"}));
    talk.json(&json!({"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 2_000_000_000}}));
    talk.exits(Some(3), None, "out of luck");
    let fixture = format!("{}\n", json!({ "changes": talk.changes, "view": talk.view() }));
    compare_or_write(&page().join("tests/fixtures/steps.json"), &fixture);
}
