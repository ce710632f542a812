//! What sessions leave on the disk: raw logs, locks, and records of their processes.

use std::io;
use std::path::{Path, PathBuf};

use weir_process::Lock;

/// Checks that no lock of a state folder is held and no process is on record there.
///
/// # Errors
/// What is left.
pub fn check_no_lock_or_record(state: &Path) -> Result<(), String> {
    let records = weir_process::leftovers(state).map_err(|error| error.to_string())?;
    if !records.is_empty() {
        return Err(format!("records are left: {records:?}"));
    }
    for lock in files(&state.join("locks")) {
        if let Some(owner) = Lock::owner(&lock) {
            return Err(format!("{} is held by {owner:?}", lock.display()));
        }
    }
    Ok(())
}

/// The raw logs of a folder with the output of CLIs, in order.
pub fn raw_logs(folder: &Path) -> Vec<PathBuf> {
    let mut logs = files(folder);
    logs.retain(|path| {
        let name = path.to_string_lossy();
        name.ends_with(".ndjson") && !name.ends_with(".in.ndjson")
    });
    logs.sort();
    logs
}

/// The lines in the raw logs of a folder, in order.
///
/// # Errors
/// If a log cannot be read.
pub fn raw_log_lines(folder: &Path) -> io::Result<Vec<Vec<u8>>> {
    let mut lines = Vec::new();
    for log in raw_logs(folder) {
        let bytes = std::fs::read(&log)?;
        let whole = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        if !bytes.is_empty() {
            lines.extend(whole.split(|byte| *byte == b'\n').map(<[u8]>::to_vec));
        }
    }
    Ok(lines)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}
