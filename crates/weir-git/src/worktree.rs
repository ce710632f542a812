//! Worktrees that Weir makes for sessions, and removes again.
//!
//! They lie in `.weir/worktrees` of the main worktree, which git ignores there, so that they are inside the folders that
//! sessions may work in. Others are listed and never touched.

use std::path::{Path, PathBuf};

use crate::entry::path_of;
use crate::error::{GitError, failure};
use crate::name::BranchName;
use crate::repository::{Commit, Repository};
use crate::review::Base;

/// Where Weir's worktrees are, below the top of the main one.
const FOLDER: [&str; 2] = [".weir", "worktrees"];

/// A folder in which a branch or commit is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    /// The folder.
    pub path: PathBuf,
    /// The commit; none before the first one.
    pub head: Option<Commit>,
    /// The branch; none for a detached `HEAD`.
    pub branch: Option<String>,
    /// Whether it is the main one, which holds the repository.
    pub is_main: bool,
    /// Whether Weir has made it.
    pub is_ours: bool,
    /// Whether its folder is gone.
    pub is_gone: bool,
}

impl Repository {
    /// All worktrees, the main one first.
    ///
    /// # Errors
    /// If git fails.
    pub async fn worktrees(&self) -> Result<Vec<Worktree>, GitError> {
        let text = self.bytes(&["worktree", "list", "--porcelain", "-z"]).await?;
        let mut all = parse(&text);
        if let Some(folder) = all.first().and_then(|main| main.path.canonicalize().ok()).map(|top| ours(&top))
        {
            for worktree in &mut all {
                worktree.is_ours = worktree.path.parent() == Some(&folder);
            }
        }
        Ok(all)
    }

    /// Makes a worktree of Weir's own with a new branch, and checks out a commit there. No program of the repository runs.
    ///
    /// # Errors
    /// If the branch exists, or git or the file system fails. Then nothing is left of it.
    pub async fn add_worktree(&self, branch: &BranchName, from: &Commit) -> Result<Worktree, GitError> {
        let reference = branch.reference();
        let known = self.raw(&["show-ref", "--verify", "--quiet", &reference], b"").await?;
        if known.is_success() {
            return Err(GitError::BranchExists(branch.to_string()));
        }
        let folder = self.own_folder().await?;
        let path = free_path(&folder, branch);
        // Absolute, so it is never an option.
        let name = path.to_str().ok_or_else(|| GitError::File {
            path: path.clone(),
            source: std::io::Error::other("its name is not UTF-8"),
        })?;
        let args = ["worktree", "add", "--quiet", "--no-track", "-b", branch.as_str(), name, from.as_str()];
        let done = self.raw(&args, b"").await?;
        if !done.is_success() {
            let error = failure(self.top(), &args, &done);
            self.abandon(name, &reference, from).await;
            return Err(error);
        }
        Ok(Worktree {
            path,
            head: Some(from.clone()),
            branch: Some(branch.to_string()),
            is_main: false,
            is_ours: true,
            is_gone: false,
        })
    }

    /// Removes a worktree of Weir's own. Its branch stays. Without `confirmed`, one with changes that are in no commit is
    /// refused; with it, they are kept under a reference first, whose name is returned. Ignored files are lost.
    ///
    /// # Errors
    /// If it is not Weir's own, has uncommitted changes, or git fails.
    pub async fn remove_worktree(&self, path: &Path, confirmed: bool) -> Result<Option<String>, GitError> {
        let known = self.worktrees().await?;
        let found = known.iter().find(|worktree| worktree.path == path && worktree.is_ours);
        let Some(found) = found else { return Err(GitError::NotOurs(path.to_owned())) };
        let mut kept = None;
        if !found.is_gone {
            let there = self.at(path).await?;
            // A `.git` that a session has put there instead may lead to another worktree.
            if there.top() != path || !there.is_linked() {
                return Err(GitError::NotOurs(path.to_owned()));
            }
            if let Some(nested) = there.nested_repositories().await?.first() {
                return Err(GitError::Nested(path.join(nested)));
            }
            let changed = there.uncommitted().await?;
            if !changed.is_empty() {
                if !confirmed {
                    return Err(GitError::Uncommitted { folder: path.to_owned(), paths: changed });
                }
                let message = format!("Changes in {} when it was removed\n", path.display());
                kept = Some(there.keep("worktree", &message).await?);
            } else if found.branch.is_none() {
                // Commits of a detached `HEAD` would be found no more.
                kept = Some(there.keep("worktree", "A worktree without a branch\n").await?);
            }
        }
        let name = path.to_str().ok_or_else(|| GitError::NotOurs(path.to_owned()))?;
        self.run(&["worktree", "remove", "--force", name], b"").await?;
        Ok(kept)
    }

    /// What would be lost with this worktree: files that differ from the last commit, and those of which only the index has
    /// a version.
    async fn uncommitted(&self) -> Result<Vec<String>, GitError> {
        let files = self.changes(&Base::Head).await?.files;
        let mut paths: Vec<String> =
            files.iter().map(|file| file.path.to_string_lossy().into_owned()).collect();
        for path in self.staged().await? {
            let path = path.to_string_lossy().into_owned();
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        Ok(paths)
    }

    /// Deletes a branch, if its upstream or else the branch of this worktree has all its commits. Returns whether it was
    /// deleted.
    ///
    /// # Errors
    /// If git fails.
    pub async fn delete_branch(&self, branch: &BranchName) -> Result<bool, GitError> {
        // Without force git refuses to delete what is not merged.
        let done = self.raw(&["branch", "--quiet", "-d", "--", branch.as_str()], b"").await?;
        Ok(done.is_success())
    }

    /// What a failed attempt has left: a folder, an entry in git's list, a branch without commits of its own.
    async fn abandon(&self, path: &str, reference: &str, from: &Commit) {
        // The failure itself is what is reported.
        let _ = self.raw(&["worktree", "remove", "--force", path], b"").await;
        let _ = self.raw(&["update-ref", "-d", reference, from.as_str()], b"").await;
    }

    /// The folder for Weir's worktrees, made if it is not there. The repository cannot place it elsewhere by a link.
    async fn own_folder(&self) -> Result<PathBuf, GitError> {
        let known = self.worktrees().await?;
        let main = known.first().ok_or_else(|| GitError::NoRepository(self.top().to_owned()))?;
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| GitError::File { path, source }
        };
        let mut folder = main.path.canonicalize().map_err(failed(&main.path))?;
        for part in FOLDER {
            folder.push(part);
            match std::fs::create_dir(&folder) {
                Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                    return Err(failed(&folder)(error));
                }
                _ => {}
            }
            let found = std::fs::symlink_metadata(&folder).map_err(failed(&folder))?;
            if !found.is_dir() {
                return Err(failed(&folder)(std::io::Error::other("it is not a folder")));
            }
        }
        let ignore = folder.join(".gitignore");
        match std::fs::OpenOptions::new().write(true).create_new(true).open(&ignore) {
            Ok(mut file) => {
                std::io::Write::write_all(&mut file, b"*\n").map_err(failed(&ignore))?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(&ignore)(error)),
        }
        Ok(folder)
    }
}

/// Where Weir's worktrees of a repository are.
fn ours(top: &Path) -> PathBuf {
    FOLDER.iter().fold(top.to_owned(), |path, part| path.join(part))
}

/// A folder for a branch that is not there yet.
fn free_path(folder: &Path, branch: &BranchName) -> PathBuf {
    let name: String = branch
        .as_str()
        .chars()
        .map(|letter| if letter.is_alphanumeric() || "._-".contains(letter) { letter } else { '-' })
        .collect();
    let mut path = folder.join(&name);
    let mut number = 1;
    while path.symlink_metadata().is_ok() {
        number += 1;
        path = folder.join(format!("{name}.{number}"));
    }
    path
}

fn parse(text: &[u8]) -> Vec<Worktree> {
    let mut all: Vec<Worktree> = Vec::new();
    for line in text.split(|byte| *byte == 0) {
        if let Some(path) = line.strip_prefix(b"worktree ") {
            all.push(Worktree {
                path: path_of(path),
                head: None,
                branch: None,
                is_main: all.is_empty(),
                is_ours: false,
                is_gone: false,
            });
            continue;
        }
        let Some(last) = all.last_mut() else { continue };
        let text = String::from_utf8_lossy(line);
        let (name, value) = text.split_once(' ').unwrap_or((&text, ""));
        match name {
            "HEAD" => {
                // A repository without a commit has zeros.
                last.head =
                    Commit::printed(value).filter(|head| head.as_str().bytes().any(|byte| byte != b'0'));
            }
            "branch" => last.branch = value.strip_prefix("refs/heads/").map(str::to_owned),
            "prunable" => last.is_gone = true,
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_worktrees_is_read() {
        let id = "b".repeat(40);
        let text = format!(
            "worktree /a b\0HEAD {id}\0branch refs/heads/main\0\0worktree /c\nd\0HEAD {id}\0detached\0\0\
             worktree /e\0HEAD {id}\0branch refs/heads/x/y\0prunable gitdir file points to non-existent location\0\0"
        );
        let all = parse(text.as_bytes());
        let brief: Vec<_> = all
            .iter()
            .map(|one| (one.path.to_str().unwrap(), one.branch.as_deref(), one.is_main, one.is_gone))
            .collect();
        assert_eq!(
            brief,
            [
                ("/a b", Some("main"), true, false),
                ("/c\nd", None, false, false),
                ("/e", Some("x/y"), false, true)
            ]
        );
    }
}
