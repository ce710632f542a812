//! `-o events`: small events in two vocabularies.

use std::collections::BTreeSet;

use serde_json::Value;
use weir_wire::{Body, Content, ContentBlock, Decoder, Message};

use crate::support::{INIT, SAYS_HELLO, SUCCESS, capture, captures, demo, replay_file, replay_input, stream};

/// The events that a recording can have. `agent-tool-request` needs a host, and no recorded sub-agent had to be corrected.
const AGENT: [&str; 14] = [
    "agent-process-start",
    "agent-process-end",
    "agent-message-start",
    "agent-text-delta",
    "agent-thinking-delta",
    "agent-tool-start",
    "agent-tool-end",
    "agent-question",
    "agent-permission",
    "agent-todos",
    "agent-subagent-start",
    "agent-subagent-end",
    "agent-error",
    "agent-message-end",
];

const CLASSIC: [&str; 8] = ["system", "text", "tool_use", "tool_result", "result", "error", "done", "stderr"];

/// Streams with an answer that was interrupted while it was streamed.
const INTERRUPTED: [&str; 3] = [
    "2.1.9/cost-interrupt-second-round.out.ndjson",
    "2.1.9/cost-three-turns-interrupt.out.ndjson",
    "2.1.9/interrupt.out.ndjson",
];

fn name<'e>(event: &'e Value, key: &str) -> &'e str {
    event.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[test]
fn agent_events_are_the_documented_ones() {
    let mut seen = BTreeSet::new();
    for path in captures() {
        let events = replay_file(&["-o", "events", "--format", "agent"], &path).json_lines();
        for event in &events {
            let name = name(event, "type");
            assert!(AGENT.contains(&name), "{}: {event}", path.display());
            for key in ["session_id", "turn_id", "parent_tool_use_id"] {
                assert!(event.get(key).is_some(), "{}: no {key} in {event}", path.display());
            }
            seen.insert(name.to_owned());
        }
    }
    assert_eq!(seen.len(), AGENT.len(), "only {seen:?}");
}

#[test]
fn classic_events_are_the_documented_ones() {
    let mut seen = BTreeSet::new();
    for path in captures() {
        let events = replay_file(&["-o", "events", "--format", "classic"], &path).json_lines();
        for event in &events {
            let name = name(event, "event");
            assert!(CLASSIC.contains(&name), "{}: {event}", path.display());
            assert!(event["data"].is_object(), "{}: {event}", path.display());
            assert_eq!(event.as_object().unwrap().len(), 2);
            seen.insert(name.to_owned());
        }
        // At the end of a recording, even an empty one, comes `done`, then the end of its process, and nothing else.
        let mut after =
            events.iter().rev().map(|event| name(event, "event")).skip_while(|name| *name == "system");
        assert_eq!(after.next(), Some("done"), "{}", path.display());
        let is_end = |event: &Value| event["data"]["subtype"] == "process_ended";
        assert_eq!(events.iter().filter(|event| is_end(event)).count(), 1, "{}", path.display());
        // If nothing was answered, `done` comes after the end of the process and names no turn.
        let (last, before) = (&events[events.len() - 1], &events[events.len() - 2]);
        let is_late_done = last["event"] == "done" && last["data"]["turn_id"].is_null() && is_end(before);
        assert!(is_end(last) || is_late_done, "{}: {last}", path.display());
    }
    // A recording has no standard error.
    assert_eq!(seen.len(), CLASSIC.len() - 1, "only {seen:?}");
}

#[test]
fn agent_is_the_default_vocabulary() {
    let path = capture("2.1.325", "tools");
    assert_eq!(
        replay_file(&["-o", "events"], &path).stdout,
        replay_file(&["-o", "events", "--format", "agent"], &path).stdout
    );
}

#[test]
fn every_turn_starts_once_and_ends_once() {
    for path in captures() {
        let events = replay_file(&["-o", "events"], &path).json_lines();
        let turns = |wanted: &str| -> Vec<Value> {
            let wanted = events.iter().filter(|event| name(event, "type") == wanted);
            wanted.map(|event| event["turn_id"].clone()).collect()
        };
        let (mut started, mut ended) = (turns("agent-message-start"), turns("agent-message-end"));
        started.sort_by_key(Value::as_u64);
        ended.sort_by_key(Value::as_u64);
        assert_eq!(started, ended, "{}", path.display());
        started.dedup();
        assert_eq!(started.len(), ended.len(), "{}", path.display());
    }
}

#[test]
fn every_tool_that_starts_ends_once() {
    for path in captures() {
        let events = replay_file(&["-o", "events"], &path).json_lines();
        let calls = |wanted: &str| -> Vec<&str> {
            let wanted = events.iter().filter(|event| name(event, "type") == wanted);
            wanted.map(|event| name(event, "tool_use_id")).collect()
        };
        for (start, end) in
            [("agent-tool-start", "agent-tool-end"), ("agent-subagent-start", "agent-subagent-end")]
        {
            let (mut started, mut ended) = (calls(start), calls(end));
            started.sort_unstable();
            ended.sort_unstable();
            assert_eq!(started, ended, "{start} in {}", path.display());
            started.dedup();
            assert_eq!(started.len(), ended.len(), "{start} in {}", path.display());
        }
    }
}

/// The main agent's text, from the events. Only the summary has blank lines between blocks, so line feeds are removed
/// on both sides.
fn said(
    events: &[Value],
    parent: impl Fn(&Value) -> &Value,
    text: impl Fn(&Value) -> Option<&str>,
) -> String {
    let mut said = String::new();
    for event in events.iter().filter(|event| parent(event).is_null()) {
        said.push_str(text(event).unwrap_or_default());
    }
    said.replace('\n', "")
}

/// The main agent's text, only from complete messages.
fn whole_texts(bytes: &[u8]) -> String {
    let mut decoder = Decoder::new();
    let mut texts = String::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let Body::Known(Message::Assistant(message)) = decoder.decode(line).body else {
            continue;
        };
        let Content::Blocks(blocks) = &message.message.content else {
            continue;
        };
        for block in blocks.iter().filter(|_| message.parent_tool_use_id.is_none()) {
            if let ContentBlock::Text(block) = block {
                texts.push_str(&block.text.to_str());
            }
        }
    }
    texts.replace('\n', "")
}

#[test]
fn text_is_reported_once_with_and_without_partial_messages() {
    let mut partial = 0;
    for path in captures() {
        let summary = replay_file(&["-o", "json"], &path).json();
        let expected = summary["stream_text"].as_str().unwrap().replace('\n', "");

        let agent = replay_file(&["-o", "events"], &path).json_lines();
        let agent = said(
            &agent,
            |event| &event["parent_tool_use_id"],
            |event| (name(event, "type") == "agent-text-delta").then(|| name(event, "text")),
        );
        assert_eq!(agent, expected, "{}", path.display());

        let classic = replay_file(&["-o", "events", "--format", "classic"], &path).json_lines();
        let classic = said(
            &classic,
            |event| &event["data"]["parent_tool_use_id"],
            |event| (name(event, "event") == "text").then(|| name(&event["data"], "text")),
        );
        assert_eq!(classic, expected, "{}", path.display());

        // Pieces of an interrupted answer are not in any assistant line.
        let bytes = std::fs::read(&path).unwrap();
        let whole = whole_texts(&bytes);
        if INTERRUPTED.iter().any(|name| path.ends_with(name)) {
            assert!(expected.len() > whole.len(), "{}", path.display());
        } else {
            assert_eq!(expected, whole, "{}", path.display());
        }
        partial += usize::from(String::from_utf8_lossy(&bytes).contains(r#""text_delta""#));
    }
    assert!(partial > 10, "only {partial} streams have partial messages");
}

#[test]
fn the_same_answer_is_reported_whether_it_came_in_pieces_or_not() {
    let piece = |text: &str| {
        format!(
            r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}},"session_id":"s-1","parent_tool_use_id":null}}"#
        )
    };
    let begin = r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"msg_1","role":"assistant","content":[]}},"session_id":"s-1","parent_tool_use_id":null}"#;
    let block = r#"{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}},"session_id":"s-1","parent_tool_use_id":null}"#;
    let (first, second) = (piece("He"), piece("llo"));
    let pieces = stream(&[INIT, begin, block, &first, &second, SAYS_HELLO, SUCCESS]);
    let whole = stream(&[INIT, SAYS_HELLO, SUCCESS]);
    let texts = |input: &[u8]| -> Vec<String> {
        let events = replay_input(&["-o", "events"], input).json_lines();
        let texts = events.iter().filter(|event| name(event, "type") == "agent-text-delta");
        texts.map(|event| name(event, "text").to_owned()).collect()
    };
    assert_eq!(texts(&pieces), ["He", "llo"]);
    assert_eq!(texts(&whole), ["Hello"]);
}

#[test]
fn the_demo_shows_a_bit_of_everything() {
    let events = replay_file(&["-o", "events"], &demo()).json_lines();
    let seen: BTreeSet<&str> = events.iter().map(|event| name(event, "type")).collect();
    for wanted in [
        "agent-message-start",
        "agent-text-delta",
        "agent-tool-start",
        "agent-tool-end",
        "agent-todos",
        "agent-subagent-start",
        "agent-subagent-end",
        "agent-message-end",
    ] {
        assert!(seen.contains(wanted), "no {wanted}");
    }
    let mut details = events.iter().map(|event| name(&event["detail"], "kind"));
    assert!(details.any(|kind| kind == "file_changed"));
}
