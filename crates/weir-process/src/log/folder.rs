//! Limits the size of a folder of logs: deletes the oldest, except those being written.
//!
//! Any number of processes share a folder. The writer of a log holds a lock on its files, which the system
//! releases when the process ends; cleanup deletes only files that it can lock. If two cleanups run at once,
//! they pick the same files and one of them finds them gone.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::options::FolderLimits;

/// A file modified this recently may belong to a process that is about to lock it.
const FRESH: Duration = Duration::from_secs(60);

/// Suffixes of a log's files, longest first.
const SUFFIXES: [&str; 3] = [".in.ndjson", ".ndjson", ".stderr"];

/// All files of one log.
#[derive(Debug, Default)]
struct Log {
    files: Vec<PathBuf>,
    bytes: u64,
    changed: Option<SystemTime>,
}

/// Removes the oldest logs of a folder until it is within its limits. Files that cannot be removed stay:
/// cleanup must never make its caller fail.
pub(super) fn make_room(folder: &Path, limits: &FolderLimits, now: SystemTime) {
    let logs = logs_in(folder);
    let mut count = logs.len();
    let mut bytes: u64 = logs.values().map(|log| log.bytes).sum();
    // Oldest first, since names begin with the time.
    for log in logs.values() {
        if count <= limits.logs && bytes <= limits.bytes {
            break;
        }
        if log.is_fresh(now) {
            continue;
        }
        let Some(locked) = log.lock() else { continue };
        for file in &log.files {
            let _ = std::fs::remove_file(file);
        }
        drop(locked);
        count -= 1;
        bytes = bytes.saturating_sub(log.bytes);
    }
}

/// The logs in a folder by name. Other files are ignored.
fn logs_in(folder: &Path) -> BTreeMap<String, Log> {
    let mut logs: BTreeMap<String, Log> = BTreeMap::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(metadata) = entry.metadata() else { continue };
        if let Some(name) = entry.file_name().to_str().and_then(log_name).filter(|_| metadata.is_file()) {
            logs.entry(name.to_owned()).or_default().add(entry.path(), &metadata);
        }
    }
    logs
}

/// The name of the log that a file belongs to, if it is a log file.
fn log_name(file: &str) -> Option<&str> {
    let stem = SUFFIXES.iter().find_map(|suffix| file.strip_suffix(suffix))?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let stem = match stem.rsplit_once(".part") {
        Some((stem, part)) if is_number(part) => stem,
        _ => stem,
    };
    let (stamp, _) = stem.split_once('-')?;
    let fits = |(byte, like): (u8, u8)| if like == b'0' { byte.is_ascii_digit() } else { byte == like };
    let like = b"00000000T000000.000Z";
    (stamp.len() == like.len() && stamp.bytes().zip(like.iter().copied()).all(fits)).then_some(stem)
}

impl Log {
    fn add(&mut self, file: PathBuf, metadata: &Metadata) {
        self.files.push(file);
        self.bytes += metadata.len();
        self.changed = self.changed.max(metadata.modified().ok());
    }

    fn is_fresh(&self, now: SystemTime) -> bool {
        let age = self.changed.map(|changed| now.duration_since(changed).unwrap_or_default());
        age.is_none_or(|age| age < FRESH)
    }

    /// Locks all its files. `None` if one of them is in use.
    fn lock(&self) -> Option<Vec<File>> {
        let lock = |path: &PathBuf| {
            let file = File::open(path).ok()?;
            file.try_lock().ok()?;
            Some(file)
        };
        self.files.iter().map(lock).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: Duration = Duration::from_secs(3600);

    fn write(folder: &Path, name: &str, bytes: usize) -> PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, vec![b'x'; bytes]).unwrap();
        path
    }

    fn names(folder: &Path) -> Vec<String> {
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn log_files_are_recognised_by_name() {
        let name = "20260102T030405.678Z-run-weir";
        for file in ["{}.ndjson", "{}.in.ndjson", "{}.stderr", "{}.part2.ndjson", "{}.part12.in.ndjson"] {
            assert_eq!(log_name(&file.replace("{}", name)), Some(name), "{file}");
        }
        for file in
            ["notes.ndjson", "20260102-run.ndjson", "20260102T030405.678Z-run-weir.txt", "claude.json"]
        {
            assert_eq!(log_name(file), None, "{file}");
        }
    }

    #[test]
    fn the_oldest_logs_are_deleted_and_other_files_stay() {
        let folder = tempfile::tempdir().unwrap();
        for hour in 1..=4 {
            for suffix in SUFFIXES {
                write(folder.path(), &format!("20260102T0{hour}0000.000Z-run-weir{suffix}"), 100);
            }
        }
        write(folder.path(), "mine.ndjson", 1 << 20);
        let later = SystemTime::now() + LATER;
        make_room(folder.path(), &FolderLimits { logs: 3, bytes: 1 << 20 }, later);
        assert_eq!(names(folder.path()).len(), 10);
        make_room(folder.path(), &FolderLimits { logs: 3, bytes: 600 }, later);
        let left = names(folder.path());
        assert_eq!(left.len(), 7, "{left:?}");
        assert!(left[0].starts_with("20260102T03") && left[6] == "mine.ndjson", "{left:?}");
    }

    #[test]
    fn logs_being_written_or_recent_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let held = write(folder.path(), "20260102T010000.000Z-run-weir.ndjson", 100);
        write(folder.path(), "20260102T020000.000Z-run-weir.ndjson", 100);
        let none = FolderLimits { logs: 0, bytes: 0 };
        make_room(folder.path(), &none, SystemTime::now());
        assert_eq!(names(folder.path()).len(), 2, "both are fresh");
        let writer = File::options().append(true).open(&held).unwrap();
        writer.try_lock().unwrap();
        make_room(folder.path(), &none, SystemTime::now() + LATER);
        assert_eq!(names(folder.path()), ["20260102T010000.000Z-run-weir.ndjson"]);
        drop(writer);
        make_room(folder.path(), &none, SystemTime::now() + LATER);
        assert_eq!(names(folder.path()), [""; 0]);
        // Neither logs nor folder exist.
        make_room(&folder.path().join("nowhere"), &none, SystemTime::now());
    }
}
