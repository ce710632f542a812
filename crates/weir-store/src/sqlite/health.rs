//! Whether the file can be used: it still has its name, and the disk did what the last write asked of it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::StoreError;

/// Whether a file can be used.
#[derive(Debug)]
pub(super) struct Health {
    path: PathBuf,
    /// The file that was opened. Once another one has its name, or none, nothing that is written is ever found again.
    opened: Option<FileId>,
    /// Why the last write failed, if that was because of the disk.
    failure: Mutex<Option<String>>,
}

impl Health {
    /// Of the file that has this name now.
    pub(super) fn of(path: &Path) -> Self {
        Self { path: path.to_owned(), opened: FileId::of(path), failure: Mutex::default() }
    }

    fn failure(&self) -> MutexGuard<'_, Option<String>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses what would be written to a file that is gone.
    pub(super) fn refuse_if_gone(&self) -> Result<(), StoreError> {
        if self.opened == FileId::of(&self.path) {
            return Ok(());
        }
        let detail = "it was removed or replaced while it was in use".to_owned();
        Err(StoreError::Unusable { path: self.path.clone(), detail })
    }

    /// A write was done.
    pub(super) fn note_success(&self) {
        self.failure().take();
    }

    /// A write was not done, for this reason.
    pub(super) fn note_failure(&self, error: &StoreError) {
        if let StoreError::Unusable { detail, .. } = error {
            *self.failure() = Some(detail.clone());
        }
    }

    /// Whether the disk did not do what the last write asked of it.
    pub(super) fn is_failing(&self) -> bool {
        self.failure().is_some()
    }

    /// Why the file cannot be used, in words for a person; none if it can.
    pub(super) fn complaint(&self) -> Option<String> {
        if let Err(error) = self.refuse_if_gone() {
            return Some(format!("{error}; put it back, and start again"));
        }
        let detail = self.failure().clone()?;
        Some(StoreError::Unusable { path: self.path.clone(), detail }.to_string())
    }
}

/// A file, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId {
    #[cfg(unix)]
    device: u64,
    #[cfg(unix)]
    inode: u64,
}

impl FileId {
    #[cfg(unix)]
    fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let found = std::fs::metadata(path).ok()?;
        Some(Self { device: found.dev(), inode: found.ino() })
    }

    #[cfg(not(unix))]
    fn of(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().map(|_| Self {})
    }
}
