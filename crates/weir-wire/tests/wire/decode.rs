//! Unusual lines have a defined meaning.

use proptest::prelude::*;
use weir_wire::{Body, ContentBlock, Decoder, Message, ResultText, SystemMessage};

fn body(line: &str) -> Body<'_> {
    Decoder::new().decode(line.as_bytes()).body
}

#[test]
fn the_type_is_found_anywhere_in_the_line() {
    let line = r#"{"duration_ms":1,"usage":{"type":"no","subtype":"no"},"subtype":"success","result":"ok","type":"result"}"#;
    assert!(matches!(body(line), Body::Known(Message::Result(_))), "{:?}", body(line));
    let line = r#"{"message":{"type":"message","content":[]},"type":"assistant"}"#;
    assert!(matches!(body(line), Body::Known(Message::Assistant(_))));
}

#[test]
fn spaces_and_escaped_keys_make_no_difference() {
    let line = r#" { "ty\u0070e" : "keep\u005falive" , "session_id" : "s" } "#;
    assert!(matches!(body(line), Body::Known(Message::KeepAlive(_))), "{:?}", body(line));
}

#[test]
fn the_last_of_repeated_keys_counts() {
    let line = r#"{"type":"assistant","type":"result","subtype":"error","subtype":"success","result":"a","result":"b"}"#;
    let Body::Known(Message::Result(result)) = body(line) else { panic!() };
    assert_eq!(result.subtype, "success");
    assert_eq!(result.result.unwrap().to_text(), "b");
}

#[test]
fn ten_thousand_levels_of_nesting_are_just_a_value() {
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let line = format!(r#"{{"type":"keep_alive","new":{deep}}}"#);
    let Body::Known(Message::KeepAlive(message)) = body(&line) else { panic!() };
    assert_eq!(message.source.unknown_members().count(), 1);
    let deep = format!("{}1{}", r#"{"a":"#.repeat(10_000), "}".repeat(10_000));
    assert!(matches!(body(&deep), Body::UnknownType { type_name: None, .. }));
    let open = "[".repeat(1_000_000);
    assert!(matches!(body(&open), Body::NotJson { .. }));
}

#[test]
fn numbers_beyond_f64_are_a_mismatch_where_a_number_is_needed() {
    let line = r#"{"type":"result","subtype":"success","total_cost_usd":1e999,"num_turns":123456789012345678901234567890}"#;
    let Body::Mismatch { reason, .. } = body(line) else { panic!() };
    assert!(reason.contains("total_cost_usd: expected a number"), "{reason}");
    assert!(reason.contains("num_turns: expected a whole number"), "{reason}");
    let line = r#"{"type":"keep_alive","anything":1e999}"#;
    assert!(matches!(body(line), Body::Known(_)));
}

#[test]
fn lone_surrogates_are_replaced_in_text_and_verbatim_in_the_line() {
    let line = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"half \ud83d"}]}}"#;
    let decoded = Decoder::new().decode(line.as_bytes());
    let Body::Known(Message::Assistant(message)) = &decoded.body else { panic!() };
    let ContentBlock::Text(text) = &message.message.content.blocks()[0] else { panic!() };
    assert_eq!(text.text, "half \u{fffd}");
    assert_eq!(decoded.raw, line.as_bytes());
}

#[test]
fn bytes_that_are_not_utf_8_are_replaced_in_text() {
    let line = b"{\"type\":\"assistant\",\"message\":{\"content\":\"a\xFFb\"}}";
    let Body::Known(Message::Assistant(message)) = Decoder::new().decode(line).body else { panic!() };
    let weir_wire::Content::Text(text) = message.message.content else { panic!() };
    assert_eq!(text, "a\u{fffd}b");
}

#[test]
fn what_surrounds_a_line_is_ignored() {
    for line in [
        "\u{feff}{\"type\":\"keep_alive\"}",
        "{\"type\":\"keep_alive\"}\r",
        "\x1b[?25l{\"type\":\"keep_alive\"}\x1b[?25h",
        "\0{\"type\":\"keep_alive\"}\0",
    ] {
        let decoded = Decoder::new().decode(line.as_bytes());
        assert!(matches!(decoded.body, Body::Known(_)), "{line:?}");
        assert_eq!(decoded.raw, line.as_bytes());
    }
    for line in ["\x1b]0;title{\"type\":\"keep_alive\"}", "\x1bX{\"type\":\"keep_alive\"}"] {
        assert!(!matches!(body(line), Body::Blank), "an unterminated sequence hides nothing: {line:?}");
    }
    for line in ["", "  \r", "\x1b[?25h", "\u{feff}"] {
        assert!(matches!(body(line), Body::Blank), "{line:?}");
    }
}

#[test]
fn json_that_is_not_an_object_is_not_a_line_of_the_protocol() {
    for line in ["[1,2]", "\"text\"", "12", "null", "true"] {
        let Body::NotJson { fault } = body(line) else { panic!("{line}") };
        assert_eq!(fault.what, "a JSON value that is not an object");
    }
}

#[test]
fn an_object_without_a_type_is_unknown_and_one_with_a_strange_type_a_mismatch() {
    assert!(matches!(body("{}"), Body::UnknownType { type_name: None, .. }));
    let Body::Mismatch { reason, .. } = body(r#"{"type":["result"]}"#) else { panic!() };
    assert_eq!(reason, "type: expected a string, found an array");
}

#[test]
fn a_bad_block_does_not_affect_its_neighbours() {
    let line = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"a"},{"type":"tool_use","id":5},{"type":"hologram"},17,{"type":"text","text":"b"}]}}"#;
    let Body::Known(Message::Assistant(message)) = body(line) else { panic!() };
    let [
        ContentBlock::Text(first),
        ContentBlock::Mismatch { reason, .. },
        ContentBlock::Unknown { kind: Some(kind), .. },
        ContentBlock::Unknown { kind: None, .. },
        ContentBlock::Text(last),
    ] = message.message.content.blocks()
    else {
        panic!("{message:?}")
    };
    assert_eq!((first.text.to_str(), last.text.to_str()), ("a".into(), "b".into()));
    assert_eq!(*kind, "hologram");
    assert!(reason.contains("id: expected a string, found a number"), "{reason}");
    assert!(reason.contains("name: is missing"), "{reason}");
}

#[test]
fn a_result_is_a_string_or_a_message() {
    let line = r#"{"type":"result","subtype":"success","result":{"role":"assistant","content":[{"type":"text","text":"Do"},{"type":"text","text":"ne"}]}}"#;
    let Body::Known(Message::Result(result)) = body(line) else { panic!() };
    assert!(matches!(result.result, Some(ResultText::Message(_))));
    assert_eq!(result.result.unwrap().to_text(), "Done");
}

#[test]
fn unknown_fields_are_listed_and_survive_a_round_trip() {
    let line = r#"{"type":"tool_progress","tool_use_id":"t","sparkle":{"a":[1]},"elapsed_time_seconds":2.5}"#;
    let Body::Known(message) = body(line) else { panic!() };
    let Message::ToolProgress(progress) = &message else { panic!() };
    let unknown: Vec<_> =
        progress.source.unknown_members().map(|(key, json)| (key.to_str(), json.to_json_string())).collect();
    assert_eq!(unknown, [("sparkle".into(), r#"{"a":[1]}"#.to_owned())]);
    let original: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(serde_json::to_value(&message).unwrap(), original);
}

/// The minimum that each type needs, so that a forgotten type is noticed.
fn smallest(type_name: &str) -> &'static str {
    match type_name {
        "assistant" | "user" => r#""message":{"content":"x"}"#,
        "result" => r#""subtype":"success""#,
        "system" => r#""subtype":"status""#,
        "stream_event" => r#""event":{"type":"ping"}"#,
        "control_request" => r#""request_id":"r","request":{"subtype":"x"}"#,
        "control_response" => r#""response":{"subtype":"success","request_id":"r"}"#,
        "control_cancel_request" => r#""request_id":"r""#,
        "command_lifecycle" => r#""command_uuid":"u","state":"queued""#,
        "rate_limit_event" => r#""rate_limit_info":{"status":"allowed"}"#,
        "tool_progress" => r#""tool_use_id":"t""#,
        "tool_use_summary" => r#""summary":"s""#,
        "prompt_suggestion" => r#""suggestion":"s""#,
        "transcript_mirror" => r#""filePath":"f""#,
        _ => r#""session_id":"s""#,
    }
}

#[test]
fn every_type_of_the_protocol_is_known() {
    for name in Message::TYPES {
        let line = format!(r#"{{"type":"{name}",{}}}"#, smallest(name));
        let body = body(&line);
        let Body::Known(message) = &body else { panic!("{line}: {body:?}") };
        assert_eq!(message.type_name(), *name);
    }
}

fn smallest_system(subtype: &str) -> &'static str {
    match subtype {
        "hook_started" | "hook_progress" | "hook_response" => r#","hook_id":"h""#,
        "task_started" | "task_progress" => r#","task_id":"t""#,
        "task_updated" => r#","task_id":"t","patch":{}"#,
        "task_notification" => r#","task_id":"t","status":"completed""#,
        "background_tasks_changed" => r#","tasks":[]"#,
        "permission_denied" => r#","tool_name":"Bash""#,
        "api_retry" => r#","attempt":1"#,
        "local_command_output" | "informational" => r#","content":"x""#,
        "notification" => r#","text":"x""#,
        "session_state_changed" => r#","state":"idle""#,
        "plugin_install" => r#","status":"started""#,
        "control_request_progress" => r#","request_id":"r""#,
        "mirror_error" => r#","error":"x""#,
        "vcs_state_changed" => r#","kind":"push""#,
        "code_change_published" => r#","url":"u""#,
        _ => "",
    }
}

#[test]
fn every_subtype_of_system_is_known() {
    for subtype in SystemMessage::SUBTYPES {
        let line = format!(r#"{{"type":"system","subtype":"{subtype}"{}}}"#, smallest_system(subtype));
        let body = body(&line);
        let Body::Known(Message::System(message)) = &body else { panic!("{line}: {body:?}") };
        assert_eq!(message.subtype(), *subtype);
    }
}

#[test]
fn a_hostile_number_of_values_is_reported_and_not_stored() {
    let line = format!(r#"{{"type":"keep_alive","many":[{}1]}}"#, "1,".repeat(300_000));
    assert!(matches!(body(&line), Body::Known(_)), "a long list in an unknown member does no harm");
    let line = format!(r#"{{"type":"system","subtype":"init","tools":["x"{}]}}"#, r#","x""#.repeat(300_000));
    let Body::Mismatch { reason, .. } = body(&line) else { panic!() };
    assert_eq!(reason, "tools: holds too many values to be decoded");
    let members: Vec<String> = (0..300_000).map(|number| format!(r#""k{number}":1"#)).collect();
    let line = format!(r#"{{{},"type":"keep_alive"}}"#, members.join(","));
    let Body::Mismatch { reason, .. } = body(&line) else { panic!() };
    assert_eq!(reason, "the line holds too many values to be decoded");
}

proptest! {
    #[test]
    fn no_line_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut decoder = Decoder::new();
        let line = decoder.decode(&bytes);
        prop_assert_eq!(line.raw, &bytes[..]);
        let _ = format!("{:?}", line.body);
    }

    #[test]
    fn a_damaged_line_of_the_protocol_never_panics(
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let line = br#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t","type":"tool_result","content":[{"type":"text","text":"a\u00e9\"b"}],"is_error":false}]},"tool_use_result":{"stdout":"x","stderr":"","interrupted":false},"uuid":"u"}"#;
        let mut damaged = line.to_vec();
        damaged[at.index(line.len())] = byte;
        let _ = format!("{:?}", Decoder::new().decode(&damaged));
        let _ = format!("{:?}", Decoder::new().decode(&damaged[..cut.index(line.len())]));
    }
}
