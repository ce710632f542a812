//! Reads and edits the task list on disk.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::state::replace_atomically;
use crate::tasks::{Edit, Source, Task, TaskError, TaskId, TaskList, mark_done};

/// The task list cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TaskFileError {
    /// It does not exist.
    #[error("no task list {}; write one, or create it with `weir loop plan PRD`", .0.display())]
    Missing(PathBuf),
    /// It cannot be read or written.
    #[error("cannot use the task list {}: {source}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        #[source]
        source: io::Error,
    },
    /// It is invalid.
    #[error("cannot use the task list {}: {source}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        #[source]
        source: TaskError,
    },
}

/// Reads a task list: a folder, a `.json` file, or else a Markdown file.
pub fn read_tasks(path: &Path) -> Result<TaskList, TaskFileError> {
    parse(path, read_source(path)?)
}

fn parse(path: &Path, source: Source) -> Result<TaskList, TaskFileError> {
    TaskList::parse(source).map_err(|source| TaskFileError::Wrong { path: path.to_owned(), source })
}

fn read_source(path: &Path) -> Result<Source, TaskFileError> {
    let system = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => TaskFileError::Missing(path.to_owned()),
        _ => TaskFileError::System { path: path.to_owned(), source },
    };
    if path.is_dir() {
        return Ok(Source::Folder(read_folder(path).map_err(system)?));
    }
    let text = std::fs::read_to_string(path).map_err(system)?;
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    Ok(if is_json { Source::Prd(text) } else { Source::Markdown(text) })
}

/// The list of a run. Remembers its last content, so that the list is parsed again only if someone else has changed it.
#[derive(Debug)]
pub(super) struct ListFile {
    path: PathBuf,
    /// Fingerprint of the content that was last read or written.
    known: Mutex<Option<u64>>,
}

impl ListFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, known: Mutex::new(None) }
    }

    /// The tasks, or `None` if the list has not changed.
    pub(super) fn read(&self) -> Result<Option<Vec<Task>>, TaskFileError> {
        let source = read_source(&self.path)?;
        let seen = fingerprint(&source);
        if *self.known() == Some(seen) {
            return Ok(None);
        }
        let list = parse(&self.path, source)?;
        *self.known() = Some(seen);
        Ok(Some(list.tasks))
    }

    /// Marks a task as done.
    pub(super) fn tick(&self, task: &TaskId) -> Result<(), TaskFileError> {
        let source = read_source(&self.path)?;
        let is_known = *self.known() == Some(fingerprint(&source));
        // Unknown until it is written.
        *self.known() = None;
        tick(&self.path, &source, task)?;
        if is_known {
            // Only then: otherwise an earlier change by someone else would go unnoticed.
            *self.known() = Some(fingerprint(&read_source(&self.path)?));
        }
        Ok(())
    }

    fn known(&self) -> MutexGuard<'_, Option<u64>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn fingerprint(source: &Source) -> u64 {
    let mut hasher = DefaultHasher::new();
    match source {
        Source::Markdown(text) | Source::Prd(text) => text.hash(&mut hasher),
        Source::Folder(files) => files.hash(&mut hasher),
    }
    hasher.finish()
}

fn read_folder(path: &Path) -> io::Result<Vec<(PathBuf, String)>> {
    let mut names: Vec<PathBuf> =
        std::fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
    names.retain(|name| crate::tasks::is_task(name) && name.is_file());
    names.sort();
    let read = |name: &PathBuf| {
        Ok((PathBuf::from(name.file_name().unwrap_or_default()), std::fs::read_to_string(name)?))
    };
    names.iter().map(read).collect()
}

/// Marks a task as done in the list. Repeating it changes nothing.
pub fn tick_box(path: &Path, task: &TaskId) -> Result<(), TaskFileError> {
    tick(path, &read_source(path)?, task)
}

fn tick(path: &Path, source: &Source, task: &TaskId) -> Result<(), TaskFileError> {
    let system = |source| TaskFileError::System { path: path.to_owned(), source };
    match mark_done(source, task).map_err(|source| TaskFileError::Wrong { path: path.to_owned(), source })? {
        Edit::Nothing => Ok(()),
        Edit::File(text) => replace(path, &text).map_err(system),
        Edit::InFolder(name, text) => replace(&path.join(name), &text).map_err(system),
    }
}

/// Replaces a file, keeping its permissions.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let permissions = std::fs::metadata(path)?.permissions();
    replace_atomically(path, text.as_bytes(), Some(permissions))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_parsed_again_only_if_someone_else_has_changed_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("TASKS.md");
        std::fs::write(&path, "- [ ] a\n- [ ] b\n").unwrap();
        let list = ListFile::new(path.clone());
        assert_eq!(list.read().unwrap().unwrap().len(), 2);
        assert_eq!(list.read().unwrap(), None);
        list.tick(&TaskId::new("a")).unwrap();
        assert_eq!(list.read().unwrap(), None, "our own change");
        std::fs::write(&path, "- [x] a\n- [ ] b\n- [ ] c\n").unwrap();
        // Someone else's edit is not mistaken for ours.
        list.tick(&TaskId::new("b")).unwrap();
        let tasks = list.read().unwrap().unwrap();
        assert_eq!(tasks.iter().map(|task| task.done).collect::<Vec<_>>(), [true, true, false]);
        assert!(matches!(list.tick(&TaskId::new("none")), Err(TaskFileError::Wrong { .. })));
    }
}
