//! `-o view`: the whole session, the same as folding it here.

use weir_transcript::{Fold, FoldOptions, HostEvent, View};
use weir_wire::{Decoder, Framer};

use crate::support::{captures, replay_file, replay_input};

fn folded(bytes: &[u8]) -> View {
    let (mut framer, mut decoder) = (Framer::new(), Decoder::new());
    let mut options = FoldOptions::default();
    (options.output_limit, options.unknown_limit) = (usize::MAX, usize::MAX);
    let mut fold = Fold::new(options);
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

#[test]
fn every_capture_gives_the_same_view_as_folding_it() {
    for path in captures() {
        let bytes = std::fs::read(&path).unwrap();
        let done = replay_file(&["-o", "view"], &path);
        let view: View = serde_json::from_slice(&done.stdout).unwrap();
        assert!(view == folded(&bytes), "{}", path.display());
        assert!(done.stdout.ends_with(b"\n"));
        let piped = replay_input(&["-o", "view"], &bytes);
        assert!(piped.stdout == done.stdout, "{}", path.display());
    }
}

#[test]
fn nothing_is_dropped_from_a_long_session() {
    let line = r#"{"type":"assistant","message":{"id":"msg","content":[{"type":"text","text":"word"}]}}"#;
    let input = format!("{line}\n").replace("msg", "msg_").repeat(2000);
    let done = replay_input(&["-o", "view"], input.as_bytes());
    let view: View = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(view.dropped_entries, 0);
    assert_eq!(view, folded(input.as_bytes()));
}
