//! The token file: read whole, changed under a lock, replaced atomically, readable by its owner only.
//!
//! The server and `weir token` both change it, so anything read before the lock was taken may be stale.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use weir_base::file::{Replace, private};

use super::token::Token;

/// Newest version of the file that this program knows. Version 2 records which token made a share link.
const VERSION: u32 = 2;

/// Why the tokens cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenFileError {
    /// The file cannot be read or written.
    #[error("cannot use the token file {}: {source}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The file is not a token file.
    #[error("{} is not a token file: {source}; move it away to begin with a new one", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Parse error.
        #[source]
        source: serde_json::Error,
    },
    /// The file was written by a newer version.
    #[error("{} has version {version}, but this program only knows versions up to {VERSION}; use the newer program", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Version of the file.
        version: u32,
    },
    /// Other users may read the file.
    #[error("other users may read {}; run `chmod 600` on it, and revoke its tokens if others may have seen them", path.display())]
    Open {
        /// The file.
        path: PathBuf,
    },
    /// Another token has this name.
    #[error("there is already a token named `{name}`; choose another name, or revoke that one first")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// The system's random number generator failed.
    #[error("cannot get random numbers from the system: {0}")]
    Random(getrandom::Error),
}

#[derive(Serialize, Deserialize)]
struct Content {
    version: u32,
    tokens: Vec<Token>,
}

/// Detects a changed file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    inode: u64,
}

/// The token file.
#[derive(Debug, Clone)]
pub(super) struct TokenFile {
    path: PathBuf,
}

impl TokenFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    fn system(&self, source: io::Error) -> TokenFileError {
        TokenFileError::System { path: self.path.clone(), source }
    }

    /// Stamp of the file; none if there is no file.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        let metadata = std::fs::metadata(&self.path).ok()?;
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(&metadata);
        #[cfg(not(unix))]
        let inode = 0;
        Some(Stamp { modified: metadata.modified().ok(), length: metadata.len(), inode })
    }

    /// The tokens; empty if there is no file.
    pub(super) fn read(&self) -> Result<Vec<Token>, TokenFileError> {
        let bytes = match std::fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.system(error)),
        };
        self.check_mode()?;
        let content: Content = serde_json::from_slice(&bytes)
            .map_err(|source| TokenFileError::Content { path: self.path.clone(), source })?;
        if !(1..=VERSION).contains(&content.version) {
            return Err(TokenFileError::Version { path: self.path.clone(), version: content.version });
        }
        Ok(content.tokens)
    }

    #[cfg(unix)]
    fn check_mode(&self) -> Result<(), TokenFileError> {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&self.path).map_err(|error| self.system(error))?.permissions().mode();
        if mode & 0o077 == 0 { Ok(()) } else { Err(TokenFileError::Open { path: self.path.clone() }) }
    }

    #[cfg(not(unix))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the same on all systems")]
    fn check_mode(&self) -> Result<(), TokenFileError> {
        Ok(())
    }

    /// Changes the tokens under the lock.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Vec<Token>) -> T) -> Result<T, TokenFileError> {
        let _lock = self.lock().map_err(|error| self.system(error))?;
        let mut tokens = self.read()?;
        let before = tokens.clone();
        let done = change(&mut tokens);
        if tokens != before {
            self.write(tokens).map_err(|error| self.system(error))?;
        }
        Ok(done)
    }

    /// Held while the file is changed. The lock file is never removed: that would let two writers in.
    fn lock(&self) -> io::Result<File> {
        let file = private(OpenOptions::new().create(true).truncate(false).write(true))
            .open(self.path.with_extension("lock"))?;
        file.lock()?;
        Ok(file)
    }

    fn write(&self, tokens: Vec<Token>) -> io::Result<()> {
        // An older program can read the file as long as it holds nothing that only version 2 knows.
        let version = if tokens.iter().any(|token| token.maker.is_some()) { VERSION } else { 1 };
        let text = serde_json::to_vec_pretty(&Content { version, tokens })?;
        write_private(&self.path, &text)
    }
}

/// Atomically writes a file that only its owner may read: there is always either the old one or the new one.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    Replace::new().contended().bytes(path, content)
}
