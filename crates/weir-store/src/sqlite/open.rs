//! Opens the file: creates or recognises it, and refuses files that are not ours.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::disk;
use super::schema;
use crate::error::StoreError;

/// How long a write waits for another process.
pub(super) const LOCK_WAIT: Duration = Duration::from_secs(10);

/// What an acknowledged write survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Everything, including a power loss: each transaction is synced to the disk before it is acknowledged.
    #[default]
    Synced,
    /// The end of the process, however it ends. A power loss may lose the newest writes: those since the last quiet
    /// quarter of a second, or the last few megabytes if it is never quiet.
    Process,
}

/// The reserve for a store that people rely on: more than twice the limit of the write-ahead log.
pub const DEFAULT_RESERVE: u64 = 32 << 20;

/// How a store is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqliteOptions {
    /// What an acknowledged write survives.
    pub durability: Durability,
    /// Maximum size of the file in bytes; `None` for no limit.
    pub size_limit: Option<u64>,
    /// Bytes of disk space to hold back in a file next to this one, for deletions and writes that end something when
    /// the disk is full; at most a sixteenth of the disk. Zero for no reserve.
    pub reserve: u64,
    /// Maximum number of bytes waiting to be written. Beyond it writes are refused.
    pub queue_limit: usize,
    /// Maximum number of reader threads. They are started on demand.
    pub readers: usize,
    /// How often a log with viewers is checked for writes by other processes.
    pub poll_interval: Duration,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Synced,
            size_limit: None,
            reserve: 0,
            queue_limit: 512 << 20,
            readers: 4,
            poll_interval: Duration::from_millis(250),
        }
    }
}

/// A database file, and how its errors are reported.
#[derive(Debug, Clone)]
pub(super) struct Database {
    pub(super) path: PathBuf,
}

impl Database {
    pub(super) fn error(&self, source: rusqlite::Error) -> StoreError {
        let path = self.path.clone();
        // What is written is valid text, so what is not was changed since.
        let is_spoilt =
            matches!(source, rusqlite::Error::Utf8Error(..) | rusqlite::Error::FromSqlConversionFailure(..));
        match source.sqlite_error_code() {
            _ if self.is_full(&source) => StoreError::Full(path),
            _ if is_spoilt => StoreError::Damaged { path, detail: source.to_string() },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                StoreError::Locked { path, seconds: LOCK_WAIT.as_secs() }
            }
            Some(ErrorCode::NotADatabase) => StoreError::Foreign { path, detail: source.to_string() },
            Some(
                ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied,
            ) => StoreError::Unusable { path, detail: source.to_string() },
            Some(ErrorCode::DatabaseCorrupt) => StoreError::Damaged { path, detail: source.to_string() },
            _ => StoreError::Sqlite { path, source: Arc::new(source) },
        }
    }

    /// Whether something failed for lack of space.
    pub(super) fn is_full(&self, error: &rusqlite::Error) -> bool {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => true,
            // SQLite does not report every system call that fails on a full disk as such.
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => disk::is_out_of_space(&self.path),
            _ => false,
        }
    }

    /// The length of the write-ahead log.
    pub(super) fn wal_length(&self) -> u64 {
        let mut name = self.path.clone().into_os_string();
        name.push("-wal");
        std::fs::metadata(name).map_or(0, |file| file.len())
    }

    pub(super) fn no_thread(&self, source: io::Error) -> StoreError {
        self.io("start a thread for", source)
    }

    fn io(&self, action: &'static str, source: io::Error) -> StoreError {
        StoreError::Io { action, path: self.path.clone(), source: Arc::new(source) }
    }

    /// Opens the connection that writes. Creates the file if it does not exist.
    pub(super) fn open_writer(&self, options: &SqliteOptions) -> Result<Connection, StoreError> {
        create(&self.path).map_err(|source| self.io("create", source))?;
        let mut connection = self.connect()?;
        let failed = |source| self.error(source);
        if self.recognise(&connection)? {
            // So that space can be returned to the disk later. It must be set before anything is in the file.
            connection.pragma_update(None, "auto_vacuum", "incremental").map_err(failed)?;
        }

        let mode: String = connection
            .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))
            .map_err(failed)?;
        if mode != "wal" {
            let message = format!(
                "the file system does not support write-ahead logging (it offers {mode:?}); use a local disk"
            );
            return Err(self.io("use", io::Error::other(message)));
        }
        let synchronous = match options.durability {
            Durability::Synced => "full",
            Durability::Process => "normal",
        };
        connection.pragma_update(None, "synchronous", synchronous).map_err(failed)?;
        // The writer cuts off the write-ahead log. On a full disk its space should be kept.
        connection.pragma_update(None, "journal_size_limit", -1).map_err(failed)?;
        // A separate thread runs checkpoints, so that no write waits for one.
        connection.pragma_update_and_check(None, "wal_autocheckpoint", 0, |_| Ok(())).map_err(failed)?;
        schema::migrate(&mut connection).map_err(failed)?;
        self.limit_size(&connection, options.size_limit).map_err(failed)?;
        Ok(connection)
    }

    /// Opens a read-only connection.
    pub(super) fn open_reader(&self) -> Result<Connection, StoreError> {
        let connection = self.connect()?;
        connection.pragma_update(None, "query_only", true).map_err(|source| self.error(source))?;
        Ok(connection)
    }

    /// Opens a connection that moves the write-ahead log into the file, and syncs both.
    pub(super) fn open_checkpointer(&self) -> Result<Connection, StoreError> {
        let connection = self.connect()?;
        connection.pragma_update(None, "synchronous", "normal").map_err(|source| self.error(source))?;
        Ok(connection)
    }

    pub(super) fn connect(&self) -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection =
            Connection::open_with_flags(&self.path, flags).map_err(|source| self.error(source))?;
        connection.busy_timeout(LOCK_WAIT).map_err(|source| self.error(source))?;
        connection.set_prepared_statement_cache_capacity(32);
        Ok(connection)
    }

    /// Refuses a file that is not ours, without changing it. Returns whether it is new.
    pub(super) fn recognise(&self, connection: &Connection) -> Result<bool, StoreError> {
        let failed = |source| self.error(source);
        let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let application = number("application_id").map_err(failed)?;
        let version = number("user_version").map_err(failed)?;
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(failed)?;
        if (application, version, tables) == (0, 0, 0) {
            return Ok(true);
        }
        if application != schema::APPLICATION_ID {
            let detail = "it is another program's database".to_owned();
            return Err(StoreError::Foreign { path: self.path.clone(), detail });
        }
        if version > schema::VERSION {
            return Err(StoreError::Newer {
                path: self.path.clone(),
                found: version,
                known: schema::VERSION,
            });
        }
        Ok(false)
    }

    fn limit_size(&self, connection: &Connection, limit: Option<u64>) -> rusqlite::Result<()> {
        let Some(limit) = limit else { return Ok(()) };
        let page: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let pages = i64::try_from(limit).unwrap_or(i64::MAX) / page.max(1);
        connection.pragma_update_and_check(None, "max_page_count", pages.max(1), |_| Ok(()))
    }
}

/// Creates the file, readable by its owner only; SQLite gives its side files the same mode.
///
/// An existing file is not opened here: closing it would drop the locks that SQLite holds on it in this process.
fn create(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}
