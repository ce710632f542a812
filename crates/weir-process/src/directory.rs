//! A directory that stays the same even if its path is changed to lead elsewhere.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A directory that is held open. A process started in it runs in exactly this directory, even if a link that
/// led to it has changed since.
#[derive(Debug, Clone)]
pub struct Directory {
    path: PathBuf,
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "only Linux can name a directory by its handle")
    )]
    handle: Arc<std::fs::File>,
}

impl Directory {
    /// Opens a directory, following all links.
    ///
    /// # Errors
    /// If the directory does not exist or cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        #[cfg(windows)]
        let handle = {
            use std::os::windows::fs::OpenOptionsExt as _;
            const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
            std::fs::File::options().read(true).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(path)?
        };
        #[cfg(not(windows))]
        let handle = std::fs::File::open(path)?;
        if !handle.metadata()?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let directory = Self { path: PathBuf::new(), handle: Arc::new(handle) };
        // Ask the open directory for its path, rather than resolve the given path again.
        let path = match directory.by_handle() {
            Some(handle) => std::fs::read_link(handle)?,
            None => path.canonicalize()?,
        };
        if !path.is_absolute() {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(Self { path, ..directory })
    }

    /// Its path, with all links resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path that refers to the open directory in other processes of the same user, while this one runs and holds it
    /// open. Only Linux has such paths.
    pub fn for_others(&self) -> Option<String> {
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::AsRawFd as _;
            Some(format!("/proc/{}/fd/{}", std::process::id(), self.handle.as_raw_fd()))
        }
        #[cfg(not(target_os = "linux"))]
        None
    }

    /// A path that refers to the open directory, in this process and in a child before it executes its program.
    pub(crate) fn by_handle(&self) -> Option<PathBuf> {
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::AsRawFd as _;
            Some(PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_raw_fd())))
        }
        #[cfg(not(target_os = "linux"))]
        None
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_stays_the_one_that_was_opened() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        for folder in ["one", "two"] {
            std::fs::create_dir(place.join(folder)).unwrap();
        }
        let link = place.join("link");
        std::os::unix::fs::symlink(place.join("one"), &link).unwrap();
        let opened = Directory::open(&link).unwrap();
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(place.join("two"), &link).unwrap();
        assert_eq!(opened.path(), place.join("one"));
        #[cfg(target_os = "linux")]
        assert_eq!(opened.by_handle().unwrap().canonicalize().unwrap(), place.join("one"));
        assert!(Directory::open(&place.join("nowhere")).is_err());
        std::fs::write(place.join("file"), "").unwrap();
        assert!(Directory::open(&place.join("file")).is_err());
    }
}
