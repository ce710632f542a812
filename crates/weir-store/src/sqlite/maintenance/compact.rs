//! Makes a file as small as it can be.

use std::path::Path;

use serde::Serialize;

use super::{beside, copy_into, existing, failed, length, resolved, sync, take_alone};
use crate::error::StoreError;
use crate::sqlite::checkpointer::{Cut, cut_off};
use crate::sqlite::open::{Database, SqliteOptions};
use crate::sqlite::queue::transaction;
use crate::sqlite::{disk, heads, index, vacuum, write};

/// Beside the copy there is to be so much left on the disk.
const MARGIN: u64 = 1 << 20;
/// So many events of a deleted log are removed at a time.
const PURGE_STEP: usize = 2_000;

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Compacted {
    /// How large it was, with what belonged to it.
    pub before: u64,
    /// How large it is.
    pub after: u64,
    /// How much the disk would have to have free for the file to be written anew, where it has less. What was free inside
    /// the file was given back all the same, if the file is of a kind that can.
    pub short_of: Option<u64>,
}

/// Makes a file as small as it can be: removes what is left of deleted conversations, gives free space back, and writes the
/// whole anew where the disk has space for that. Nobody else may have the file open.
///
/// # Errors
/// If somebody has it open, it is not a log, or it cannot be written. It is then as it was, or a little smaller.
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
    let copy = beside(path, "-compacting");
    connection.pragma_update(None, "auto_vacuum", "incremental").map_err(|source| database.error(source))?;
    copy_into(&database, &connection, &copy)?;
    // The old file is locked until the connection is closed, and has no other files beside it.
    std::fs::rename(&copy, path).map_err(|error| failed("replace", path, error))?;
    sync(path)?;
    drop(connection);
    Ok(Compacted { before, after: length(path), short_of: None })
}

/// Does all that waits for a quiet moment, and gives free space back.
fn tidy(database: &Database) -> Result<(), StoreError> {
    let connection = database.open_writer(&SqliteOptions::default())?;
    let work = || -> rusqlite::Result<()> {
        while let Some(number) = write::trash(&connection)? {
            transaction(&connection, |connection| write::purge(connection, number, PURGE_STEP))?;
            cut_off(&connection, Cut::Kept)?;
        }
        heads::step(&connection)?;
        while vacuum::step(&connection, true)? {
            cut_off(&connection, Cut::Kept)?;
        }
        cut_off(&connection, Cut::Short)?;
        while index::step(&connection, index::LARGE_STEP)? {}
        cut_off(&connection, Cut::Short)?;
        Ok(())
    };
    match work() {
        // The rest is done when there is space.
        Err(error) if database.is_full(&error) => Ok(()),
        done => done.map_err(|source| database.error(source)),
    }
}
