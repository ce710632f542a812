//! What a person's repository says: where its branch is, and whether it may be moved now.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use weir_git::{Change, Entry, parse_index};

use super::{Git, GitError};

/// Files and folders of an operation that a person has begun and not ended.
const BEGUN: [(&str, &str); 5] = [
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
];

/// So many files are named to git one by one.
const MAX_NAMED: usize = 100;

/// Where a branch is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CheckedOut {
    Here,
    Nowhere,
    /// The run has no branch, and a branch is checked out now.
    Attached,
    /// In another worktree of the person's.
    In(PathBuf),
}

impl Git {
    /// The branch that is checked out, such as `refs/heads/main`. `None` for a detached `HEAD`.
    pub async fn current_branch(&self) -> Result<Option<String>, GitError> {
        let done = self.raw(&["symbolic-ref", "--quiet", "HEAD"], b"").await?;
        Ok(done.is_success().then(|| done.stdout.text().trim_end().to_owned()))
    }

    /// Files that differ from the last commit. Excludes the loop's own files and nested repositories.
    pub async fn dirty(&self) -> Result<Vec<String>, GitError> {
        let text =
            self.run(&["status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=dirty"]).await?;
        let entries = text.split('\0').filter_map(|entry| entry.get(3..));
        let is_own = |path: &&str| Path::new(path).starts_with(&self.own);
        let is_nested = |path: &&str| path.ends_with('/') && self.folder().join(path).join(".git").exists();
        Ok(entries.filter(|path| !is_own(path) && !is_nested(path)).map(str::to_owned).collect())
    }

    /// The reference that a run advances.
    pub(super) fn reference(branch: Option<&str>) -> &str {
        branch.unwrap_or("HEAD")
    }

    pub(super) async fn checked_out(&self, branch: Option<&str>) -> Result<CheckedOut, GitError> {
        let current = self.current_branch().await?;
        if current.as_deref() == branch {
            return Ok(CheckedOut::Here);
        }
        let Some(branch) = branch else { return Ok(CheckedOut::Attached) };
        let folder = self.line(&["for-each-ref", "--format=%(worktreepath)", branch]).await?;
        Ok(if folder.is_empty() { CheckedOut::Nowhere } else { CheckedOut::In(PathBuf::from(folder)) })
    }

    /// The operation that a person has begun here, if any.
    pub(super) async fn begun(&self) -> Result<Option<&'static str>, GitError> {
        let folder = self.git_folder().await?;
        Ok(BEGUN.iter().find(|(name, _)| folder.join(name).exists()).map(|(_, words)| *words))
    }

    /// The git folder of this worktree.
    pub(super) async fn git_folder(&self) -> Result<PathBuf, GitError> {
        Ok(self.absolute(&self.line(&["rev-parse", "--git-dir"]).await?))
    }

    /// Sets a branch to a commit, if it is still at another one. Returns whether it is there now.
    pub(super) async fn advance(&self, branch: Option<&str>, to: &str, from: &str) -> Result<bool, GitError> {
        let mut args = vec!["update-ref", "-m", "weir loop"];
        if branch.is_none() {
            args.push("--no-deref");
        }
        args.extend([Self::reference(branch), to, from]);
        if self.raw(&args, b"").await?.is_success() {
            return Ok(true);
        }
        Ok(self.commit_of(Self::reference(branch)).await?.as_deref() == Some(to))
    }

    /// The index's entries of files that change, apart from those in conflict. For many files all are listed, which is as
    /// good.
    pub(super) async fn staged(&self, changes: &[Change]) -> Result<HashMap<PathBuf, Entry>, GitError> {
        let paths: Option<Vec<String>> = changes
            .iter()
            .take(MAX_NAMED + 1)
            .map(|change| change.path.to_str().map(|path| format!(":(literal,top){path}")))
            .collect();
        let mut args = vec!["ls-files", "--stage", "-z"];
        let named = paths.filter(|paths| paths.len() <= MAX_NAMED).unwrap_or_default();
        if !named.is_empty() {
            args.push("--");
            args.extend(named.iter().map(String::as_str));
        }
        let text = self.run_bytes(&args).await?;
        Ok(parse_index(&text).into_iter().collect())
    }
}
