//! The file with the tokens: read whole, changed under a lock, replaced in one step, readable for its owner only.
//!
//! The server and `weir token` both change it, so nobody may rely on what was read before the lock was taken.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::token::Token;

/// The newest version of the file that this program knows. Version 2 has share links that know their maker.
const VERSION: u32 = 2;

/// Why the tokens cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenFileError {
    /// The system said no.
    #[error("cannot use the token file {}: {source}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It is not a token file.
    #[error("{} is not a token file: {source}; move it away to begin with a new one", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// It was written by a newer version.
    #[error("{} has version {version}, and this program knows {VERSION}; use the newer program", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// Others may read it.
    #[error("others may read {}; run `chmod 600` on it, and revoke its tokens if others may have seen them", path.display())]
    Open {
        /// The file.
        path: PathBuf,
    },
    /// Another token has this name.
    #[error("there is a token named `{name}` already; choose another name, or revoke that one first")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// There are no random numbers.
    #[error("the system gives no random numbers: {0}")]
    Random(getrandom::Error),
}

#[derive(Serialize, Deserialize)]
struct Content {
    version: u32,
    tokens: Vec<Token>,
}

/// Tells one content of the file from another without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    inode: u64,
}

/// The file with the tokens.
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

    /// What the file looks like from outside; none where there is none.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        let metadata = std::fs::metadata(&self.path).ok()?;
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(&metadata);
        #[cfg(not(unix))]
        let inode = 0;
        Some(Stamp { modified: metadata.modified().ok(), length: metadata.len(), inode })
    }

    /// The tokens; none where there is no file.
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

    /// Changes the tokens. Nobody else changes them meanwhile.
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

    /// Held while the file is changed. The file of the lock stays: removing it would let two in.
    fn lock(&self) -> io::Result<File> {
        let file = private(OpenOptions::new().create(true).truncate(false).write(true))
            .open(self.path.with_extension("lock"))?;
        file.lock()?;
        Ok(file)
    }

    fn write(&self, tokens: Vec<Token>) -> io::Result<()> {
        // An older program can read it as long as there is nothing in it that it does not know.
        let version = if tokens.iter().any(|token| token.maker.is_some()) { VERSION } else { 1 };
        let text = serde_json::to_vec_pretty(&Content { version, tokens })?;
        write_private(&self.path, &text)
    }
}

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Writes a file that only its owner may read, in one step: there is the old one or the new one.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    let new = PathBuf::from(name);
    // One that a killed process left may have another mode.
    let _ = std::fs::remove_file(&new);
    let mut file = private(OpenOptions::new().create_new(true).write(true)).open(&new)?;
    let written = file.write_all(content).and_then(|()| file.sync_all());
    drop(file);
    let done = written.and_then(|()| std::fs::rename(&new, path));
    if done.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    done
}
