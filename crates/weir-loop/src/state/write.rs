//! Writes the state of a run: each step as a line of the journal, from time to time a new journal, and then the files
//! for other readers.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use weir_base::file::{Replace, create_private_folder};

use super::atomic::stream_atomically;
use super::file::{JOURNAL, RUN};
use super::journal::{Changed, encode, without_tasks, write_whole};
use super::{RunState, StateError, TaskRecord, TaskState, budget_file, older, session_file, worker_file};
use crate::instant;
use crate::tasks::TaskId;

/// How far `run.json` may lag behind the journal.
const MAX_LAG: Duration = Duration::from_secs(1);

/// A long list takes time to write, so it is written less often: the pause is this many times as long as the write.
const PAUSE_FACTOR: u32 = 100;

/// The folder with the files of tasks with their own worktree.
pub(super) const WORKERS: &str = "workers";

/// Writes the state of a run. When a method returns, the state is on disk.
#[derive(Debug)]
pub struct StateWriter {
    folder: PathBuf,
    /// `None` until the state was written in full.
    journal: Option<Journal>,
}

/// The current journal.
#[derive(Debug)]
struct Journal {
    file: File,
    /// Its length, as Weir has written it.
    length: u64,
    /// The run without its tasks, as last written.
    head: RunState,
    /// Number of steps in it.
    steps: u64,
    written: Instant,
    took: Duration,
}

impl StateWriter {
    /// Writes into this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), journal: None }
    }

    /// Begins a new journal with the whole state, and writes all files for other readers.
    pub fn write(&mut self, run: &RunState) -> Result<(), StateError> {
        let began = Instant::now();
        let path = self.folder.join(JOURNAL);
        let file = stream_atomically(&path, |file| write_whole(file, run))
            .and_then(|()| OpenOptions::new().append(true).open(&path))
            .map_err(|source| StateError::System { path, source })?;
        // The rest is for readers, or removes leftovers, so a kill in between does not matter.
        self.export(run)?;
        let head = without_tasks(run);
        let length = file.metadata().map_or(0, |found| found.len());
        let (written, took) = (Instant::now(), began.elapsed());
        self.journal = Some(Journal { file, length, head, steps: 0, written, took });
        Ok(())
    }

    /// Writes the changes since the last write.
    pub fn write_changed(&mut self, run: &RunState, changed: &Changed) -> Result<(), StateError> {
        let is_enough = |journal: &&mut Journal| !journal.is_due() && !journal.matters_to_people(run);
        let path = self.folder.join(JOURNAL);
        let is_ours = |journal: &&mut Journal| journal.is_ours(&path);
        let Some(journal) = self.journal.as_mut().filter(is_enough).filter(is_ours) else {
            return self.write(run);
        };
        if let Err(source) = journal.append(run, changed) {
            // A part of the line may be there: what follows is a new journal.
            self.journal = None;
            return Err(StateError::System { path, source });
        }
        let tasks = changed.tasks().iter().filter_map(|task| run.task(task));
        tasks.filter(|task| has_worktree(run, task)).try_for_each(|task| self.export_worker(run, task))
    }

    /// Begins a new journal if the files for other readers lag behind and a write is due.
    pub fn settle(&mut self, run: &RunState) -> Result<(), StateError> {
        match &self.journal {
            Some(journal) if journal.steps > 0 && journal.is_due() => self.write(run),
            _ => Ok(()),
        }
    }

    /// Writes all files for other readers. Nothing reads them back.
    fn export(&self, run: &RunState) -> Result<(), StateError> {
        // Compact, because a list may be long.
        self.file(RUN, |file| serde_json::to_writer(file, run))?;
        self.json("budget.json", &budget_file(run))?;
        self.json("claude-session.json", &session_file(run))?;
        if self.journal.is_none() {
            remove(&self.folder.join(older::JOURNAL), |path| std::fs::remove_file(path))?;
        }
        for folder in below(&self.folder.join(WORKERS)) {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if run.task(&TaskId::new(name)).is_none_or(|task| !has_worktree(run, task)) {
                remove(&folder, |path| std::fs::remove_dir_all(path))?;
            } else if self.journal.is_none() {
                remove(&folder.join(older::WORKER_JOURNAL), |path| std::fs::remove_file(path))?;
            }
        }
        let mut tasks = run.tasks.iter().filter(|task| has_worktree(run, task));
        tasks.try_for_each(|task| self.export_worker(run, task))
    }

    /// Writes the files of a task with its own worktree.
    fn export_worker(&self, run: &RunState, task: &TaskRecord) -> Result<(), StateError> {
        let name = format!("{WORKERS}/{}", task.task.id);
        let folder = self.folder.join(&name);
        create_private_folder(&folder).map_err(|source| StateError::System { path: folder, source })?;
        self.json(&format!("{name}/task.json"), task)?;
        self.json(&format!("{name}/claude-session.json"), &worker_file(run, task))
    }

    fn json(&self, name: &str, value: &impl Serialize) -> Result<(), StateError> {
        self.file(name, |file| serde_json::to_writer_pretty(file, value))
    }

    fn file(
        &self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<&mut File>) -> serde_json::Result<()>,
    ) -> Result<(), StateError> {
        let path = self.folder.join(name);
        instant::begin();
        // No fsync: the file can be exported again.
        let replaced = Replace::new().quick().with(&path, |file| {
            let mut writer = BufWriter::with_capacity(64 << 10, file);
            write(&mut writer)?;
            writer.write_all(b"\n")?;
            writer.flush()
        });
        replaced.map_err(|source| StateError::System { path, source })
    }
}

impl Journal {
    fn is_due(&self) -> bool {
        if cfg!(test) {
            // Every few steps, whatever the clock says, so that tests cover both ways.
            return self.steps >= 4;
        }
        self.written.elapsed() >= MAX_LAG.max(self.took * PAUSE_FACTOR)
    }

    /// Whether something has changed that people look for in `run.json` and that does not change with each task: an
    /// end, a wait, a question.
    fn matters_to_people(&self, run: &RunState) -> bool {
        let head = &self.head;
        head.status != run.status
            || head.wait != run.wait
            || head.questions != run.questions
            || head.halting != run.halting
    }

    /// Whether the journal at a path is the one that Weir writes, and nothing else has written to it. A session that is not
    /// in a sandbox could; then a new one is written from what is in memory.
    fn is_ours(&self, path: &Path) -> bool {
        let (Ok(own), Ok(there)) = (self.file.metadata(), std::fs::metadata(path)) else { return false };
        #[cfg(unix)]
        let is_same =
            std::os::unix::fs::MetadataExt::ino(&own) == std::os::unix::fs::MetadataExt::ino(&there);
        #[cfg(not(unix))]
        let is_same = own.len() == there.len();
        is_same && there.len() == self.length
    }

    fn append(&mut self, run: &RunState, changed: &Changed) -> io::Result<()> {
        let line = encode(self.steps + 1, run, changed, &mut self.head)?;
        instant::begin();
        self.file.write_all(&line)?;
        self.file.sync_data()?;
        self.length += line.len() as u64;
        self.steps += 1;
        instant::reached("a line of the journal was written");
        Ok(())
    }
}

/// Whether a task is being worked on in its own worktree.
fn has_worktree(run: &RunState, task: &TaskRecord) -> bool {
    run.parallel > 1 && task.state == TaskState::Active
}

/// The folders in a folder.
pub(super) fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect()
}

/// Removes something that may not exist.
fn remove(path: &Path, how: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), StateError> {
    instant::begin();
    match how(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(StateError::System { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}
