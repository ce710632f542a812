//! The working tree: takes snapshots, restores and inspects it.

use std::path::{Path, PathBuf};

use super::{Git, GitError};
use crate::outcome::Inspection;

/// The result of inspecting the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Looked {
    /// Something has to be restored. This is the current tree, to be saved before that.
    Changed(String),
    /// Nothing is left to restore.
    Work(Inspection),
}

impl Git {
    /// Files that differ from the last commit. Excludes the loop's own files and nested repositories, which the loop
    /// never commits.
    pub async fn dirty(&self) -> Result<Vec<String>, GitError> {
        let text = self.run(&["status", "--porcelain", "-z", "--no-renames"]).await?;
        let entries = text.split('\0').filter_map(|entry| entry.get(3..)).filter(|path| !self.is_own(path));
        let mut dirty: Vec<String> = entries.map(str::to_owned).collect();
        if dirty.iter().any(|path| self.is_nested_repository(path)) {
            let declared = self.submodules().await?;
            let is_declared = |path: &str| declared.iter().any(|known| known == path.trim_end_matches('/'));
            dirty.retain(|path| !self.is_nested_repository(path) || is_declared(path));
        }
        Ok(dirty)
    }

    /// Whether a file, as in git's paths, is one of the loop's own.
    fn is_own(&self, path: &str) -> bool {
        Path::new(path).starts_with(&self.own)
    }

    /// Writes the working tree as a tree object, with new files and without ignored ones.
    ///
    /// Uses the paths that git lists instead of `git add`, which fails to exclude a path that the repository's own
    /// rules ignore, and which adds an entry for each nested repository.
    pub async fn snapshot(&self) -> Result<String, GitError> {
        let listed = ["ls-files", "-z", "--others", "--modified", "--deleted", "--exclude-standard"];
        let paths = self.run_bytes(&listed).await?;
        let own = self.own.to_string_lossy();
        let is_ours = |path: &[u8]| {
            path.strip_prefix(own.as_bytes()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        let mut changed = Vec::new();
        let mut nested = Vec::new();
        for path in paths.split(|byte| *byte == 0).filter(|path| !path.is_empty() && !is_ours(path)) {
            match path.strip_suffix(b"/") {
                Some(repository) => nested.push(repository),
                None => changed.push(path),
            }
        }
        if !nested.is_empty() {
            let declared = self.submodules().await?;
            changed.extend(
                nested.into_iter().filter(|path| declared.iter().any(|known| known.as_bytes() == *path)),
            );
        }
        if !changed.is_empty() {
            // New paths are listed first, and a new folder would hide the file that it replaces.
            changed.reverse();
            let args = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
            self.run_with(&args, &changed.join(&0)).await?;
        }
        self.line(&["write-tree"]).await
    }

    /// Restores the working tree from a tree object. Files that are not in it are removed, except ignored ones.
    pub async fn restore(&self, tree: &str) -> Result<(), GitError> {
        if self.snapshot().await? != tree {
            self.run(&["read-tree", "--reset", "-u", tree]).await?;
        }
        Ok(())
    }

    /// Restores the working tree, and first keeps what is there under its own reference: it may belong to a person.
    pub async fn restore_keeping(&self, tree: &str, name: &str) -> Result<bool, GitError> {
        let now = self.snapshot().await?;
        if now == tree {
            return Ok(false);
        }
        let head = self.head().await?;
        let commit = self.commit(&now, &[&head], "Work of a session that was cut off\n").await?;
        let reference = self.free_reference(&format!("refs/weir/{name}")).await?;
        self.run(&["update-ref", &reference, &commit]).await?;
        self.run(&["read-tree", "--reset", "-u", tree]).await?;
        Ok(true)
    }

    /// A reference that does not exist yet. A kill during a restore leaves a partial tree, which must not replace the
    /// complete one.
    async fn free_reference(&self, name: &str) -> Result<String, GitError> {
        let mut free = name.to_owned();
        let mut number = 1;
        while self.raw(&["rev-parse", "--verify", "--quiet", &free], b"").await?.is_success() {
            number += 1;
            free = format!("{name}.{number}");
        }
        Ok(free)
    }

    /// The changes since a commit. Restores protected files and the task list, but only if `seen` is the saved tree
    /// from before that.
    pub(crate) async fn inspect(
        &self,
        base: &str,
        protected: &[PathBuf],
        list: Option<&Path>,
        seen: Option<&str>,
    ) -> Result<Looked, GitError> {
        let tree = match seen {
            Some(tree) => {
                // A kill may have come when a part was already restored.
                self.restore(tree).await?;
                tree.to_owned()
            }
            None => self.snapshot().await?,
        };
        let mut work = Inspection { tree, ..Inspection::default() };
        if self.drop_new_links(base, &work.tree).await? {
            work.tree = self.snapshot().await?;
        }
        work.nested = self.nested_repositories().await?;
        let mut changed = self.changed(base, &work.tree).await?;
        let is_in = |path: &str, folder: &Path| Path::new(path).starts_with(folder);
        let mut to_restore: Vec<String> = Vec::new();
        for (path, ..) in &changed {
            if protected.iter().any(|protected| is_in(path, protected)) {
                work.protected.push(path.clone());
                to_restore.push(path.clone());
            } else if list.is_some_and(|list| is_in(path, list)) {
                work.list_restored = true;
                to_restore.push(path.clone());
            }
        }
        if !to_restore.is_empty() {
            if seen.is_none() {
                return Ok(Looked::Changed(work.tree));
            }
            let mut args = vec!["restore", "--source", base, "--staged", "--worktree", "--"];
            let literal: Vec<String> =
                to_restore.iter().map(|path| format!(":(literal,top){path}")).collect();
            args.extend(literal.iter().map(String::as_str));
            self.run(&args).await?;
            work.tree = self.snapshot().await?;
            changed = self.changed(base, &work.tree).await?;
        }
        work.files = changed.len() as u64;
        work.added = changed.iter().map(|(_, added, _)| added).sum();
        work.removed = changed.iter().map(|(_, _, removed)| removed).sum();
        Ok(Looked::Work(work))
    }

    /// Files that differ, with the numbers of added and removed lines, which are zero for a binary file.
    async fn changed(&self, base: &str, tree: &str) -> Result<Vec<(String, u64, u64)>, GitError> {
        let text = self.run(&["diff-tree", "-r", "-z", "--no-renames", "--numstat", base, tree]).await?;
        let entry = |entry: &str| {
            let mut parts = entry.splitn(3, '\t');
            let (added, removed) = (parts.next()?, parts.next()?);
            Some((parts.next()?.to_owned(), added.parse().unwrap_or(0), removed.parse().unwrap_or(0)))
        };
        Ok(text.split('\0').filter_map(entry).collect())
    }

    /// The content of a file in a tree.
    pub(crate) async fn file_in(&self, tree: &str, path: &Path) -> Result<Option<Vec<u8>>, GitError> {
        let name = format!("{tree}:{}", path.to_string_lossy());
        let done = self.raw(&["cat-file", "blob", &name], b"").await?;
        Ok(done.is_success().then_some(done.stdout.bytes))
    }
}
