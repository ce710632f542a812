//! Opens a run: takes the lock, cleans up after a killed run, loads the state, and checks that the tree is clean.

use std::path::PathBuf;
use std::time::Duration;

use weir_base::time::now_ms;
use weir_process::{Lock, LockError, StopOptions, end_leftovers, leftovers};

use super::context::person_tree;
use super::folders::{Folders, FoldersError};
use super::git::{Git, GitError};
use super::line;
use super::protected::problems;
use super::tasks::{TaskFileError, read_tasks};
use crate::config::Config;
use crate::state::{
    RunEnd, RunState, Spent, StateError, StateWriter, absorb, forget_absorbed, keep_aside, load_archived,
    load_for_run, stream_atomically,
};
use crate::tasks::TaskList;

/// How long to wait for a lock whose owner is gone.
const MAX_LOCK_WAIT: Duration = Duration::from_secs(10);

/// How often to try meanwhile.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// How to open a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpenOptions {
    /// Start a new run, even if there is one to resume.
    pub new_run: bool,
    /// Commit uncommitted changes in a separate commit, instead of refusing them.
    pub allow_dirty: bool,
}

/// A run that is open, exclusively.
#[derive(Debug)]
pub struct Opened {
    /// Its state.
    pub state: RunState,
    /// What was found and done while opening it.
    pub notes: Vec<String>,
    /// Held as long as the run is open.
    pub lock: Lock,
}

/// Why a run cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process has the workspace.
    #[error("another loop is running here: {0}")]
    Locked(#[from] LockError),
    /// Git cannot be used here.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The folders cannot be created.
    #[error(transparent)]
    Folders(#[from] FoldersError),
    /// The state cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// The task list cannot be used.
    #[error(transparent)]
    Tasks(#[from] TaskFileError),
    /// There are uncommitted changes.
    #[error(
        "the working tree has uncommitted changes ({0}); commit or stash them, or use --allow-dirty to have them committed first"
    )]
    Dirty(String),
    /// The configuration does not fit the repository.
    #[error("{0}")]
    Configuration(String),
    /// A run of an earlier weir, in the middle of a task.
    #[error(
        "this run was begun by an earlier weir, which worked in your own tree, and a task is in progress there; end it with \
         that weir, or commit or stash what it left and start a new run with `weir loop run --new`"
    )]
    Older,
    /// Processes of a killed run could not be ended.
    #[error(
        "processes of a killed run are still alive and could not be ended: {0}; end them, then try again"
    )]
    Survivors(String),
    /// The state of the last run cannot be archived.
    #[error("cannot archive the state of the last run as {}: {source}", path.display())]
    Archive {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        #[source]
        source: std::io::Error,
    },
}

/// Locks the workspace. A loop that was killed at the moment it started a program leaves the lock to that program until
/// it runs, so such a lock is waited for.
async fn lock(folders: &Folders) -> Result<Lock, LockError> {
    let deadline = tokio::time::Instant::now() + MAX_LOCK_WAIT;
    loop {
        match Lock::acquire(&folders.lock_file(), "weir loop run") {
            Err(LockError::Held { owner: Some(owner), .. })
                if !owner.process.is_alive() && tokio::time::Instant::now() < deadline =>
            {
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
            locked => return locked,
        }
    }
}

/// Opens a run.
pub async fn open(folders: &Folders, config: &Config, options: OpenOptions) -> Result<Opened, OpenError> {
    folders.create()?;
    let lock = lock(folders).await?;
    let mut notes = Vec::new();
    end_leftover_processes(folders, &mut notes).await?;
    let git = Git::new(&folders.workspace, folders.state(), &config.folder);
    git.check().await?;
    let before = match load_for_run(&folders.state()) {
        Err(StateError::OtherVersion { found, .. }) if options.new_run => {
            let kept = keep_aside(&folders.state(), &format!("version-{found}"))?;
            notes.push(format!("a run from another version of weir is kept in {}", kept.display()));
            None
        }
        before => before?,
    };
    let was_killed = before.as_ref().is_some_and(|run| run.end().is_none());
    if was_killed {
        let locks = git.remove_stale_locks().await?;
        if locks > 0 {
            notes.push(format!("removed {locks} locks left by a killed git"));
        }
    }
    // What a killed run has half done with the person's files is undone or ended.
    person_tree(&git, folders).recover().await?;
    let list = read_tasks(&folders.workspace.join(&config.tasks))?;
    let is_new = options.new_run || before.as_ref().is_none_or(|run| !is_resumed(run, &list));
    if is_new {
        keep_dirty(&git, options.allow_dirty, &mut notes).await?;
    } else if before.as_ref().is_some_and(is_of_an_older_weir) {
        return Err(OpenError::Older);
    }
    let problems = problems(&git, config, "HEAD").await?;
    if !problems.is_empty() {
        return Err(OpenError::Configuration(problems.join("; ")));
    }
    let state = match before {
        Some(mut run) if !is_new => {
            absorb(&mut run, None, &folders.state());
            if run.line.is_none() {
                run.line = Some(line::begin(&git).await?);
            }
            StateWriter::new(folders.state()).write(&run)?;
            run
        }
        before => {
            if let Some(run) = &before {
                archive(folders, run)?;
            }
            let mut run = RunState::new(uuid::Uuid::new_v4().to_string(), now_ms(), list.tasks, config);
            run.planner_session = before.as_ref().and_then(|before| before.planner_session.clone());
            absorb(&mut run, before.as_ref(), &folders.state());
            run.line = Some(line::begin(&git).await?);
            StateWriter::new(folders.state()).write(&run)?;
            run
        }
    };
    forget_absorbed(&folders.state())?;
    let mut state = state;
    state.earlier = earlier(folders, config, &state);
    Ok(Opened { state, notes, lock })
}

/// Refuses uncommitted changes, which sessions would not see, or commits them at the person's request.
async fn keep_dirty(git: &Git, allow_dirty: bool, notes: &mut Vec<String>) -> Result<(), OpenError> {
    let dirty = git.dirty().await?;
    if dirty.is_empty() {
        return Ok(());
    }
    let names = dirty.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
    if !allow_dirty {
        return Err(OpenError::Dirty(names));
    }
    let head = git.head().await?;
    let tree = git.snapshot().await?;
    let message = "Keep changes from before the run\n\nWritten by weir loop run --allow-dirty.\n";
    let commit = git.commit(&tree, &[&head], message).await?;
    git.set_head(&commit, &head).await?;
    notes.push(format!("committed earlier changes: {names}"));
    Ok(())
}

/// Whether a run is in the middle of a task in the person's own tree, as earlier versions worked.
fn is_of_an_older_weir(run: &RunState) -> bool {
    run.line.is_none() && run.tasks.iter().any(|task| task.step.is_some())
}

/// Whether this start resumes the run, instead of starting a new one.
fn is_resumed(run: &RunState, list: &TaskList) -> bool {
    // A run that was killed between its end and its report still has to end. And if there is nothing to do, a new run
    // would only replace the one that did the work.
    let nothing_to_do = || run.end() == Some(&RunEnd::Completed) && list.tasks.iter().all(|task| task.done);
    run.end().is_none_or(RunEnd::can_resume) || run.is_unreported || nothing_to_do()
}

/// Ends the processes of a killed run, which must not keep running while another run works in the same folder.
async fn end_leftover_processes(folders: &Folders, notes: &mut Vec<String>) -> Result<(), OpenError> {
    let found = leftovers(&folders.state()).unwrap_or_default();
    if found.is_empty() {
        return Ok(());
    }
    let count: usize = found.iter().map(|leftover| leftover.processes.len()).sum();
    let survivors = end_leftovers(found, &StopOptions::default()).await;
    if !survivors.is_empty() {
        let pids: Vec<String> = survivors.iter().map(|id| id.pid.to_string()).collect();
        return Err(OpenError::Survivors(pids.join(", ")));
    }
    notes.push(format!("ended {count} processes left by a killed run"));
    Ok(())
}

/// What other runs have spent in the period over which the limits count.
fn earlier(folders: &Folders, config: &Config, run: &RunState) -> Vec<Spent> {
    let Some(period) = config.limits.period else { return Vec::new() };
    let since = std::time::SystemTime::now().checked_sub(period.duration());
    let entries = std::fs::read_dir(folders.runs()).into_iter().flatten().filter_map(Result::ok);
    // A run is archived when the next one begins, so a file from before the period is of a run from before it.
    let is_recent = |entry: &std::fs::DirEntry| {
        let written = entry.metadata().and_then(|found| found.modified()).ok();
        since.is_none_or(|since| written.is_none_or(|written| written >= since))
    };
    let runs = entries.filter(is_recent).filter_map(|entry| load_archived(&entry.path()).ok().flatten());
    runs.filter(|other| other.run_id != run.run_id).map(|other| Spent::of(&other)).collect()
}

/// Copies the state of a run that is over to where `weir loop replay` and `report` find it. The journal stays until the
/// next run replaces it.
fn archive(folders: &Folders, run: &RunState) -> Result<(), OpenError> {
    let path = folders.runs().join(format!("{}.json", run.run_id));
    let written = stream_atomically(&path, |file| serde_json::to_writer(file, run).map_err(Into::into));
    written.map_err(|source| OpenError::Archive { path, source })
}
