//! One owner for a session id or a workspace.
//!
//! The lock is `flock` on a file: the system frees it when its holder ends, however that comes about, so there are
//! no stale locks. What stands in the file says who holds it, for the error of whoever comes second.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::clock;
use crate::log::create_directory;
use crate::tree::ProcessId;

/// Who holds a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockOwner {
    /// The process.
    pub process: ProcessId,
    /// What for.
    pub purpose: String,
    /// Since when, in seconds since 1970.
    pub since: u64,
}

/// Why a lock was not given.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody has it.
    #[error("{} is in use{}; stop that one first, or use another", path.display(), describe(owner.as_ref()))]
    Held {
        /// The file of the lock.
        path: PathBuf,
        /// Who has it, if that could be read.
        owner: Option<LockOwner>,
    },
    /// The file cannot be used.
    #[error("cannot lock {}: {source}", path.display())]
    System {
        /// The file of the lock.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl LockError {
    /// Whether it could not be written because the disk is full.
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

/// How many times to look again for a lock whose owner is dead, five milliseconds apart.
const AFTER_DEATH: u32 = 400;

impl Lock {
    /// Takes the lock, or says who has it. Does not wait for an owner who lives. The folder is made if it is not there.
    pub fn acquire(path: &Path, purpose: &str) -> Result<Self, LockError> {
        let system = |source| LockError::System { path: path.to_owned(), source };
        if let Some(folder) = path.parent() {
            create_directory(folder).map_err(system)?;
        }
        let mut patience = AFTER_DEATH;
        loop {
            let mut file = open(path).map_err(system)?;
            match file.try_lock() {
                Ok(()) => {}
                // A process that was killed while it started a child: the child has a copy of all that was open until its
                // program begins, which is a matter of milliseconds. Nothing announces that moment.
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
            // The last holder may have removed the file between our opening and our locking it. Then the lock
            // that we have is one that nobody else will ever look at.
            if !is_still_there(&file, path).map_err(system)? {
                continue;
            }
            write_owner(&mut file, purpose).map_err(system)?;
            return Ok(Self { file, path: path.to_owned() });
        }
    }

    /// Who holds a lock, if somebody does. A file that nobody has locked is a trace of a process that was killed.
    pub fn owner(path: &Path) -> Option<LockOwner> {
        let mut file = OpenOptions::new().read(true).write(true).open(path).ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => read_owner(&mut file),
            Ok(()) | Err(TryLockError::Error(_)) => None,
        }
    }

    /// The file of the lock.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed while it is held: whoever has it open finds out, see `acquire`.
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

/// Whether the process that took the lock is gone.
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
    fn the_second_is_told_who_has_it() {
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
    fn a_file_that_a_killed_process_has_left_is_no_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session");
        std::fs::write(&path, r#"{"process":{"pid":1,"start":1},"purpose":"x","since":1}"#).unwrap();
        assert_eq!(Lock::owner(&path), None);
        let lock = Lock::acquire(&path, "mine").unwrap();
        assert_eq!(Lock::owner(&path).unwrap().purpose, "mine");
        drop(lock);
    }

    #[test]
    fn what_a_dead_owner_has_not_let_go_of_yet_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session");
        let held = Lock::acquire(&path, "killed").unwrap();
        // As if the owner were dead and a child of it had not begun its program yet.
        let nobody = r#"{"process":{"pid":4194305,"start":1},"purpose":"killed","since":1}"#;
        std::fs::write(&path, nobody).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| Lock::acquire(&path, "next").map(drop));
            std::thread::park_timeout(std::time::Duration::from_millis(20));
            held.file.unlock().unwrap();
            waiting.join().unwrap().unwrap();
        });
    }

    #[test]
    fn only_one_of_many_gets_it() {
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
    fn what_cannot_be_locked_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let error = Lock::acquire(folder.path(), "x").unwrap_err();
        assert!(matches!(error, LockError::System { .. }), "{error}");
    }
}
