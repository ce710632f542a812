//! The working tree: written down, put back, and looked at.

use std::path::{Path, PathBuf};

use super::{Git, GitError};
use crate::outcome::Inspection;

/// What a look at the work has shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Looked {
    /// Something has to be put back. This is the tree as it is, to be written down before.
    Changed(String),
    /// All is as it may be now.
    Work(Inspection),
}

impl Git {
    /// Files that are not as they are in the last commit: neither the loop's own, nor repositories in the repository,
    /// which no commit of ours would have.
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

    /// Whether a file, as git names it, is one of the loop's own.
    fn is_own(&self, path: &str) -> bool {
        Path::new(path).starts_with(&self.own)
    }

    /// Writes down the working tree as it is, new files included and ignored ones not.
    ///
    /// By the paths that git lists and not by `git add`: that takes no path out of what it adds if the repository's own
    /// rules ignore it, and it makes an entry of each repository that lies in this one.
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
            // What is new comes first, and a new folder would hide the file that was there before.
            changed.reverse();
            let args = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
            self.run_with(&args, &changed.join(&0)).await?;
        }
        self.line(&["write-tree"]).await
    }

    /// Puts the working tree back to one that was written down. What is not in it is removed, ignored files excepted.
    pub async fn restore(&self, tree: &str) -> Result<(), GitError> {
        if self.snapshot().await? != tree {
            self.run(&["read-tree", "--reset", "-u", tree]).await?;
        }
        Ok(())
    }

    /// The same, and what is there is kept under a name of its own first: it may be somebody's.
    pub async fn restore_keeping(&self, tree: &str, name: &str) -> Result<bool, GitError> {
        let now = self.snapshot().await?;
        if now == tree {
            return Ok(false);
        }
        let head = self.head().await?;
        let commit = self.commit(&now, &[&head], "What a session that was cut off had done\n").await?;
        let reference = self.free_reference(&format!("refs/weir/{name}")).await?;
        self.run(&["update-ref", &reference, &commit]).await?;
        self.run(&["read-tree", "--reset", "-u", tree]).await?;
        Ok(true)
    }

    /// A name that nothing has. A kill while the tree is put back leaves half of it, which must not take the place of
    /// the whole.
    async fn free_reference(&self, name: &str) -> Result<String, GitError> {
        let mut free = name.to_owned();
        let mut number = 1;
        while self.raw(&["rev-parse", "--verify", "--quiet", &free], b"").await?.is_success() {
            number += 1;
            free = format!("{name}.{number}");
        }
        Ok(free)
    }

    /// What was changed since a commit. What is protected, and the task list, is put back, if `seen` says that it is
    /// written down what there was.
    pub(crate) async fn inspect(
        &self,
        base: &str,
        protected: &[PathBuf],
        list: Option<&Path>,
        seen: Option<&str>,
    ) -> Result<Looked, GitError> {
        let tree = match seen {
            Some(tree) => {
                // A kill may have come when a part was put back already.
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
        let mut back: Vec<String> = Vec::new();
        for (path, ..) in &changed {
            if protected.iter().any(|protected| is_in(path, protected)) {
                work.protected.push(path.clone());
                back.push(path.clone());
            } else if list.is_some_and(|list| is_in(path, list)) {
                work.list_restored = true;
                back.push(path.clone());
            }
        }
        if !back.is_empty() {
            if seen.is_none() {
                return Ok(Looked::Changed(work.tree));
            }
            let mut args = vec!["restore", "--source", base, "--staged", "--worktree", "--"];
            let literal: Vec<String> = back.iter().map(|path| format!(":(literal,top){path}")).collect();
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

    /// Files that differ, with added and removed lines; a binary file has none.
    async fn changed(&self, base: &str, tree: &str) -> Result<Vec<(String, u64, u64)>, GitError> {
        let text = self.run(&["diff-tree", "-r", "-z", "--no-renames", "--numstat", base, tree]).await?;
        let entry = |entry: &str| {
            let mut parts = entry.splitn(3, '\t');
            let (added, removed) = (parts.next()?, parts.next()?);
            Some((parts.next()?.to_owned(), added.parse().unwrap_or(0), removed.parse().unwrap_or(0)))
        };
        Ok(text.split('\0').filter_map(entry).collect())
    }

    /// A file as a tree has it.
    pub(crate) async fn file_in(&self, tree: &str, path: &Path) -> Result<Option<Vec<u8>>, GitError> {
        let name = format!("{tree}:{}", path.to_string_lossy());
        let done = self.raw(&["cat-file", "blob", &name], b"").await?;
        Ok(done.is_success().then_some(done.stdout.bytes))
    }
}
