//! Where logs go, and what can go wrong with them.

use std::io;
use std::path::PathBuf;

/// Where and how a process is logged.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LogOptions {
    /// The folder. It is made with mode 0700 if it is not there.
    pub directory: PathBuf,
    /// What kind of run it is, for instance `run` or `chat`; the second part of the files' name.
    pub mode: String,
    /// Which one it is, for instance the name of a conversation; the last part of the files' name. What does not
    /// fit into a file name is replaced.
    pub name: String,
    /// When a file has this size, the next line goes to another part. `None` for no limit.
    pub part_bytes: Option<u64>,
    /// How many parts of a file are kept, at least one; the oldest are deleted. `None` keeps all.
    pub parts_kept: Option<usize>,
    /// Whether the run must stop when a log cannot be written.
    pub require: bool,
}

impl LogOptions {
    /// Logs in a folder, in parts of 256 MiB, all of them kept, and not required.
    pub fn new(directory: impl Into<PathBuf>, mode: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            directory: directory.into(),
            mode: mode.into(),
            name: name.into(),
            part_bytes: Some(256 << 20),
            parts_kept: None,
            require: false,
        }
    }
}

/// The files of a process. Further parts stand beside them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPaths {
    /// What the CLI wrote: `….ndjson`.
    pub output: PathBuf,
    /// What it was sent: `….in.ndjson`.
    pub input: PathBuf,
    /// Its diagnostics: `….stderr`.
    pub stderr: PathBuf,
}

/// A raw log that cannot be written. It ends where the failure was: a log with a hole would be a lie.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot write the raw log {}: {source}. Free space or choose another folder for logs; this log ends here",
    path.display()
)]
pub struct LogError {
    /// The file or folder.
    pub path: PathBuf,
    /// What the system said.
    #[source]
    pub source: io::Error,
}
