//! A copy of a file as it is at one moment.

use std::path::Path;

use serde::Serialize;

use super::{belongs, beside, copy_into, counts, existing, failed, length, sync};
use crate::error::StoreError;

/// A copy that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BackedUp {
    /// How many conversations are in it.
    pub conversations: u64,
    /// How many events they have together.
    pub events: u64,
    /// How large it is.
    pub bytes: u64,
}

/// Copies a file as it is at this moment, while others may write to it. The copy is looked at before it gets its name, so
/// a file of that name is whole; one that exists is not replaced.
///
/// # Errors
/// If the file is not a log, or the copy cannot be written.
pub fn back_up(path: &Path, target: &Path) -> Result<BackedUp, StoreError> {
    if std::fs::symlink_metadata(target).is_ok() {
        let reason = format!("{} is there already; name a file that is not", target.display());
        return Err(StoreError::Invalid(reason));
    }
    if belongs(target, path) {
        let reason =
            format!("{} would be taken for a part of the log; choose another name", target.display());
        return Err(StoreError::Invalid(reason));
    }
    let (database, connection) = existing(path)?;
    let partial = beside(target, ".partial");
    copy_into(&database, &connection, &partial)?;
    let counted = crate::sqlite::open::Database { path: partial.clone() }.connect().and_then(|copy| {
        let (conversations, events) = counts(&copy).map_err(|source| database.error(source))?;
        Ok(BackedUp { conversations, events, bytes: length(&partial) })
    })?;
    std::fs::rename(&partial, target).map_err(|error| failed("write", target, error))?;
    sync(target)?;
    Ok(counted)
}
