//! A temporary folder that is held in memory, for tests that write to disk thousands of times.

use std::io;

use tempfile::TempDir;

/// Enough for any test that uses one. Containers often have less, and then the disk is used.
#[cfg(target_os = "linux")]
const ENOUGH_BYTES: u64 = 256 << 20;

/// A temporary folder that is in memory where the system has such a file system, otherwise an ordinary one. For tests that
/// end a process at many points in time: what the process had written is there either way, and waiting for a disk proves
/// nothing about that.
///
/// # Errors
/// If the folder cannot be created.
pub fn memory_folder() -> io::Result<TempDir> {
    #[cfg(target_os = "linux")]
    {
        let memory = "/dev/shm";
        let is_large =
            rustix::fs::statvfs(memory).is_ok_and(|found| found.f_bavail * found.f_frsize >= ENOUGH_BYTES);
        if is_large && let Ok(folder) = tempfile::Builder::new().prefix("weir-").tempdir_in(memory) {
            return Ok(folder);
        }
    }
    tempfile::tempdir()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_can_be_written_to_and_disappears() {
        let folder = memory_folder().unwrap();
        std::fs::write(folder.path().join("file"), "text").unwrap();
        let path = folder.path().to_owned();
        folder.close().unwrap();
        assert!(!path.exists());
    }
}
