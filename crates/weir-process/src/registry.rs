//! Records what was started, so that the next start finds what a killed Weir left behind.
//!
//! Each launch is a small file in `<state directory>/processes`, written before the process is started and
//! removed when nothing of it is left. Usually the watcher has ended everything long before the records are
//! read.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weir_base::file::{Replace, create_private_folder};

use crate::clock;
use crate::exit::StopOptions;
use crate::mark::{LimitMark, Mark};
use crate::tree::{ProcessId, Tree};

/// The folder of records could not be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use {} to record running processes: {source}; choose another state directory", path.display())]
pub struct RegistryError {
    /// The file or folder.
    pub path: PathBuf,
    /// What the system said.
    #[source]
    pub source: io::Error,
}

/// Content of a record.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    /// The Weir process that started it.
    host: ProcessId,
    /// The boot it was started in: pids and start times mean nothing in another.
    boot: String,
    /// Its pid namespace: processes of another container are not ours to judge.
    namespace: String,
    mark: String,
    /// The mark as a resource limit.
    #[serde(default)]
    limit: Option<LimitMark>,
    /// The process, once started.
    process: Option<ProcessId>,
    purpose: String,
    /// Seconds since 1970.
    since: u64,
}

/// The record of one launch. It is removed on drop, after everything that was started has ended; only a killed
/// process leaves it behind.
#[derive(Debug)]
pub(crate) struct Record {
    path: PathBuf,
    entry: Box<Entry>,
}

impl Record {
    pub(crate) fn create(state: &Path, mark: &Mark, purpose: &str) -> Result<Self, RegistryError> {
        let folder = folder(state);
        create_private_folder(&folder).map_err(|source| RegistryError { path: folder.clone(), source })?;
        let path = folder.join(format!("{}.json", mark.as_str()));
        let entry = Box::new(Entry {
            host: ProcessId::current(),
            boot: boot(),
            namespace: namespace(),
            mark: mark.as_str().to_owned(),
            limit: Some(LimitMark::of(mark)),
            process: None,
            purpose: purpose.to_owned(),
            since: clock::seconds_now(),
        });
        let record = Self { path, entry };
        record.write().map_err(|source| RegistryError { path: record.path.clone(), source })?;
        Ok(record)
    }

    /// Adds the process. A failure does not matter: the mark alone is enough to find it.
    pub(crate) fn started(&mut self, id: ProcessId) {
        self.entry.process = Some(id);
        let _ = self.write();
    }

    /// Never leaves a partial file.
    fn write(&self) -> io::Result<()> {
        Replace::new().quick().bytes(&self.path, &serde_json::to_vec(&*self.entry)?)
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Processes left behind by a Weir process that is gone.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Leftover {
    /// The Weir process that started it.
    pub host: ProcessId,
    /// What it was for.
    pub purpose: String,
    /// When it was started, in seconds since 1970.
    pub since: u64,
    /// The processes that are still alive.
    pub processes: Vec<ProcessId>,
    record: PathBuf,
    tree: Tree,
}

/// Finds what dead Weir processes have left behind. Records with no live process are removed; those of running
/// Weir processes are not touched. A file that is not a record is skipped.
///
/// Scans the system on this thread, which takes a few milliseconds.
pub fn leftovers(state: &Path) -> Result<Vec<Leftover>, RegistryError> {
    let folder = folder(state);
    let files = match std::fs::read_dir(&folder) {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(RegistryError { path: folder, source }),
    };
    let paths = files.filter_map(|file| Some(file.ok()?.path()));
    let records = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    Ok(records.filter_map(leftover).collect())
}

fn leftover(record: PathBuf) -> Option<Leftover> {
    let entry: Entry = serde_json::from_slice(&std::fs::read(&record).ok()?).ok()?;
    let mark = Mark::parse(&entry.mark)?;
    let is_this_boot = entry.boot == boot();
    if is_this_boot && (entry.namespace != namespace() || entry.host.is_alive()) {
        return None;
    }
    let mut tree = Tree::with_member(entry.process, mark, entry.limit);
    let processes = if is_this_boot { tree.scan_now().alive } else { Vec::new() };
    if processes.is_empty() {
        let _ = std::fs::remove_file(&record);
        return None;
    }
    let Entry { host, purpose, since, .. } = entry;
    Some(Leftover { host, purpose, since, processes, record, tree })
}

/// Ends leftovers: SIGTERM, then SIGKILL, with the waits for a CLI that does not end by itself. Returns the
/// survivors, of which there are none unless a process hangs in the kernel or belongs to another user.
pub async fn end_leftovers(leftovers: Vec<Leftover>, options: &StopOptions) -> Vec<ProcessId> {
    let mut survivors = Vec::new();
    for mut leftover in leftovers {
        let patience = options.terminate.max(Duration::from_millis(1));
        let (_, left) = leftover.tree.end(patience, options.kill).await;
        if left.is_empty() {
            let _ = std::fs::remove_file(&leftover.record);
        }
        survivors.extend(left);
    }
    survivors
}

fn folder(state: &Path) -> PathBuf {
    state.join("processes")
}

/// Id of the current boot, if the system provides one.
fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Our pid namespace, if the system provides one.
fn namespace() -> String {
    std::fs::read_link("/proc/self/ns/pid").map(|link| link.display().to_string()).unwrap_or_default()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    fn entry(change: impl FnOnce(&mut Entry)) -> Entry {
        let mut entry = Entry {
            host: ProcessId { pid: 1, start: u64::MAX },
            boot: boot(),
            namespace: namespace(),
            mark: Mark::random().as_str().to_owned(),
            limit: None,
            process: None,
            purpose: "a test".to_owned(),
            since: 0,
        };
        change(&mut entry);
        entry
    }

    /// Whether a record is still there after a scan.
    fn stays(text: &[u8]) -> bool {
        let state = tempfile::tempdir().unwrap();
        let record = folder(state.path()).join("x.json");
        create_private_folder(&folder(state.path())).unwrap();
        std::fs::write(&record, text).unwrap();
        assert!(leftovers(state.path()).unwrap().is_empty());
        record.exists()
    }

    #[test]
    fn only_records_without_live_processes_are_removed() {
        let json = |entry: Entry| serde_json::to_vec(&entry).unwrap();
        assert!(!stays(&json(entry(|_| {}))));
        assert!(!stays(&json(entry(|entry| entry.boot = "another".to_owned()))));
        assert!(stays(&json(entry(|entry| entry.host = ProcessId::current()))));
        assert!(stays(&json(entry(|entry| entry.namespace = "another".to_owned()))));
        assert!(stays(&json(entry(|entry| entry.mark = "PATH".to_owned()))));
        assert!(stays(b"{"));
    }

    #[test]
    fn a_missing_folder_means_no_leftovers() {
        assert!(leftovers(Path::new("/nowhere")).unwrap().is_empty());
    }
}
