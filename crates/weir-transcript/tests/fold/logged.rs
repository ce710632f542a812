//! A log leaves out transient lines, and still leads to the same view.

use std::sync::LazyLock;

use proptest::prelude::*;
use weir_transcript::{BlockState, Entry, EntryBody, Fold, FoldOptions, HostEvent, ToolState, View};
use weir_wire::{Decoder, Line};

use crate::support::{captures, host_event, recorded_lines};

/// Two folds of the same session: one sees everything, the other only what a log has.
struct Pair {
    live: Fold,
    logged: Fold,
    decoder: Decoder,
    now: i64,
    transient: usize,
    streamed: usize,
}

impl Pair {
    fn new(keep_entries: Option<usize>) -> Self {
        let fold = || Fold::new(FoldOptions { keep_entries, ..FoldOptions::default() });
        Self { live: fold(), logged: fold(), decoder: Decoder::new(), now: 0, transient: 0, streamed: 0 }
    }

    fn line(&mut self, raw: &[u8]) {
        let mut decoder = std::mem::take(&mut self.decoder);
        self.decoded(&decoder.decode(raw));
        self.decoder = std::mem::take(&mut decoder);
    }

    fn decoded(&mut self, line: &Line<'_>) {
        self.now += 1;
        self.live.set_time(self.now);
        let is_transient = self.live.is_transient(line);
        self.live.line(line, &mut |_, _| {});
        if is_transient {
            self.transient += 1;
            assert!(self.live.take_streamed().is_empty(), "a transient line needs nothing in the log");
        } else {
            self.log_streamed();
            self.logged.set_time(self.now);
            self.logged.line(line, &mut |_, _| {});
        }
    }

    fn host(&mut self, event: &HostEvent) {
        self.now += 1;
        self.live.set_time(self.now);
        self.live.host(event, &mut |_, _| {});
        self.log_streamed();
        self.logged.set_time(self.now);
        self.logged.host(event, &mut |_, _| {});
    }

    fn log_streamed(&mut self) {
        for event in self.live.take_streamed() {
            // As it comes out of a log.
            let json = serde_json::to_string(&event).unwrap();
            self.logged.set_time(self.now);
            self.logged.host(&serde_json::from_str(&json).unwrap(), &mut |_, _| {});
            self.streamed += 1;
        }
    }

    #[track_caller]
    fn check(&self, what: &str) {
        let (live, logged) = (settled(self.live.view()), settled(self.logged.view()));
        if live != logged {
            // The whole views are too long to be read.
            let (live, logged) =
                (serde_json::to_value(&live).unwrap(), serde_json::to_value(&logged).unwrap());
            for (name, value) in live.as_object().unwrap() {
                assert_eq!(logged[name], *value, "{name} {what}");
            }
            panic!("the views differ {what}");
        }
    }
}

/// A view without the text of what is being written.
fn settled(view: &View) -> View {
    let mut view = view.clone();
    for entry in &mut view.entries {
        let mut without = Entry::clone(entry);
        match &mut without.body {
            EntryBody::Text(text) if text.state == BlockState::Streaming => text.text.clear(),
            EntryBody::Thinking(thinking) if thinking.state == BlockState::Streaming => thinking.text.clear(),
            EntryBody::Tool(tool) if tool.state == ToolState::Pending => tool.input_text.clear(),
            _ => continue,
        }
        *entry = without.into();
    }
    view
}

#[test]
fn a_log_of_every_capture_leads_to_the_same_view_at_every_line() {
    let (mut transient, mut streamed) = (0, 0);
    for (version, name, path) in captures() {
        let bytes = std::fs::read(path).unwrap();
        if bytes.len() > 200_000 {
            continue;
        }
        let mut pair = Pair::new(None);
        for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            pair.line(line);
            pair.check(&format!("{version} {name}, line {}", number + 1));
        }
        pair.host(&HostEvent::RecordingEnded);
        assert_eq!(pair.live.view(), pair.logged.view(), "{version} {name}");
        transient += pair.transient;
        streamed += pair.streamed;
    }
    assert!(transient > 300, "only {transient} transient lines in all recordings");
    assert!(streamed > 0, "only {streamed} blocks in all recordings that no complete line repeats");
}

/// The lines of recordings with partial messages, of which most are about the text.
static STREAMS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut lines = Vec::new();
    for (_, _, path) in captures() {
        let bytes = std::fs::read(path).unwrap();
        if bytes.windows(14).any(|part| part == b"\"stream_event\"") && bytes.len() < 200_000 {
            let written = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            lines.extend(
                written.filter(|line| !line.starts_with(b"{\"type\":\"system\"")).map(<[u8]>::to_vec),
            );
        }
    }
    lines
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// Lines of different sessions, shuffled and cut, with host events between them.
    #[test]
    fn a_log_of_any_lines_leads_to_the_same_view(
        picks in proptest::collection::vec((any::<prop::sample::Index>(), 0u8..40, any::<u8>()), 1..120),
        keep in proptest::option::of(1usize..30),
    ) {
        let lines = recorded_lines();
        let mut pair = Pair::new(keep);
        for (pick, what, byte) in picks {
            let mut line = pick.get(lines).clone();
            match what {
                0 => pair.host(&host_event(byte)),
                1 => { line.truncate(line.len() / 2); pair.line(&line); }
                2 => { let at = usize::from(byte) % line.len(); line[at] = byte; pair.line(&line); }
                _ => pair.line(&line),
            }
            pair.check("after a step");
        }
        pair.host(&HostEvent::RecordingEnded);
        prop_assert_eq!(pair.live.view(), pair.logged.view());
    }

    /// Whole parts of recordings with streams, interleaved, cut off at any line, with lines left out and told twice.
    #[test]
    fn a_log_of_interleaved_recordings_leads_to_the_same_view(
        parts in proptest::collection::vec((any::<prop::sample::Index>(), 1usize..60), 1..12),
        faults in proptest::collection::vec(0u8..20, 64),
        keep in proptest::option::of(1usize..30),
    ) {
        let lines = &*STREAMS;
        let mut pair = Pair::new(keep);
        let mut number = 0;
        for (start, length) in parts {
            let start = start.index(lines.len());
            for line in lines.iter().skip(start).take(length) {
                number += 1;
                match faults[number % faults.len()] {
                    0 => continue,
                    1 => { pair.line(line); pair.line(line); }
                    2 => pair.host(&host_event(u8::try_from(number % 251).unwrap())),
                    _ => pair.line(line),
                }
                pair.check("after a step");
            }
        }
        pair.host(&HostEvent::RecordingEnded);
        prop_assert_eq!(pair.live.view(), pair.logged.view());
    }
}
