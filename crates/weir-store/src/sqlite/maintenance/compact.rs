//! Makes a file as small as possible.

use std::path::Path;

use serde::Serialize;

use super::{copy_into, existing, failed, length, resolved, sync, take_alone, with_suffix};
use crate::error::StoreError;
use crate::sqlite::checkpointer::{Cut, cut_off};
use crate::sqlite::open::{Database, SqliteOptions};
use crate::sqlite::queue::transaction;
use crate::sqlite::{disk, heads, index, vacuum, write};

/// Space that must be left on the disk in addition to the copy.
const MARGIN: u64 = 1 << 20;
/// Events of a deleted log removed at a time.
const PURGE_STEP: usize = 2_000;

/// The result of compacting a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Compacted {
    /// Size before, with its side files.
    pub before: u64,
    /// Size after.
    pub after: u64,
    /// How much free space rewriting the file needs, if the disk has less. Free space inside the file was returned to
    /// the disk anyway, if the file's format allows it.
    pub short_of: Option<u64>,
}

/// Makes a file as small as possible: removes what is left of deleted sessions, returns free space to the disk, and
/// rewrites the file if the disk has space for that. No other process may have the file open.
///
/// # Errors
/// If another process has it open, it is not a log, or it cannot be written. The file is then unchanged, or a little
/// smaller.
pub fn compact(path: &Path) -> Result<Compacted, StoreError> {
    let path = &resolved(path)?;
    let (database, connection) = existing(path)?;
    let before = length(path) + database.wal_length();
    // Before anything is changed.
    take_alone(&database, &connection)?;
    drop(connection);
    tidy(&database)?;
    let (_, connection) = existing(path)?;
    take_alone(&database, &connection)?;
    let used = length(path);
    let available = disk::available(path);
    if let Some(left) = available.filter(|left| *left < used + MARGIN) {
        let short_of = Some((used + MARGIN).saturating_sub(left));
        return Ok(Compacted { before, after: length(path), short_of });
    }
    let copy = with_suffix(path, "-compacting");
    connection.pragma_update(None, "auto_vacuum", "incremental").map_err(|source| database.error(source))?;
    copy_into(&database, &connection, &copy)?;
    // The old file is locked until the connection is closed, and has no side files.
    std::fs::rename(&copy, path).map_err(|error| failed("replace", path, error))?;
    sync(path)?;
    drop(connection);
    Ok(Compacted { before, after: length(path), short_of: None })
}

/// Does all postponed work, and returns free space to the disk.
fn tidy(database: &Database) -> Result<(), StoreError> {
    let connection = database.open_writer(&SqliteOptions::default())?;
    let work = || -> rusqlite::Result<()> {
        while let Some(number) = write::trash(&connection)? {
            transaction(&connection, |connection| write::purge(connection, number, PURGE_STEP))?;
            cut_off(&connection, Cut::Keep)?;
        }
        heads::step(&connection)?;
        while vacuum::step(&connection, true)? {
            cut_off(&connection, Cut::Keep)?;
        }
        cut_off(&connection, Cut::Truncate)?;
        while index::step(&connection, index::LARGE_STEP)? {}
        cut_off(&connection, Cut::Truncate)?;
        Ok(())
    };
    match work() {
        // The rest is done when there is space.
        Err(error) if database.is_full(&error) => Ok(()),
        done => done.map_err(|source| database.error(source)),
    }
}
