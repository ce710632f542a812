//! Which files exist: the one question that the search asks.

use std::path::{Path, PathBuf};

/// Which files exist. Real, or made up by a test.
pub trait Files {
    /// Whether this is a file that can be run.
    fn is_program(&self, path: &Path) -> bool;

    /// What is in a folder, in any order; nothing if there is no such folder.
    fn list(&self, folder: &Path) -> Vec<PathBuf>;
}

/// The files of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealFiles;

impl Files for RealFiles {
    fn is_program(&self, path: &Path) -> bool {
        let Ok(metadata) = std::fs::metadata(path) else { return false };
        #[cfg(unix)]
        let is_executable = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0;
        #[cfg(not(unix))]
        let is_executable = true;
        metadata.is_file() && is_executable
    }

    fn list(&self, folder: &Path) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
        entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
    }
}
