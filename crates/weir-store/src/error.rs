//! What can go wrong, and what to do about it.

use std::path::PathBuf;
use std::sync::Arc;

use crate::conversation::ConversationId;

/// Why the store did not do what it was asked. Nothing of a failed write is kept.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such conversation.
    #[error("there is no conversation {0}; it may have been deleted")]
    NotFound(ConversationId),
    /// A conversation with this id exists.
    #[error("there is a conversation {0} already")]
    IdInUse(ConversationId),
    /// A live conversation has this key.
    #[error("the key {key:?} belongs to conversation {owner}; archive that one first or use another key")]
    KeyInUse {
        /// The key.
        key: String,
        /// Whose it is.
        owner: ConversationId,
    },
    /// Somebody else has appended in between.
    #[error("the log is at event {newest} and not at {expected}: somebody else has written to it")]
    Moved {
        /// What the caller took for the newest event.
        expected: u64,
        /// What it is.
        newest: u64,
    },
    /// The request makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// More is waiting to be written than may be.
    #[error(
        "{waiting} bytes wait to be written, which is the limit: wait for earlier replies before sending more"
    )]
    Overloaded {
        /// How much waits.
        waiting: usize,
    },
    /// The disk, or the size that was allowed, is full.
    #[error(
        "no space left for {path}: free some, or delete old conversations; nothing of this write was kept",
        path = .0.display()
    )]
    Full(PathBuf),
    /// Another process is writing for too long.
    #[error("another process has kept {path} locked for {seconds} s; end it or try again", path = .path.display())]
    Locked {
        /// The file.
        path: PathBuf,
        /// How long was waited.
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
    /// The file is something else.
    #[error(
        "{path} is not a log of Weir ({detail}); it was left as it is. Use another data folder",
        path = .path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// How that was seen.
        detail: String,
    },
    /// The file is damaged.
    #[error(
        "{path} is damaged ({detail}); it was left as it is. `weir store check` tells more. Put back a backup with `weir \
         store restore`, or move it away together with the files {path}-wal and {path}-shm to start with an empty log and \
         try `sqlite3 {path} .recover` on a copy to get the old one back",
        path = .path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        detail: String,
    },
    /// The disk does not do what it should, or the file is gone.
    #[error(
        "{path} cannot be used ({detail}): look whether its disk works, is mounted and can be written; nothing of this \
         write was kept",
        path = .path.display()
    )]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        detail: String,
    },
    /// The file or its folder cannot be used.
    #[error("cannot {action} {path}: {source}", path = .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        source: Arc<std::io::Error>,
    },
    /// SQLite failed in another way.
    #[error("the log {path} failed: {source}", path = .path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        source: Arc<rusqlite::Error>,
    },
    /// The store was closed before it came to this.
    #[error("the log was closed before this was done")]
    Closed,
}
