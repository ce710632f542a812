//! Exports a log as lines.

use std::io::{self, Write};

use crate::error::StoreError;
use crate::event::Event;
use crate::log::Log;
use crate::query::ReadQuery;
use crate::session::SessionId;

/// Why an export failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The log could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The output could not be written.
    #[error("cannot write the export: {0}")]
    Output(#[from] io::Error),
}

/// Writes the payloads of a session, each unchanged and on its own line, and returns how many there were.
///
/// `wanted` selects the events. The log is read page by page on the calling thread.
///
/// # Errors
/// If the log cannot be read or the output cannot be written.
pub fn export_lines(
    log: &dyn Log,
    session: &SessionId,
    mut wanted: impl FnMut(&Event) -> bool,
    output: &mut dyn Write,
) -> Result<u64, ExportError> {
    let mut lines = 0;
    let mut seen = 0;
    loop {
        let page = log.read(ReadQuery::after(session.clone(), seen)).wait()?;
        for event in page.events.iter().filter(|event| wanted(event)) {
            output.write_all(&event.payload)?;
            if !event.payload.ends_with(b"\n") {
                output.write_all(b"\n")?;
            }
            lines += 1;
        }
        match page.events.last() {
            Some(last) if page.more => seen = last.seq,
            _ => return Ok(lines),
        }
    }
}
