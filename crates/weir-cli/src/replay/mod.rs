//! `weir replay`: runs a recording through the pipeline of a live session.
//!
//! Events and raw lines take constant memory, whatever the size of the file: the fold keeps only its newest
//! entries, and a line is never copied.

mod pace;
mod progress;
mod settings;
mod source;

use std::io::{self, BufWriter, Read, Write};

use anyhow::Context as _;
use weir_base::money::dollars;
use weir_base::text::plural;
use weir_transcript::{Fold, FoldOptions, HostEvent, SummaryBuilder};
use weir_wire::{Body, Decoder, Frame, Framer};

use crate::events::EventPrinter;
use crate::exit::Exit;
use pace::Pace;
use progress::Progress;
use settings::Output;
pub(crate) use settings::Settings;

/// How many entries the fold keeps unless the whole session is requested. Enough for results to find their calls.
const KEPT_ENTRIES: usize = 256;

pub(crate) fn run(settings: &Settings) -> anyhow::Result<Exit> {
    let source = source::open(settings)?;
    let progress = Progress::new(source.length, settings);
    let stdout = BufWriter::with_capacity(64 << 10, io::stdout().lock());
    let mut replay = Replay::new(settings, stdout);
    // A pipe may still be written to, and its lines should be shown as they arrive.
    let is_live = source.length.is_none();
    replay
        .read_all(source.reader, is_live, &progress)
        .with_context(|| format!("cannot replay {}", source.name))?;
    progress.finish();
    replay.finish()
}

/// Counts of the input, for the summary.
#[derive(Debug, Default)]
struct Counts {
    lines: u64,
    bytes: u64,
}

struct Replay<'s, W: Write> {
    settings: &'s Settings,
    decoder: Decoder,
    fold: Fold,
    summary: SummaryBuilder,
    printer: EventPrinter,
    pace: Option<Pace>,
    counts: Counts,
    out: W,
}

impl<'s, W: Write> Replay<'s, W> {
    fn new(settings: &'s Settings, out: W) -> Self {
        // The view has the whole session: nothing is dropped or cut.
        let options = match settings.output {
            Output::View => {
                FoldOptions { keep_entries: None, output_limit: usize::MAX, unknown_limit: usize::MAX }
            }
            _ => FoldOptions { keep_entries: Some(KEPT_ENTRIES), ..FoldOptions::default() },
        };
        Self {
            settings,
            decoder: Decoder::new(),
            fold: Fold::new(options),
            summary: if settings.output == Output::Json {
                SummaryBuilder::new()
            } else {
                SummaryBuilder::without_texts()
            },
            printer: match settings.output {
                Output::AgentEvents => EventPrinter::agent(),
                Output::ClassicEvents => EventPrinter::classic(),
                Output::Json | Output::View | Output::Raw => EventPrinter::Nothing,
            },
            pace: settings.speed.map(Pace::new),
            counts: Counts::default(),
            out,
        }
    }

    fn read_all(&mut self, mut reader: impl Read, is_live: bool, progress: &Progress) -> anyhow::Result<()> {
        let mut framer = Framer::with_limit(self.settings.line_limit);
        let mut chunk = Vec::new();
        let paced_raw = self.settings.output == Output::Raw && self.pace.is_some();
        loop {
            let space = framer.space();
            let count = match reader.read(space) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error).context("cannot read the input"),
            };
            if count == 0 {
                break;
            }
            let bytes = space.get(..count).unwrap_or_default();
            self.counts.bytes += count as u64;
            if paced_raw {
                chunk.clear();
                chunk.extend_from_slice(bytes);
                self.pass_on(&mut framer, &chunk)?;
            } else {
                if self.settings.output == Output::Raw {
                    // Byte for byte, so that lines over the limit are printed completely too.
                    self.out.write_all(bytes)?;
                }
                framer.filled(count);
                while let Some(frame) = framer.next_frame() {
                    self.frame(frame)?;
                }
            }
            progress.at(self.counts.bytes);
            if is_live {
                self.out.flush()?;
            }
        }
        if let Some(frame) = framer.finish() {
            self.frame(frame)?;
        }
        self.end()
    }

    /// Prints raw lines at their pace: each waits before its end is written, without holding anything else back.
    fn pass_on(&mut self, framer: &mut Framer, chunk: &[u8]) -> anyhow::Result<()> {
        for piece in chunk.split_inclusive(|&byte| byte == b'\n') {
            framer.push(piece);
            while let Some(frame) = framer.next_frame() {
                self.frame(frame)?;
            }
            self.out.write_all(piece)?;
        }
        Ok(())
    }

    fn frame(&mut self, frame: Frame<'_>) -> anyhow::Result<()> {
        let line = self.decoder.decode_frame(frame);
        self.counts.lines += u64::from(!matches!(line.body, Body::Blank));
        if let Some(pace) = &mut self.pace {
            // Show what was printed so far before the wait.
            self.out.flush()?;
            pace.wait_for(&line);
        }
        let Self { fold, summary, printer, out, .. } = self;
        let mut written = Ok(());
        fold.line(&line, &mut |view, change| {
            summary.observe(view, change);
            if written.is_ok() {
                written = printer.change(view, change, out);
            }
        });
        written.context("cannot write the output")
    }

    fn end(&mut self) -> anyhow::Result<()> {
        let Self { fold, summary, printer, out, .. } = self;
        let mut written = Ok(());
        fold.host(&HostEvent::RecordingEnded, &mut |view, change| {
            summary.observe(view, change);
            if written.is_ok() {
                written = printer.change(view, change, out);
            }
        });
        written.context("cannot write the output")
    }

    fn finish(mut self) -> anyhow::Result<Exit> {
        let view = self.fold.view();
        let mut summary = self.summary.summary(view);
        summary.raw_log = self.settings.file.as_ref().map(|file| file.display().to_string());
        match self.settings.output {
            Output::Json => writeln!(self.out, "{}", serde_json::to_string_pretty(&summary)?)?,
            Output::View => {
                serde_json::to_writer(&mut self.out, view).map_err(io::Error::from)?;
                writeln!(self.out)?;
            }
            Output::AgentEvents | Output::ClassicEvents | Output::Raw => {}
        }
        self.out.flush()?;
        let outcome = self.summary.outcome(view);
        if let Some(error) = self.summary.error() {
            crate::exit::tell(&format!("weir: the run failed: {}", crate::screen::clean(&error)));
        }
        if !self.settings.quiet {
            self.tell_counts();
        }
        Ok(outcome.into())
    }

    fn tell_counts(&self) {
        let odd = &self.fold.view().oddities;
        let cost = match self.fold.view().cost.usd {
            Some(usd) => dollars(usd),
            None => "cost unknown".into(),
        };
        let summary = format!(
            "weir: {}: {} unknown, {} malformed, {} oversize; {}, {}, {cost}\n",
            plural(self.counts.lines, "line"),
            odd.unknown_types + odd.blocks,
            odd.mismatches + odd.not_json,
            odd.oversize,
            plural(self.summary.turns(), "turn"),
            plural(self.summary.tools(), "tool call"),
        );
        // One write, so that nothing comes in between. If it fails, the exit code still shows how the recording ended.
        let _ = io::stderr().write_all(summary.as_bytes());
    }
}
