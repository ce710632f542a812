//! Whether the file is usable: its path still leads to it, and the disk did what the last write needed.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::StoreError;

/// Whether a file is usable.
#[derive(Debug)]
pub(super) struct Health {
    path: PathBuf,
    /// The file that was opened. Once its path leads to another file or none, anything written to it is lost.
    opened: Option<FileId>,
    /// Why the last write failed, if the disk was the cause.
    failure: Mutex<Option<String>>,
}

impl Health {
    /// The health of the file at this path.
    pub(super) fn of(path: &Path) -> Self {
        Self { path: path.to_owned(), opened: FileId::of(path), failure: Mutex::default() }
    }

    fn failure(&self) -> MutexGuard<'_, Option<String>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses writes to a file that is gone.
    pub(super) fn refuse_if_gone(&self) -> Result<(), StoreError> {
        if self.opened == FileId::of(&self.path) {
            return Ok(());
        }
        let detail = "it was removed or replaced while it was in use".to_owned();
        Err(StoreError::Unusable { path: self.path.clone(), detail })
    }

    /// Records a successful write.
    pub(super) fn note_success(&self) {
        self.failure().take();
    }

    /// Records why a write failed.
    pub(super) fn note_failure(&self, error: &StoreError) {
        if let StoreError::Unusable { detail, .. } = error {
            *self.failure() = Some(detail.clone());
        }
    }

    /// Whether the last write failed because of the disk.
    pub(super) fn is_failing(&self) -> bool {
        self.failure().is_some()
    }

    /// Why the file is unusable, for people; `None` if it is usable.
    pub(super) fn complaint(&self) -> Option<String> {
        if let Err(error) = self.refuse_if_gone() {
            return Some(format!("{error}; put it back and restart"));
        }
        let detail = self.failure().clone()?;
        Some(StoreError::Unusable { path: self.path.clone(), detail }.to_string())
    }
}

/// Identifies a file independently of its name.
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
