//! Every recorded line of the real CLI.

use std::path::{Path, PathBuf};

use weir_wire::{Body, Content, ContentBlock, Decoder, Message, SystemMessage, ToolInput, ToolUseResult};

/// The recorded outputs, by name.
fn recordings() -> Vec<(PathBuf, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/captures");
    let mut found = Vec::new();
    for version in std::fs::read_dir(root).unwrap() {
        for file in std::fs::read_dir(version.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if path.to_string_lossy().ends_with(".out.ndjson") {
                found.push((path.clone(), std::fs::read(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

fn each_line(mut act: impl FnMut(&Path, &[u8])) {
    let recordings = recordings();
    assert!(recordings.len() > 100, "the recorded streams are missing");
    for (path, bytes) in &recordings {
        for line in bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            act(path, line);
        }
    }
}

#[test]
fn every_recorded_line_is_known() {
    let mut decoder = Decoder::new();
    each_line(|path, line| match decoder.decode(line).body {
        Body::Known(_) => {}
        // The one line that the CLI itself cut off.
        Body::NotJson { .. } if path.ends_with("2.1.9/big-tool-result.out.ndjson") => {}
        other => panic!("{}: {other:?}", path.display()),
    });
}

#[test]
fn every_recorded_line_survives_a_round_trip() {
    let mut decoder = Decoder::new();
    each_line(|path, line| {
        let Body::Known(message) = decoder.decode(line).body else {
            return;
        };
        let Ok(expected) = serde_json::from_slice::<serde_json::Value>(line) else {
            // Lone surrogates: serde_json refuses the line that we decode.
            assert!(path.to_string_lossy().contains("lone-surrogate"), "{}", path.display());
            return;
        };
        assert_eq!(serde_json::to_value(&message).unwrap(), expected, "{}", path.display());
    });
}

#[test]
fn no_recorded_block_input_or_result_is_a_mismatch() {
    let mut decoder = Decoder::new();
    let check_block = |block: &ContentBlock<'_>, path: &Path| {
        match block {
            ContentBlock::Mismatch { .. } | ContentBlock::Unknown { .. } => {
                panic!("{}: {block:?}", path.display())
            }
            ContentBlock::ToolUse(call) => {
                let input = ToolInput::from_json(&call.name.to_str(), call.input);
                assert!(!matches!(input, ToolInput::Mismatch { .. }), "{}: {input:?}", path.display());
                assert_eq!(input.to_value(), call.input.to_value(), "{}", path.display());
            }
            _ => {}
        };
    };
    each_line(|path, line| match decoder.decode(line).body {
        Body::Known(Message::Assistant(message)) => {
            message.message.content.blocks().iter().for_each(|block| check_block(block, path));
        }
        Body::Known(Message::User(message)) => {
            for block in message.message.content.blocks() {
                check_block(block, path);
                if let ContentBlock::ToolResult(result) = block
                    && let Some(Content::Blocks(inner)) = &result.content
                {
                    inner.iter().for_each(|block| check_block(block, path));
                }
            }
            let mismatch = matches!(message.tool_use_result, Some(ToolUseResult::Mismatch { .. }));
            assert!(!mismatch, "{}: {:?}", path.display(), message.tool_use_result);
        }
        _ => {}
    });
}

#[test]
fn init_reports_the_session_the_model_and_the_tools() {
    let mut seen = 0;
    let mut decoder = Decoder::new();
    each_line(|_, line| {
        if let Body::Known(Message::System(SystemMessage::Init(init))) = decoder.decode(line).body {
            assert!(init.session_id.is_some() && init.model.is_some() && init.api_key_source.is_some());
            assert!(init.tools.len() > 5);
            seen += 1;
        }
    });
    assert!(seen > 100);
}
