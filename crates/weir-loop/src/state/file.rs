//! Reads the state of a run. A state that is damaged or of another version is refused and kept, never guessed at.

use std::path::{Path, PathBuf};

use super::journal::{self, Wrong};
use super::{RunState, older};

/// The version of the state format that this program writes. It also takes over a run of the version before.
pub const VERSION: u32 = 3;

/// The journal, which is the state.
pub(super) const JOURNAL: &str = "journal.ndjson";

/// The export of the state as one object.
pub(super) const RUN: &str = "run.json";

/// Why a state cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// It cannot be read or written.
    #[error("cannot use {}: {source}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        #[source]
        source: std::io::Error,
    },
    /// It is damaged.
    #[error("the state of the run in {} is damaged ({message}); `weir loop run` moves it aside", path.display())]
    Damaged {
        /// What is wrong with it.
        message: String,
        /// The file.
        path: PathBuf,
    },
    /// It is damaged, and was moved aside.
    #[error(
        "the state of the run is damaged ({message}); it was moved to {}. Committed work is safe: check `git log` and \
         the task list, then start a new run with `weir loop run`",
        kept.display()
    )]
    SetAside {
        /// What is wrong with it.
        message: String,
        /// Where it is now.
        kept: PathBuf,
    },
    /// It was written by another version.
    #[error(
        "the state of the run in {} has version {found}, but this weir uses version {VERSION}; resume with the weir \
         that started the run, or start a new run with `weir loop run --new`, which sets this one aside",
        path.display()
    )]
    OtherVersion {
        /// Its version.
        found: u64,
        /// The file.
        path: PathBuf,
    },
}

impl StateError {
    fn of(wrong: Wrong, path: PathBuf) -> Self {
        match wrong {
            Wrong::Damaged(message) => Self::Damaged { message, path },
            Wrong::OtherVersion(found) => Self::OtherVersion { found, path },
        }
    }
}

/// Reads the state in a folder, if there is one. May be called while a loop writes it.
///
/// # Errors
/// If the state is damaged or of another version.
pub fn load(folder: &Path) -> Result<Option<RunState>, StateError> {
    let path = folder.join(JOURNAL);
    let read = match contents(&path)? {
        Some(text) => journal::read(&text).map(Some),
        None => return older::take_over(folder),
    };
    read.map_err(|wrong| StateError::of(wrong, path))
}

/// Reads the state in a folder for a run that has the lock: a damaged state is moved aside, so that it is neither lost
/// nor used.
///
/// # Errors
/// If the state is damaged or of another version.
pub fn load_for_run(folder: &Path) -> Result<Option<RunState>, StateError> {
    match load(folder) {
        Err(StateError::Damaged { message, .. }) => {
            Err(StateError::SetAside { message, kept: keep_aside(folder, "damaged")? })
        }
        loaded => loaded,
    }
}

/// Reads the file of a run that is over.
///
/// # Errors
/// If it is damaged or of another version.
pub fn load_archived(path: &Path) -> Result<Option<RunState>, StateError> {
    let Some(text) = contents(path)? else { return Ok(None) };
    older::whole(&text, VERSION).map(Some).map_err(|wrong| StateError::of(wrong, path.to_owned()))
}

/// Moves a state aside, under names that say why. Returns the new path.
///
/// # Errors
/// If a file cannot be renamed.
pub fn keep_aside(folder: &Path, why: &str) -> Result<PathBuf, StateError> {
    let mut kept = None;
    for name in [JOURNAL, RUN, older::JOURNAL] {
        let path = folder.join(name);
        if path.exists() {
            let aside = free_name(&path, why);
            std::fs::rename(&path, &aside).map_err(|source| StateError::System { path, source })?;
            kept.get_or_insert(aside);
        }
    }
    Ok(kept.unwrap_or_else(|| folder.to_owned()))
}

/// The contents of a file, if it exists.
pub(super) fn contents(path: &Path) -> Result<Option<Vec<u8>>, StateError> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StateError::System { path: path.to_owned(), source }),
    }
}

/// `journal.ndjson.damaged` or similar, with a number if that is taken.
fn free_name(path: &Path, why: &str) -> PathBuf {
    let name = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(if number == 0 { format!(".{why}") } else { format!(".{why}-{number}") });
        PathBuf::from(name)
    };
    (0..u32::MAX).map(name).find(|name| !name.exists()).unwrap_or_else(|| name(u32::MAX))
}
