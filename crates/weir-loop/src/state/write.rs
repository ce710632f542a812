//! Writes the state of a run: in full from time to time, and the changes since then as lines of the journal.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use weir_base::file::Replace;

use super::atomic::stream_atomically;
use super::journal::{Changed, encode, without_tasks};
use super::{RunState, StateError, TaskState, budget_file, session_file, worker_file};
use crate::instant;
use crate::tasks::TaskId;

/// How far `run.json` may lag behind the journal.
const MAX_LAG: Duration = Duration::from_secs(1);

/// A long list takes time to write, so it is written less often: the pause is this many times as long as the write.
const PAUSE_FACTOR: u32 = 100;

/// Writes the state of a run. When a method returns, the data is on disk.
#[derive(Debug)]
pub struct StateWriter {
    folder: PathBuf,
    /// `None` until the state was written in full.
    whole: Option<Whole>,
}

/// What belongs to the current `run.json`.
#[derive(Debug)]
struct Whole {
    /// The name that lines of the journal refer to.
    name: String,
    /// The run without its tasks, as last written.
    head: RunState,
    /// Number of lines that follow it.
    lines: u64,
    /// The open journals, by path.
    journals: BTreeMap<PathBuf, File>,
    written: Instant,
    took: Duration,
}

/// The content of `run.json`. The name comes first, where a reader finds it quickly.
#[derive(Serialize)]
struct Named<'a> {
    journal: &'a str,
    #[serde(flatten)]
    run: &'a RunState,
}

impl StateWriter {
    /// Writes into this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), whole: None }
    }

    /// Writes `run.json` in full, and then the files that are derived from it.
    pub fn write(&mut self, run: &RunState) -> Result<(), StateError> {
        let began = Instant::now();
        let name = uuid::Uuid::new_v4().simple().to_string();
        let path = self.folder.join("run.json");
        stream_atomically(&path, |file| {
            serde_json::to_writer(&mut *file, &Named { journal: &name, run })?;
            file.write_all(b"\n")
        })
        .map_err(|source| StateError::System { path, source })?;
        // The rest is for readers, or removes leftovers, so a kill in between does not matter.
        let journals = self.whole.take().map(|whole| whole.journals).unwrap_or_default();
        let journals = self.reset_journals(run, journals)?;
        self.json("budget.json", &budget_file(run))?;
        self.json("claude-session.json", &session_file(run))?;
        self.workers(run)?;
        let head = without_tasks(run);
        self.whole =
            Some(Whole { name, head, lines: 0, journals, written: Instant::now(), took: began.elapsed() });
        Ok(())
    }

    /// Writes the changes since the last write.
    pub fn write_changed(&mut self, run: &RunState, changed: &Changed) -> Result<(), StateError> {
        let is_enough = |whole: &&mut Whole| !whole.is_due() && !whole.matters_to_people(run);
        let Some(whole) = self.whole.as_mut().filter(is_enough) else { return self.write(run) };
        let path = match changed.only_task().filter(|_| run.parallel > 1) {
            Some(task) => worker(&self.folder, task).join(JOURNAL),
            None => self.folder.join(MAIN_JOURNAL),
        };
        whole.append(&path, run, changed).map_err(|source| StateError::System { path, source })
    }

    /// Writes the state in full if `run.json` lags behind and a write is due.
    pub fn settle(&mut self, run: &RunState) -> Result<(), StateError> {
        match &self.whole {
            Some(whole) if whole.lines > 0 && whole.is_due() => self.write(run),
            _ => Ok(()),
        }
    }

    /// Empties the journals, whose lines are in `run.json` now. Journals that are no longer needed are removed.
    fn reset_journals(
        &self,
        run: &RunState,
        mut journals: BTreeMap<PathBuf, File>,
    ) -> Result<BTreeMap<PathBuf, File>, StateError> {
        instant::begin();
        let main = self.folder.join(MAIN_JOURNAL);
        let is_at_work = |name: &str| {
            run.parallel > 1
                && run
                    .tasks
                    .iter()
                    .any(|task| task.state == TaskState::Active && task.task.id.as_str() == name)
        };
        for folder in below(&self.folder.join(WORKERS)) {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let path = folder.join(JOURNAL);
            if !is_at_work(&name) {
                journals.remove(&path);
                ignore_missing(std::fs::remove_dir_all(&folder))
                    .map_err(|source| StateError::System { path, source })?;
            } else if !journals.contains_key(&path) {
                ignore_missing(std::fs::remove_file(&path))
                    .map_err(|source| StateError::System { path, source })?;
            }
        }
        if !journals.contains_key(&main) {
            ignore_missing(std::fs::remove_file(&main))
                .map_err(|source| StateError::System { path: main, source })?;
        }
        for (path, file) in &journals {
            file.set_len(0).map_err(|source| StateError::System { path: path.clone(), source })?;
        }
        instant::reached("the journals were emptied");
        Ok(journals)
    }

    /// Writes the files of each task with its own worktree.
    fn workers(&self, run: &RunState) -> Result<(), StateError> {
        if run.parallel == 1 {
            return Ok(());
        }
        for task in run.tasks.iter().filter(|task| task.state == TaskState::Active) {
            let folder = worker(&self.folder, &task.task.id);
            make(&folder).map_err(|source| StateError::System { path: folder.clone(), source })?;
            self.json(&format!("{WORKERS}/{}/task.json", task.task.id), task)?;
            let session = worker_file(run, task);
            self.json(&format!("{WORKERS}/{}/claude-session.json", task.task.id), &session)?;
        }
        Ok(())
    }

    fn json(&self, name: &str, value: &impl Serialize) -> Result<(), StateError> {
        let path = self.folder.join(name);
        instant::begin();
        // No fsync: the file can be derived again.
        serde_json::to_vec_pretty(value)
            .map_err(io::Error::from)
            .and_then(|text| Replace::new().quick().bytes(&path, &text))
            .map_err(|source| StateError::System { path, source })
    }
}

/// The journal of the run, next to `run.json`.
pub(super) const MAIN_JOURNAL: &str = "run.journal.ndjson";

/// The folder for tasks with their own worktree.
pub(super) const WORKERS: &str = "workers";

/// The journal of such a task.
pub(super) const JOURNAL: &str = "journal.ndjson";

impl Whole {
    fn is_due(&self) -> bool {
        if cfg!(test) {
            // Every few steps, whatever the clock says, so that tests cover both ways.
            return self.lines >= 4;
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

    fn append(&mut self, path: &Path, run: &RunState, changed: &Changed) -> io::Result<()> {
        let line = encode(&self.name, self.lines + 1, run, changed, &mut self.head)?;
        instant::begin();
        if !self.journals.contains_key(path) {
            let file = begin(path)?;
            self.journals.insert(path.to_owned(), file);
        }
        let Some(file) = self.journals.get_mut(path) else { return Err(io::ErrorKind::NotFound.into()) };
        file.write_all(&line)?;
        file.sync_data()?;
        self.lines += 1;
        instant::reached("a line of the journal was written");
        Ok(())
    }
}

/// Creates a journal. Only the owner may read it.
fn begin(path: &Path) -> io::Result<File> {
    let folder = path.parent().unwrap_or(Path::new("."));
    make(folder)?;
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    file.set_len(0)?;
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    Ok(file)
}

fn make(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// The folder of a task with its own worktree.
fn worker(folder: &Path, task: &TaskId) -> PathBuf {
    folder.join(WORKERS).join(task.as_str())
}

/// The folders in a folder.
pub(super) fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect()
}

/// Ignores that a file to remove did not exist.
fn ignore_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
