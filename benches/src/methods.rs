//! What is done with each line.

use std::hint::black_box;
use std::io::Read;
use std::str::FromStr;

use anyhow::bail;
use weir_transcript::{AgentVocabulary, Fold, FoldOptions};
use weir_wire::{Body, Decoder, Delta, Frame, Framer, Message, StreamEvent};

use crate::typed::TypedLine;

/// A way to read a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// Only reads: the lower bound.
    Read,
    /// Reads and splits into lines.
    Split,
    /// `serde_json::Value`, the easy way.
    Value,
    /// A plain struct with serde, the usual way.
    Typed,
    /// Weir's decoder; the text of deltas is read.
    Decode,
    /// Weir's decoder and fold.
    Fold,
    /// Weir's decoder, fold and the `agent` vocabulary.
    Events,
}

impl Method {
    pub(crate) const ALL: [Self; 7] =
        [Self::Read, Self::Split, Self::Value, Self::Typed, Self::Decode, Self::Fold, Self::Events];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Split => "split",
            Self::Value => "serde-value",
            Self::Typed => "serde-typed",
            Self::Decode => "weir-decode",
            Self::Fold => "weir-fold",
            Self::Events => "weir-events",
        }
    }
}

impl FromStr for Method {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> anyhow::Result<Self> {
        match Self::ALL.into_iter().find(|method| method.name() == name) {
            Some(method) => Ok(method),
            None => bail!("unknown method {name}"),
        }
    }
}

/// Lines and bytes read.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
}

/// Like `weir replay -o events`: with a bounded view.
fn fold() -> Fold {
    Fold::new(FoldOptions { keep_entries: Some(256), ..FoldOptions::default() })
}

/// Reads a stream to its end.
pub(crate) fn run(method: Method, reader: &mut impl Read) -> anyhow::Result<Counts> {
    let mut decoder = Decoder::new();
    let mut fold = fold();
    let mut vocabulary = AgentVocabulary::default();
    match method {
        Method::Read => read_only(reader),
        Method::Split => each_line(reader, |line| {
            black_box(line);
        }),
        Method::Value => each_line(reader, |line| {
            black_box(serde_json::from_slice::<serde_json::Value>(line).ok());
        }),
        Method::Typed => each_line(reader, |line| {
            black_box(serde_json::from_slice::<TypedLine>(line).ok());
        }),
        Method::Decode => each_line(reader, |line| {
            let line = decoder.decode(line);
            if let Body::Known(Message::StreamEvent(event)) = &line.body
                && let StreamEvent::BlockDelta(delta) = &event.event
                && let Delta::Text(text) = delta.delta
            {
                black_box(text.to_str());
            }
            black_box(&line);
        }),
        Method::Fold => each_line(reader, |line| {
            fold.line(&decoder.decode(line), &mut |_, change| {
                black_box(change);
            });
        }),
        Method::Events => each_line(reader, |line| {
            fold.line(&decoder.decode(line), &mut |view, change| {
                vocabulary.translate(view, change, &mut |event| {
                    black_box(event);
                });
            });
        }),
    }
}

fn read_only(reader: &mut impl Read) -> anyhow::Result<Counts> {
    let mut buffer = vec![0; 256 << 10];
    let mut counts = Counts::default();
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok(counts),
            count => counts.bytes += count as u64,
        }
        black_box(&buffer);
    }
}

fn each_line(reader: &mut impl Read, mut act: impl FnMut(&[u8])) -> anyhow::Result<Counts> {
    let mut framer = Framer::with_limit(128 << 20);
    let mut counts = Counts::default();
    loop {
        let count = reader.read(framer.space())?;
        if count == 0 {
            return Ok(counts);
        }
        framer.filled(count);
        counts.bytes += count as u64;
        while let Some(frame) = framer.next_frame() {
            counts.lines += 1;
            if let Frame::Line(line) = frame {
                act(line);
            }
        }
    }
}
