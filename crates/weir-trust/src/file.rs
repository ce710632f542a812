//! The file that remembers which folders a person has trusted.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use crate::finding::Findings;

/// Why a trust could not be read or kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// The file cannot be read or written.
    #[error("cannot use {}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The file does not hold what it should.
    #[error("{} is damaged: {source}; move it away to begin with no trusted folders", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        #[source]
        source: serde_json::Error,
    },
}

/// How a folder stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum Standing {
    /// A person has trusted it as it is.
    Trusted,
    /// A person has trusted it, and its files are others now.
    Changed,
    /// Nobody has trusted it.
    New,
}

impl Standing {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Changed => "changed",
            Self::New => "new",
        }
    }
}

/// A folder that a person has trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedFolder {
    /// The fingerprint of its own files.
    fingerprint: String,
    /// The fingerprint of what lies above it.
    inherited: String,
    /// Who trusted it.
    pub by: String,
    /// When, in milliseconds since 1970.
    pub at: i64,
}

/// The file that remembers which folders a person has trusted. It is read each time, so several programs can share it.
#[derive(Debug)]
pub struct TrustFile {
    path: PathBuf,
    /// One change at a time in this program; the last of two programs wins.
    changing: Mutex<()>,
}

type Folders = BTreeMap<PathBuf, TrustedFolder>;

impl TrustFile {
    /// Uses this file, which need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), changing: Mutex::new(()) }
    }

    /// How a folder stands, with all links resolved, of which this was found.
    ///
    /// # Errors
    /// If the file is there and cannot be read. Nothing is trusted then.
    pub fn standing(&self, folder: &Path, found: &Findings) -> Result<Standing, TrustError> {
        Ok(match self.read()?.get(folder) {
            None => Standing::New,
            Some(known) if known.fingerprint == found.fingerprint && known.inherited == found.inherited => {
                Standing::Trusted
            }
            Some(_) => Standing::Changed,
        })
    }

    /// Whether a copy of a trusted folder, such as a worktree, has the same files of its own as the folder had when it was
    /// trusted. `copy` is what was found in the copy. What lies above the copy is for the caller to look at.
    ///
    /// # Errors
    /// If the file is there and cannot be read.
    pub fn covers_copy(&self, folder: &Path, copy: &Findings) -> Result<bool, TrustError> {
        Ok(self.read()?.get(folder).is_some_and(|known| known.fingerprint == copy.fingerprint))
    }

    /// Remembers that a person has trusted a folder as it is.
    ///
    /// # Errors
    /// If it cannot be written down.
    pub fn trust(&self, folder: &Path, found: &Findings, by: &str, at: i64) -> Result<(), TrustError> {
        self.change(|folders| {
            let trusted = TrustedFolder {
                fingerprint: found.fingerprint.clone(),
                inherited: found.inherited.clone(),
                by: by.to_owned(),
                at,
            };
            folders.insert(folder.to_owned(), trusted).is_none()
        })
        .map(drop)
    }

    /// Forgets a folder. Says whether it was trusted.
    ///
    /// # Errors
    /// If that cannot be written down.
    pub fn forget(&self, folder: &Path) -> Result<bool, TrustError> {
        self.change(|folders| folders.remove(folder).is_some())
    }

    /// The folders that were trusted.
    ///
    /// # Errors
    /// If the file is there and cannot be read.
    pub fn list(&self) -> Result<Vec<(PathBuf, TrustedFolder)>, TrustError> {
        Ok(self.read()?.into_iter().collect())
    }

    fn read(&self) -> Result<Folders, TrustError> {
        match std::fs::read(&self.path) {
            Ok(text) => serde_json::from_slice(&text)
                .map_err(|source| TrustError::Damaged { file: self.path.clone(), source }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Folders::new()),
            Err(source) => Err(TrustError::Io { file: self.path.clone(), source }),
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Folders) -> T) -> Result<T, TrustError> {
        let _changing = self.changing.lock();
        let mut folders = self.read()?;
        let result = change(&mut folders);
        let written = || -> std::io::Result<()> {
            let parent = self.path.parent().unwrap_or(Path::new("."));
            std::fs::create_dir_all(parent)?;
            // Readable for its owner only, and whole or not at all.
            let mut file = tempfile::NamedTempFile::new_in(parent)?;
            file.write_all(&serde_json::to_vec_pretty(&folders)?)?;
            file.as_file().sync_all()?;
            file.persist(&self.path)?;
            Ok(())
        };
        written().map_err(|source| TrustError::Io { file: self.path.clone(), source })?;
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(fingerprint: &str, inherited: &str) -> Findings {
        Findings { items: Vec::new(), more: 0, fingerprint: fingerprint.into(), inherited: inherited.into() }
    }

    #[test]
    fn a_change_asks_again() {
        let place = tempfile::tempdir().unwrap();
        let file = TrustFile::new(place.path().join("deep/trust.json"));
        let folder = Path::new("/project");
        assert_eq!(file.standing(folder, &found("a", "b")).unwrap(), Standing::New);
        file.trust(folder, &found("a", "b"), "ann", 7).unwrap();
        let again = TrustFile::new(place.path().join("deep/trust.json"));
        assert_eq!(again.standing(folder, &found("a", "b")).unwrap(), Standing::Trusted);
        assert_eq!(again.standing(folder, &found("c", "b")).unwrap(), Standing::Changed);
        assert_eq!(again.standing(folder, &found("a", "c")).unwrap(), Standing::Changed);
        assert_eq!(again.standing(Path::new("/project/sub"), &found("a", "b")).unwrap(), Standing::New);
        assert!(again.covers_copy(folder, &found("a", "z")).unwrap());
        assert!(!again.covers_copy(folder, &found("z", "b")).unwrap());
        assert_eq!(again.list().unwrap()[0].1.by, "ann");
        assert!(again.forget(folder).unwrap() && !again.forget(folder).unwrap());
        assert_eq!(file.standing(folder, &found("a", "b")).unwrap(), Standing::New);
    }

    #[test]
    fn a_damaged_file_trusts_nothing() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("trust.json");
        std::fs::write(&path, "{").unwrap();
        let file = TrustFile::new(&path);
        assert!(matches!(file.standing(Path::new("/"), &found("", "")), Err(TrustError::Damaged { .. })));
        assert!(file.trust(Path::new("/"), &found("", ""), "ann", 0).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{");
    }

    #[cfg(unix)]
    #[test]
    fn others_cannot_read_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("trust.json");
        TrustFile::new(&path).trust(Path::new("/"), &found("", ""), "ann", 0).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}
