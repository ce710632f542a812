//! Folds arbitrary lines mixed with host events.
//!
//! The first byte of an input chooses how many entries the bounded fold keeps. A line that starts with `!` is a host
//! event: the next byte selects which, and the rest of the line is its id or text. Every other line is from the CLI.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_transcript::{
    AgentVocabulary, Change, ClassicVocabulary, Fold, FoldOptions, HostEvent, RequestAnswer, SummaryBuilder,
    View,
};
use weir_wire::{Decoder, Line, MessageId, RequestId};

fuzz_target!(|data: &[u8]| {
    let Some((keep, stream)) = data.split_first() else {
        return;
    };
    let mut whole = Viewer::new(None);
    let mut bounded = Viewer::new(Some(usize::from(keep % 16)));
    let mut decoder = Decoder::new();
    for bytes in stream.split(|byte| *byte == b'\n') {
        if let Some(event) = host_event(bytes) {
            whole.host(&event);
            bounded.host(&event);
        } else {
            let line = decoder.decode(bytes);
            whole.line(&line);
            bounded.line(&line);
        }
    }
    whole.host(&HostEvent::RecordingEnded);
    bounded.host(&HostEvent::RecordingEnded);
    whole.check();
    bounded.check();
});

fn host_event(line: &[u8]) -> Option<HostEvent> {
    let [b'!', kind, rest @ ..] = line else {
        return None;
    };
    let text = String::from_utf8_lossy(rest).into_owned();
    let message = MessageId::from(text.as_str());
    let answered =
        |answer| HostEvent::RequestAnswered { request: RequestId::from(text.as_str()), answer, by: None };
    let wanted = text.starts_with('!');
    Some(match kind {
        b'p' => HostEvent::ProcessStarted { resumes: None },
        b'q' => HostEvent::MessageQueued { message, text, images: 0, documents: 0 },
        b's' => HostEvent::MessageSent { message },
        b'c' => HostEvent::MessageCancelled { message },
        b'a' => answered(RequestAnswer::Allow { answers: None }),
        b'd' => answered(RequestAnswer::Deny { message: "no".into() }),
        b'e' => answered(RequestAnswer::Expired),
        b'i' => HostEvent::Interrupted,
        b't' => HostEvent::Stderr { text },
        b'x' => HostEvent::ProcessExited {
            code: Some(i32::from(text.len() > 3)),
            signal: None,
            stderr: text,
            wanted,
        },
        b'k' => HostEvent::ProcessExited { code: None, signal: Some(9), stderr: text, wanted },
        _ => HostEvent::RecordingEnded,
    })
}

/// A fold, and everything derived from its changes.
struct Viewer {
    fold: Fold,
    keep: Option<usize>,
    /// Built from the changes directly, and from the changes after serialisation.
    applied: View,
    parsed: View,
    agent: AgentVocabulary,
    classic: ClassicVocabulary,
    summary: SummaryBuilder,
}

impl Viewer {
    fn new(keep: Option<usize>) -> Self {
        Self {
            fold: Fold::new(FoldOptions { keep_entries: keep, ..FoldOptions::default() }),
            keep,
            applied: View::default(),
            parsed: View::default(),
            agent: AgentVocabulary::default(),
            classic: ClassicVocabulary::default(),
            summary: SummaryBuilder::default(),
        }
    }

    fn line(&mut self, line: &Line<'_>) {
        self.step(|fold, sink| fold.line(line, sink));
    }

    fn host(&mut self, event: &HostEvent) {
        self.step(|fold, sink| fold.host(event, sink));
        self.agent.host(self.fold.view(), event, &mut |event| {
            serde_json::to_string(&event).expect("an event is JSON");
        });
        self.classic.host(self.fold.view(), event, &mut |event| {
            serde_json::to_string(&event).expect("an event is JSON");
        });
    }

    fn step(&mut self, step: impl FnOnce(&mut Fold, &mut weir_transcript::Sink<'_>)) {
        let Self { fold, keep, applied, parsed, agent, classic, summary } = self;
        step(fold, &mut |view, change| {
            agent.translate(view, change, &mut |event| {
                serde_json::to_string(&event).expect("an event is JSON");
            });
            classic.translate(view, change, &mut |event| {
                serde_json::to_string(&event).expect("an event is JSON");
            });
            summary.observe(view, change);
            let json = serde_json::to_string(change).expect("a change is JSON");
            let back: Change<'_> = serde_json::from_str(&json).expect("a change can be read back");
            parsed.apply(&back);
            applied.apply(&change.clone().into_owned());
        });
        if let Some(keep) = *keep {
            // Old entries are dropped in batches.
            let held = fold.view().entries.len();
            assert!(held <= keep + keep / 2 + 16, "{held} entries, but only {keep} should be kept");
        }
    }

    fn check(&self) {
        let view = self.fold.view();
        assert_eq!(self.applied, *view, "the changes give a different view");
        assert_eq!(self.parsed, *view, "the changes give a different view after a round trip through JSON");
        let json = serde_json::to_string(view).expect("a view is JSON");
        let back: View = serde_json::from_str(&json).expect("a view can be read back");
        assert_eq!(back, *view, "the view differs after a round trip through JSON");
        let summary = self.summary.summary(view);
        serde_json::to_string(&summary).expect("a summary is JSON");
        self.summary.outcome(view);
    }
}
