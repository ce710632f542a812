//! Reads `run.json` and its journal. A state that is damaged or of another version is refused and kept, never guessed
//! at.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::write::{JOURNAL, MAIN_JOURNAL, WORKERS, below};
use super::{RunState, journal};

/// The version of the state format that this program reads and writes.
pub const VERSION: u32 = 2;

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
    #[error(
        "the state of the run is damaged ({message}); it was moved to {}. Committed work is safe: check `git log` and \
         the task list, then start a new run with `weir loop run`",
        kept.display()
    )]
    Damaged {
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

/// Why the text of a state cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrong {
    /// It is damaged.
    Damaged(String),
    /// It has another version.
    OtherVersion(u64),
}

/// Parses the text of a state.
pub fn parse(text: &str) -> Result<RunState, Wrong> {
    #[derive(Deserialize)]
    struct Head {
        version: u64,
    }
    // The version first: the rest of another version may have any shape.
    let head: Head = serde_json::from_str(text).map_err(|error| Wrong::Damaged(error.to_string()))?;
    if head.version != u64::from(VERSION) {
        return Err(Wrong::OtherVersion(head.version));
    }
    serde_json::from_str(text).map_err(|error| Wrong::Damaged(error.to_string()))
}

/// How often to try to read a state that is being written at the same time.
const MAX_TRIES: usize = 8;

/// Bytes at the start of the file that contain the name of its journal.
const NAME_BYTES: usize = 64;

/// Reads a state and its journal, if there is one. A damaged state is moved aside, so that it is neither lost nor used.
pub fn load(path: &Path) -> Result<Option<RunState>, StateError> {
    let system = |source| StateError::System { path: path.to_owned(), source };
    let mut wrong = None;
    for _ in 0..MAX_TRIES {
        let Some(text) = read(path).map_err(system)? else { return Ok(None) };
        let journals = journals(path).map_err(system)?;
        // A writer first replaces this file, and then empties the journals.
        let again = read_start(path).map_err(system)?;
        if !text.starts_with(&again) {
            continue;
        }
        match up_to_date(&text, &journals) {
            Ok(state) => return Ok(Some(state)),
            Err(Wrong::OtherVersion(found)) => {
                return Err(StateError::OtherVersion { found, path: path.to_owned() });
            }
            // A line may seem to be missing if it was written between the reads of two files.
            Err(Wrong::Damaged(message)) => wrong = Some(message),
        }
    }
    let Some(message) = wrong else {
        let busy = std::io::Error::other("it keeps changing; try again");
        return Err(system(busy));
    };
    let kept = keep_aside(path, "damaged")?;
    Err(StateError::Damaged { message, kept })
}

/// Moves a state and its journal aside, under names that say why. Returns the new path of the state.
pub fn keep_aside(path: &Path, why: &str) -> Result<PathBuf, StateError> {
    let system = |source| StateError::System { path: path.to_owned(), source };
    let kept = free_name(path, why);
    std::fs::rename(path, &kept).map_err(system)?;
    let journal = path.with_file_name(MAIN_JOURNAL);
    if journal.exists() {
        std::fs::rename(&journal, free_name(&journal, why)).map_err(system)?;
    }
    Ok(kept)
}

/// The state after its journals are applied.
fn up_to_date(text: &[u8], journals: &[Vec<u8>]) -> Result<RunState, Wrong> {
    #[derive(Deserialize)]
    struct Named {
        #[serde(default)]
        journal: String,
    }
    let text = String::from_utf8_lossy(text);
    let mut state = parse(&text)?;
    if journals.iter().any(|journal| !journal.is_empty()) {
        let named: Named = serde_json::from_str(&text).map_err(|error| Wrong::Damaged(error.to_string()))?;
        journal::catch_up(&mut state, &named.journal, journals).map_err(Wrong::Damaged)?;
    }
    Ok(state)
}

fn read(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn read_start(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut start = Vec::with_capacity(NAME_BYTES);
    match std::fs::File::open(path) {
        Ok(file) => file.take(NAME_BYTES as u64).read_to_end(&mut start)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
        Err(error) => return Err(error),
    };
    Ok(start)
}

/// The journals of a state: its own, and those of tasks with their own worktree.
fn journals(path: &Path) -> std::io::Result<Vec<Vec<u8>>> {
    if path.file_name().is_none_or(|name| name != "run.json") {
        // An archived run has no journals.
        return Ok(Vec::new());
    }
    let workers = below(&path.with_file_name(WORKERS)).into_iter().map(|folder| folder.join(JOURNAL));
    let paths = std::iter::once(path.with_file_name(MAIN_JOURNAL)).chain(workers);
    paths.filter_map(|path| read(&path).transpose()).collect()
}

/// `run.json.damaged` or similar, with a number if that is taken.
fn free_name(path: &Path, why: &str) -> PathBuf {
    let name = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(if number == 0 { format!(".{why}") } else { format!(".{why}-{number}") });
        PathBuf::from(name)
    };
    (0..u32::MAX).map(name).find(|name| !name.exists()).unwrap_or_else(|| name(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_state_is_kept_aside_and_not_guessed_at() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        assert!(load(&path).unwrap().is_none());
        for (number, text) in ["{\"version\": 1, \"run_id\": ", "", "\u{0}\u{0}\u{0}"].iter().enumerate() {
            std::fs::write(&path, text).unwrap();
            let error = load(&path).unwrap_err();
            assert!(
                matches!(&error, StateError::Damaged { kept, .. } if std::fs::read_to_string(kept).unwrap() == *text)
            );
            assert!(error.to_string().contains("git log"), "{error}");
            assert!(!path.exists(), "{number}");
        }
    }

    #[test]
    fn another_version_is_refused_and_left_where_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        std::fs::write(&path, "{\"shape\": \"new\", \"version\": 7}").unwrap();
        assert!(matches!(load(&path), Err(StateError::OtherVersion { found: 7, .. })));
        assert!(path.exists());
        let first = keep_aside(&path, "version-7").unwrap();
        assert_eq!(first.file_name().unwrap(), "run.json.version-7");
        std::fs::write(&path, "another").unwrap();
        let second = keep_aside(&path, "version-7").unwrap();
        assert!(first.exists() && second.exists() && first != second && !path.exists());
    }
}
