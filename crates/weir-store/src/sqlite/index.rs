//! Fills the search index.
//!
//! Indexing takes longer than everything else about an event, so an append only stores the text next to the log, in
//! the same transaction. The texts are indexed many at a time when there is nothing else to write, at the latest
//! before a search: a search finds everything acknowledged before it.
//!
//! The index has no copy of the texts. An entry is therefore removed by giving the index its text again, before the
//! text itself is removed.

use rusqlite::{Connection, OptionalExtension, params};

use super::queue::transaction;
use super::rows::place;
use super::task::Done;

/// Step size while other writes may arrive: a few milliseconds.
pub(super) const SMALL_STEP: Step = Step { texts: 32, bytes: 32 << 10 };
/// Step size when too many texts wait.
pub(super) const LARGE_STEP: Step = Step { texts: 1024, bytes: 1 << 20 };

/// How much is indexed at a time, but always at least one text. A step ends with a session.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    texts: usize,
    bytes: usize,
}

/// Indexes some texts. Returns whether more may be waiting.
pub(super) fn step(connection: &Connection, step: Step) -> rusqlite::Result<bool> {
    if !is_behind(connection)? {
        return Ok(false);
    }
    transaction(connection, |connection| advance(connection, step))
}

/// Indexes all texts.
pub(super) fn catch_up(connection: &Connection) -> Done<()> {
    while advance(connection, LARGE_STEP)? {}
    Ok(((), None))
}

/// Whether texts are waiting.
pub(super) fn is_behind(connection: &Connection) -> rusqlite::Result<bool> {
    connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM unindexed)")?.query_row([], |row| row.get(0))
}

/// Records that a session has texts from this place on that are not in the index.
pub(super) fn fall_behind(connection: &Connection, number: i64, first: i64) -> rusqlite::Result<()> {
    connection.prepare_cached("INSERT OR IGNORE INTO unindexed VALUES (?1, ?2)")?.execute([number, first])?;
    Ok(())
}

/// Indexes some texts of one session. Returns whether more may be waiting.
fn advance(connection: &Connection, step: Step) -> rusqlite::Result<bool> {
    let behind: Option<(i64, i64)> = connection
        .prepare_cached("SELECT conversation, first FROM unindexed LIMIT 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((number, first)) = behind else { return Ok(false) };
    let mut waiting = connection
        .prepare_cached("SELECT place, text FROM text WHERE place BETWEEN ?1 AND ?2 ORDER BY place")?;
    let mut insert = connection.prepare_cached("INSERT INTO search (rowid, text) VALUES (?1, ?2)")?;
    let mut rows = waiting.query([first, place(number, u64::MAX)])?;
    let (mut texts, mut bytes) = (0, 0);
    while let Some(row) = rows.next()? {
        let place: i64 = row.get(0)?;
        if texts == step.texts || bytes >= step.bytes {
            connection
                .prepare_cached("UPDATE unindexed SET first = ?2 WHERE conversation = ?1")?
                .execute([number, place])?;
            return Ok(true);
        }
        let text = row.get_ref(1)?.as_str()?;
        insert.execute((place, text))?;
        (texts, bytes) = (texts + 1, bytes + text.len());
    }
    connection.prepare_cached("DELETE FROM unindexed WHERE conversation = ?1")?.execute([number])?;
    Ok(true)
}

/// Removes some texts of a session, also from the index. Returns their number, which is 0 when none is left.
pub(super) fn remove(connection: &Connection, number: i64, max_texts: usize) -> rusqlite::Result<usize> {
    let (start, end) = (place(number, 0), place(number, u64::MAX));
    let unindexed: i64 = connection
        .prepare_cached("SELECT first FROM unindexed WHERE conversation = ?1")?
        .query_row([number], |row| row.get(0))
        .optional()?
        .unwrap_or(i64::MAX);
    let mut found = connection.prepare_cached(
        "SELECT place, text FROM text WHERE place BETWEEN ?1 AND ?2 ORDER BY place LIMIT ?3",
    )?;
    let mut forget =
        connection.prepare_cached("INSERT INTO search (search, rowid, text) VALUES ('delete', ?1, ?2)")?;
    let mut rows = found.query(params![start, end, i64::try_from(max_texts).unwrap_or(i64::MAX)])?;
    let (mut last, mut count) = (start, 0);
    while let Some(row) = rows.next()? {
        last = row.get(0)?;
        count += 1;
        if last < unindexed {
            forget.execute((last, row.get_ref(1)?.as_str()?))?;
        }
    }
    drop(rows);
    connection.prepare_cached("DELETE FROM text WHERE place BETWEEN ?1 AND ?2")?.execute([start, last])?;
    Ok(count)
}
