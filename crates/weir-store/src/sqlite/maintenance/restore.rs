//! Replaces a file by a backup. The old file is kept under another name.

use std::path::{Path, PathBuf};

use serde::Serialize;
use weir_base::time::now_ms;

use super::{FileReport, check_file, create_anew, existing, failed, resolved, sync, take_alone, with_suffix};
use crate::error::StoreError;

/// Suffixes of the file itself and its side files.
const SUFFIXES: [&str; 3] = ["", "-wal", "-shm"];

/// The result of restoring a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Restored {
    /// What is in the restored file.
    pub report: FileReport,
    /// Where the previous file is now.
    pub kept: Option<PathBuf>,
}

/// Replaces a file by a copy of a backup, after checking that the copy is sound. The previous file is kept under
/// another name, and the backup stays unchanged. No other process may have the file open.
///
/// # Errors
/// If the backup is not sound or was written by a newer version, if another process has the file open, or if
/// something cannot be written. Everything is then unchanged.
pub fn restore(backup: &Path, path: &Path) -> Result<Restored, StoreError> {
    let path = &if path.exists() { resolved(path)? } else { path.to_owned() };
    let is_same = |there: &Path| {
        there.canonicalize().is_ok_and(|there| path.canonicalize().is_ok_and(|path| there == path))
    };
    if is_same(backup) {
        let reason = format!("{} is the log itself; specify a backup of it", backup.display());
        return Err(StoreError::Invalid(reason));
    }
    let copy = with_suffix(path, "-restoring");
    let done = prepare(backup, &copy).and_then(|report| {
        let kept = keep_aside(path)?;
        let placed = replace(path, &copy);
        if let (Err(_), Some(kept)) = (&placed, &kept) {
            undo_keep_aside(kept, path);
        }
        placed?;
        sync(path)?;
        Ok(Restored { report, kept })
    });
    if done.is_err() {
        for suffix in SUFFIXES {
            let _ = std::fs::remove_file(with_suffix(&copy, suffix));
        }
    }
    done
}

/// Makes a copy of the backup that is sound and needs no side files.
fn prepare(backup: &Path, copy: &Path) -> Result<FileReport, StoreError> {
    let copy_file = |from: &Path, to: &Path| {
        create_anew(to)?;
        std::fs::copy(from, to).map(drop).map_err(|error| {
            // The system's message says which of the two files failed.
            failed("copy", from, error)
        })
    };
    copy_file(backup, copy)?;
    // A backup that was copied by hand may have a write-ahead log.
    let log = with_suffix(backup, "-wal");
    if log.exists() {
        copy_file(&log, &with_suffix(copy, "-wal"))?;
    }
    let (database, connection) = existing(copy).map_err(|error| match error {
        // Report the backup, not its copy.
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

/// Links the existing file under a second name, so that the first name always exists: a server that finds no file
/// would create an empty one. Refuses if another process has it open.
fn keep_aside(path: &Path) -> Result<Option<PathBuf>, StoreError> {
    if !path.exists() {
        return Ok(None);
    }
    // A file that cannot be opened at all is kept unchanged, with its side files.
    if let Ok((database, connection)) = existing(path)
        && let Err(error @ StoreError::Locked { .. }) = take_alone(&database, &connection)
    {
        return Err(error);
    }
    let kept = with_suffix(path, &format!(".before-restore-{}", now_ms() / 1000));
    if kept.exists() {
        let reason = format!("{} already exists; try again in a second", kept.display());
        return Err(StoreError::Invalid(reason));
    }
    for suffix in SUFFIXES {
        let (from, to) = (with_suffix(path, suffix), with_suffix(&kept, suffix));
        if !from.exists() {
            continue;
        }
        // Not every file system supports hard links.
        let linked = std::fs::hard_link(&from, &to).or_else(|_| std::fs::copy(&from, &to).map(drop));
        if let Err(error) = linked {
            undo_keep_aside(&kept, path);
            return Err(failed("keep", &from, error));
        }
    }
    Ok(Some(kept))
}

/// Atomically replaces the file by the copy.
fn replace(path: &Path, copy: &Path) -> Result<(), StoreError> {
    for suffix in &SUFFIXES[1..] {
        // SQLite would take the side files of the old file for those of the new one.
        let side_file = with_suffix(path, suffix);
        if let Err(error) = std::fs::remove_file(&side_file)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            return Err(failed("remove", &side_file, error));
        }
    }
    std::fs::rename(copy, path).map_err(|error| failed("replace", path, error))
}

/// Undoes `keep_aside`.
fn undo_keep_aside(kept: &Path, path: &Path) {
    for suffix in SUFFIXES {
        let (from, to) = (with_suffix(kept, suffix), with_suffix(path, suffix));
        // Best effort: the error that led here is the one to report.
        let _ = if to.exists() { std::fs::remove_file(&from) } else { std::fs::rename(&from, &to) };
    }
}
