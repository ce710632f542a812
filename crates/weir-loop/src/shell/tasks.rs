//! Reads and edits the task list on disk.

use std::io;
use std::path::{Path, PathBuf};

use crate::state::replace_atomically;
use crate::tasks::{Edit, Source, TaskError, TaskId, TaskList};

/// The task list cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TaskFileError {
    /// It is not there.
    #[error("there is no task list {}; write one, or make it with `weir loop plan PRD`", .0.display())]
    Missing(PathBuf),
    /// It cannot be read or written.
    #[error("the task list {} cannot be used: {source}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It is wrong.
    #[error("the task list {} cannot be used: {source}", path.display())]
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
    let system = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => TaskFileError::Missing(path.to_owned()),
        _ => TaskFileError::System { path: path.to_owned(), source },
    };
    let source = if path.is_dir() {
        Source::Folder(read_folder(path).map_err(system)?)
    } else {
        let text = std::fs::read_to_string(path).map_err(system)?;
        if path.extension().is_some_and(|extension| extension == "json") {
            Source::Prd(text)
        } else {
            Source::Markdown(text)
        }
    };
    TaskList::parse(source).map_err(|source| TaskFileError::Wrong { path: path.to_owned(), source })
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

/// Marks a task as done in the list. Doing it again changes nothing.
pub fn tick_box(path: &Path, task: &TaskId) -> Result<(), TaskFileError> {
    let list = read_tasks(path)?;
    let system = |source| TaskFileError::System { path: path.to_owned(), source };
    match list.mark_done(task).map_err(|source| TaskFileError::Wrong { path: path.to_owned(), source })? {
        Edit::Nothing => Ok(()),
        Edit::File(text) => replace(path, &text).map_err(system),
        Edit::InFolder(name, text) => replace(&path.join(name), &text).map_err(system),
    }
}

/// The file keeps its permissions.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let permissions = std::fs::metadata(path)?.permissions();
    replace_atomically(path, text.as_bytes(), Some(permissions))
}
