//! What can go wrong, and what to do about it.

use std::path::PathBuf;

/// Why the bridge cannot do its work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BridgeError {
    /// The file with messages cannot be used.
    #[error("{path} cannot be used for the bridge's messages", path = .path.display())]
    Store {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// The file was written by a newer version.
    #[error("{path} was written by a newer version of Weir (format {found}, this one knows {known}); update Weir", path = .path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The newest format that is known here.
        known: i64,
    },
    /// The configuration makes no sense.
    #[error("{0}")]
    Configuration(String),
    /// A channel cannot work.
    #[error("{channel}: {reason}")]
    Channel {
        /// The channel.
        channel: String,
        /// Why, and what to do.
        reason: String,
    },
    /// A file cannot be read or written.
    #[error("{path} cannot be read or written", path = .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A task of the bridge failed, which is a bug.
    #[error("the bridge failed: {0}; please report this")]
    Failed(String),
}
