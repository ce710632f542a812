//! The store's errors.

use std::path::PathBuf;
use std::sync::Arc;

use crate::session::SessionId;

/// Why a request to the store failed. A failed write stores nothing, except with [`StoreError::Indeterminate`].
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The session does not exist.
    #[error("session {0} not found; it may have been deleted")]
    NotFound(SessionId),
    /// A session with this id exists already.
    #[error("session {0} already exists")]
    IdInUse(SessionId),
    /// Another live session has this key.
    #[error("key {key:?} is in use by session {owner}; archive that session first or use another key")]
    KeyInUse {
        /// The key.
        key: String,
        /// The session that has it.
        owner: SessionId,
    },
    /// Another writer has appended in the meantime.
    #[error("the log is at event {newest}, not {expected}: another writer has appended to it")]
    Moved {
        /// The newest event the caller expected.
        expected: u64,
        /// The actual newest event.
        newest: u64,
    },
    /// A writer with a higher generation has taken over.
    #[error("session {session} is written by generation {current} now, and this writer has {generation}")]
    Fenced {
        /// The session.
        session: SessionId,
        /// The generation of the append.
        generation: u64,
        /// The generation of the session.
        current: u64,
    },
    /// The lease has ended, or another holder has it.
    #[error("lease {name:?} of generation {generation} has ended; acquire it again")]
    LeaseLost {
        /// The name of the lease.
        name: String,
        /// Its generation.
        generation: u64,
    },
    /// The cluster could not be reached, or refused. Nothing was stored.
    #[error("the cluster is unavailable ({detail}); nothing was stored")]
    Unavailable {
        /// What went wrong.
        detail: String,
    },
    /// The cluster could not be reached, and what was sent may have been stored or may be stored later.
    #[error("the cluster did not answer ({detail}); read the log to find out whether this was stored")]
    Indeterminate {
        /// What went wrong.
        detail: String,
    },
    /// The request is invalid.
    #[error("{0}")]
    Invalid(String),
    /// Too many bytes are waiting to be written.
    #[error("write queue full, {waiting} bytes are waiting: wait for earlier replies before sending more")]
    Overloaded {
        /// Bytes waiting.
        waiting: usize,
    },
    /// The disk is full, or the file has reached its size limit.
    #[error(
        "no space left for {path}: free some, or delete old sessions; this write was not stored",
        path = .0.display()
    )]
    Full(PathBuf),
    /// Another process has held the write lock for too long.
    #[error("another process has kept {path} locked for {seconds} s; end it or try again", path = .path.display())]
    Locked {
        /// The file.
        path: PathBuf,
        /// How long this process waited.
        seconds: u64,
    },
    /// The file was written by a newer version.
    #[error(
        "{path} has format {found}, and this version of Weir knows formats up to {known}: \
         use the newer Weir that wrote it, put back a backup from before the upgrade with `weir store restore`, or use \
         another data folder",
        path = .path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The newest format known here.
        known: i64,
    },
    /// The file is not a Weir log.
    #[error(
        "{path} is not a Weir log ({detail}) and was not changed; use another data folder",
        path = .path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// How it was recognised.
        detail: String,
    },
    /// The file is damaged.
    #[error(
        "{path} is damaged ({detail}) and was not changed. `weir store check` shows details. Restore a backup with `weir \
         store restore`, or move it away together with the files {path}-wal and {path}-shm to start with an empty log and \
         try `sqlite3 {path} .recover` on a copy to get the old one back",
        path = .path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// SQLite's message.
        detail: String,
    },
    /// The disk is failing, or the file is gone.
    #[error(
        "{path} cannot be used ({detail}): check that its disk works, is mounted and is writable; this write was not \
         stored",
        path = .path.display()
    )]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        detail: String,
    },
    /// Opening or changing the file or its folder failed.
    #[error("cannot {action} {path}: {source}", path = .path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: Arc<std::io::Error>,
    },
    /// Another SQLite error.
    #[error("the log {path} failed: {source}", path = .path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// SQLite's error.
        source: Arc<rusqlite::Error>,
    },
    /// The store was closed before it got to this request.
    #[error("the log was closed before this request was processed")]
    Closed,
}
