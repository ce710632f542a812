//! Writes a session out in pieces, in a thread of its own, no faster than they are taken.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::mpsc;
use weir_store::{Event, SessionId};
use weir_transcript::View;
use weir_transcript::export::{ExportForm, Exporter};
use weir_wire::RawJson;

use crate::core::Core;
use crate::error::HostError;
use crate::history::History;
use crate::load::{load, walk};
use crate::pages::{Export, ExportFormat, LogEvent};
use crate::transcript;

/// Pieces have about this size.
const PIECE: usize = 64 << 10;
/// Entries held while it is written: older ones do not change any more.
const HELD: usize = 2048;
/// The first message is among this many entries.
const FIRST: u64 = 50;
/// Pieces that may wait for the reader.
const WAITING: usize = 4;

/// Begins to write.
pub(crate) fn start(core: &Arc<Core>, id: SessionId, format: ExportFormat, after: u64) -> Export {
    let (sender, pieces) = mpsc::channel(WAITING);
    let core = Arc::clone(core);
    tokio::task::spawn_blocking(move || {
        let mut writer = Writer { buffer: Vec::new(), sender };
        let written = match format {
            ExportFormat::Ndjson => log(&core, &id, after, &mut writer),
            ExportFormat::Html | ExportFormat::Markdown => document(&core, &id, format, &mut writer),
        };
        match written {
            Ok(()) => writer.flush(),
            Err(error) => writer.fail(error),
        }
    });
    Export { format, pieces }
}

/// Collects pieces and passes them on.
struct Writer {
    buffer: Vec<u8>,
    sender: mpsc::Sender<Result<Bytes, HostError>>,
}

impl Writer {
    /// Writes bytes. Returns whether the reader is still there.
    fn put(&mut self, bytes: &[u8]) -> bool {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= PIECE {
            self.flush();
        }
        !self.sender.is_closed()
    }

    fn flush(&mut self) {
        if !self.buffer.is_empty() {
            // The reader may have gone.
            let _ = self.sender.blocking_send(Ok(std::mem::take(&mut self.buffer).into()));
        }
    }

    fn fail(self, error: HostError) {
        let _ = self.sender.blocking_send(Err(error));
    }
}

impl fmt::Write for Writer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.put(text.as_bytes()) { Ok(()) } else { Err(fmt::Error) }
    }
}

fn log(core: &Core, id: &SessionId, after: u64, writer: &mut Writer) -> Result<(), HostError> {
    walk(core.source(), id, after, |event| Ok(writer.put(&line(&event))))
}

/// An event in a line. What is JSON stays as it is, to the byte.
fn line(event: &Event) -> Vec<u8> {
    let Event { seq, at, kind, payload, .. } = event;
    let kind = Value::from(kind.as_str());
    let mut line = format!("{{\"seq\":{seq},\"at\":{at},\"kind\":{kind},\"payload\":").into_bytes();
    let is_one_line =
        std::str::from_utf8(payload).is_ok() && !payload.iter().any(|byte| matches!(byte, b'\n' | b'\r'));
    match RawJson::parse(payload) {
        Ok(_) if is_one_line => line.extend_from_slice(payload),
        _ => line.extend_from_slice(Value::from(String::from_utf8_lossy(payload)).to_string().as_bytes()),
    }
    line.extend_from_slice(b"}\n");
    line
}

fn document(core: &Core, id: &SessionId, format: ExportFormat, writer: &mut Writer) -> Result<(), HostError> {
    let facts = facts(core, id)?;
    let form = match format {
        ExportFormat::Html => ExportForm::Html,
        _ => ExportForm::Markdown,
    };
    // It fails only when the reader has gone.
    let Ok(mut exporter) = Exporter::begin(form, facts, writer) else { return Ok(()) };
    let mut history = History::new(HELD);
    walk(core.source(), id, 0, |event| {
        let mut is_wanted = true;
        history.replay_with(event, &mut |_, change| {
            is_wanted = is_wanted && exporter.change(change, writer).is_ok();
        });
        Ok(is_wanted)
    })?;
    let _ = exporter.end(writer);
    Ok(())
}

/// Data for the beginning and the end of the document: the final view with the first entries.
fn facts(core: &Core, id: &SessionId) -> Result<View, HostError> {
    let options = &core.options;
    let ended = load(core.source(), id, options.keep_entries, options.checkpoint_every)?.history;
    let mut facts = ended.view().clone();
    let began = transcript::from_log(core, id, Some(FIRST + 1), usize::try_from(FIRST).unwrap_or(1))?;
    facts.entries = began.entries;
    facts.entries.reverse();
    facts.dropped_entries = 0;
    Ok(facts)
}

impl LogEvent {
    pub(crate) fn of(event: Event) -> Self {
        let payload = serde_json::from_slice(&event.payload)
            .unwrap_or_else(|_| Value::from(String::from_utf8_lossy(&event.payload)));
        Self { seq: event.seq, at: event.at, kind: event.kind, payload }
    }
}
