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
    /// What the folder may hold: where it is more, the oldest logs are deleted when a new one is made. `None` for no
    /// limit.
    pub folder_limits: Option<FolderLimits>,
    /// Whether the run must stop when a log cannot be written.
    pub require: bool,
}

/// What a folder of logs may hold. Logs that are being written are counted, and never deleted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FolderLimits {
    /// Most logs; each is up to three files and their parts.
    pub logs: usize,
    /// Most bytes of all files.
    pub bytes: u64,
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
            folder_limits: None,
            require: false,
        }
    }

    /// Logs in a folder that stays small whoever uses it: the last 200 logs and 256 MiB of them, and the last 64 MiB of
    /// each file of a long one.
    pub fn bounded(directory: impl Into<PathBuf>, mode: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            part_bytes: Some(32 << 20),
            parts_kept: Some(2),
            folder_limits: Some(FolderLimits { logs: 200, bytes: 256 << 20 }),
            ..Self::new(directory, mode, name)
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
