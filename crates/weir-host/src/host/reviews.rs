//! Reviews: what a session's folder has that a base has not, taking it back, and commits.

use std::collections::HashSet;
use std::path::PathBuf;

use weir_git::{Base, Changes, FileChange, GitError, Repository, RevisionName};
use weir_store::SessionId;

use super::Host;
use crate::error::HostError;
use crate::review::{
    CommitChanges, CommitMade, RevertChange, RevertedChange, Review, ReviewBase, ReviewFile, ReviewQuery,
    StageChanges, fill, seal,
};

impl Host {
    /// What a session's folder has that a base has not, no matter who or which program changed it.
    ///
    /// # Errors
    /// If there is no such session, its folder is in no repository, the base does not exist, or git fails.
    pub async fn review(&self, id: &SessionId, query: &ReviewQuery) -> Result<Review, HostError> {
        let repository = self.repository_of(id).await?;
        review(&repository, query, None).await
    }

    /// The same for one file, with all its lines.
    ///
    /// # Errors
    /// As [`Self::review`], or if the file does not differ.
    pub async fn review_file(
        &self,
        id: &SessionId,
        query: &ReviewQuery,
        path: &str,
    ) -> Result<ReviewFile, HostError> {
        let repository = self.repository_of(id).await?;
        let review = review(&repository, query, Some(path)).await?;
        let none = || GitError::NoChange(path.to_owned());
        Ok(review.files.into_iter().next().ok_or_else(none)?)
    }

    /// Takes back a change. All files as they were before are kept under a reference.
    ///
    /// # Errors
    /// If the file is not as it was shown, or git fails.
    pub async fn revert_change(
        &self,
        id: &SessionId,
        change: RevertChange,
    ) -> Result<RevertedChange, HostError> {
        self.check_open()?;
        let repository = self.repository_of(id).await?;
        self.to_the_end(async move { revert(&repository, change).await }).await
    }

    /// Puts files into the index, or takes them out of it.
    ///
    /// # Errors
    /// If a file does not differ from the last commit, or git fails.
    pub async fn stage_changes(&self, id: &SessionId, stage: StageChanges) -> Result<(), HostError> {
        self.check_open()?;
        let repository = self.repository_of(id).await?;
        self.to_the_end(async move {
            let changes = repository.changes(&Base::Head).await?;
            let mut paths = Vec::new();
            for path in &stage.paths {
                let file = named(&changes, path)?;
                paths.push(file.path.clone());
                paths.extend(file.old_path.clone());
            }
            if paths.is_empty() {
                return Ok(());
            }
            if stage.staged {
                repository.stage(&paths).await?;
            } else {
                repository.unstage(&paths).await?;
            }
            Ok(())
        })
        .await
    }

    /// Commits what is in the index. No hook runs.
    ///
    /// # Errors
    /// If nothing is staged, git has no identity to commit with, or git fails.
    pub async fn commit_changes(
        &self,
        id: &SessionId,
        commit: CommitChanges,
    ) -> Result<CommitMade, HostError> {
        self.check_open()?;
        let repository = self.repository_of(id).await?;
        self.to_the_end(async move {
            let made = repository.commit_staged(&commit.message).await?;
            Ok(CommitMade { commit: made.as_str().to_owned(), branch: repository.branch().await? })
        })
        .await
    }

    async fn repository_of(&self, id: &SessionId) -> Result<Repository, HostError> {
        let cwd = self.info(id).await?.cwd;
        self.repository(&cwd).await
    }
}

/// What a worktree has that a base has not; of one file alone with all its lines.
///
/// # Errors
/// If the base does not exist, the file does not differ, or git fails.
pub async fn review(
    repository: &Repository,
    query: &ReviewQuery,
    only: Option<&str>,
) -> Result<Review, HostError> {
    let (base, revision) = base_of(repository, query).await?;
    let mut changes = repository.changes(&base).await?;
    if let Some(path) = only {
        changes.files.retain(|file| file.path.to_string_lossy() == path);
        if changes.files.is_empty() {
            return Err(GitError::NoChange(path.to_owned()).into());
        }
    }
    let staged: HashSet<PathBuf> = repository.staged().await?.into_iter().collect();
    let mut files: Vec<ReviewFile> = changes
        .files
        .iter()
        .map(|file| {
            ReviewFile::of(
                file,
                staged.contains(&file.path) || file.old_path.as_ref().is_some_and(|old| staged.contains(old)),
            )
        })
        .collect();
    // A patch of everything would be more than a person reads, and more than is held here.
    match repository.patches(&changes).await {
        Ok(patches) => fill(&mut files, &changes.files, &patches),
        Err(error) => tracing::debug!(%error, "the patches are too large"),
    }
    Ok(Review {
        top: repository.top().to_string_lossy().into_owned(),
        branch: repository.branch().await?,
        base: changes.base.map(|base| base.as_str().to_owned()),
        revision,
        files,
    })
}

/// Takes back a change, if the file is as it was shown. All files as they were before are kept under a reference.
///
/// # Errors
/// If the file is not as it was shown, or git fails.
pub async fn revert(repository: &Repository, change: RevertChange) -> Result<RevertedChange, HostError> {
    let RevertChange { path, seal: seen, hunk, base, revision } = change;
    let (base, _) = base_of(repository, &ReviewQuery { base, revision }).await?;
    let changes = repository.changes(&base).await?;
    let file = named(&changes, &path)?;
    if seal(file) != seen {
        return Err(GitError::Moved(file.path.clone()).into());
    }
    let reverted = match hunk {
        Some(number) => repository.revert_hunk(&changes, file, number).await?,
        None => repository.revert_file(&changes, file).await?,
    };
    Ok(RevertedChange { kept: reverted.kept })
}

/// The base, and the name of the revision that it comes from.
async fn base_of(repository: &Repository, query: &ReviewQuery) -> Result<(Base, Option<String>), HostError> {
    let name = |name: &str| RevisionName::new(name).map_err(GitError::from);
    match (query.base, &query.revision) {
        (ReviewBase::Head, None) => Ok((Base::Head, None)),
        (ReviewBase::Head, Some(_)) => Err(HostError::Invalid(
            "the base `head` has no revision; use `merge_base` or `revision`".to_owned(),
        )),
        (ReviewBase::Revision, Some(revision)) => {
            Ok((Base::Revision(name(revision)?), Some(revision.clone())))
        }
        (ReviewBase::Revision, None) => {
            Err(HostError::Invalid("the base `revision` needs a revision".to_owned()))
        }
        (ReviewBase::MergeBase, Some(revision)) => {
            Ok((Base::MergeBase(name(revision)?), Some(revision.clone())))
        }
        (ReviewBase::MergeBase, None) => {
            let main = repository.worktrees().await?.into_iter().find(|worktree| worktree.is_main);
            let Some(branch) = main.and_then(|main| main.branch) else {
                return Err(HostError::Invalid(
                    "the main worktree has no branch; name a revision".to_owned(),
                ));
            };
            Ok((Base::MergeBase(name(&branch)?), Some(branch)))
        }
    }
}

/// The change of a file, as a review names it. Only these can be acted upon.
fn named<'a>(changes: &'a Changes, path: &str) -> Result<&'a FileChange, HostError> {
    let found = changes.files.iter().find(|file| file.path.to_str() == Some(path));
    Ok(found.ok_or_else(|| GitError::NoChange(path.to_owned()))?)
}
