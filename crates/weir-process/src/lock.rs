//! One owner for a session id or a workspace.
//!
//! The lock is `flock` on a file: the system releases it when its holder ends, for whatever reason, so there
//! are no stale locks. The file's content says who holds it, for the error message of the next process.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weir_base::file::create_private_folder;

use crate::clock;
use crate::tree::ProcessId;

/// Who holds a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockOwner {
    /// Process that holds it.
    pub process: ProcessId,
    /// What the lock is held for.
    pub purpose: String,
    /// When it was taken, in seconds since 1970.
    pub since: u64,
}

/// Why a lock could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds it.
    #[error("{} is in use{}; stop that process first, or use another", path.display(), describe(owner.as_ref()))]
    Held {
        /// The lock file.
        path: PathBuf,
        /// The holder, if that could be read.
        owner: Option<LockOwner>,
    },
    /// The lock file cannot be used.
    #[error("cannot lock {}: {source}", path.display())]
    System {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl LockError {
    /// Whether the lock could not be written because the disk is full.
    pub fn is_full(&self) -> bool {
        let Self::System { source, .. } = self else { return false };
        matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }
}

fn describe(owner: Option<&LockOwner>) -> String {
    let Some(owner) = owner else { return String::new() };
    let LockOwner { process, purpose, since } = owner;
    format!(": held by pid {} ({purpose}) since {}", process.pid, clock::readable(*since))
}

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
}

/// How often to retry a lock whose owner is dead, five milliseconds apart.
const DEAD_OWNER_RETRIES: u32 = 400;

impl Lock {
    /// Takes the lock, or says who holds it. Does not wait for an owner that is alive. Creates the folder if it
    /// is missing.
    pub fn acquire(path: &Path, purpose: &str) -> Result<Self, LockError> {
        let system = |source| LockError::System { path: path.to_owned(), source };
        if let Some(folder) = path.parent() {
            create_private_folder(folder).map_err(system)?;
        }
        let mut patience = DEAD_OWNER_RETRIES;
        loop {
            let mut file = open(path).map_err(system)?;
            match file.try_lock() {
                Ok(()) => {}
                // The owner was killed while it started a child: until the child executes its program, it has a
                // copy of every open file. That takes milliseconds, and nothing signals the moment it ends.
                Err(TryLockError::WouldBlock) if patience > 0 && is_dead(&mut file) => {
                    patience -= 1;
                    std::thread::park_timeout(std::time::Duration::from_millis(5));
                    continue;
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(LockError::Held { path: path.to_owned(), owner: read_owner(&mut file) });
                }
                Err(TryLockError::Error(source)) => return Err(system(source)),
            }
            // The previous holder may have removed the file between our opening and locking it. Then no other
            // process will ever check the file that we locked.
            if !is_still_there(&file, path).map_err(system)? {
                continue;
            }
            write_owner(&mut file, purpose).map_err(system)?;
            return Ok(Self { file, path: path.to_owned() });
        }
    }

    /// The holder of a lock, if there is one. An unlocked file was left by a process that was killed.
    pub fn owner(path: &Path) -> Option<LockOwner> {
        let mut file = OpenOptions::new().read(true).write(true).open(path).ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => read_owner(&mut file),
            Ok(()) | Err(TryLockError::Error(_)) => None,
        }
    }

    /// The lock file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed while it is held: a process that has it open notices, see `acquire`.
        let _ = std::fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(unix)]
fn is_still_there(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let ours = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(theirs) => Ok((ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn is_still_there(_file: &File, _path: &Path) -> io::Result<bool> {
    // An open file cannot be removed.
    Ok(true)
}

fn write_owner(file: &mut File, purpose: &str) -> io::Result<()> {
    let owner =
        LockOwner { process: ProcessId::current(), purpose: purpose.to_owned(), since: clock::seconds_now() };
    let text = serde_json::to_vec(&owner)?;
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(&text)
}

/// Whether the process that took the lock has ended.
fn is_dead(file: &mut File) -> bool {
    read_owner(file).is_some_and(|owner| !owner.process.is_alive())
}

fn read_owner(file: &mut File) -> Option<LockOwner> {
    let mut text = Vec::new();
    file.rewind().ok()?;
    file.read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_lock_names_its_holder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("locks/session");
        let lock = Lock::acquire(&path, "weir run").unwrap();
        let error = Lock::acquire(&path, "weir chat").unwrap_err();
        let text = error.to_string();
        assert!(text.contains(&format!("held by pid {} (weir run) since 20", std::process::id())), "{text}");
        assert_eq!(Lock::owner(&path).unwrap().process, ProcessId::current());
        drop(lock);
        assert_eq!(Lock::owner(&path), None);
        assert!(!path.exists());
        Lock::acquire(&path, "weir chat").unwrap();
    }

    #[test]
    fn a_file_left_by_a_killed_process_is_not_a_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session");
        std::fs::write(&path, r#"{"process":{"pid":1,"start":1},"purpose":"x","since":1}"#).unwrap();
        assert_eq!(Lock::owner(&path), None);
        let lock = Lock::acquire(&path, "mine").unwrap();
        assert_eq!(Lock::owner(&path).unwrap().purpose, "mine");
        drop(lock);
    }

    #[test]
    fn a_lock_of_a_dead_owner_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session");
        let held = Lock::acquire(&path, "killed").unwrap();
        // As if the owner were dead and its child had not executed its program yet.
        let dead_owner = r#"{"process":{"pid":4194305,"start":1},"purpose":"killed","since":1}"#;
        std::fs::write(&path, dead_owner).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| Lock::acquire(&path, "next").map(drop));
            std::thread::park_timeout(std::time::Duration::from_millis(20));
            held.file.unlock().unwrap();
            waiting.join().unwrap().unwrap();
        });
    }

    #[test]
    fn only_one_of_many_gets_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session");
        let holders = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        if let Ok(lock) = Lock::acquire(&path, "one of many") {
                            assert_eq!(holders.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                            holders.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                            drop(lock);
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn a_failed_lock_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let error = Lock::acquire(folder.path(), "x").unwrap_err();
        assert!(matches!(error, LockError::System { .. }), "{error}");
    }
}
