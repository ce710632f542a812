//! A bounded view stays bounded and correct.

use serde_json::json;
use weir_transcript::{Change, EntryBody, FoldOptions, HostEvent, MessageState, ToolState};

use crate::support::TestSession;

fn bounded(keep: usize) -> TestSession {
    TestSession::with_options(FoldOptions { keep_entries: Some(keep), ..FoldOptions::default() })
}

#[test]
fn one_endless_turn_takes_constant_memory() {
    let mut talk = bounded(20);
    talk.init();
    for number in 0..2000 {
        let tool = format!("t{number}");
        talk.calls(None, &tool, "Write", &json!({"file_path": "/a", "content": "x"}))
            .returns(None, &tool, "ok");
        talk.calls(None, &format!("a{number}"), "Task", &json!({"prompt": "go"})).returns(
            None,
            &format!("a{number}"),
            "done",
        );
        talk.line("not JSON");
        let view = talk.fold.view();
        assert!(view.entries.len() <= 50 && view.files.len() <= 50 && view.agents.len() <= 50, "{number}");
    }
    let view = talk.view();
    assert_eq!(view.dropped_entries + view.entries.len() as u64, 6000);
    assert_eq!(view.turns.len(), 1);
    assert_eq!(view.oddities.not_json, 2000);
}

#[test]
fn many_turns_leave_only_the_last_ones() {
    let mut talk = bounded(10);
    for number in 0..200 {
        talk.sends(&format!("m{number}"), "hello").init().says(&format!("a{number}"), "hi").result("hi");
    }
    assert!(talk.view().turns.len() < 30);
    assert_eq!(talk.view().turns.last().unwrap().id.0, 200);
}

#[test]
fn a_result_whose_call_was_dropped_is_still_reported() {
    let mut talk = bounded(4);
    talk.init().calls(None, "old", "Bash", &json!({"command": "ls"}));
    for number in 0..100 {
        talk.says(&format!("m{number}"), "text");
    }
    talk.returns(None, "old", "at last");
    let tool = talk.tool("old");
    assert_eq!((tool.name.as_str(), tool.title.as_str(), tool.state), ("Bash", "ls", ToolState::Succeeded));
    talk.result("done");
}

#[test]
fn turns_without_entries_are_bounded_too() {
    let mut talk = bounded(4);
    for _ in 0..500 {
        talk.init().result("x");
    }
    assert!(talk.view().turns.len() < 30, "{}", talk.view().turns.len());
    assert_eq!(talk.view().turns.last().unwrap().id.0, 500);
}

#[test]
fn every_kept_entry_has_its_turn() {
    let mut talk = bounded(5);
    for number in 0..100 {
        talk.sends(&format!("m{number}"), "hello").init().says(&format!("a{number}"), "hi").result("hi");
        talk.line("not JSON");
        let view = talk.fold.view();
        let has_turn = |entry: &std::sync::Arc<weir_transcript::Entry>| {
            entry.turn.is_none_or(|id| view.turn(id).is_some())
        };
        assert!(view.entries.iter().all(has_turn), "{number}");
    }
}

#[test]
fn agents_that_still_run_are_kept() {
    let mut talk = bounded(4);
    talk.init()
        .calls(None, "a", "Task", &json!({"prompt": "go", "run_in_background": true}))
        .returns(None, "a", "launched");
    for number in 0..100 {
        talk.says(&format!("m{number}"), "text");
    }
    assert_eq!(talk.view().agents.len(), 1);
    talk.line(r#"{"type":"system","subtype":"task_notification","task_id":"x","tool_use_id":"a","status":"completed","summary":"ok"}"#);
    assert_eq!(talk.view().agents[0].summary.as_deref(), Some("ok"));
}

#[test]
fn requests_agents_and_streams_without_an_end_are_bounded() {
    let mut talk = bounded(4);
    talk.init();
    for number in 0..1000 {
        talk.json(&json!({"type": "control_request", "request_id": format!("r{number}"), "request": {"subtype": "can_use_tool", "tool_name": "Bash", "input": {}}}));
        talk.calls(None, &format!("a{number}"), "Task", &json!({"prompt": "go"}));
        let event = json!({"type": "message_start", "message": {"id": "m", "content": []}});
        talk.json(
            &json!({"type": "stream_event", "event": event, "parent_tool_use_id": format!("p{number}")}),
        );
    }
    let view = talk.view();
    assert!(
        view.requests.len() <= 130 && view.agents.len() <= 130,
        "{} {}",
        view.requests.len(),
        view.agents.len()
    );
    assert_eq!(view.status, weir_transcript::Status::WaitingForPerson);
}

#[test]
fn turns_that_never_get_a_result_are_bounded() {
    let mut talk = bounded(4);
    for number in 0..500 {
        talk.init().says(&format!("m{number}"), "hi");
    }
    assert!(talk.view().turns.len() < 100, "{}", talk.view().turns.len());
}

#[test]
fn an_agent_that_runs_forever_does_not_keep_all_turns() {
    let mut talk = bounded(4);
    talk.init()
        .calls(None, "a", "Task", &json!({"prompt": "go", "run_in_background": true}))
        .returns(None, "a", "launched");
    talk.result("started");
    for number in 0..300 {
        talk.calls(Some("a"), &format!("t{number}"), "Bash", &json!({})).returns(
            Some("a"),
            &format!("t{number}"),
            "ok",
        );
        talk.init().says(&format!("m{number}"), "hi").result("hi");
    }
    assert!(talk.view().turns.len() < 40, "{}", talk.view().turns.len());
    assert_eq!(talk.view().agents.len(), 1);
    let view = talk.view();
    assert!(view.entries.iter().all(|entry| entry.turn.is_none_or(|id| view.turn(id).is_some())));
}

#[test]
fn a_bounded_view_is_bounded_in_bytes_too() {
    let mut talk = bounded(256);
    talk.init();
    let content = "x".repeat(2 << 20);
    for number in 0..60 {
        let tool = format!("t{number}");
        let input = json!({"file_path": "/a", "content": content});
        talk.fold.line_changes(&weir_wire::Decoder::new().decode(
            json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": tool, "name": "Write", "input": input}]}})
                .to_string()
                .as_bytes(),
        ));
    }
    let held: usize = talk.fold.view().tools().map(|(_, tool)| tool.input.as_raw().bytes().len()).sum();
    assert!(held < 70 << 20, "{held}");
}

#[test]
fn pieces_without_a_start_and_unknown_pieces_are_bounded() {
    let mut talk = bounded(4);
    for number in 0..500 {
        let delta = json!({"type": "text_delta", "text": "x"});
        talk.json(&json!({"type": "stream_event", "event": {"type": "content_block_delta", "index": number, "delta": delta}}));
        talk.json(&json!({"type": "stream_event", "event": {"type": "hologram"}}));
        talk.json(&json!({"type": "stream_event", "event": {"type": "error", "error": {}}}));
    }
    assert!(talk.view().entries.len() < 40, "{}", talk.view().entries.len());
}

#[test]
fn echoes_without_an_end_are_bounded() {
    let mut talk = bounded(4);
    for number in 0..3000 {
        talk.json(&json!({"type": "user", "isReplay": true, "uuid": format!("u{number}"), "message": {"content": "x"}}));
    }
    talk.init();
    assert!(talk.view().turns[0].messages.len() <= 1000);
}

/// The last reported delivery of a message.
fn last_delivery(talk: &TestSession, id: &str) -> Option<MessageState> {
    talk.changes.iter().rev().find_map(|change| match change {
        Change::EntryAdded(entry) | Change::EntryReplaced(entry) => match &entry.body {
            EntryBody::User(user) if user.message.as_ref()?.as_str() == id => Some(user.delivery),
            _ => None,
        },
        _ => None,
    })
}

/// A message whose turn has more entries than the view keeps.
fn dropped_message() -> TestSession {
    let mut talk = bounded(4);
    talk.sends("m", "work").init();
    for number in 0..100 {
        talk.says(&format!("a{number}"), "text");
    }
    assert!(talk.view().entries.iter().all(|entry| !matches!(entry.body, EntryBody::User(_))));
    talk
}

#[test]
fn a_message_whose_entry_was_dropped_is_still_answered() {
    let mut talk = dropped_message();
    assert_eq!(last_delivery(&talk, "m"), Some(MessageState::Started));
    talk.result("done");
    assert_eq!(last_delivery(&talk, "m"), Some(MessageState::Answered));
    // And only once.
    let changes = talk.changes.len();
    talk.host(&HostEvent::MessageCancelled { message: "m".into() });
    assert_eq!(talk.changes.len(), changes);
    talk.view();
}

#[test]
fn a_message_whose_entry_was_dropped_is_still_lost_with_its_process() {
    let mut talk = dropped_message();
    talk.exits(None, Some(9), "");
    assert_eq!(last_delivery(&talk, "m"), Some(MessageState::Indeterminate));
    talk.view();
}

#[test]
fn a_message_whose_entry_was_dropped_can_wait_again() {
    let mut talk = dropped_message();
    talk.host(&HostEvent::MessageQueued {
        message: "m".into(),
        text: "work".into(),
        images: 0,
        documents: 0,
    });
    assert_eq!(last_delivery(&talk, "m"), Some(MessageState::Queued));
    talk.host(&HostEvent::MessageCancelled { message: "m".into() });
    assert_eq!(last_delivery(&talk, "m"), Some(MessageState::Cancelled));
    talk.view();
}
