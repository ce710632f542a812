//! Opens a run: the lock, what a killed one has left, the state to go on with, and a clean tree.

use std::path::PathBuf;
use std::time::Duration;

use weir_process::{Lock, LockError, Sandbox, StopOptions, end_leftovers, leftovers};

use super::folders::{Folders, FoldersError};
use super::git::{Git, GitError};
use super::mailbox::Mailbox;
use super::person::catch_up;
use super::tasks::{TaskFileError, read_tasks};
use crate::config::Config;
use crate::state::{
    RunEnd, RunState, SessionFile, StateError, StateWriter, Step, absorb, forget_absorbed, keep_aside, load,
    stream_atomically,
};
use crate::tasks::TaskList;
use crate::time::unix_ms;

/// How long a lock is waited for whose owner is gone.
const LAST_HOLDER: Duration = Duration::from_secs(10);

/// How often it is looked at meanwhile.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// How to open a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpenOptions {
    /// Begin another run, also if there is one to go on with.
    pub new_run: bool,
    /// Commit what is there, in a commit of its own, instead of refusing.
    pub allow_dirty: bool,
    /// A fence around git.
    pub sandbox: Option<Sandbox>,
}

/// A run that nobody else has open.
#[derive(Debug)]
pub struct Opened {
    /// Its state.
    pub state: RunState,
    /// What was found and done on the way.
    pub notes: Vec<String>,
    /// Held as long as the run is open.
    pub lock: Lock,
}

/// Why a run cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Somebody else has the workspace.
    #[error("another loop works here: {0}")]
    Locked(#[from] LockError),
    /// Git cannot be used here.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The folders cannot be made.
    #[error(transparent)]
    Folders(#[from] FoldersError),
    /// The state cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// The task list cannot be used.
    #[error(transparent)]
    Tasks(#[from] TaskFileError),
    /// There are changes that are not committed.
    #[error(
        "the working tree has changes that are not committed ({0}); commit or stash them, or say --allow-dirty to have them committed first"
    )]
    Dirty(String),
    /// Something of a killed run does not end.
    #[error("processes of a killed run are still alive and do not end: {0}; end them, then try again")]
    Survivors(String),
    /// The old state cannot be put away.
    #[error("the state of the last run cannot be kept as {}: {source}", path.display())]
    Archive {
        /// Where to.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

/// Locks the workspace. A loop that was killed in the very moment in which it started a program leaves the lock to that
/// until it runs: such a lock is waited for.
async fn lock(folders: &Folders) -> Result<Lock, LockError> {
    let deadline = tokio::time::Instant::now() + LAST_HOLDER;
    loop {
        match Lock::acquire(&folders.lock_file(), "weir loop run") {
            Err(LockError::Held { owner: Some(owner), .. })
                if !owner.process.is_alive() && tokio::time::Instant::now() < deadline =>
            {
                tokio::time::sleep(LOOK_AGAIN).await;
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
    end_what_is_left(folders, &mut notes).await?;
    let git = Git::new(&folders.workspace, folders.state(), &config.folder).fenced(options.sandbox);
    git.check().await?;
    let before = match load(&folders.run_file()) {
        Err(StateError::OtherVersion { found, path }) if options.new_run => {
            let kept = keep_aside(&path, &format!("version-{found}"))?;
            notes.push(format!("a run of another version is kept in {}", kept.display()));
            None
        }
        before => before?,
    };
    let was_killed = before.as_ref().is_some_and(|run| run.end().is_none());
    if was_killed {
        let locks = git.remove_stale_locks().await?;
        if locks > 0 {
            notes.push(format!("removed {locks} locks, which a killed git had left"));
        }
    }
    let list = read_tasks(&folders.workspace.join(&config.tasks))?;
    let state = match before {
        Some(mut run) if goes_on(&run, &list) && !options.new_run => {
            let mut mailbox = Mailbox::new(folders.mailbox());
            notes.extend(catch_up(&mut run, &mut mailbox));
            absorb(&mut run, None, &folders.state());
            StateWriter::new(folders.state()).write(&run)?;
            mailbox.forget();
            run
        }
        before => {
            if let Some(run) = &before {
                archive(folders, run)?;
            }
            let mut run = RunState::new(uuid::Uuid::new_v4().to_string(), unix_ms(), list.tasks, config);
            run.planner_session = planner_session(folders);
            absorb(&mut run, before.as_ref(), &folders.state());
            StateWriter::new(folders.state()).write(&run)?;
            run
        }
    };
    forget_absorbed(&folders.state())?;
    // What a task left half done is put back by the task itself. One that has a worktree of its own touches ours only
    // while it is merged.
    let touches_ours = |step: &Step| {
        state.parallel == 1
            || matches!(step, Step::Committing { merges: Some(_), .. } | Step::Advancing { .. })
    };
    let is_in_place = state.tasks.iter().any(|task| task.step.as_ref().is_some_and(touches_ours));
    let dirty = if is_in_place { Vec::new() } else { git.dirty().await? };
    if !dirty.is_empty() {
        let names = dirty.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
        if !options.allow_dirty {
            return Err(OpenError::Dirty(names));
        }
        let head = git.head().await?;
        let tree = git.snapshot().await?;
        let message = "Keep what was there before the run\n\nWritten by weir loop run --allow-dirty.\n";
        let commit = git.commit(&tree, &[&head], message).await?;
        git.advance(&commit, &head).await?;
        notes.push(format!("committed what was not: {names}"));
    }
    Ok(Opened { state, notes, lock })
}

/// Whether the next start goes on with a run, instead of beginning another one.
fn goes_on(run: &RunState, list: &TaskList) -> bool {
    // One that was killed after it had ended and before its report was written is to come to its end; and where there is
    // nothing to do, another run would only take the place of the one that did it.
    let nothing_to_do = || run.end() == Some(&RunEnd::Completed) && list.tasks.iter().all(|task| task.done);
    run.end().is_none_or(RunEnd::can_go_on) || run.is_unreported || nothing_to_do()
}

/// What a killed run has started must not go on while another one works in the same folder.
async fn end_what_is_left(folders: &Folders, notes: &mut Vec<String>) -> Result<(), OpenError> {
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
    notes.push(format!("ended {count} processes that a killed run had left"));
    Ok(())
}

/// Puts the state of a run that is over where `weir loop replay` and `report` find it. Its own file stays until another
/// run takes its place.
fn archive(folders: &Folders, run: &RunState) -> Result<(), OpenError> {
    let path = folders.runs().join(format!("{}.json", run.run_id));
    let written = stream_atomically(&path, |file| serde_json::to_writer(file, run).map_err(Into::into));
    written.map_err(|source| OpenError::Archive { path, source })
}

fn planner_session(folders: &Folders) -> Option<String> {
    let text = std::fs::read(folders.state().join("claude-session.json")).ok()?;
    serde_json::from_slice::<SessionFile>(&text).ok()?.planner_session_id
}
