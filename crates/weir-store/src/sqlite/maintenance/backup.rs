//! A copy of a file at one moment.

use std::path::Path;

use serde::Serialize;

use super::{copy_into, counts, existing, failed, is_side_file, length, sync, with_suffix};
use crate::error::StoreError;

/// The copy that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BackedUp {
    /// Number of sessions in it.
    pub sessions: u64,
    /// Number of events in all sessions.
    pub events: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Copies a file as it is at this moment, even while other processes write to it. The copy is checked before it gets
/// its name, so a file with that name is complete. An existing file is not replaced.
///
/// # Errors
/// If the file is not a log, or the copy cannot be written.
pub fn back_up(path: &Path, target: &Path) -> Result<BackedUp, StoreError> {
    if std::fs::symlink_metadata(target).is_ok() {
        let reason = format!("{} already exists; choose another name", target.display());
        return Err(StoreError::Invalid(reason));
    }
    if is_side_file(target, path) {
        let reason =
            format!("{} would be mistaken for part of the log; choose another name", target.display());
        return Err(StoreError::Invalid(reason));
    }
    let (database, connection) = existing(path)?;
    let partial = with_suffix(target, ".partial");
    copy_into(&database, &connection, &partial)?;
    let counted = crate::sqlite::open::Database { path: partial.clone() }.connect().and_then(|copy| {
        let (sessions, events) = counts(&copy).map_err(|source| database.error(source))?;
        Ok(BackedUp { sessions, events, bytes: length(&partial) })
    })?;
    std::fs::rename(&partial, target).map_err(|error| failed("write", target, error))?;
    sync(target)?;
    Ok(counted)
}
