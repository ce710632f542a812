//! Task lists: the tasks, their order, and how they are marked as done.
//!
//! Everything here is text in, text out. The loop and people edit the list, never the model.

mod folder;
mod markdown;
mod options;
mod order;
mod prd;
mod slug;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub(crate) use folder::is_task;
pub use options::TaskOptions;
pub use order::{Readiness, readiness};

/// Identifies a task, in the list and in all files about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(String);

impl TaskId {
    /// The id with this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for TaskId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// What to do, in one line.
    pub title: String,
    /// The groups that it is in, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<String>,
    /// What to do, in detail.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub details: String,
    /// The conditions for being done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptance: Vec<String>,
    /// Tasks that must be done first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<TaskId>,
    /// Protected files that it may change, as patterns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touch: Vec<String>,
    /// What it sets for its own sessions.
    #[serde(default, skip_serializing_if = "TaskOptions::is_empty")]
    pub options: TaskOptions,
    /// Whether the list says that it is done.
    #[serde(default)]
    pub done: bool,
}

/// A list of tasks with its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskList {
    /// The tasks, in order.
    pub tasks: Vec<Task>,
    source: Source,
}

/// The source of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A Markdown checklist.
    Markdown(String),
    /// User stories with `passes`.
    Prd(String),
    /// A folder of Markdown files, each with its name.
    Folder(Vec<(PathBuf, String)>),
}

/// Why a list cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    /// It has no tasks.
    #[error("it has no tasks; write some as `- [ ] what to do`, or create them with `weir loop plan PRD`")]
    Empty,
    /// An invalid `prd.json`.
    #[error(
        "it is not a valid list of user stories: {0}; it needs {{\"userStories\": [{{\"id\", \"title\", \"passes\"}}]}}"
    )]
    Prd(String),
    /// What is wrong in a line of the list.
    #[error("line {line}: {source}")]
    At {
        /// The line, from one.
        line: usize,
        /// What is wrong there.
        source: Box<TaskError>,
    },
    /// What is wrong in a file of the folder.
    #[error("{}: {why}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A box that cannot be read.
    #[error("{0}")]
    Box(String),
    /// A task needs one by a title that several have.
    #[error(
        "task {task} needs {needs:?}, which is the title of several tasks; give the one that is meant a name, such as \
         {{#a-name}} at the end of its line, and use that"
    )]
    Ambiguous {
        /// The task.
        task: TaskId,
        /// The title.
        needs: String,
    },
    /// Two tasks have the same name.
    #[error(
        "two tasks have the name {0}; give one of them another, such as {{#other-name}} at the end of its line"
    )]
    Twice(TaskId),
    /// A task needs one that does not exist.
    #[error("task {task} needs {needs}, which is not in the list; the names are: {known}")]
    UnknownNeed {
        /// The task.
        task: TaskId,
        /// The missing task.
        needs: TaskId,
        /// The names in the list.
        known: String,
    },
    /// Tasks depend on each other.
    #[error("these tasks depend on each other, so none can be first: {0}")]
    Circle(String),
    /// There is no such task.
    #[error("no task {0} in the list; `weir loop status` shows the names")]
    NoSuchTask(TaskId),
}

impl TaskError {
    /// The task that it is about.
    fn task(&self) -> Option<TaskId> {
        match self {
            Self::Twice(task) | Self::UnknownNeed { task, .. } | Self::Ambiguous { task, .. } => {
                Some(task.clone())
            }
            Self::Circle(names) => names.split(", ").next().map(TaskId::new),
            _ => None,
        }
    }

    /// The error itself, without the line that it is in.
    #[must_use]
    pub fn cause(&self) -> &Self {
        match self {
            Self::At { source, .. } => source.cause(),
            other => other,
        }
    }
}

/// A change to a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// The new content of the file.
    File(String),
    /// The new content of this file in the folder.
    InFolder(PathBuf, String),
    /// Nothing has to change.
    Nothing,
}

impl TaskList {
    /// Parses a list.
    pub fn parse(source: Source) -> Result<Self, TaskError> {
        let mut tasks = match &source {
            Source::Markdown(text) => markdown::parse(text)?,
            Source::Prd(text) => prd::parse(text)?,
            Source::Folder(files) => folder::parse(files)?,
        };
        if tasks.is_empty() {
            return Err(TaskError::Empty);
        }
        order::resolve(&mut tasks).map_err(|error| match (&source, error.task()) {
            (Source::Markdown(text), Some(task)) => match markdown::line_of(text, &task) {
                Some(line) => TaskError::At { line, source: Box::new(error) },
                None => error,
            },
            _ => error,
        })?;
        for task in &mut tasks {
            // They stay in memory during the whole run.
            task.title.shrink_to_fit();
            task.details.shrink_to_fit();
        }
        Ok(Self { tasks, source })
    }

    /// A task by its id.
    pub fn task(&self, id: &TaskId) -> Option<&Task> {
        self.tasks.iter().find(|task| task.id == *id)
    }

    /// Marks a task as done. Marking it again changes nothing.
    pub fn mark_done(&self, id: &TaskId) -> Result<Edit, TaskError> {
        mark_done(&self.source, id)
    }
}

/// Marks a task as done in the source of a list. Marking it again changes nothing.
pub fn mark_done(source: &Source, id: &TaskId) -> Result<Edit, TaskError> {
    if let Source::Markdown(text) = source {
        // Without parsing all tasks, because this is done for each task.
        let edited = markdown::mark_done(text, id).ok_or_else(|| TaskError::NoSuchTask(id.clone()))?;
        return Ok(if edited == *text { Edit::Nothing } else { Edit::File(edited) });
    }
    let tasks = match source {
        Source::Prd(text) => prd::parse(text)?,
        Source::Folder(files) => folder::parse(files)?,
        Source::Markdown(_) => Vec::new(),
    };
    let task = tasks.iter().find(|task| task.id == *id).ok_or_else(|| TaskError::NoSuchTask(id.clone()))?;
    match source {
        _ if task.done => Ok(Edit::Nothing),
        Source::Prd(text) => prd::mark_done(text, id).map(Edit::File),
        Source::Folder(files) => {
            Ok(folder::mark_done(files, id).map_or(Edit::Nothing, |(name, text)| Edit::InFolder(name, text)))
        }
        Source::Markdown(_) => Ok(Edit::Nothing),
    }
}
