//! Bugs seen in other programs, one test each.

use weir_wire::{
    Body, Content, ContentBlock, ControlRequest, Decoder, Delta, Frame, Framer, Message, StreamEvent,
};

fn frames(framer: &mut Framer) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    while let Some(frame) = framer.next_frame() {
        let Frame::Line(line) = frame else { panic!("{frame:?}") };
        out.push(line.to_vec());
    }
    out
}

fn is_known(line: &[u8]) -> bool {
    matches!(Decoder::new().decode(line).body, Body::Known(_))
}

#[test]
fn a_new_event_type_is_passed_on_with_its_bytes() {
    let line = br#"{"type":"hologram","session_id":"s","points":[1,2]}"#;
    let decoded = Decoder::new().decode(line);
    let Body::UnknownType { type_name, subtype, json } = decoded.body else { panic!("{:?}", decoded.body) };
    assert_eq!(type_name.unwrap(), "hologram");
    assert!(subtype.is_none());
    assert_eq!((json.bytes(), decoded.raw), (&line[..], &line[..]));
}

#[test]
fn a_new_system_subtype_is_passed_on_with_its_bytes() {
    let line = br#"{"subtype":"moon_phase","type":"system","phase":"full"}"#;
    let Body::UnknownType { type_name, subtype, .. } = Decoder::new().decode(line).body else { panic!() };
    assert_eq!(
        (type_name.unwrap().to_str(), subtype.unwrap().to_str()),
        ("system".into(), "moon_phase".into())
    );
}

#[test]
fn a_known_type_whose_field_changed_its_type_is_a_mismatch_with_the_reason() {
    let line = br#"{"type":"result","subtype":"success","is_error":false,"num_turns":"three","result":"Hi"}"#;
    let Body::Mismatch { reason, partial, .. } = Decoder::new().decode(line).body else { panic!() };
    assert_eq!(reason, "num_turns: expected a whole number, found a string");
    // The fields that matched are still there: an unrecognised result would leave a caller waiting.
    let Some(Message::Result(result)) = partial else { panic!() };
    assert_eq!(result.result.unwrap().to_text(), "Hi");
}

#[test]
fn a_missing_field_is_a_mismatch_with_the_reason() {
    let body = Decoder::new().decode(br#"{"type":"assistant","session_id":"s"}"#).body;
    let Body::Mismatch { reason, .. } = body else { panic!("{body:?}") };
    assert_eq!(reason, "message: is missing");
}

#[test]
fn a_deep_field_is_named_with_its_path() {
    let line = br#"{"type":"result","subtype":"success","permission_denials":[{"tool_name":"Bash"},{"tool_name":7}]}"#;
    let Body::Mismatch { reason, .. } = Decoder::new().decode(line).body else { panic!() };
    assert_eq!(reason, "permission_denials[1].tool_name: expected a string, found a number");
}

#[test]
fn a_broken_line_is_kept_and_the_stream_continues() {
    let mut decoder = Decoder::new();
    for line in
        ["{\"type\":\"assistant\",\"mess", "[SandboxDebug] größer 😀", "{}{}", "{\"a\":1,}", "nul", "…"]
    {
        let decoded = decoder.decode(line.as_bytes());
        assert!(matches!(decoded.body, Body::NotJson { .. }), "{line}: {:?}", decoded.body);
        assert_eq!(decoded.raw, line.as_bytes());
        assert!(matches!(decoder.decode(br#"{"type":"keep_alive"}"#).body, Body::Known(_)));
    }
}

#[test]
fn a_line_of_two_mebibytes_is_decoded() {
    let text = "x".repeat(2 << 20);
    let line =
        format!(r#"{{"type":"assistant","message":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#);
    let mut framer = Framer::new();
    framer.push(line.as_bytes());
    framer.push(b"\n");
    assert!(is_known(&frames(&mut framer)[0]));
}

#[test]
fn a_line_over_the_limit_is_reported_with_its_length_and_the_next_one_is_read() {
    let mut framer = Framer::with_limit(1000);
    framer.push(&vec![b'x'; 5000]);
    framer.push(b"\n{\"type\":\"keep_alive\"}\n");
    let mut decoder = Decoder::new();
    let first = decoder.decode_frame(framer.next_frame().unwrap());
    assert!(matches!(first.body, Body::Oversize { length: 5000 }), "{:?}", first.body);
    assert_eq!(first.raw.len(), 1000);
    assert!(matches!(decoder.decode_frame(framer.next_frame().unwrap()).body, Body::Known(_)));
}

#[test]
fn twelve_mebibytes_in_small_lines_are_all_read() {
    let line = br#"{"type":"keep_alive","session_id":"6492f1a6-8f20-4999-a476-fc84fb36debb"}"#;
    let count = (12 << 20) / line.len();
    let mut framer = Framer::new();
    let mut seen = 0;
    for _ in 0..count {
        framer.push(line);
        framer.push(b"\n");
        seen += frames(&mut framer).len();
    }
    assert_eq!(seen, count);
}

#[test]
fn three_thousand_quick_messages_come_in_order() {
    let mut framer = Framer::new();
    let mut decoder = Decoder::new();
    let mut bytes = Vec::new();
    for number in 0..3000 {
        let line = format!(
            r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{number}"}}}},"uuid":"{number:036}"}}"#
        );
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }
    framer.push(&bytes);
    let mut next = 0;
    while let Some(frame) = framer.next_frame() {
        let line = decoder.decode_frame(frame);
        let Body::Known(Message::StreamEvent(event)) = line.body else { panic!() };
        let StreamEvent::BlockDelta(delta) = event.event else { panic!() };
        let Delta::Text(text) = delta.delta else { panic!() };
        assert_eq!(text.to_str(), next.to_string());
        next += 1;
    }
    assert_eq!(next, 3000);
}

#[test]
fn an_unknown_control_request_is_there_to_be_answered() {
    let line = br#"{"type":"control_request","request_id":"r9","request":{"subtype":"open_pod_bay_doors"}}"#;
    let Body::Known(Message::ControlRequest(message)) = Decoder::new().decode(line).body else { panic!() };
    assert_eq!(message.request_id.to_id().as_str(), "r9");
    let ControlRequest::Unknown { subtype, .. } = message.request else { panic!() };
    assert_eq!(subtype.unwrap(), "open_pod_bay_doors");
}

#[test]
fn a_control_request_in_a_new_shape_still_has_its_id() {
    let line =
        br#"{"type":"control_request","request_id":"r9","request":{"subtype":"can_use_tool","tool_name":1}}"#;
    let body = Decoder::new().decode(line).body;
    let Body::Mismatch { partial: Some(Message::ControlRequest(message)), .. } = body else {
        panic!("{body:?}")
    };
    assert_eq!(message.request_id.to_id().as_str(), "r9");
}

#[test]
fn a_character_split_over_two_reads_is_whole() {
    let line =
        "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"größer 😀\"}]}}\n";
    for cut in 0..line.len() {
        let (first, second) = line.as_bytes().split_at(cut);
        let mut framer = Framer::new();
        framer.push(first);
        let mut lines = frames(&mut framer);
        framer.push(second);
        lines.extend(frames(&mut framer));
        let body = Decoder::new().decode(&lines[0]).body;
        let Body::Known(Message::Assistant(message)) = &body else { panic!("{body:?}") };
        let ContentBlock::Text(text) = &message.message.content.blocks()[0] else { panic!() };
        assert_eq!(text.text, "größer 😀");
    }
}

#[test]
fn thinking_and_array_results_are_decoded() {
    let line = br#"{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"d"}]}}"#;
    let Body::Known(Message::Assistant(message)) = Decoder::new().decode(line).body else { panic!() };
    let blocks = message.message.content.blocks();
    assert!(matches!(blocks, [ContentBlock::Thinking(_), ContentBlock::RedactedThinking(_)]), "{blocks:?}");

    let line = br#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]}]}}"#;
    let Body::Known(Message::User(message)) = Decoder::new().decode(line).body else { panic!() };
    let [ContentBlock::ToolResult(result)] = message.message.content.blocks() else { panic!() };
    let Some(Content::Blocks(inner)) = &result.content else { panic!() };
    assert!(matches!(inner.as_slice(), [ContentBlock::Text(_), ContentBlock::Image(_)]), "{inner:?}");
}
