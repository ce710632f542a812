//! Fills the search index.
//!
//! Indexing takes longer than everything else about an event, so an append only stores the text next to the log, in
//! the same transaction. The texts are indexed many at a time when there is nothing else to write, at the latest
//! before a search: a search finds everything acknowledged before it.
//!
//! The index has no copy of the texts. An entry is therefore removed by giving the index its text again, before the
//! text itself is removed.

use std::ops::RangeInclusive;

use rusqlite::{Connection, params};

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

fn advance(connection: &Connection, step: Step) -> rusqlite::Result<bool> {
    let mut waiting = connection.prepare_cached(
        "SELECT place, text FROM unindexed JOIN text USING (place) ORDER BY place LIMIT ?1",
    )?;
    let mut insert = connection.prepare_cached("INSERT INTO search (rowid, text) VALUES (?1, ?2)")?;
    let mut rows = waiting.query([i64::try_from(step.texts).unwrap_or(i64::MAX)])?;
    let (mut last, mut bytes) = (None, 0);
    while bytes < step.bytes
        && let Some(row) = rows.next()?
    {
        let (place, text) = (row.get::<_, i64>(0)?, row.get_ref(1)?.as_str()?);
        insert.execute((place, text))?;
        bytes += text.len();
        last = Some(place);
    }
    drop(rows);
    let Some(last) = last else { return Ok(false) };
    connection.prepare_cached("DELETE FROM unindexed WHERE place <= ?1")?.execute([last])?;
    Ok(true)
}

/// Removes some texts of these places, also from the index. Returns their number, which is 0 when none is left.
pub(super) fn remove(
    connection: &Connection,
    places: RangeInclusive<i64>,
    max_texts: usize,
) -> rusqlite::Result<usize> {
    let mut found = connection.prepare_cached(
        "SELECT place, text, EXISTS (SELECT 1 FROM unindexed WHERE unindexed.place = text.place) \
         FROM text WHERE place BETWEEN ?1 AND ?2 ORDER BY place LIMIT ?3",
    )?;
    let mut forget =
        connection.prepare_cached("INSERT INTO search (search, rowid, text) VALUES ('delete', ?1, ?2)")?;
    let max_rows = i64::try_from(max_texts).unwrap_or(i64::MAX);
    let mut rows = found.query(params![places.start(), places.end(), max_rows])?;
    let (mut last, mut count) = (None, 0);
    while let Some(row) = rows.next()? {
        let place: i64 = row.get(0)?;
        if !row.get::<_, bool>(2)? {
            forget.execute((place, row.get_ref(1)?.as_str()?))?;
        }
        (last, count) = (Some(place), count + 1);
    }
    drop(rows);
    if let Some(last) = last {
        for table in ["unindexed", "text"] {
            connection
                .prepare_cached(&format!("DELETE FROM {table} WHERE place BETWEEN ?1 AND ?2"))?
                .execute(params![places.start(), last])?;
        }
    }
    Ok(count)
}
