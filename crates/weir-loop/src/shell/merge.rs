//! Brings the commits of a run to a person's branch at their request, with the person's own git.

use weir_base::time::now_ms;
use weir_process::{Lock, LockError};

use super::context::person_tree;
use super::folders::Folders;
use super::git::{Git, GitError, Publication, Published, short};
use crate::config::Config;
use crate::state::{StateError, StateWriter, load, run_branch};

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// There was nothing to do.
    Nothing,
    /// The branch has the commits.
    Done {
        /// What git printed.
        printed: String,
    },
    /// Git has begun a merge, and the person has to resolve conflicts.
    Conflicts {
        /// What git printed.
        printed: String,
    },
}

/// Why it was not tried.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// There is no run.
    #[error("no run here; `weir loop run` starts one")]
    NoRun,
    /// The run is at work.
    #[error("the loop is running, and brings its commits to the branch itself as soon as that is safe: {0}")]
    Running(LockError),
    /// Another branch is checked out.
    #[error("the commits of the run are for {0}; check it out first")]
    OtherBranch(String),
    /// The state cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Merges the commits of the run that wait into the person's branch.
///
/// # Errors
/// If there is no run, if it is at work, or if another branch is checked out.
pub async fn merge(folders: &Folders, config: &Config) -> Result<Merged, MergeError> {
    let mut run = load(&folders.state())?.ok_or(MergeError::NoRun)?;
    let _lock = Lock::acquire(&folders.lock_file(), "weir loop merge").map_err(MergeError::Running)?;
    let git = Git::new(&folders.workspace, folders.state(), &config.folder);
    let Some(mut line) = run.line.clone().filter(|line| line.tip != line.published) else {
        return Ok(Merged::Nothing);
    };
    if git.current_branch().await? != line.branch {
        return Err(MergeError::OtherBranch(short(line.branch.as_deref()).to_owned()));
    }
    let tree = person_tree(&git, folders);
    let publication = Publication {
        branch: line.branch.as_deref(),
        from: &line.published,
        to: &line.tip,
        merged: &|_, _| None,
    };
    let printed = match tree.publish(&publication).await? {
        Published::Yes => format!("{} has the commits of the run.", short(line.branch.as_deref())),
        Published::Waits(_) => match git.merge_here(&line.tip).await? {
            Ok(printed) => printed,
            Err(printed) => return Ok(Merged::Conflicts { printed }),
        },
    };
    git.remove_branch(&run_branch(&run.run_id)).await?;
    line.published = git.head().await?;
    line.tip.clone_from(&line.published);
    line.waits = None;
    run.line = Some(line);
    run.updated_at = now_ms();
    StateWriter::new(folders.state()).write(&run)?;
    Ok(Merged::Done { printed })
}
