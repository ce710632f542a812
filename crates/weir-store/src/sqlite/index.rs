//! Fills the search index.
//!
//! Indexing takes longer than everything else about an event, so an append only stores the text next to the log, in
//! the same transaction. The texts are moved into the index many at a time when there is nothing else to write, at
//! the latest before a search: a search finds everything acknowledged before it.

use rusqlite::Connection;

use super::queue::transaction;
use super::task::Done;

/// Step size while other writes may arrive: a few milliseconds.
pub(super) const SMALL_STEP: Step = Step { texts: 32, bytes: 32 << 10 };
/// Step size when too many texts wait.
pub(super) const LARGE_STEP: Step = Step { texts: 1024, bytes: 1 << 20 };

/// How much is indexed at a time, but always at least one text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    texts: usize,
    bytes: usize,
}

/// Moves some texts into the index. Returns whether more may be waiting.
pub(super) fn step(connection: &Connection, step: Step) -> rusqlite::Result<bool> {
    if !is_behind(connection)? {
        return Ok(false);
    }
    transaction(connection, |connection| advance(connection, step))
}

/// Moves all texts into the index.
pub(super) fn catch_up(connection: &Connection) -> Done<()> {
    while advance(connection, LARGE_STEP)? {}
    Ok(((), None))
}

/// Whether texts are waiting.
pub(super) fn is_behind(connection: &Connection) -> rusqlite::Result<bool> {
    connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM unindexed)")?.query_row([], |row| row.get(0))
}

fn advance(connection: &Connection, step: Step) -> rusqlite::Result<bool> {
    let mut waiting =
        connection.prepare_cached("SELECT place, text FROM unindexed ORDER BY place LIMIT ?1")?;
    let mut insert = connection.prepare_cached("INSERT INTO search (rowid, text) VALUES (?1, ?2)")?;
    let mut rows = waiting.query([i64::try_from(step.texts).unwrap_or(i64::MAX)])?;
    let (mut last, mut bytes) = (None, 0);
    while bytes < step.bytes
        && let Some(row) = rows.next()?
    {
        let (place, text): (i64, String) = (row.get(0)?, row.get(1)?);
        insert.execute((place, &text))?;
        bytes += text.len();
        last = Some(place);
    }
    drop(rows);
    let Some(last) = last else { return Ok(false) };
    connection.prepare_cached("DELETE FROM unindexed WHERE place <= ?1")?.execute([last])?;
    Ok(true)
}
