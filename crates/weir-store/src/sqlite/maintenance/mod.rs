//! Maintenance of a store's file by a person: check it, back it up, restore a backup, make it smaller.
//!
//! [`check_file`] and [`back_up`] work while other processes use the file. [`compact`] and [`restore`] replace it, so
//! no other process may have it open: they detect that, and refuse.

mod backup;
mod check;
mod compact;
mod restore;

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;

use super::open::Database;
use crate::error::StoreError;

pub use backup::{BackedUp, back_up};
pub use check::{FileReport, check_file};
pub use compact::{Compacted, compact};
pub use restore::{Restored, restore};

/// The path with a suffix appended to its file name.
fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(suffix);
    name.into()
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> StoreError {
    if matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
        return StoreError::Full(path.to_owned());
    }
    StoreError::Io { action, path: path.to_owned(), source: Arc::new(source) }
}

/// Creates an empty file that only its owner can read, replacing what an earlier attempt may have left.
fn create_anew(path: &Path) -> Result<(), StoreError> {
    let removed = std::fs::remove_file(path);
    if let Err(error) = removed
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(failed("remove", path, error));
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop).map_err(|error| failed("create", path, error))
}

/// Suffixes of the files that accompany a database.
const SIDE_FILES: [&str; 4] = ["-wal", "-shm", "-journal", "-reserve"];

/// The real path of a file: behind a link, the file is replaced and not the link.
fn resolved(path: &Path) -> Result<PathBuf, StoreError> {
    path.canonicalize().map_err(|error| failed("open", path, error))
}

/// Whether a name would be taken for a side file of the database.
fn is_side_file(name: &Path, path: &Path) -> bool {
    let folder = |of: &Path| of.parent().and_then(|folder| folder.canonicalize().ok());
    let names = SIDE_FILES.map(|suffix| with_suffix(path, suffix));
    folder(name) == folder(path) && names.iter().any(|taken| taken.file_name() == name.file_name())
}

/// Opens an existing file that is a Weir log.
fn existing(path: &Path) -> Result<(Database, Connection), StoreError> {
    let metadata = std::fs::metadata(path).map_err(|error| failed("open", path, error))?;
    if !metadata.is_file() || metadata.len() == 0 {
        let reason = format!("{} is empty or not a file: it contains no log", path.display());
        return Err(StoreError::Invalid(reason));
    }
    if !has_header(path).map_err(|error| failed("read", path, error))? {
        // SQLite would treat it as a new file, and remove the side files next to it.
        let detail = "it is not a database".to_owned();
        return Err(StoreError::Foreign { path: path.to_owned(), detail });
    }
    let database = Database { path: path.to_owned() };
    let connection = database.connect()?;
    if database.recognise(&connection)? {
        return Err(StoreError::Invalid(format!("{} contains no log", path.display())));
    }
    Ok((database, connection))
}

/// Whether a file starts like a SQLite database.
fn has_header(path: &Path) -> io::Result<bool> {
    let mut header = Vec::new();
    File::open(path)?.take(100).read_to_end(&mut header)?;
    Ok(header.len() == 100 && header.starts_with(b"SQLite format 3\0"))
}

/// Locks out all other processes, and moves the contents of the side files into the file. Refuses if another process
/// has it open.
fn take_alone(database: &Database, connection: &Connection) -> Result<(), StoreError> {
    let failed = |source| database.error(source);
    connection
        .pragma_update_and_check(None, "locking_mode", "exclusive", |_| Ok(()))
        .and_then(|()| {
            // Only the sole user can leave write-ahead logging. A store that is opened later switches back to it.
            connection.pragma_update_and_check(None, "journal_mode", "delete", |row| row.get::<_, String>(0))
        })
        .and_then(|mode| {
            // Takes a lock that is held until the connection is closed.
            connection.execute_batch("BEGIN EXCLUSIVE; COMMIT;").map(|()| mode)
        })
        .map_err(failed)
        .and_then(|mode| {
            if mode == "delete" {
                return Ok(());
            }
            Err(StoreError::Locked { path: database.path.clone(), seconds: 0 })
        })
}

/// Syncs a file and its name to the disk.
fn sync(path: &Path) -> Result<(), StoreError> {
    let sync = |path: &Path| File::open(path).and_then(|file| file.sync_all());
    sync(path).map_err(|error| failed("sync", path, error))?;
    // Some file systems cannot sync a folder; those that need it can.
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let _ = sync(folder);
    }
    Ok(())
}

/// Writes a copy of everything the connection sees into a new file. An incomplete copy is removed.
fn copy_into(database: &Database, connection: &Connection, target: &Path) -> Result<(), StoreError> {
    create_anew(target)?;
    let name = target.to_string_lossy().into_owned();
    let there = Database { path: target.to_owned() };
    let copied = connection.execute("VACUUM INTO ?1", [name]).map_err(|source| there.error(source));
    let copied = copied.and_then(|_| quick_check(&there)).and_then(|()| sync(target));
    copied.map_err(|error| {
        let _ = std::fs::remove_file(target);
        match error {
            // Damage in the copy comes from the original file.
            StoreError::Damaged { detail, .. } => StoreError::Damaged { path: database.path.clone(), detail },
            other => other,
        }
    })
}

fn quick_check(database: &Database) -> Result<(), StoreError> {
    let connection = database.connect()?;
    let failed = |source| database.error(source);
    let found: String =
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(failed)?;
    if found == "ok" {
        return Ok(());
    }
    Err(StoreError::Damaged { path: database.path.clone(), detail: found })
}

/// Numbers of sessions and events.
fn counts(connection: &Connection) -> rusqlite::Result<(u64, u64)> {
    let count = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map(super::rows::unsigned);
    Ok((count("SELECT count(*) FROM conversation")?, count("SELECT count(*) FROM event")?))
}

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |file| file.len())
}
