//! Messages in pieces and complete: shown once, in order.

use serde_json::json;
use weir_transcript::{BlockState, EntryBody, EntryId, HostEvent};

use crate::support::TestSession;

impl TestSession {
    fn starts(&mut self, agent: Option<&str>, message: &str) -> &mut Self {
        self.event(agent, &json!({"type": "message_start", "message": {"id": message, "content": []}}))
    }

    fn event(&mut self, agent: Option<&str>, event: &serde_json::Value) -> &mut Self {
        self.json(&json!({"type": "stream_event", "event": event, "parent_tool_use_id": agent, "uuid": "u"}))
    }

    fn opens(&mut self, agent: Option<&str>, index: u64, block: &serde_json::Value) -> &mut Self {
        self.event(agent, &json!({"type": "content_block_start", "index": index, "content_block": block}))
    }

    fn adds(&mut self, agent: Option<&str>, index: u64, text: &str) -> &mut Self {
        let delta = json!({"type": "text_delta", "text": text});
        self.event(agent, &json!({"type": "content_block_delta", "index": index, "delta": delta}))
    }

    fn closes(&mut self, agent: Option<&str>, index: u64) -> &mut Self {
        self.event(agent, &json!({"type": "content_block_stop", "index": index}))
    }
}

fn text_block() -> serde_json::Value {
    json!({"type": "text", "text": ""})
}

fn states(session: &TestSession) -> Vec<BlockState> {
    let states = session.view().entries.iter().filter_map(|entry| match &entry.body {
        EntryBody::Text(text) => Some(text.state),
        EntryBody::Thinking(thinking) => Some(thinking.state),
        _ => None,
    });
    states.collect()
}

#[test]
fn text_both_as_deltas_and_whole_is_shown_once() {
    let mut talk = TestSession::new();
    talk.init().starts(None, "m1").opens(None, 0, &text_block()).adds(None, 0, "Hel").adds(None, 0, "lo");
    assert_eq!(talk.texts(None), ["Hello"]);
    talk.says("m1", "Hello").closes(None, 0);
    assert_eq!(talk.texts(None), ["Hello"]);
    assert_eq!(states(&talk), [BlockState::Complete]);
}

#[test]
fn the_complete_line_may_come_after_the_stop() {
    let mut talk = TestSession::new();
    talk.init()
        .starts(None, "m1")
        .opens(None, 0, &text_block())
        .adds(None, 0, "Hello")
        .closes(None, 0)
        .says("m1", "Hello");
    assert_eq!(talk.texts(None), ["Hello"]);
}

#[test]
fn two_text_blocks_of_one_message_are_two_texts() {
    let mut talk = TestSession::new();
    talk.init()
        .starts(None, "m1")
        .opens(None, 0, &text_block())
        .adds(None, 0, "one")
        .says("m1", "one")
        .closes(None, 0);
    talk.opens(None, 1, &text_block()).adds(None, 1, "two").says("m1", "two").closes(None, 1);
    assert_eq!(talk.texts(None), ["one", "two"]);
}

#[test]
fn the_complete_text_is_authoritative() {
    let mut talk = TestSession::new();
    talk.init()
        .starts(None, "m1")
        .opens(None, 0, &text_block())
        .adds(None, 0, "Hel")
        .says("m1", "Hello there");
    assert_eq!(talk.texts(None), ["Hello there"], "pieces were missing");
    talk.starts(None, "m2").opens(None, 0, &text_block()).adds(None, 0, "Hxl").says("m2", "Hello");
    assert_eq!(talk.texts(None), ["Hello there", "Hello"], "pieces were wrong");
}

#[test]
fn a_complete_line_of_another_message_is_another_text() {
    let mut talk = TestSession::new();
    talk.init().starts(None, "m1").opens(None, 0, &text_block()).adds(None, 0, "one").says("m2", "two");
    assert_eq!(talk.texts(None), ["one", "two"]);
}

#[test]
fn an_aborted_stream_is_reported_as_cut_off() {
    let mut talk = TestSession::new();
    talk.init().starts(None, "m1").opens(None, 0, &text_block()).adds(None, 0, "Hel");
    talk.exits(None, Some(9), "");
    assert_eq!(talk.texts(None), ["Hel"]);
    assert_eq!(states(&talk), [BlockState::Aborted]);
}

#[test]
fn a_message_that_is_started_over_leaves_the_first_attempt_cut_off() {
    let mut talk = TestSession::new();
    talk.init().starts(None, "m1").opens(None, 0, &text_block()).adds(None, 0, "Hel");
    talk.starts(None, "m2").opens(None, 0, &text_block()).adds(None, 0, "Hello").says("m2", "Hello");
    assert_eq!(talk.texts(None), ["Hel", "Hello"]);
    assert_eq!(states(&talk), [BlockState::Aborted, BlockState::Complete]);
}

#[test]
fn two_agents_that_write_at_once_do_not_mix() {
    let mut talk = TestSession::new();
    talk.init().starts(None, "m1").opens(None, 0, &text_block());
    talk.starts(Some("t1"), "m2").opens(Some("t1"), 0, &text_block());
    talk.adds(None, 0, "main ").adds(Some("t1"), 0, "sub ").adds(None, 0, "continues").adds(
        Some("t1"),
        0,
        "too",
    );
    assert_eq!(talk.texts(None), ["main continues"]);
    assert_eq!(talk.texts(Some("t1")), ["sub too"]);
}

#[test]
fn a_recording_may_begin_in_the_middle_of_a_message() {
    let mut talk = TestSession::new();
    talk.adds(None, 3, "the ").adds(None, 3, "rest").says("m1", "this is the rest");
    assert_eq!(talk.texts(None), ["this is the rest"]);
    assert_eq!(states(&talk), [BlockState::Complete]);
}

#[test]
fn an_incomplete_empty_block_does_not_take_the_text_of_another() {
    let mut talk = TestSession::new();
    talk.init().starts(None, "m1").opens(None, 0, &text_block()).closes(None, 0);
    talk.opens(None, 1, &text_block()).adds(None, 1, "Hello").says("m1", "Hello").closes(None, 1);
    assert_eq!(talk.texts(None), ["", "Hello"]);
}

#[test]
fn a_complete_line_after_the_stop_brings_its_code_and_its_error() {
    let mut talk = TestSession::new();
    talk.init().starts(None, "m1").opens(None, 0, &text_block()).adds(None, 0, "a").closes(None, 0);
    let block = json!({"type": "text", "text": "a\n```rs\nx\n```\n"});
    talk.json(&json!({"type": "assistant", "message": {"id": "m1", "content": [block]}, "error": "overloaded", "aborted": true}));
    let EntryBody::Text(text) = &talk.view().entries[0].body else { panic!() };
    assert_eq!((text.code.len(), text.state), (1, BlockState::Aborted));
    assert_eq!(text.error.as_ref().unwrap().error.as_deref(), Some("overloaded"));
}

#[test]
fn thinking_that_the_complete_line_leaves_out_stays() {
    let mut talk = TestSession::new();
    talk.init().starts(None, "m1").opens(None, 0, &json!({"type": "thinking", "thinking": ""}));
    let delta = json!({"type": "thinking_delta", "thinking": "deep"});
    talk.event(None, &json!({"type": "content_block_delta", "index": 0, "delta": delta}));
    talk.line(r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"thinking","thinking":"","signature":"s"}]}}"#);
    assert!(matches!(&talk.view().entries[0].body, EntryBody::Thinking(thinking) if thinking.text == "deep"));
}

#[test]
fn an_agent_in_the_background_continues_to_write_after_the_result() {
    let mut talk = TestSession::new();
    talk.init()
        .calls(None, "a", "Task", &json!({"prompt": "go", "run_in_background": true}))
        .returns(None, "a", "launched");
    talk.starts(Some("a"), "m1")
        .opens(Some("a"), 0, &text_block())
        .adds(Some("a"), 0, "one ")
        .result("continues");
    talk.adds(Some("a"), 0, "two");
    let block = json!({"type": "text", "text": "one two"});
    talk.json(
        &json!({"type": "assistant", "message": {"id": "m1", "content": [block]}, "parent_tool_use_id": "a"}),
    );
    assert_eq!(talk.texts(Some("a")), ["one two"]);
}

#[test]
fn a_tool_call_grows_while_it_streams() {
    let mut talk = TestSession::new();
    let block = json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {}});
    talk.init().starts(None, "m1").opens(None, 0, &block);
    for piece in ["{\"comm", "and\":\"ls\"}"] {
        let delta = json!({"type": "input_json_delta", "partial_json": piece});
        talk.event(None, &json!({"type": "content_block_delta", "index": 0, "delta": delta}));
    }
    assert_eq!(talk.tool("t1").input_text, "{\"command\":\"ls\"}");
    talk.calls(None, "t1", "Bash", &json!({"command": "ls"})).closes(None, 0);
    assert_eq!(talk.tool("t1").input_text, "");
    assert_eq!(talk.tool("t1").title, "ls");
    assert_eq!(talk.view().tools().count(), 1);
}

#[test]
fn thinking_and_code_are_distinguished_from_text() {
    let mut talk = TestSession::new();
    talk.init().line(r#"{"type":"assistant","message":{"id":"m","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"d"}]}}"#);
    talk.says("m", "Try:\n```sh\nls\n```\n");
    let view = talk.view();
    assert!(matches!(&view.entries[0].body, EntryBody::Thinking(t) if t.text == "hm" && !t.redacted));
    assert!(matches!(&view.entries[1].body, EntryBody::Thinking(t) if t.redacted));
    let EntryBody::Text(text) = &view.entries[2].body else { panic!() };
    assert_eq!(text.code[0].language.as_deref(), Some("sh"));
    assert_eq!(&text.text[text.code[0].start..text.code[0].end], "ls\n");
}

/// A log without the pieces themselves, of a program that was killed while the agent wrote.
#[test]
fn what_was_kept_of_a_text_is_there_when_nothing_ended_it() {
    let kept = |after: u64, text: &str| HostEvent::TextKept { entry: EntryId(1), after, text: text.into() };
    let mut talk = TestSession::new();
    talk.starts(None, "m").opens(None, 0, &text_block());
    talk.host(&kept(0, "The gr")).host(&kept(6, "öße i"));
    // Once more, and with an overlap: what is known is left out.
    talk.host(&kept(6, "öße i")).host(&kept(10, "e is "));
    assert_eq!(talk.texts(None), ["The größe is "]);
    // A gap, or half a letter, adds nothing.
    talk.host(&kept(90, "lost")).host(&kept(14, "x"));
    assert_eq!(talk.texts(None), ["The größe is "]);
    // The complete line is what counts.
    talk.says("m", "The größe is 1.");
    assert_eq!(talk.texts(None), ["The größe is 1."]);
    talk.host(&kept(14, "never"));
    assert_eq!(talk.texts(None), ["The größe is 1."]);
}
