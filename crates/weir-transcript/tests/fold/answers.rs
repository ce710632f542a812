//! The answer of a turn, and what it used.

use serde_json::{Value, json};
use weir_transcript::{
    AgentVocabulary, ClassicVocabulary, EntryBody, FoldOptions, Notice, Outcome, RunSummary, SummaryBuilder,
    TurnState, View,
};

use crate::support::TestSession;

fn summary(talk: &TestSession) -> (RunSummary, Outcome) {
    let (mut summary, mut view) = (SummaryBuilder::new(), View::default());
    for change in &talk.changes {
        view.apply(change);
        summary.observe(&view, change);
    }
    (summary.summary(&view), summary.outcome(&view))
}

/// All events in both vocabularies, as JSON.
fn events(talk: &TestSession) -> (Vec<Value>, Vec<Value>) {
    let (mut agent, mut classic) = (AgentVocabulary::default(), ClassicVocabulary::default());
    let (mut events, mut view) = ((Vec::new(), Vec::new()), View::default());
    for change in &talk.changes {
        view.apply(change);
        agent.translate(&view, change, &mut |event| events.0.push(serde_json::to_value(event).unwrap()));
        classic.translate(&view, change, &mut |event| events.1.push(serde_json::to_value(event).unwrap()));
    }
    events
}

#[test]
fn pieces_of_one_message_are_joined_and_messages_are_separated() {
    let mut talk = TestSession::new();
    talk.init().says("m1", "Let me ").says("m1", "look.");
    talk.calls(None, "t", "Bash", &json!({"command": "true"})).returns(None, "t", "").says("m2", "Done.");
    talk.result("");
    let (run, _) = summary(&talk);
    assert_eq!(run.stream_text, "Let me look.\n\nDone.");
    assert_eq!((run.final_text.as_deref(), run.degraded), (Some("Let me look.\n\nDone."), true));
    // Clients that rely on events get the same answer.
    let (agent, classic) = events(&talk);
    let end = agent.iter().find(|event| event["type"] == "agent-message-end").unwrap();
    assert_eq!((&end["text"], &end["degraded"]), (&json!("Let me look.\n\nDone."), &json!(true)));
    let result = classic.iter().find(|event| event["event"] == "result").unwrap();
    assert_eq!((&result["data"]["result"], &result["data"]["degraded"]), (&end["text"], &json!(true)));
    let ids: Vec<&Value> = agent
        .iter()
        .filter(|event| event["type"] == "agent-text-delta")
        .map(|event| &event["message_id"])
        .collect();
    assert_eq!(ids, ["m1", "m1", "m2"]);
}

#[test]
fn an_answer_is_complete_even_if_most_of_it_was_dropped_from_the_view() {
    let mut talk = TestSession::with_options(FoldOptions { keep_entries: Some(4), ..FoldOptions::default() });
    talk.init();
    for number in 0..100 {
        talk.says(&format!("m{number}"), &format!("Part {number}."));
    }
    talk.result("");
    let expected: Vec<String> = (0..100).map(|number| format!("Part {number}.")).collect();
    let (run, _) = summary(&talk);
    assert!(talk.view().dropped_entries > 50);
    assert_eq!(run.final_text.as_deref(), Some(expected.join("\n\n").as_str()));
    assert_eq!(run.final_text.unwrap(), run.stream_text);
}

#[test]
fn plain_text_is_shown_as_text_and_is_not_an_answer() {
    let mut talk = TestSession::new();
    talk.init().line("\u{1b}[33mWarning:\u{1b}[0m the disk is slow\r").line(r#"{"type":"result"#).result("");
    let notices: Vec<&Notice> = talk
        .view()
        .entries
        .iter()
        .filter_map(|entry| match &entry.body {
            EntryBody::Notice { notice } => Some(notice),
            _ => None,
        })
        .collect();
    assert_eq!(notices, [&Notice::PlainText { text: "Warning: the disk is slow".into() }]);
    assert_eq!(talk.view().oddities.not_json, 2);
    let (agent, classic) = events(&talk);
    let output = agent.iter().find(|event| event["type"] == "agent-output").unwrap();
    assert_eq!(output["text"], "Warning: the disk is slow");
    let text = classic.iter().find(|event| event["event"] == "text").unwrap();
    assert_eq!((&text["data"]["text"], &text["data"]["source"]), (&output["text"], &json!("cli")));
    // A warning alone is not an answer.
    let mut talk = TestSession::new();
    talk.init().line("Warning: the disk is slow").result("");
    assert_eq!(talk.view().turns[0].state, TurnState::Failed);
}

#[test]
fn an_error_keeps_its_text_wherever_it_is() {
    for content in [json!("no such model"), json!([{"type": "text", "text": "no such model"}])] {
        let mut talk = TestSession::new();
        talk.init()
            .json(&json!({"type": "result", "subtype": "error", "is_error": true, "content": content}));
        let turn = &talk.view().turns[0];
        assert_eq!(turn.state, TurnState::Failed);
        assert_eq!(turn.result.as_ref().unwrap().error(), "no such model");
        let (agent, _) = events(&talk);
        assert!(
            agent.iter().any(|event| event["type"] == "agent-error" && event["message"] == "no such model")
        );
    }
}

#[test]
fn usage_is_null_if_it_was_not_reported() {
    for usage in [json!(null), json!({}), json!({"service_tier": "standard"})] {
        let mut talk = TestSession::new();
        talk.init().says("m", "hi").json(&json!({
            "type": "result", "subtype": "success", "is_error": false, "num_turns": 1, "result": "hi", "usage": usage,
        }));
        assert_eq!(talk.view().turns[0].result.as_ref().unwrap().usage, None, "{usage}");
        assert_eq!(summary(&talk).0.usage, None);
        let (agent, classic) = events(&talk);
        assert_eq!(agent.last().unwrap()["usage"], Value::Null);
        assert_eq!(classic.last().unwrap()["data"]["usage"], Value::Null);
    }
}

#[test]
fn each_message_says_what_it_used() {
    let start = |id: &str| {
        json!({"type": "stream_event", "event": {"type": "message_start", "message": {
            "id": id, "model": "claude-x", "content": [], "usage": {"input_tokens": 10, "cache_read_input_tokens": 7, "output_tokens": 1},
        }}})
    };
    let mut talk = TestSession::new();
    talk.init().json(&start("m1"));
    talk.json(&json!({"type": "assistant", "message": {"id": "m1", "model": "claude-x", "content": [{"type": "text", "text": "hi"}],
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 7, "output_tokens": 1}}}));
    talk.json(&json!({"type": "stream_event", "event": {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 42}}}));
    // Without pieces there is only the complete line.
    talk.json(
        &json!({"type": "assistant", "message": {"id": "m2", "content": [{"type": "text", "text": "bye"}],
        "usage": {"input_tokens": 3, "output_tokens": 4}}}),
    );
    let view = talk.view();
    let usages: Vec<_> = view
        .usages
        .iter()
        .map(|known| {
            let usage = known.usage;
            (known.message.as_str(), usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens)
        })
        .collect();
    assert_eq!(usages, [("m1", 10, 7, 42), ("m2", 3, 0, 4)]);
    assert_eq!(
        (view.usages[0].model.as_deref(), view.usages[0].turn),
        (Some("claude-x"), Some(view.turns[0].id))
    );
    // A log that keeps no pieces except the end of each message gives the same result.
    let mut kept = TestSession::new();
    kept.init().json(
        &json!({"type": "assistant", "message": {"id": "m1", "content": [{"type": "text", "text": "hi"}],
        "usage": {"input_tokens": 10, "output_tokens": 1}}}),
    );
    kept.json(&json!({"type": "stream_event", "event": {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 42}}}));
    assert_eq!(kept.view().usages[0].usage.output_tokens, 42);
    let view = talk.view();
    // It refers to its first block.
    assert_eq!([view.usages[0].entry, view.usages[1].entry], [view.entries[0].id, view.entries[1].id]);
}

#[test]
fn the_view_has_what_init_reports() {
    let mut talk = TestSession::new();
    talk.json(&json!({
        "type": "system", "subtype": "init", "session_id": "s", "cwd": "/w", "model": "m", "claude_code_version": "2.1.9",
        "permissionMode": "plan", "tools": ["Read"], "skills": ["review"],
        "plugins": [{"name": "lint", "path": "/p/lint"}, "bare"],
    }));
    let session = serde_json::to_value(&talk.view().session).unwrap();
    assert_eq!(session["skills"], json!(["review"]));
    assert_eq!(session["plugins"], json!([{"name": "lint", "path": "/p/lint"}, {"name": "bare"}]));
    for (name, value) in [("cwd", "/w"), ("version", "2.1.9"), ("permission_mode", "plan")] {
        assert_eq!(session[name], value);
    }
    let (_, classic) = events(&talk);
    let init = classic.iter().find(|event| event["data"]["subtype"] == "init").unwrap();
    assert_eq!(init["data"]["plugins"], session["plugins"]);
}

#[test]
fn a_requested_stop_is_not_an_error_in_any_vocabulary() {
    for (code, signal) in [(Some(143), None), (None, Some(9)), (Some(1), None), (Some(0), None)] {
        let mut talk = TestSession::new();
        talk.sends("a", "A").init().says("m", "half").calls(
            None,
            "t",
            "Bash",
            &json!({"command": "sleep 60"}),
        );
        talk.ends(code, signal, "terminated", true);
        let view = talk.view();
        assert_eq!(view.turns[0].state, TurnState::Interrupted);
        assert_eq!(talk.tool("t").state, weir_transcript::ToolState::Interrupted);
        assert!(view.entries.iter().all(|entry| !matches!(entry.body, EntryBody::Notice { .. })), "{code:?}");
        let (agent, classic) = events(&talk);
        assert!(agent.iter().all(|event| event["type"] != "agent-error"), "{agent:#?}");
        assert!(classic.iter().all(|event| event["event"] != "error"), "{classic:#?}");
        let end = agent.iter().find(|event| event["type"] == "agent-message-end").unwrap();
        assert_eq!((&end["state"], &end["is_error"]), (&json!("interrupted"), &json!(false)));
        let (run, outcome) = summary(&talk);
        assert_eq!((run.is_error, run.interrupted, outcome), (false, true, Outcome::Interrupted));
    }
}

#[test]
fn a_tool_that_an_interrupt_ends_did_not_fail() {
    let mut talk = TestSession::new();
    talk.sends("a", "A").init().calls(None, "t", "Bash", &json!({"command": "sleep 60"}));
    talk.host(&weir_transcript::HostEvent::Interrupted);
    talk.json(&json!({"type": "user", "message": {"content": [
        {"type": "tool_result", "tool_use_id": "t", "is_error": true, "content": "Exit code 137"},
    ]}}));
    talk.json(
        &json!({"type": "result", "subtype": "error_during_execution", "is_error": true, "num_turns": 1}),
    );
    let (agent, _) = events(&talk);
    let end = agent.iter().find(|event| event["type"] == "agent-tool-end").unwrap();
    assert_eq!((&end["state"], &end["is_error"]), (&json!("interrupted"), &json!(false)));
    assert!(agent.iter().all(|event| event["type"] != "agent-error"), "{agent:#?}");
}

#[test]
fn an_unexpected_exit_after_a_good_answer_is_reported() {
    let is_reported = |code: Option<i32>, result: &str| {
        let mut talk = TestSession::new();
        talk.init().says("m", "hi");
        match result {
            "good" => talk.result("hi"),
            _ => talk.json(
                &json!({"type": "result", "subtype": "success", "is_error": true, "result": "API Error"}),
            ),
        };
        talk.ends(code, None, "cannot save", true);
        let last = talk.view().entries.last().unwrap();
        matches!(&last.body, EntryBody::Notice { notice: Notice::ProcessEnded { stderr, .. } } if stderr == "cannot save")
    };
    assert!(is_reported(Some(3), "good"));
    // These are expected: it was asked to end, or its result was an error.
    assert!(!is_reported(Some(143), "good") && !is_reported(Some(0), "good") && !is_reported(Some(1), "bad"));
}
