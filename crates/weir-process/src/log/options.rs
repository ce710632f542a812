//! Log settings, and errors of logging.

use std::io;
use std::path::PathBuf;

/// Where and how a process is logged.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LogOptions {
    /// The folder. Created with mode 0700 if it does not exist.
    pub directory: PathBuf,
    /// Kind of run, for instance `run` or `chat`; the second part of the file names.
    pub mode: String,
    /// Name of this log, for instance that of a session; the last part of the file names. Characters that are
    /// not valid in a file name are replaced.
    pub name: String,
    /// When a file reaches this size, the next line goes to a new part. `None` for no limit.
    pub part_bytes: Option<u64>,
    /// How many parts of a file are kept, at least one; older ones are deleted. `None` keeps all.
    pub parts_kept: Option<usize>,
    /// Limits of the folder: above them, the oldest logs are deleted when a new one is created. `None` for no
    /// limit.
    pub folder_limits: Option<FolderLimits>,
    /// Whether the run must stop when a log cannot be written.
    pub require: bool,
}

/// Limits of a folder of logs. Logs being written are counted but never deleted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FolderLimits {
    /// Maximum number of logs; each is up to three files and their parts.
    pub logs: usize,
    /// Maximum total size of all files, in bytes.
    pub bytes: u64,
}

impl LogOptions {
    /// Logs to a folder, in parts of 256 MiB, all of them kept, and not required.
    pub fn new(directory: impl Into<PathBuf>, mode: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            directory: directory.into(),
            mode: mode.into(),
            name: name.into(),
            part_bytes: Some(256 << 20),
            parts_kept: None,
            folder_limits: None,
            require: false,
        }
    }

    /// Logs to a folder of limited size: the last 200 logs and 256 MiB in total, and the last 64 MiB of each
    /// file of a long log.
    pub fn bounded(directory: impl Into<PathBuf>, mode: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            part_bytes: Some(32 << 20),
            parts_kept: Some(2),
            folder_limits: Some(FolderLimits { logs: 200, bytes: 256 << 20 }),
            ..Self::new(directory, mode, name)
        }
    }
}

/// Log files of a process. Further parts are in the same folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPaths {
    /// The CLI's output: `….ndjson`.
    pub output: PathBuf,
    /// The CLI's input: `….in.ndjson`.
    pub input: PathBuf,
    /// Its diagnostics: `….stderr`.
    pub stderr: PathBuf,
}

/// A raw log could not be written. It ends at the failure, because a log with a gap would be misleading.
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
