//! The folders that sessions may work in, for a person who chooses one.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Host;
use super::opening::resolved;
use crate::error::HostError;

/// How many folders are listed.
const MAX_FOLDERS: usize = 500;

/// A folder, and the folders in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct FolderListing {
    /// The folder, with all links resolved; none for the list of roots.
    pub path: Option<String>,
    /// The folder that it is in, if sessions may work there.
    pub parent: Option<String>,
    /// The state of its repository, if it is in one whose files and history are inside the roots.
    pub git: Option<GitState>,
    /// The folders in it, by name, without hidden ones; or the roots.
    pub folders: Vec<FolderEntry>,
    /// Whether there are more than are listed.
    pub more: bool,
}

/// A folder in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct FolderEntry {
    /// Its name.
    pub name: String,
    /// The whole path, with all links resolved.
    pub path: String,
    /// Whether it is the top of a git repository.
    pub repository: bool,
}

/// The state of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct GitState {
    /// The top folder of the worktree.
    pub top: String,
    /// The branch; none if a commit is checked out without one.
    pub branch: Option<String>,
    /// The commit; none before the first one.
    pub head: Option<String>,
    /// The branch that it follows.
    pub upstream: Option<String>,
    /// How many commits the upstream does not have, if that is known.
    pub ahead: Option<u64>,
    /// How many commits only the upstream has, if that is known.
    pub behind: Option<u64>,
    /// How many files differ from the commit. A folder that is entirely new counts as one.
    pub changed: u64,
    /// Whether it is a linked worktree and not the main one.
    pub linked: bool,
}

impl Host {
    /// A folder that sessions may work in, with the folders in it; the roots, if none is named.
    ///
    /// # Errors
    /// If sessions may not work there, or it cannot be read.
    pub async fn folders(&self, path: Option<&str>) -> Result<FolderListing, HostError> {
        let Some(path) = path else {
            let roots = self.core.options.roots.iter().map(|root| entry(root, &root.to_string_lossy()));
            return Ok(FolderListing {
                path: None,
                parent: None,
                git: None,
                folders: roots.collect(),
                more: false,
            });
        };
        let folder = self.allowed_folder(path).await?;
        let git = self.git_state(&folder).await;
        let listed = folder.clone();
        let (folders, more) = self
            .blocking(move |core| {
                let failed = |error: std::io::Error| HostError::Folder {
                    cwd: listed.clone(),
                    reason: error.to_string(),
                };
                let entries = std::fs::read_dir(&listed).map_err(failed)?;
                let mut folders: Vec<FolderEntry> = entries
                    .filter_map(|found| {
                        let found = found.ok()?;
                        let name = found.file_name().to_str()?.to_owned();
                        // A link may lead out.
                        let path = resolved(&found.path()).ok().filter(|_| !name.starts_with('.'))?;
                        let is_inside = core.options.roots.iter().any(|root| path.starts_with(root));
                        is_inside.then(|| entry(&path, &name))
                    })
                    .collect();
                folders.sort_by(|one, other| one.name.cmp(&other.name));
                let more = folders.len() > MAX_FOLDERS;
                folders.truncate(MAX_FOLDERS);
                Ok((folders, more))
            })
            .await?;
        let parent = folder.parent().filter(|parent| self.is_inside_roots(parent));
        Ok(FolderListing {
            parent: parent.map(|parent| parent.to_string_lossy().into_owned()),
            path: Some(folder.to_string_lossy().into_owned()),
            git,
            folders,
            more,
        })
    }

    /// The state of the repository that a folder is in. A folder without one, or one where git fails, is still listed
    /// the folder.
    async fn git_state(&self, folder: &Path) -> Option<GitState> {
        let repository = self.repository_at(folder).await.ok()?;
        let status = repository.status().await.ok()?;
        Some(GitState {
            top: repository.top().to_string_lossy().into_owned(),
            branch: status.branch,
            head: status.head.map(|head| head.as_str().to_owned()),
            upstream: status.upstream,
            ahead: status.ahead_behind.map(|(ahead, _)| ahead),
            behind: status.ahead_behind.map(|(_, behind)| behind),
            changed: status.changed.len() as u64,
            linked: repository.is_linked(),
        })
    }
}

fn entry(path: &Path, name: &str) -> FolderEntry {
    FolderEntry {
        name: name.to_owned(),
        path: path.to_string_lossy().into_owned(),
        repository: path.join(".git").symlink_metadata().is_ok(),
    }
}
