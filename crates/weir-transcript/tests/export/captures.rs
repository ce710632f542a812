//! Exports of recorded sessions.

use std::path::Path;

use weir_transcript::{Fold, FoldOptions, HostEvent, View, export};
use weir_wire::{Decoder, Framer};

pub(crate) fn view_of(bytes: &[u8]) -> View {
    let (mut framer, mut decoder) = (Framer::new(), Decoder::new());
    let mut fold = Fold::new(FoldOptions::default());
    framer.push(bytes);
    while let Some(frame) = framer.next_frame() {
        fold.line(&decoder.decode_frame(frame), &mut |_, _| {});
    }
    if let Some(frame) = framer.finish() {
        fold.line(&decoder.decode_frame(frame), &mut |_, _| {});
    }
    fold.host(&HostEvent::RecordingEnded, &mut |_, _| {});
    fold.into_view()
}

fn captures() -> Vec<(String, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/captures");
    let mut found = Vec::new();
    for version in std::fs::read_dir(root).unwrap() {
        for file in std::fs::read_dir(version.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if path.to_string_lossy().ends_with(".out.ndjson") {
                found.push((path.display().to_string(), std::fs::read(&path).unwrap()));
            }
        }
    }
    found
}

#[test]
fn chosen_captures_have_their_reviewed_markdown() {
    for name in [
        "write-overwrite-edit",
        "subagents-parallel",
        "ask-user-question",
        "plan-mode-allow",
        "interrupt",
        "todos",
    ] {
        let end = format!("/2.1.325/{name}.out.ndjson");
        let (_, bytes) = captures().into_iter().find(|(path, _)| path.ends_with(&end)).unwrap();
        let mut text = String::new();
        export::markdown(&view_of(&bytes), &mut text).unwrap();
        insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, text);
        });
    }
}

#[test]
fn every_capture_can_be_exported_and_is_balanced() {
    let captures = captures();
    assert!(captures.len() > 100);
    for (path, bytes) in captures {
        let view = view_of(&bytes);
        let (mut markdown, mut html) = (String::new(), String::new());
        export::markdown(&view, &mut markdown).unwrap();
        export::html(&view, &mut html).unwrap();
        crate::hostile::check_html(&html);
        crate::hostile::check_markdown(&markdown);
        assert!(markdown.contains("## Cost"), "{path}");
    }
}
