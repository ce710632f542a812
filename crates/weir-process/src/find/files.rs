//! The file system as the search sees it.

use std::path::{Path, PathBuf};

/// Which files exist: on the real disk, or made up by a test.
pub trait Files {
    /// Whether this is an executable file.
    fn is_program(&self, path: &Path) -> bool;

    /// Contents of a folder, in any order; empty if it does not exist.
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
