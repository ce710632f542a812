//! Reads and edits the task list: the person's file, and the list in commits.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::git::{Git, GitError, replace_expected};
use crate::tasks::{Edit, Source, Task, TaskError, TaskId, TaskList, mark_done};

/// How often a mark is tried while another program writes the file.
const MAX_TRIES: usize = 20;

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

    /// Marks a task as done in the person's file, whatever else they have changed there. Repeating it changes nothing,
    /// and a task that they have removed needs no mark.
    pub(super) fn tick(&self, task: &TaskId) -> Result<(), TaskFileError> {
        for _ in 0..MAX_TRIES {
            if tick(&self.path, &read_source(&self.path)?, task)? {
                return Ok(());
            }
        }
        let source = io::Error::other("it is being written all the time");
        Err(TaskFileError::System { path: self.path.clone(), source })
    }

    /// Whether the box of a task is checked in the person's file.
    pub(super) fn is_ticked(&self, task: &TaskId) -> bool {
        read_source(&self.path).is_ok_and(|source| mark_done(&source, task) == Ok(Edit::Nothing))
    }

    /// The content that the file has once a task is marked as done, if it is now as it was last read.
    pub(super) fn expected(&self, done: Option<&TaskId>) -> Option<u64> {
        let source = read_source(&self.path).ok()?;
        if *self.known() != Some(fingerprint(&source)) {
            return None;
        }
        Some(match done {
            Some(task) => fingerprint(&edited(source, task).ok()?),
            None => fingerprint(&source),
        })
    }

    /// Notes that the file has been changed by Weir to this content. If it has another one, someone else has changed it
    /// as well, and it is read again.
    pub(super) fn note_expected(&self, expected: Option<u64>) {
        let now = read_source(&self.path).ok().map(|source| fingerprint(&source));
        *self.known() = now.filter(|now| Some(*now) == expected);
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
    ListFile::new(path.to_owned()).tick(task)
}

/// Returns whether it was possible: otherwise a person has just saved the file.
fn tick(path: &Path, source: &Source, task: &TaskId) -> Result<bool, TaskFileError> {
    let system = |source| TaskFileError::System { path: path.to_owned(), source };
    let (file, before, after) = match mark_done(source, task) {
        Err(TaskError::NoSuchTask(_)) | Ok(Edit::Nothing) => return Ok(true),
        Err(source) => return Err(TaskFileError::Wrong { path: path.to_owned(), source }),
        Ok(Edit::File(text)) => (path.to_owned(), whole(source), text),
        Ok(Edit::InFolder(name, text)) => (path.join(&name), part(source, &name), text),
    };
    replace_expected(&file, before.as_bytes(), after.as_bytes()).map_err(system)
}

fn whole(source: &Source) -> &str {
    match source {
        Source::Markdown(text) | Source::Prd(text) => text,
        Source::Folder(_) => "",
    }
}

fn part<'a>(source: &'a Source, name: &Path) -> &'a str {
    let Source::Folder(files) = source else { return "" };
    files.iter().find(|(known, _)| known == name).map_or("", |(_, text)| text)
}

/// A list with a task marked as done.
fn edited(source: Source, task: &TaskId) -> Result<Source, TaskError> {
    Ok(match (mark_done(&source, task)?, source) {
        (Edit::File(text), Source::Markdown(_)) => Source::Markdown(text),
        (Edit::File(text), Source::Prd(_)) => Source::Prd(text),
        (Edit::InFolder(name, text), Source::Folder(mut files)) => {
            for file in files.iter_mut().filter(|(known, _)| *known == name) {
                file.1.clone_from(&text);
            }
            Source::Folder(files)
        }
        (_, source) => source,
    })
}

/// The files of the list in a tree that change if a task is marked as done there. None if the list is not in the
/// repository, or the task is not in that list.
pub(super) async fn ticked_in(
    git: &Git,
    tree: &str,
    list: &Path,
    task: &TaskId,
) -> Result<Vec<(PathBuf, String)>, GitError> {
    let Some(source) = source_in(git, tree, list).await? else { return Ok(Vec::new()) };
    Ok(match mark_done(&source, task) {
        Ok(Edit::File(text)) => vec![(list.to_owned(), text)],
        Ok(Edit::InFolder(name, text)) => vec![(list.join(name), text)],
        Ok(Edit::Nothing) | Err(_) => Vec::new(),
    })
}

/// The list in a tree or a commit, if it is there.
async fn source_in(git: &Git, tree: &str, list: &Path) -> Result<Option<Source>, GitError> {
    if list.is_absolute() {
        return Ok(None);
    }
    let entries = git.entries_in(tree, list).await?;
    let is_file = entries.iter().any(|(path, _)| path == list);
    let mut files = Vec::new();
    for (path, _) in entries {
        let is_meant = path == list || (path.parent() == Some(list) && crate::tasks::is_task(&path));
        if let Some(bytes) = git.file_in(tree, &path).await?.filter(|_| is_meant) {
            let name = path.file_name().map(PathBuf::from).unwrap_or_default();
            files.push((name, String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    files.sort();
    if !is_file {
        return Ok((!files.is_empty()).then_some(Source::Folder(files)));
    }
    Ok(files.into_iter().next().map(|(_, text)| single(list, text)))
}

/// The list of one file.
fn single(path: &Path, text: String) -> Source {
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    if is_json { Source::Prd(text) } else { Source::Markdown(text) }
}

/// The tasks that were marked as done between two commits, to be marked in the person's own version as well.
pub(super) struct Ticks {
    list: PathBuf,
    before: Option<Source>,
    after: Option<Source>,
}

/// The tasks that were marked as done between two commits.
pub(super) async fn ticks_since(git: &Git, from: &str, to: &str, list: &Path) -> Result<Ticks, GitError> {
    let (before, after) = (source_in(git, from, list).await?, source_in(git, to, list).await?);
    Ok(Ticks { list: list.to_owned(), before, after })
}

impl Ticks {
    /// Whether the list is in the repository.
    pub(super) fn has_list(&self) -> bool {
        self.before.is_some() || self.after.is_some()
    }

    /// A person's version of a file of the list with these marks. `None` if it cannot be read as one.
    pub(super) fn apply(&self, path: &Path, text: &str) -> Option<String> {
        let done = |source: &Option<Source>| -> BTreeSet<TaskId> {
            let list = source.clone().and_then(|source| TaskList::parse(source).ok());
            let tasks = list.map(|list| list.tasks).unwrap_or_default();
            tasks.into_iter().filter(|task| task.done).map(|task| task.id).collect()
        };
        let (before, after) = (done(&self.before), done(&self.after));
        let name = path.file_name().map(PathBuf::from).unwrap_or_default();
        let mut source = if path == self.list {
            single(path, text.to_owned())
        } else {
            Source::Folder(vec![(name.clone(), text.to_owned())])
        };
        for task in after.difference(&before) {
            match edited(source.clone(), task) {
                Ok(changed) => source = changed,
                Err(TaskError::NoSuchTask(_)) => {}
                Err(_) => return None,
            }
        }
        Some(if path == self.list { whole(&source).to_owned() } else { part(&source, &name).to_owned() })
    }
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
        let expected = list.expected(Some(&TaskId::new("a")));
        list.tick(&TaskId::new("a")).unwrap();
        list.note_expected(expected);
        assert_eq!(list.read().unwrap(), None, "our own change");
        std::fs::write(&path, "- [x] a\n- [ ] b\n- [ ] c\n").unwrap();
        // Someone else's edit is not mistaken for ours.
        let expected = list.expected(Some(&TaskId::new("b")));
        list.tick(&TaskId::new("b")).unwrap();
        list.note_expected(expected);
        let tasks = list.read().unwrap().unwrap();
        assert_eq!(tasks.iter().map(|task| task.done).collect::<Vec<_>>(), [true, true, false]);
        list.tick(&TaskId::new("none")).unwrap();
    }
}
