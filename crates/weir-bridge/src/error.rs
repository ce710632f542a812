//! Errors of the bridge.

use std::path::PathBuf;

/// Why the bridge cannot work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BridgeError {
    /// The bridge's database cannot be used.
    #[error("{path} cannot be used for the bridge's messages", path = .path.display())]
    Store {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: rusqlite::Error,
    },
    /// The file was written by a newer version.
    #[error("{path} was written by a newer version of Weir (format {found}, this version supports {known}); update Weir", path = .path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The newest format that this version supports.
        known: i64,
    },
    /// The configuration is invalid.
    #[error("{0}")]
    Configuration(String),
    /// A channel cannot work.
    #[error("{channel}: {reason}")]
    Channel {
        /// The channel.
        channel: String,
        /// The reason, and what to do.
        reason: String,
    },
    /// A file cannot be read or written.
    #[error("{path} cannot be read or written", path = .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// An internal task failed, which is a bug.
    #[error("the bridge failed: {0}; please report this")]
    Failed(String),
}
