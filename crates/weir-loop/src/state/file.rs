//! Reads `run.json`. One that is damaged or of another version is refused and kept, never guessed at.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::RunState;

/// The form of state that this version writes and reads.
pub const VERSION: u32 = 1;

/// Why a state cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// It cannot be read or written.
    #[error("{} cannot be used: {source}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// It is damaged.
    #[error(
        "the state of the run is damaged ({message}); it was moved to {}. What is committed is safe: look at `git log` \
         and at the task list, then begin another run with `weir loop run`",
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
        "the state of the run has version {found}, and this weir writes version {VERSION}; go on with the weir that \
         began the run, or move {} away and begin another one",
        path.display()
    )]
    OtherVersion {
        /// Its version.
        found: u64,
        /// The file.
        path: PathBuf,
    },
}

/// What is wrong with a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrong {
    /// It is damaged.
    Damaged(String),
    /// It has another version.
    OtherVersion(u64),
}

/// Reads the text of a state.
pub fn parse(text: &str) -> Result<RunState, Wrong> {
    #[derive(Deserialize)]
    struct Head {
        version: u64,
    }
    // The version first: another one may have any shape.
    let head: Head = serde_json::from_str(text).map_err(|error| Wrong::Damaged(error.to_string()))?;
    if head.version != u64::from(VERSION) {
        return Err(Wrong::OtherVersion(head.version));
    }
    serde_json::from_str(text).map_err(|error| Wrong::Damaged(error.to_string()))
}

/// Reads a state, if there is one. A damaged one is moved aside, so that it is not lost and not used.
pub fn load(path: &Path) -> Result<Option<RunState>, StateError> {
    let system = |source| StateError::System { path: path.to_owned(), source };
    let text = match std::fs::read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(system(error)),
    };
    match parse(&text) {
        Ok(state) => Ok(Some(state)),
        Err(Wrong::OtherVersion(found)) => Err(StateError::OtherVersion { found, path: path.to_owned() }),
        Err(Wrong::Damaged(message)) => {
            let kept = free_name(path);
            std::fs::rename(path, &kept).map_err(system)?;
            Err(StateError::Damaged { message, kept })
        }
    }
}

/// `run.json.damaged`, or with a number if that is taken.
fn free_name(path: &Path) -> PathBuf {
    let name = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(if number == 0 { ".damaged".to_owned() } else { format!(".damaged-{number}") });
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
    }
}
