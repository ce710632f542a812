//! Writes files so that a reader, or the next start after a kill, finds the old text or the new one, and nothing else.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::value::RawValue;

use super::{RunState, StateError, TaskRecord, budget_file, session_file};
use crate::instant;
use crate::tasks::TaskId;

/// Writes a file: a temporary one beside it, fsync, rename, fsync of the folder. Only we may read it.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_atomically(path, bytes, None)
}

/// The same; the file has these permissions when it is there.
pub fn replace_atomically(
    path: &Path,
    bytes: &[u8],
    permissions: Option<std::fs::Permissions>,
) -> io::Result<()> {
    instant::begin();
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let temporary = folder.join(name);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&temporary)?;
    file.write_all(bytes)?;
    if let Some(permissions) = permissions {
        // Before it has its name: nobody would repair them after a kill.
        file.set_permissions(permissions)?;
        // Those are files of the workspace, where a temporary one could be taken for the work of a session.
        instant::reached("a temporary file was written");
    }
    file.sync_all()?;
    drop(file);
    std::fs::rename(&temporary, path)?;
    // Without this the rename itself could be lost with the power.
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    instant::reached("a file was written");
    Ok(())
}

/// Which tasks of a run may have changed since it was last written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// Any of them, also their number.
    Any,
    /// Those of these names, and no other.
    Tasks(Vec<TaskId>),
}

impl Changed {
    /// Another one has changed.
    pub fn add(&mut self, task: &TaskId) {
        if let Self::Tasks(tasks) = self
            && !tasks.contains(task)
        {
            tasks.push(task.clone());
        }
    }

    /// What has changed so far. From now on nothing has.
    #[must_use]
    pub fn take(&mut self) -> Self {
        std::mem::replace(self, Self::Tasks(Vec::new()))
    }

    fn may_be(&self, task: &TaskId) -> bool {
        match self {
            Self::Any => true,
            Self::Tasks(tasks) => tasks.contains(task),
        }
    }
}

/// Writes the state of a run. Tasks that did not change are not encoded again, so that a run of a thousand tasks is
/// written as quickly as one of ten.
#[derive(Debug)]
pub struct StateWriter {
    folder: PathBuf,
    /// What each task was when it was last written, and its text.
    tasks: Vec<(TaskRecord, Box<RawValue>)>,
}

/// The state with the texts of its tasks.
#[derive(Serialize)]
struct Encoded<'a> {
    #[serde(flatten)]
    head: serde_json::Map<String, serde_json::Value>,
    tasks: Vec<&'a RawValue>,
}

impl StateWriter {
    /// Writes into this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), tasks: Vec::new() }
    }

    /// Writes `run.json`, and then the files that are made from it.
    pub fn write(&mut self, run: &RunState) -> Result<(), StateError> {
        self.write_changed(run, &Changed::Any)
    }

    /// The same, if it is known what has changed.
    pub fn write_changed(&mut self, run: &RunState, changed: &Changed) -> Result<(), StateError> {
        let text = self.encode(run, changed).map_err(|error| self.system("run.json", error.into()))?;
        self.file("run.json", &text)?;
        // Those are for readers only, so it does not matter if a kill comes between.
        self.json("budget.json", &budget_file(run))?;
        self.json("claude-session.json", &session_file(run))
    }

    fn encode(&mut self, run: &RunState, changed: &Changed) -> Result<Vec<u8>, serde_json::Error> {
        self.tasks.truncate(run.tasks.len());
        for (place, task) in run.tasks.iter().enumerate() {
            match self.tasks.get_mut(place) {
                Some((written, _)) if !changed.may_be(&task.task.id) || written == task => {}
                Some(slot) => *slot = (task.clone(), serde_json::value::to_raw_value(task)?),
                None => self.tasks.push((task.clone(), serde_json::value::to_raw_value(task)?)),
            }
        }
        let empty = RunState { tasks: Vec::new(), ..head_of(run) };
        let serde_json::Value::Object(mut head) = serde_json::to_value(empty)? else { return Ok(Vec::new()) };
        head.remove("tasks");
        let tasks = self.tasks.iter().map(|(_, text)| &**text).collect();
        let mut text = serde_json::to_vec(&Encoded { head, tasks })?;
        text.push(b'\n');
        Ok(text)
    }

    fn json(&self, name: &str, value: &impl Serialize) -> Result<(), StateError> {
        let text = serde_json::to_vec_pretty(value).map_err(|error| self.system(name, error.into()))?;
        let path = self.folder.join(name);
        // No fsync: it can be made again.
        let temporary = self.folder.join(format!("{name}.new"));
        instant::begin();
        std::fs::write(&temporary, text)
            .and_then(|()| std::fs::rename(&temporary, path))
            .map_err(|error| self.system(name, error))
    }

    fn file(&self, name: &str, text: &[u8]) -> Result<(), StateError> {
        write_atomically(&self.folder.join(name), text).map_err(|error| self.system(name, error))
    }

    fn system(&self, name: &str, source: io::Error) -> StateError {
        StateError::System { path: self.folder.join(name), source }
    }
}

/// A copy of all but the tasks.
fn head_of(run: &RunState) -> RunState {
    RunState {
        version: run.version,
        run_id: run.run_id.clone(),
        started_at: run.started_at,
        updated_at: run.updated_at,
        active_ms: run.active_ms,
        status: run.status.clone(),
        limits: run.limits.clone(),
        task_limits: run.task_limits.clone(),
        parallel: run.parallel,
        wait: run.wait.clone(),
        baseline: run.baseline.clone(),
        questions: run.questions.clone(),
        plan: run.plan.clone(),
        planner_session: run.planner_session.clone(),
        halting: run.halting.clone(),
        is_unreported: run.is_unreported,
        tasks: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::state::{TaskState, load};
    use crate::tasks::{Source, TaskList};

    #[test]
    fn what_is_written_is_read_again_also_after_changes() {
        let folder = tempfile::tempdir().unwrap();
        let list = TaskList::parse(Source::Markdown("- [ ] a\n- [ ] b\n- [x] c\n".into())).unwrap();
        let mut run = RunState::new("r1".into(), 5, list.tasks, &Config::default());
        let mut writer = StateWriter::new(folder.path());
        for state in [TaskState::Active, TaskState::Done, TaskState::Failed] {
            run.tasks[1].state = state;
            writer.write(&run).unwrap();
            assert_eq!(load(&folder.path().join("run.json")).unwrap().unwrap(), run);
        }
        run.tasks[2].state = TaskState::Skipped;
        let mut changed = Changed::Tasks(Vec::new());
        changed.add(&run.tasks[2].task.id);
        writer.write_changed(&run, &changed.take()).unwrap();
        assert_eq!(changed, Changed::Tasks(Vec::new()));
        assert_eq!(load(&folder.path().join("run.json")).unwrap().unwrap(), run);
        run.tasks.remove(0);
        writer.write(&run).unwrap();
        assert_eq!(load(&folder.path().join("run.json")).unwrap().unwrap(), run);
        let budget = std::fs::read_to_string(folder.path().join("budget.json")).unwrap();
        assert!(budget.contains("\"max_iterations\": 50"), "{budget}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "no temporary file is left");
    }
}
