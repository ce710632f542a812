//! Repositories and worktrees inside a place. A commit cannot contain their files: it would only point to one of their
//! commits, which a clone does not have. So they do not count as work, unless `.gitmodules` declares them as submodules.

use weir_git::{Entry, LINK};

use super::{Git, GitError, remove};

impl Git {
    /// Whether a folder, as in git's paths, is a separate repository or worktree.
    fn is_nested_repository(&self, path: &str) -> bool {
        !path.is_empty() && self.folder().join(path).join(".git").exists()
    }

    /// The folders that `.gitmodules` declares.
    pub(super) async fn submodules(&self) -> Result<Vec<String>, GitError> {
        if !self.folder().join(".gitmodules").is_file() {
            return Ok(Vec::new());
        }
        let args = [
            "config",
            "-z",
            "--no-includes",
            "--file",
            ".gitmodules",
            "--get-regexp",
            r"^submodule\..*\.path$",
        ];
        // Git fails if there is none, which is fine.
        let text = self.raw(&args, b"").await?.stdout.text();
        let value =
            |entry: &str| entry.split_once('\n').map(|(_, path)| path.trim_end_matches('/').to_owned());
        Ok(text.split('\0').filter_map(value).collect())
    }

    /// Removes new index entries that point to another repository and are not submodules. Returns whether there were
    /// any.
    pub(super) async fn drop_new_links(&self, base: &str, tree: &str) -> Result<bool, GitError> {
        let changes = self.changes(base, tree).await?;
        let is_link = |entry: &Option<Entry>| entry.as_ref().is_some_and(|entry| entry.mode == LINK);
        let mut links: Vec<_> =
            changes.iter().filter(|change| is_link(&change.new) && !is_link(&change.old)).collect();
        if links.is_empty() {
            return Ok(false);
        }
        let declared = self.submodules().await?;
        links.retain(|change| !declared.iter().any(|known| change.path == std::path::Path::new(known)));
        self.set_entries(links.iter().map(|change| (change.path.as_path(), None))).await?;
        Ok(!links.is_empty())
    }

    /// Removes the repositories and worktrees that an earlier session has left.
    pub(crate) async fn remove_nested(&self) -> Result<(), GitError> {
        for name in self.nested_repositories().await? {
            let path = self.folder().join(name);
            remove(&path).map_err(|source| GitError::Own { path, source })?;
        }
        Ok(())
    }

    /// The repositories and worktrees in the place that are not submodules, including those that git ignores.
    pub(super) async fn nested_repositories(&self) -> Result<Vec<String>, GitError> {
        let others = self.run(&["ls-files", "-z", "--others", "--exclude-standard", "--directory"]).await?;
        let declared = self.submodules().await?;
        let mut found: Vec<String> = others
            .split('\0')
            .filter(|path| self.is_nested_repository(path))
            .map(|path| path.trim_end_matches('/').to_owned())
            .filter(|path| !declared.contains(path))
            .collect();
        found.sort();
        Ok(found)
    }
}
