//! The disk below a file: its free space, and a reserve that is given up when there is none.
//!
//! The reserve is a file next to the database whose space is really allocated. When a write fails because the disk is
//! full, a little of the reserve is returned to the disk, repeatedly, until that write fits. This way essential
//! writes (deletions, the end of a running turn) still succeed, even if another program takes part of the space.
//! Everything else is refused until the disk has space for the whole reserve and more; then the reserve is allocated
//! again.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::space::Space;

/// Less than this counts as nothing.
const NEGLIGIBLE: u64 = 64 << 10;
/// Without a reserve, a disk with less than this left is full.
const MIN_FREE: u64 = 1 << 20;
/// Space needed to open a store and start a program.
const STARTUP_SPACE: u64 = 512 << 10;
/// The reserve takes at most one part in this many of a disk.
const RESERVE_DIVISOR: u64 = 16;
/// The reserve is given up in this many steps.
const RESERVE_STEPS: u64 = 32;
/// Limit for the write-ahead log.
const MAX_WAL: u64 = 16 << 20;
/// Lower bound of that limit on a small disk, where it is a quarter of the reserve.
const MIN_WAL: u64 = 512 << 10;

/// How much of the reserve may be given up for something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spend {
    /// All of it, a little at a time.
    All,
    /// This much at once; all of it in the end.
    AllInPiecesOf(u64),
    /// The same down to half of the reserve. Another program may be faster in taking what is given up, and then there
    /// must be something left for what cannot wait.
    HalfInPiecesOf(u64),
}

/// The disk below a file.
#[derive(Debug)]
pub(super) struct Disk {
    database: PathBuf,
    /// The reserve.
    file: PathBuf,
    /// The size of the reserve when there is space.
    wanted: u64,
    is_full: AtomicBool,
    /// Free space inside the file that cannot be returned to the disk because an older version created the file.
    free_inside: AtomicU64,
    /// Held while the reserve is changed.
    changing: Mutex<()>,
}

impl Disk {
    /// The disk below this file, with a reserve of at most this size.
    pub(super) fn new(database: &Path, reserve: u64) -> Self {
        let max = total(database).map_or(reserve, |total| total / RESERVE_DIVISOR);
        let mut file = database.to_owned().into_os_string();
        file.push("-reserve");
        Self {
            database: database.to_owned(),
            file: file.into(),
            wanted: reserve.min(max),
            is_full: AtomicBool::new(false),
            free_inside: AtomicU64::new(0),
            changing: Mutex::new(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current size of the reserve.
    pub(super) fn reserve(&self) -> u64 {
        std::fs::metadata(&self.file).map_or(0, |file| file.len())
    }

    pub(super) fn available(&self) -> Option<u64> {
        available(&self.database)
    }

    /// Whether the disk is full, as far as is known. Writes that are not essential are then refused without an
    /// attempt.
    pub(super) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Acquire)
    }

    /// Checks whether it is still full.
    pub(super) fn is_still_full(&self) -> bool {
        self.is_full() && !self.recover()
    }

    /// Records that a write failed for lack of space, unless the cause is a limit for the file or the size of that
    /// write.
    pub(super) fn note_failure(&self) {
        if self.available().is_some_and(|left| left < self.wanted.max(MIN_FREE)) {
            self.is_full.store(true, Ordering::Release);
        }
    }

    /// Gives part of the reserve back to the disk. Returns whether anything was left to give.
    pub(super) fn give_up(&self, spend: Spend) -> bool {
        let _changing = self.lock();
        let step = (self.wanted / RESERVE_STEPS).max(NEGLIGIBLE);
        let (piece, kept) = match spend {
            Spend::All => (step, 0),
            Spend::AllInPiecesOf(bytes) => (bytes.max(step), 0),
            Spend::HalfInPiecesOf(bytes) => (bytes.max(step), self.wanted / 2),
        };
        let size = self.reserve();
        if size <= kept || is_out_of_files(&self.database) {
            // Space is not what is missing.
            return false;
        }
        self.is_full.store(true, Ordering::Release);
        let left = size.saturating_sub(piece).max(kept);
        OpenOptions::new().write(true).open(&self.file).and_then(|file| file.set_len(left)).is_ok()
    }

    /// Limit for the length of the write-ahead log. Its contents must fit into the file when half of the reserve is
    /// given up, also if the log has become longer than this before it was cut off.
    pub(super) fn wal_limit(&self) -> u64 {
        if self.wanted == 0 { MAX_WAL } else { (self.wanted / 4).clamp(MIN_WAL, MAX_WAL) }
    }

    /// Sets how much is free inside the file and cannot be returned to the disk.
    pub(super) fn set_free_inside(&self, bytes: u64) {
        self.free_inside.store(bytes, Ordering::Release);
    }

    /// Makes room for opening the file if the disk is full.
    pub(super) fn make_room(&self) {
        while self.available().is_some_and(|left| left < STARTUP_SPACE) && self.give_up(Spend::All) {}
    }

    /// Allocates the reserve when a store is opened. A disk without space for it is full.
    pub(super) fn start(&self) {
        self.reserve_with(self.wanted + MIN_FREE.min(self.wanted));
    }

    /// Allocates the reserve again if the disk has space for it and more. Returns whether the disk is no longer full.
    pub(super) fn recover(&self) -> bool {
        self.reserve_with(self.enough())
    }

    fn reserve_with(&self, enough: u64) -> bool {
        let _changing = self.lock();
        if self.wanted > 0 && self.free_inside.load(Ordering::Acquire) >= enough {
            // The next writes have space, although the disk has none.
            self.is_full.store(false, Ordering::Release);
            return true;
        }
        let size = self.reserve();
        let Some(left) = self.available() else {
            self.is_full.store(false, Ordering::Release);
            return true;
        };
        let is_enough = left + size >= enough;
        let is_reserved = is_enough && (size >= self.wanted || self.take(size, self.wanted).is_ok());
        if is_reserved {
            self.is_full.store(false, Ordering::Release);
        } else if self.wanted > 0 {
            self.is_full.store(true, Ordering::Release);
        }
        is_reserved
    }

    /// Free space at which the disk is no longer full: the reserve, plus more than truncating the write-ahead log can
    /// return. Otherwise it would be full again immediately.
    fn enough(&self) -> u64 {
        self.wanted + self.wanted.max(MIN_FREE)
    }

    /// Allocates whatever there is for the reserve, however little, so that space that was given up and is no longer
    /// needed is not left to other programs.
    pub(super) fn retake(&self) {
        let _changing = self.lock();
        let (size, left) = (self.reserve(), self.available().unwrap_or(0));
        let max = (size + left / NEGLIGIBLE * NEGLIGIBLE).min(self.wanted);
        if max > size {
            // Best effort: another program may have been faster.
            let _ = self.take(size, max);
        }
    }

    /// Allocates this much of the disk for the reserve, or leaves it unchanged.
    fn take(&self, before: u64, size: u64) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&self.file)?;
        let taken = allocate(&file, size);
        if taken.is_err() {
            file.set_len(before)?;
        }
        taken
    }

    /// Records that another program has taken all space, before a write fails for it.
    fn notice(&self) {
        let is_enough_inside = self.free_inside.load(Ordering::Acquire) >= self.enough();
        if !is_enough_inside && self.available().is_some_and(|left| left < NEGLIGIBLE) {
            self.is_full.store(true, Ordering::Release);
        }
    }

    /// The state of the disk, with advice for people.
    pub(super) fn space(&self) -> Space {
        self.notice();
        if !self.is_still_full() {
            return Space::Enough;
        }
        let needed = self.enough().saturating_sub(self.reserve());
        let advice = format!(
            "the disk of {} is full: delete sessions, or free at least {} on it; until then nothing new is stored",
            self.database.display(),
            mebibytes(needed)
        );
        Space::Full { advice }
    }
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

/// Whether nothing can be written to the disk below this file, or no file can be created on it.
pub(super) fn is_out_of_space(database: &Path) -> bool {
    available(database).is_some_and(|left| left < NEGLIGIBLE) || is_out_of_files(database)
}

/// Whether the disk below a file has no inodes left. Some file systems do not count them.
#[cfg(unix)]
pub(super) fn is_out_of_files(database: &Path) -> bool {
    rustix::fs::statvfs(folder(database)).is_ok_and(|found| found.f_files > 0 && found.f_favail == 0)
}

#[cfg(not(unix))]
pub(super) fn is_out_of_files(_database: &Path) -> bool {
    false
}

/// The folder of a file, which exists even if the file does not.
fn folder(database: &Path) -> &Path {
    match database.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Free space on the disk below a file.
#[cfg(unix)]
pub(super) fn available(database: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder(database)).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(unix)]
fn total(database: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder(database)).ok()?;
    Some(found.f_blocks.saturating_mul(found.f_frsize)).filter(|total| *total > 0)
}

#[cfg(not(unix))]
pub(super) fn available(_database: &Path) -> Option<u64> {
    None
}

#[cfg(not(unix))]
fn total(_database: &Path) -> Option<u64> {
    None
}

/// Allocates disk space for a file of this size.
#[cfg(target_os = "linux")]
fn allocate(file: &std::fs::File, size: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    match fallocate(file, FallocateFlags::empty(), 0, size) {
        Ok(()) => Ok(()),
        Err(error) if error == rustix::io::Errno::OPNOTSUPP => write_out(file, size),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn allocate(file: &std::fs::File, size: u64) -> io::Result<()> {
    write_out(file, size)
}

/// Allocates space by writing.
fn write_out(mut file: &std::fs::File, size: u64) -> io::Result<()> {
    use std::io::Write as _;
    // Not zeros, which some file systems do not store.
    let piece = vec![0xa5; 64 << 10];
    for _ in 0..size.div_ceil(piece.len() as u64) {
        file.write_all(&piece)?;
    }
    file.set_len(size)?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_is_given_up_in_steps_and_allocated_again() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(&folder.path().join("weir.db"), 256 << 10);
        assert!(disk.recover());
        assert_eq!((disk.reserve(), disk.is_full()), (256 << 10, false));
        let given = |spend: Spend| {
            let mut sizes = Vec::new();
            while disk.give_up(spend) {
                sizes.push(disk.reserve() >> 10);
            }
            sizes
        };
        assert_eq!(given(Spend::HalfInPiecesOf(1)), [192, 128]);
        assert_eq!(given(Spend::AllInPiecesOf(96 << 10)), [32, 0]);
        assert!(disk.recover());
        assert_eq!(given(Spend::HalfInPiecesOf(1 << 20)), [128]);
        assert!(disk.recover());
        assert_eq!(given(Spend::All), [192, 128, 64, 0]);
        assert!(disk.is_full());
        assert!(!disk.is_still_full(), "this disk has space");
        assert_eq!(disk.reserve(), 256 << 10);
        assert_eq!(disk.space(), Space::Enough);
    }

    #[test]
    fn without_a_reserve_there_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(&folder.path().join("weir.db"), 0);
        assert!(disk.recover() && !disk.give_up(Spend::All));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_failure_with_space_left_is_not_a_full_disk() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(&folder.path().join("weir.db"), 0);
        disk.note_failure();
        assert!(!disk.is_full());
    }
}
