//! Worktrees of git: a session may have a folder and a branch of its own next to the others of a project.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weir_base::time::now_ms;
use weir_git::{BranchName, Commit, GitError, Repository, RevisionName, Worktree};
use weir_process::PlainCommand;
use weir_store::{Archived, ListOrder, ListQuery, SessionId};
use weir_trust::{Standing, scan};

use super::Host;
use crate::error::HostError;
use crate::settings::{KeptSettings, SessionSettings};

/// How many sessions are looked at for those that work in a worktree.
const LOOKED_AT: usize = 500;

/// A worktree to make.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct NewWorktree {
    /// The name of its new branch; one that begins with `weir/` if left out.
    pub branch: Option<String>,
    /// What to check out: a branch, tag or commit. The commit that is checked out in the folder if left out.
    pub from: Option<String>,
}

/// A folder in which a branch is checked out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct WorktreeInfo {
    /// The folder.
    pub path: String,
    /// The branch; none if a commit is checked out without one.
    pub branch: Option<String>,
    /// The commit; none before the first one.
    pub head: Option<String>,
    /// Whether it is the main one, which holds the repository.
    pub is_main: bool,
    /// Whether Weir has made it. Only these can be removed.
    pub is_own: bool,
    /// How many files differ from the commit, new files included; none if that was not looked at.
    pub changed: Option<u64>,
    /// The sessions that work in it.
    pub sessions: Vec<String>,
}

/// What is left of a worktree that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RemovedWorktree {
    /// The reference under which its uncommitted changes are kept, if it had any: `git checkout REFERENCE` has them.
    pub kept: Option<String>,
    /// Whether its branch was deleted as well. One with commits that are nowhere else stays.
    pub branch_deleted: bool,
}

impl Host {
    /// The worktrees of the repository that a folder is in, as far as sessions may work in them.
    ///
    /// # Errors
    /// If sessions may not work there, or it is in no repository.
    pub async fn worktrees(&self, cwd: &str) -> Result<Vec<WorktreeInfo>, HostError> {
        let repository = self.repository(cwd).await?;
        let mut sessions = self.working_folders().await?;
        // A worktree inside another: the innermost one counts.
        let mut all = repository.worktrees().await?;
        all.retain(|worktree| self.is_inside_roots(&worktree.path));
        let mut infos = Vec::new();
        let mut by_depth: Vec<usize> = (0..all.len()).collect();
        by_depth.sort_by_key(|place| {
            std::cmp::Reverse(all.get(*place).map_or(0, |worktree| worktree.path.components().count()))
        });
        let mut working: Vec<Vec<String>> = vec![Vec::new(); all.len()];
        for place in by_depth {
            let (Some(worktree), Some(working)) = (all.get(place), working.get_mut(place)) else { continue };
            sessions.retain(|(id, folder)| {
                let is_here = folder.starts_with(&worktree.path);
                if is_here {
                    working.push(id.clone());
                }
                !is_here
            });
        }
        for (worktree, sessions) in all.into_iter().zip(working) {
            let changed = match worktree.is_gone {
                true => None,
                // What cannot be looked at is listed all the same, so that it can be removed.
                false => match repository.at(&worktree.path).await {
                    Ok(there) => there.status().await.ok().map(|status| status.changed.len() as u64),
                    Err(_) => None,
                },
            };
            infos.push(WorktreeInfo { changed, sessions, ..WorktreeInfo::from(worktree) });
        }
        Ok(infos)
    }

    /// Makes a worktree with a branch of its own. The folder's own programs do not run.
    ///
    /// # Errors
    /// If sessions may not work in the repository, the branch exists, or git fails.
    pub async fn add_worktree(&self, cwd: &str, new: NewWorktree) -> Result<WorktreeInfo, HostError> {
        self.check_open()?;
        let repository = self.repository(cwd).await?;
        let host = self.clone();
        self.to_the_end(async move { host.make_worktree(&repository, new).await.map(WorktreeInfo::from) })
            .await
    }

    /// Removes a worktree that Weir has made. Without `confirmed`, one with uncommitted changes is refused; with it, they
    /// are kept under a reference. Ignored files are lost.
    ///
    /// # Errors
    /// If it is not Weir's own, a session is at work in it, it has uncommitted changes, or git fails.
    pub async fn remove_worktree(
        &self,
        path: &str,
        confirmed: bool,
        with_branch: bool,
    ) -> Result<RemovedWorktree, HostError> {
        let path = PathBuf::from(path);
        let Some(parent) = path.parent().and_then(Path::to_str).filter(|_| path.is_absolute()) else {
            return Err(GitError::NotOurs(path).into());
        };
        // Its own folder may be gone; the one around it belongs to the main worktree.
        let repository = self.repository(parent).await?;
        if !self.is_inside_roots(&path) {
            return Err(GitError::NotOurs(path).into());
        }
        self.end_idle_processes_in(&path).await?;
        let trust = self.core.options.trust.clone();
        self.to_the_end(async move {
            let known = repository.worktrees().await?;
            let branch = known.into_iter().find(|worktree| worktree.path == path);
            let branch = branch.and_then(|worktree| worktree.branch);
            let kept = repository.remove_worktree(&path, confirmed).await?;
            if let Some(trust) = trust {
                // Another worktree with this name must not be trusted. If it cannot be written, the fingerprint protects.
                let forgotten = tokio::task::spawn_blocking(move || trust.forget(&path)).await;
                drop(forgotten);
            }
            let branch_deleted = match branch.as_deref().map(BranchName::new) {
                Some(Ok(branch)) if with_branch => repository.delete_branch(&branch).await?,
                _ => false,
            };
            Ok(RemovedWorktree { kept, branch_deleted })
        })
        .await
    }

    /// The folder of a new session in a worktree of its own: where the folder that was named is in it.
    pub(super) async fn worktree_for_session(
        &self,
        cwd: &Path,
        new: NewWorktree,
    ) -> Result<PathBuf, HostError> {
        let repository = self.repository_at(cwd).await?;
        let inside = cwd.strip_prefix(repository.top()).unwrap_or(Path::new("")).to_owned();
        let host = self.clone();
        self.to_the_end(async move {
            let made = host.make_worktree(&repository, new).await?;
            if inside.as_os_str().is_empty() {
                // Joined, it would end with a slash.
                return Ok(made.path);
            }
            let folder = made.path.join(&inside);
            // A folder that git does not know is not in the worktree.
            let is_there = folder.canonicalize().is_ok_and(|found| found == folder && found.is_dir());
            Ok(if is_there { folder } else { made.path })
        })
        .await
    }

    /// Takes back what [`Self::worktree_for_session`] has made, as long as nothing was done there.
    pub(super) async fn abandon_worktree(&self, folder: &Path) {
        let Ok(repository) = self.repository_at(folder).await else { return };
        let top = repository.top().to_owned();
        let branch = repository.branch().await.ok().flatten();
        // What was made is of no use to anyone; if it cannot be removed, it is listed.
        if let Some(parent) = top.parent()
            && let Ok(main) = self.repository_at(parent).await
            && main.remove_worktree(&top, false).await.is_ok()
            && let Some(Ok(branch)) = branch.as_deref().map(BranchName::new)
        {
            let _ = main.delete_branch(&branch).await;
        }
    }

    async fn make_worktree(&self, repository: &Repository, new: NewWorktree) -> Result<Worktree, HostError> {
        let from = match &new.from {
            None => repository.head().await?.ok_or(GitError::NoCommit)?,
            Some(name) => commit_named(repository, name).await?,
        };
        let branch = match &new.branch {
            Some(name) => BranchName::new(name).map_err(GitError::from)?,
            None => BranchName::new(&format!("weir/{}", short_word())).map_err(GitError::from)?,
        };
        let made = repository.add_worktree(&branch, &from).await?;
        self.inherit_trust(repository.top(), &made.path).await?;
        if let Err(error) = self.set_up(repository, &made.path).await {
            // Nobody works there yet, so only what the setup has made is lost.
            let _ = repository.remove_worktree(&made.path, true).await;
            let _ = repository.delete_branch(&branch).await;
            return Err(error);
        }
        Ok(made)
    }

    /// Gives a new worktree the files and runs the command that the owner has chosen for the project, in the environment
    /// and the sandbox of its sessions.
    async fn set_up(&self, repository: &Repository, worktree: &Path) -> Result<(), HostError> {
        let Some(setups) = self.core.options.worktree_setups.clone() else { return Ok(()) };
        let known = repository.worktrees().await?;
        let Some(main) = known.into_iter().find(|worktree| worktree.is_main) else { return Ok(()) };
        let top = main.path.canonicalize().unwrap_or(main.path);
        let setup = self.blocking({
            let top = top.clone();
            move |_| setups.of(&top)
        });
        let settings = SessionSettings {
            id: SessionId::random(),
            key: None,
            cwd: worktree.to_owned(),
            model: None,
            kept: KeptSettings::default(),
        };
        let options = (self.core.options.recipe)(&settings);
        let state = self.core.options.state_directory.clone();
        let in_surroundings = |mut command: PlainCommand| {
            command.environment = options.environment;
            command.sandbox = options.sandbox;
            command.state_directory = state;
            command
        };
        setup.await?.apply(&top, worktree, in_surroundings).await
    }

    /// What a person has trusted in a folder is trusted in a worktree that Weir has made of it, if it has the same files.
    async fn inherit_trust(&self, original: &Path, copy: &Path) -> Result<(), HostError> {
        let (original, copy) = (original.to_owned(), copy.to_owned());
        self.blocking(move |core| {
            let (Some(file), home) = (&core.options.trust, core.options.home.as_deref()) else {
                return Ok(());
            };
            // What cannot be looked at is not trusted.
            let (Ok(seen), Ok(found)) = (scan(&original, home), scan(&copy, home)) else { return Ok(()) };
            let is_trusted =
                file.standing(&original, &seen).is_ok_and(|standing| standing == Standing::Trusted);
            if is_trusted && file.covers_copy(&original, &found).unwrap_or(false) {
                let by = format!("worktree of {}", original.display());
                file.trust(&copy, &found, &by, now_ms())
                    .map_err(|error| HostError::Invalid(error.to_string()))?;
            }
            Ok(())
        })
        .await
    }

    /// The repository of a folder that sessions may work in.
    pub(super) async fn repository(&self, cwd: &str) -> Result<Repository, HostError> {
        let folder = self.allowed_folder(cwd).await?;
        self.repository_at(&folder).await
    }

    /// The repository of a folder. Its files and its history must be inside the roots: a `.git` may lead anywhere, and so
    /// may what is in it.
    pub(super) async fn repository_at(&self, folder: &Path) -> Result<Repository, HostError> {
        let repository = Repository::open(folder, self.core.options.state_directory.as_deref()).await?;
        let refused = |reason: String| HostError::Folder { cwd: folder.to_owned(), reason };
        let reach = {
            let repository = repository.clone();
            self.blocking(move |_| Ok(repository.reach()))
                .await?
                .map_err(|error| refused(error.to_string()))?
        };
        let own = [repository.top(), repository.git_folder(), repository.common_folder()];
        for place in own.into_iter().chain(reach.iter().map(PathBuf::as_path)) {
            if !self.is_inside_roots(place) {
                return Err(refused(format!(
                    "its repository uses {}, which is not inside a folder that sessions may work in",
                    place.display()
                )));
            }
        }
        Ok(repository)
    }

    pub(super) fn is_inside_roots(&self, path: &Path) -> bool {
        self.core.options.roots.iter().any(|root| path.starts_with(root))
    }

    /// The folder of each session that is not archived.
    async fn working_folders(&self) -> Result<Vec<(String, PathBuf)>, HostError> {
        let query = ListQuery {
            archived: Archived::Without,
            order: ListOrder::Newest,
            limit: LOOKED_AT,
            ..ListQuery::default()
        };
        let page = self.core.options.store.list(query).await?;
        let folder =
            |row: &weir_store::StoredSession| Some((row.id.to_string(), PathBuf::from(row.cwd.as_ref()?)));
        Ok(page.sessions.iter().filter_map(folder).collect())
    }

    /// Ends the processes below a folder that have nothing to do.
    async fn end_idle_processes_in(&self, path: &Path) -> Result<(), HostError> {
        for live in self.core.all_present() {
            let session = {
                let state = live.lock();
                if !state.row.cwd.as_deref().is_some_and(|cwd| Path::new(cwd).starts_with(path)) {
                    continue;
                }
                state.session.clone()
            };
            if live.info().status.is_busy() {
                return Err(HostError::FolderInUse { cwd: path.to_owned(), session: live.info().id.clone() });
            }
            if let Some(session) = session {
                // A session that is over has no process.
                let _ = session.session().close_if_idle().await;
            }
        }
        Ok(())
    }
}

/// The commit of a revision that a person has named.
async fn commit_named(repository: &Repository, name: &str) -> Result<Commit, HostError> {
    let revision = RevisionName::new(name).map_err(GitError::from)?;
    let found = repository.resolve(&revision).await?;
    Ok(found.ok_or_else(|| GitError::NoRevision(name.to_owned()))?)
}

/// A word that no branch has yet.
fn short_word() -> String {
    uuid::Uuid::new_v4().simple().to_string().chars().take(8).collect()
}

impl From<Worktree> for WorktreeInfo {
    fn from(worktree: Worktree) -> Self {
        Self {
            path: worktree.path.to_string_lossy().into_owned(),
            branch: worktree.branch,
            head: worktree.head.map(|head| head.as_str().to_owned()),
            is_main: worktree.is_main,
            is_own: worktree.is_ours,
            changed: None,
            sessions: Vec::new(),
        }
    }
}
