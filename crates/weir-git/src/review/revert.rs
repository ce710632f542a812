//! Takes back what was done to a file, or to a place in it. What was there is kept under a reference first.

use std::path::{Component, Path};

use super::changes::{Changes, text_of};
use super::list::{FileChange, FileStatus};
use crate::error::{GitError, failure};
use crate::repository::Repository;

/// What a revert leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reverted {
    /// The reference that has all files as they were before.
    pub kept: String,
}

impl Repository {
    /// Takes back a change: the file is as it is in the base afterwards, on disk and, if it was staged, in the index.
    ///
    /// # Errors
    /// If the file is no longer as it is in `changes`, or git or the file system fails.
    pub async fn revert_file(&self, changes: &Changes, file: &FileChange) -> Result<Reverted, GitError> {
        if file.is_submodule() {
            return Err(GitError::Submodule(file.path.clone()));
        }
        check_inside(&file.path)?;
        let path = text_of(&file.path)?;
        let kept = self.keep("revert", &format!("Before a revert of {path}\n")).await?;
        let source = changes.base.as_ref();
        // Other contents of the index are not touched.
        let mut named = vec![path.as_str()];
        let old_path = file.old_path.as_deref().map(text_of).transpose()?;
        named.extend(old_path.as_deref());
        if self.head().await?.is_some() {
            let mut reset = vec!["reset", "--quiet", "--"];
            reset.extend(&named);
            self.run(&reset, b"").await?;
        }
        if matches!(file.status, FileStatus::Added | FileStatus::Renamed) {
            self.remove_file(&file.path)?;
        }
        let restored = match file.status {
            FileStatus::Added => None,
            FileStatus::Renamed => old_path.as_deref(),
            _ => Some(path.as_str()),
        };
        if let (Some(restored), Some(source)) = (restored, source) {
            let source = format!("--source={}", source.as_str());
            self.run(&["restore", "--quiet", &source, "--worktree", "--", restored], b"").await?;
        }
        Ok(Reverted { kept })
    }

    /// Takes back one place of a text file, counted from 0 as in its patch.
    ///
    /// # Errors
    /// If there is no such place, or the file is no longer as it is in `changes`.
    pub async fn revert_hunk(
        &self,
        changes: &Changes,
        file: &FileChange,
        number: usize,
    ) -> Result<Reverted, GitError> {
        if file.is_submodule() {
            return Err(GitError::Submodule(file.path.clone()));
        }
        check_inside(&file.path)?;
        let patch = self.patch(changes, file).await?;
        let hunk = patch.hunks.get(number).filter(|_| file.status == FileStatus::Modified);
        let Some(hunk) = hunk else { return Err(GitError::NoHunk { path: file.path.clone(), number }) };
        let alone = patch.alone(hunk);
        let args = ["apply", "--reverse", "--whitespace=nowarn", "--unidiff-zero", "-"];
        let check = ["apply", "--check", "--reverse", "--whitespace=nowarn", "--unidiff-zero", "-"];
        if !self.raw(&check, &alone).await?.is_success() {
            return Err(GitError::Moved(file.path.clone()));
        }
        let kept = self.keep("revert", &format!("Before a revert in {}\n", file.path.display())).await?;
        let done = self.raw(&args, &alone).await?;
        if done.is_success() { Ok(Reverted { kept }) } else { Err(failure(self.top(), &args, &done)) }
    }

    /// Removes a file of the worktree, but nothing beyond a link.
    fn remove_file(&self, path: &Path) -> Result<(), GitError> {
        let file = self.top().join(path);
        let failed = |source| GitError::File { path: file.clone(), source };
        let Some(parent) = file.parent() else { return Ok(()) };
        if parent.canonicalize().map_err(failed)? != parent {
            return Err(failed(std::io::Error::other("a link leads to another folder")));
        }
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(()),
        }
    }
}

/// A path from git's list is always inside; this is the second lock on that door.
fn check_inside(path: &Path) -> Result<(), GitError> {
    let is_plain =
        |part: Component<'_>| matches!(part, Component::Normal(name) if !name.eq_ignore_ascii_case(".git"));
    if path.components().all(is_plain) {
        return Ok(());
    }
    Err(GitError::File {
        path: path.to_owned(),
        source: std::io::Error::other("it is not inside the worktree"),
    })
}
