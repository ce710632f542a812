//! Puts a copy in the place of a file. What was there is kept under another name.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{FileReport, beside, check_file, create_anew, existing, failed, resolved, sync, take_alone};
use crate::error::StoreError;
use crate::store::now;

/// What belongs to a file, by the endings of their names.
const BELONGINGS: [&str; 3] = ["", "-wal", "-shm"];

/// A file that was put in place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Restored {
    /// What is in it.
    pub report: FileReport,
    /// Where what was there before is now.
    pub kept: Option<PathBuf>,
}

/// Puts a copy of a backup in the place of a file, after it was found sound. What was there is kept under another name, and
/// the backup stays as it is. Nobody else may have the file open.
///
/// # Errors
/// If the backup is not sound or of a newer version, if somebody has the file open, or if something cannot be written.
/// Everything is then as it was.
pub fn restore(backup: &Path, path: &Path) -> Result<Restored, StoreError> {
    let path = &if path.exists() { resolved(path)? } else { path.to_owned() };
    let is_same = |there: &Path| {
        there.canonicalize().is_ok_and(|there| path.canonicalize().is_ok_and(|path| there == path))
    };
    if is_same(backup) {
        let reason = format!("{} is the file itself; name a backup of it", backup.display());
        return Err(StoreError::Invalid(reason));
    }
    let copy = beside(path, "-restoring");
    let done = prepare(backup, &copy).and_then(|report| {
        let kept = keep_aside(path)?;
        let placed = replace(path, &copy);
        if let (Err(_), Some(kept)) = (&placed, &kept) {
            take_back(kept, path);
        }
        placed?;
        sync(path)?;
        Ok(Restored { report, kept })
    });
    if done.is_err() {
        for ending in BELONGINGS {
            let _ = std::fs::remove_file(beside(&copy, ending));
        }
    }
    done
}

/// A copy of the backup that is sound and needs no other file beside it.
fn prepare(backup: &Path, copy: &Path) -> Result<FileReport, StoreError> {
    let copy_file = |from: &Path, to: &Path| {
        create_anew(to)?;
        std::fs::copy(from, to).map(drop).map_err(|error| {
            // It is not known which of the two cannot be used; the message of the system says it.
            failed("copy", from, error)
        })
    };
    copy_file(backup, copy)?;
    // One that was copied by hand may have something beside it.
    let log = beside(backup, "-wal");
    if log.exists() {
        copy_file(&log, &beside(copy, "-wal"))?;
    }
    let (database, connection) = existing(copy).map_err(|error| match error {
        // Of the file that was named, and not of its copy.
        StoreError::Foreign { detail, .. } => {
            StoreError::Invalid(format!("{} is not a backup of a log: {detail}", backup.display()))
        }
        other => other,
    })?;
    take_alone(&database, &connection)?;
    drop(connection);
    let report = check_file(copy)?;
    if let Some(problem) = report.problems.first() {
        return Err(StoreError::Damaged { path: backup.to_owned(), detail: problem.clone() });
    }
    sync(copy)?;
    Ok(report)
}

/// Gives what is there another name as well, so that there is a file under its own name all the time: a server that
/// finds none would begin an empty one. Refuses where somebody has it open.
fn keep_aside(path: &Path) -> Result<Option<PathBuf>, StoreError> {
    if !path.exists() {
        return Ok(None);
    }
    // A file that cannot be opened at all is kept as it is, with all that belongs to it.
    if let Ok((database, connection)) = existing(path)
        && let Err(error @ StoreError::Locked { .. }) = take_alone(&database, &connection)
    {
        return Err(error);
    }
    let kept = beside(path, &format!(".before-restore-{}", now() / 1000));
    if kept.exists() {
        let reason = format!("{} is there already; try again in a second", kept.display());
        return Err(StoreError::Invalid(reason));
    }
    for ending in BELONGINGS {
        let (from, to) = (beside(path, ending), beside(&kept, ending));
        if !from.exists() {
            continue;
        }
        // Not every file system has links.
        let linked = std::fs::hard_link(&from, &to).or_else(|_| std::fs::copy(&from, &to).map(drop));
        if let Err(error) = linked {
            take_back(&kept, path);
            return Err(failed("keep", &from, error));
        }
    }
    Ok(Some(kept))
}

/// Puts the copy in the place of the file, at once.
fn replace(path: &Path, copy: &Path) -> Result<(), StoreError> {
    for ending in &BELONGINGS[1..] {
        // SQLite would take what belongs to the old file for a part of the new one.
        let belonging = beside(path, ending);
        if let Err(error) = std::fs::remove_file(&belonging)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            return Err(failed("remove", &belonging, error));
        }
    }
    std::fs::rename(copy, path).map_err(|error| failed("replace", path, error))
}

/// Everything is as it was before it was kept aside.
fn take_back(kept: &Path, path: &Path) {
    for ending in BELONGINGS {
        let (from, to) = (beside(kept, ending), beside(path, ending));
        // What cannot be taken back stays where it is; the error that led here is the one to tell.
        let _ = if to.exists() { std::fs::remove_file(&from) } else { std::fs::rename(&from, &to) };
    }
}
