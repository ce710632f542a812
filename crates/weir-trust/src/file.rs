//! The file that records which folders the user has trusted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use crate::finding::Findings;

/// Why the trust file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// The file cannot be read or written.
    #[error("cannot use {}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// The file's contents are invalid.
    #[error("{} is damaged: {source}; move it away to start with no trusted folders", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        #[source]
        source: serde_json::Error,
    },
}

/// Whether a folder is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum Standing {
    /// Trusted, and unchanged since.
    Trusted,
    /// Trusted, but its files have changed since.
    Changed,
    /// Never trusted.
    New,
}

impl Standing {
    /// Its name, as used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Changed => "changed",
            Self::New => "new",
        }
    }
}

/// A folder the user has trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedFolder {
    /// The fingerprint of its own files.
    fingerprint: String,
    /// The fingerprint of the files in the folders above.
    inherited: String,
    /// Who trusted it.
    pub by: String,
    /// When, in milliseconds since 1970.
    pub at: i64,
}

/// The file that records which folders the user has trusted. It is read each time, so several programs can share it.
#[derive(Debug)]
pub struct TrustFile {
    path: PathBuf,
    /// One change at a time in this program; between two programs the last one wins.
    changing: Mutex<()>,
}

type Folders = BTreeMap<PathBuf, TrustedFolder>;

impl TrustFile {
    /// Uses this file, which does not have to exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), changing: Mutex::new(()) }
    }

    /// Whether a folder is trusted. `folder` must have all links resolved; `found` is the result of scanning it.
    ///
    /// # Errors
    /// If the file exists and cannot be read. Nothing is trusted then.
    pub fn standing(&self, folder: &Path, found: &Findings) -> Result<Standing, TrustError> {
        Ok(match self.read()?.get(folder) {
            None => Standing::New,
            Some(known) if known.fingerprint == found.fingerprint && known.inherited == found.inherited => {
                Standing::Trusted
            }
            Some(_) => Standing::Changed,
        })
    }

    /// Whether a copy of a trusted folder, such as a worktree, has the same files of its own as the folder had when
    /// it was trusted. `copy` is the result of scanning the copy. The caller has to check the folders above the copy.
    ///
    /// # Errors
    /// If the file exists and cannot be read.
    pub fn covers_copy(&self, folder: &Path, copy: &Findings) -> Result<bool, TrustError> {
        Ok(self.read()?.get(folder).is_some_and(|known| known.fingerprint == copy.fingerprint))
    }

    /// Records that the user trusts a folder with its current files.
    ///
    /// # Errors
    /// If the file cannot be written.
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

    /// Forgets a folder. Returns whether it was trusted.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn forget(&self, folder: &Path) -> Result<bool, TrustError> {
        self.change(|folders| folders.remove(folder).is_some())
    }

    /// The trusted folders.
    ///
    /// # Errors
    /// If the file exists and cannot be read.
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
            weir_base::file::Replace::new()
                .contended()
                .bytes(&self.path, &serde_json::to_vec_pretty(&folders)?)
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
    fn a_changed_folder_has_to_be_trusted_again() {
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
