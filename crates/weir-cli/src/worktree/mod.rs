//! `weir worktree`: git worktrees in which sessions work next to each other.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use weir_git::{BranchName, GitError, Repository, RevisionName, Worktree};
use weir_host::{WorktreeSetup, WorktreeSetups};

use crate::exit::{Exit, UsageError, tell};
use crate::folders;
use crate::opts::{DataOpts, RepositoryOpts, WorktreeCommand, WorktreeOpts};
use crate::screen::{Style, Table, clean, width};
use crate::serve::data_directory;

pub(crate) async fn run(opts: WorktreeOpts) -> anyhow::Result<Exit> {
    match opts.command {
        WorktreeCommand::List { json, place } => list(&open(place).await?, json).await,
        WorktreeCommand::Add { branch, from, data, place } => {
            let setups = setups_in(&data_directory(data)?);
            add(&open(place).await?, &branch, from.as_deref(), &setups).await
        }
        WorktreeCommand::Setup { copy, run, clear, data, place } => {
            let has_change = clear || run.is_some() || !copy.is_empty();
            let change = has_change.then_some(WorktreeSetup { copy, run });
            set_up(&open(place).await?, change, data).await
        }
        WorktreeCommand::Remove { worktree, discard, with_branch, place } => {
            remove(&open(place).await?, &worktree, discard, with_branch).await
        }
    }
}

/// The name of the file in a data folder.
const SETUPS: &str = "worktrees.json";

/// What new worktrees of projects get, as recorded in this data folder.
pub(crate) fn setups_in(data: &Path) -> Arc<WorktreeSetups> {
    Arc::new(WorktreeSetups::new(data.join(SETUPS)))
}

/// The top folder of the main worktree.
async fn main_top(repository: &Repository) -> anyhow::Result<PathBuf> {
    let main = repository.worktrees().await?.into_iter().find(|worktree| worktree.is_main);
    let path = main.map_or_else(|| repository.top().to_owned(), |main| main.path);
    Ok(path.canonicalize().unwrap_or(path))
}

/// Changes what new worktrees of the project get, and prints it.
async fn set_up(
    repository: &Repository,
    change: Option<WorktreeSetup>,
    data: DataOpts,
) -> anyhow::Result<Exit> {
    let (setups, top) = (setups_in(&data_directory(data)?), main_top(repository).await?);
    if let Some(setup) = change {
        setups.set(&top, setup)?;
    }
    let setup = setups.of(&top)?;
    writeln!(std::io::stdout(), "{}", json!({"project": top, "copy": setup.copy, "run": setup.run}))?;
    Ok(Exit::Success)
}

/// The repository of a folder.
pub(crate) async fn open(place: RepositoryOpts) -> anyhow::Result<Repository> {
    let folder = place.folder.map_or_else(std::env::current_dir, Ok)?;
    let folder = folder
        .canonicalize()
        .map_err(|error| UsageError(format!("cannot use {}: {error}", folder.display())))?;
    Ok(Repository::open(&folder, folders::state().as_deref()).await?)
}

async fn list(repository: &Repository, as_json: bool) -> anyhow::Result<Exit> {
    let mut out = std::io::stdout().lock();
    let mut table = Table::new(&["BRANCH", "CHANGED", "FOLDER"]);
    for worktree in repository.worktrees().await? {
        let changed = changed(repository, &worktree).await;
        if as_json {
            let line = json!({
                "path": worktree.path, "branch": worktree.branch, "head": worktree.head.as_ref().map(weir_git::Commit::as_str),
                "is_main": worktree.is_main, "is_own": worktree.is_ours, "changed": changed,
            });
            writeln!(out, "{line}")?;
            continue;
        }
        let branch = match (&worktree.branch, &worktree.head) {
            (Some(branch), _) => branch.clone(),
            (None, Some(head)) => head.short().to_owned(),
            (None, None) => String::new(),
        };
        let changed = match changed {
            _ if worktree.is_gone => "gone".to_owned(),
            Some(0) => "no".to_owned(),
            Some(1) => "1 file".to_owned(),
            Some(count) => format!("{count} files"),
            None => "?".to_owned(),
        };
        table.row([
            clean(&branch).to_string(),
            changed,
            clean(&worktree.path.display().to_string()).to_string(),
        ]);
    }
    if !as_json {
        for line in table.lines(Style::for_stdout(), width()) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(Exit::Success)
}

/// How many files differ from the commit.
async fn changed(repository: &Repository, worktree: &Worktree) -> Option<usize> {
    let there = repository.at(&worktree.path).await.ok()?;
    there.status().await.ok().map(|status| status.changed.len())
}

async fn add(
    repository: &Repository,
    branch: &str,
    from: Option<&str>,
    setups: &WorktreeSetups,
) -> anyhow::Result<Exit> {
    let branch = BranchName::new(branch).map_err(|error| UsageError(error.to_string()))?;
    let commit = match from {
        None => repository.head().await?.ok_or(GitError::NoCommit)?,
        Some(name) => {
            let revision = RevisionName::new(name).map_err(|error| UsageError(error.to_string()))?;
            let found = repository.resolve(&revision).await?;
            found.ok_or_else(|| GitError::NoRevision(name.to_owned()))?
        }
    };
    let made = repository.add_worktree(&branch, &commit).await?;
    let top = main_top(repository).await?;
    if let Err(error) = setups.of(&top)?.apply(&top, &made.path, |command| command).await {
        // Nobody works there yet.
        repository.remove_worktree(&made.path, true).await?;
        repository.delete_branch(&branch).await?;
        return Err(error.into());
    }
    writeln!(std::io::stdout(), "{}", made.path.display())?;
    Ok(Exit::Success)
}

async fn remove(
    repository: &Repository,
    named: &str,
    discard: bool,
    with_branch: bool,
) -> anyhow::Result<Exit> {
    let known = repository.worktrees().await?;
    let path = Path::new(named);
    // A folder that is gone cannot be resolved.
    let resolved = std::path::absolute(path)?;
    let resolved = resolved.canonicalize().unwrap_or(resolved);
    let is_named =
        |worktree: &&Worktree| worktree.path == resolved || worktree.branch.as_deref() == Some(named);
    let Some(found) = known.iter().find(is_named) else {
        return Err(GitError::NotOurs(PathBuf::from(named)).into());
    };
    let kept = match repository.remove_worktree(&found.path, discard).await {
        Err(error @ GitError::Uncommitted { .. }) => {
            tell(&format!("weir: {error} with --discard"));
            return Ok(Exit::ErrorResult);
        }
        done => done?,
    };
    tell(&format!("weir: removed {}", clean(&found.path.display().to_string())));
    if let Some(kept) = kept {
        tell(&format!("weir: its changes are kept: `git checkout {kept}` has them"));
    }
    if let Some(branch) = found.branch.as_deref().filter(|_| with_branch) {
        let is_deleted = repository.delete_branch(&BranchName::new(branch)?).await?;
        let what = if is_deleted { "deleted" } else { "kept, because its commits are nowhere else" };
        tell(&format!("weir: the branch {} was {what}", clean(branch)));
    }
    Ok(Exit::Success)
}
