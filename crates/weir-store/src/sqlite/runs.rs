//! Which writer wrote which part of a log.
//!
//! A log is written by one opening of the file after another. Each records where it began, once and in the
//! transaction of its first event, so other events cost nothing extra. If the end of a log is lost, later events at
//! those numbers have another writer, and a cursor into the lost part is recognised: see [`crate::Check`].

use rusqlite::{Connection, OptionalExtension, params};

use super::rows::{signed, unsigned};
use crate::cursor::Check;
use crate::event::Event;

/// The writer of this event; `None` if an older version wrote it.
pub(super) fn writer_of(connection: &Connection, number: i64, seq: u64) -> rusqlite::Result<Option<Check>> {
    let mark: Option<i64> = connection
        .prepare_cached(
            "SELECT mark FROM run WHERE conversation = ?1 AND first <= ?2 ORDER BY first DESC LIMIT 1",
        )?
        .query_row(params![number, signed(seq)], |row| row.get(0))
        .optional()?;
    Ok(mark.and_then(Check::from_stored))
}

/// Sets the writer of each of these events of one log, in either direction.
pub(super) fn attribute(connection: &Connection, number: i64, events: &mut [Event]) -> rusqlite::Result<()> {
    let seqs = || events.iter().map(|event| event.seq);
    let (Some(oldest), Some(newest)) = (seqs().min(), seqs().max()) else { return Ok(()) };
    let mut statement = connection.prepare_cached(
        "SELECT first, mark FROM run WHERE conversation = ?1 AND first <= ?3 AND first >= \
         coalesce((SELECT max(first) FROM run WHERE conversation = ?1 AND first <= ?2), 0) ORDER BY first",
    )?;
    let rows = statement.query_map(params![number, signed(oldest), signed(newest)], |row| {
        Ok((unsigned(row.get(0)?), Check::from_stored(row.get(1)?)))
    })?;
    let runs = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    for event in events {
        let run = runs.iter().rev().find(|(first, _)| *first <= event.seq);
        event.check = run.and_then(|(_, check)| *check);
    }
    Ok(())
}
