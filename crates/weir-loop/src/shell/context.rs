//! What the actions of a run share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OnceCell, mpsc};
use weir_process::{Sandbox, Secrets};

use super::folders::Folders;
use super::git::{Git, GitError, PersonTree};
use super::outside::Outside;
use super::places::{Places, SetupDone};
use super::protected::protection_at;
use super::tasks::ListFile;
use crate::agent::Agent;
use crate::config::{Config, Results};
use crate::event::LoopEvent;
use crate::protection::Protection;
use crate::state::{TaskRecord, run_branch};
use crate::tasks::TaskId;

/// How many trees are remembered.
const MAX_TICKED: usize = 64;

/// What the actions of a run share. Nothing in it changes, apart from what is known about the list and the places.
pub(super) struct Context {
    pub(super) config: Config,
    pub(super) config_file: Option<PathBuf>,
    pub(super) folders: Folders,
    /// The repository of the person.
    pub(super) home: Git,
    pub(super) agent: Arc<dyn Agent>,
    pub(super) sandbox: Option<Sandbox>,
    pub(super) secrets: Secrets,
    pub(super) run_id: String,
    pub(super) skip_permissions: bool,
    /// The task list.
    pub(super) list: ListFile,
    /// The commit with which this start begins.
    pub(super) begin: String,
    /// The list as a path of the repository; absolute if it is not in it.
    pub(super) list_path: PathBuf,
    /// Whether tasks are worked on at the same time.
    pub(super) is_parallel: bool,
    /// Known once the run has begun.
    pub(super) ready: OnceCell<Ready>,
    /// What happens while an action is performed, for viewers.
    pub(super) live: mpsc::UnboundedSender<LoopEvent>,
    /// The setup that has run in each place.
    pub(super) setup: Mutex<SetupDone>,
    /// For each task, the tree of its work, and the same one with its box checked.
    pub(super) ticked: Mutex<BTreeMap<TaskId, (String, String)>>,
}

/// What is found out once in a run.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) places: Places,
    /// What takes part in checks and is not in the repository.
    pub(super) outside: Outside,
    protection: Protection,
}

impl Context {
    /// What is found out once. The protection is that of the commit with which this start begins.
    pub(super) async fn ready(&self) -> Result<&Ready, GitError> {
        self.ready.get_or_try_init(|| self.find_out()).await
    }

    async fn find_out(&self) -> Result<Ready, GitError> {
        let places = Places::open(&self.folders, &self.config, &self.home).await?;
        let file = self.config_file.as_deref();
        let protection = protection_at(&self.home, &self.config, file, &self.begin).await?;
        let copies = self.config.copies.iter().map(|name| self.folders.workspace.join(name));
        let commands = self.config.gates.iter().map(|gate| gate.command.as_slice());
        let commands = commands.chain(self.config.setup.iter().map(|setup| setup.command.as_slice()));
        let outside = Outside::look(&self.folders.checks, copies, commands);
        Ok(Ready { places, outside, protection })
    }

    /// Where a task is worked on.
    pub(super) fn workspace(&self, record: &TaskRecord) -> PathBuf {
        self.folders.place(slot(record))
    }

    /// The run's id in branch names.
    fn short_run(&self) -> &str {
        self.run_id.get(..8).unwrap_or(&self.run_id)
    }

    /// The branch with the commits of the run that the person's branch does not have.
    pub(super) fn run_branch(&self) -> String {
        run_branch(&self.run_id)
    }

    /// The branch of a task at work next to others.
    pub(super) fn branch(&self, task: &TaskId) -> String {
        format!("weir/{}/{task}", self.short_run())
    }

    /// The branch of a task that is done, if each has one.
    pub(super) fn task_branch(&self, task: &TaskId) -> Option<String> {
        let has_one = self.config.git.results == Results::Branches;
        has_one.then(|| format!("weir/task/{}/{task}", self.short_run()))
    }

    /// The branch of a task that was given up after this many attempts.
    pub(super) fn failed_branch(&self, task: &TaskId, attempts: usize) -> String {
        format!("weir/failed/{}/{task}-{attempts}", self.short_run())
    }

    /// Where the work of a session that was cut off is kept, below `refs/weir`.
    pub(super) fn cut_off(&self, task: &TaskId, sessions: usize) -> String {
        format!("cut-off/{}/{task}-{sessions}", self.short_run())
    }

    /// The files that a task may not change.
    pub(super) async fn protection(&self, record: &TaskRecord) -> Result<Protection, GitError> {
        Ok(self.ready().await?.protection.allowing(&record.task.touch))
    }

    /// The files that no task may change unless it is allowed to.
    pub(super) async fn protection_of_all(&self) -> Result<&Protection, GitError> {
        Ok(&self.ready().await?.protection)
    }

    /// A tree with the box of a task checked, if it was made already.
    pub(super) fn known_ticked(&self, task: &TaskId, tree: &str) -> Option<String> {
        let known = self.ticked.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(task).filter(|(from, _)| from == tree).map(|(_, made)| made.clone())
    }

    /// Notes a tree with the box of a task checked.
    pub(super) fn note_ticked(&self, task: &TaskId, tree: &str, made: &str) {
        let mut known = self.ticked.lock().unwrap_or_else(PoisonError::into_inner);
        // Of the tasks at work only: a list of thousands must not stay in memory.
        if known.len() > MAX_TICKED {
            known.clear();
        }
        known.insert(task.clone(), (tree.to_owned(), made.to_owned()));
    }

    /// Has the setup run again in every place.
    pub(super) fn forget_setup(&self) {
        *self.setup.lock().unwrap_or_else(PoisonError::into_inner) = SetupDone::default();
    }

    /// The tree of the person.
    pub(super) fn person(&self) -> PersonTree<'_> {
        person_tree(&self.home, &self.folders)
    }

    /// The list as a path of the repository, if it is in it.
    pub(super) fn list_path(&self) -> &Path {
        &self.list_path
    }
}

/// The number of a task's place.
pub(super) fn slot(record: &TaskRecord) -> u32 {
    record.slot.unwrap_or(1)
}

/// The tree of a person.
pub(super) fn person_tree<'a>(home: &'a Git, folders: &Folders) -> PersonTree<'a> {
    PersonTree { git: home, folder: folders.exchange(), kept: folders.kept() }
}

/// The list as a path of the repository; absolute if it is not in it.
pub(super) fn list_path(tasks: &Path, workspace: &Path) -> PathBuf {
    let inside = if tasks.is_absolute() { tasks.strip_prefix(workspace).unwrap_or(tasks) } else { tasks };
    let leaves = inside.components().any(|part| part == std::path::Component::ParentDir);
    if leaves {
        return workspace.join(inside);
    }
    inside.components().filter(|part| *part != std::path::Component::CurDir).collect()
}
