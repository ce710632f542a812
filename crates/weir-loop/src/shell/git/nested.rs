//! Repositories and worktrees inside the repository. A commit cannot contain their files: it would only point to one of
//! their commits, which a clone does not have. So they do not count as work, unless `.gitmodules` declares them as
//! submodules.

use std::path::Path;

use super::{Git, GitError};

/// The mode of a tree entry that points to a commit of another repository.
const LINK: &str = "160000";

impl Git {
    /// Whether a folder, as in git's paths, is a separate repository or worktree.
    pub(super) fn is_nested_repository(&self, path: &str) -> bool {
        !path.is_empty() && self.folder().join(path).join(".git").exists()
    }

    /// The folders that `.gitmodules` declares.
    pub(super) async fn submodules(&self) -> Result<Vec<String>, GitError> {
        if !self.folder().join(".gitmodules").is_file() {
            return Ok(Vec::new());
        }
        let args = ["config", "-z", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$"];
        // Git fails if there is none, which is fine.
        let text = self.raw(&args, b"").await?.stdout.text();
        let value =
            |entry: &str| entry.split_once('\n').map(|(_, path)| path.trim_end_matches('/').to_owned());
        Ok(text.split('\0').filter_map(value).collect())
    }

    /// Removes new index entries that point to another repository and are not submodules. Returns whether there were
    /// any: a session may have added or committed them itself.
    pub(super) async fn drop_new_links(&self, base: &str, tree: &str) -> Result<bool, GitError> {
        let text = self.run(&["diff-tree", "-r", "-z", "--raw", "--no-renames", base, tree]).await?;
        let mut parts = text.split('\0');
        let mut links = Vec::new();
        while let (Some(modes), Some(path)) = (parts.next(), parts.next()) {
            let mut modes = modes.trim_start_matches(':').split(' ');
            if (modes.next() != Some(LINK)) && modes.next() == Some(LINK) {
                links.push(path);
            }
        }
        if links.is_empty() {
            return Ok(false);
        }
        let declared = self.submodules().await?;
        links.retain(|path| !declared.iter().any(|known| known == path));
        if links.is_empty() {
            return Ok(false);
        }
        let paths = links.join("\0");
        self.run_with(&["update-index", "--force-remove", "-z", "--stdin"], paths.as_bytes()).await?;
        Ok(true)
    }

    /// The repositories and worktrees in the working tree that are not submodules, including those that git ignores.
    pub(super) async fn nested_repositories(&self) -> Result<Vec<String>, GitError> {
        let others = self.run(&["ls-files", "-z", "--others", "--exclude-standard", "--directory"]).await?;
        let declared = self.submodules().await?;
        let mut found: Vec<String> = others
            .split('\0')
            .filter(|path| self.is_nested_repository(path))
            .map(|path| path.trim_end_matches('/').to_owned())
            .filter(|path| !declared.contains(path))
            .collect();
        let top = self.folder().canonicalize().unwrap_or_else(|_| self.folder().to_owned());
        for path in self.worktree_folders().await? {
            let Ok(path) = path.canonicalize() else { continue };
            let Ok(below) = path.strip_prefix(&top) else { continue };
            let below = below.to_string_lossy().into_owned();
            if !below.is_empty() && !Path::new(&below).starts_with(&self.own) && !found.contains(&below) {
                found.push(below);
            }
        }
        found.sort();
        Ok(found)
    }
}
