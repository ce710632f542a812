//! The files and folders of a loop, below the workspace.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};

use crate::state::write_atomically;

/// The folders of a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// The workspace: the top of a git repository.
    pub workspace: PathBuf,
    /// The loop's own folder, `.ralph` by default.
    pub root: PathBuf,
    /// Where gates run: outside of the workspace, so that nothing in a person's tree takes part.
    pub checks: PathBuf,
}

/// A folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use {}: {source}", path.display())]
pub struct FoldersError {
    /// The folder.
    pub path: PathBuf,
    /// The underlying error.
    #[source]
    pub source: io::Error,
}

impl Folders {
    /// The folders of a workspace.
    pub fn new(workspace: impl Into<PathBuf>, folder: &Path) -> Self {
        let workspace = workspace.into();
        let root = workspace.join(folder);
        let checks = checks_folder(&root).unwrap_or_else(|| root.join("checks"));
        Self { workspace, root, checks }
    }

    /// The same folders, with another one for gates.
    #[must_use]
    pub fn with_checks(self, checks: impl Into<PathBuf>) -> Self {
        Self { checks: checks.into(), ..self }
    }

    /// The state: the journal, its exports, locks, live processes.
    pub fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// The lock of the workspace.
    pub fn lock_file(&self) -> PathBuf {
        self.state().join("workspace.lock")
    }

    /// What the sessions are doing, for `status --watch`.
    pub fn activity_file(&self) -> PathBuf {
        self.state().join("activity.json")
    }

    /// Raw logs of sessions.
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs/claude")
    }

    /// The states of runs that are over.
    pub fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    /// Files that were set aside, such as a task list that a session changed.
    pub fn kept(&self) -> PathBuf {
        self.root.join("kept")
    }

    /// The places where tasks are worked on.
    pub fn worktrees(&self) -> PathBuf {
        self.root.join("worktrees")
    }

    /// The place of a task at work.
    pub fn place(&self, slot: u32) -> PathBuf {
        self.worktrees().join(slot.to_string())
    }

    /// The place where the gates of a task run.
    pub fn gate_place(&self, slot: u32) -> PathBuf {
        self.checks.join(format!("{slot}-gates"))
    }

    /// Weir's own indexes of these places.
    pub fn indexes(&self) -> PathBuf {
        self.state().join("places")
    }

    /// Where files wait before they replace those of a person's tree.
    pub fn exchange(&self) -> PathBuf {
        self.state().join("exchange")
    }

    /// `report.md` or `report.html`.
    pub fn report(&self, extension: &str) -> PathBuf {
        self.root.join(format!("report.{extension}"))
    }

    /// Creates the folders, and keeps them out of git.
    pub fn create(&self) -> Result<(), FoldersError> {
        for folder in [self.root.clone(), self.state(), self.logs(), self.runs()] {
            let mut builder = std::fs::DirBuilder::new();
            builder.recursive(true);
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(&folder).map_err(|source| FoldersError { path: folder.clone(), source })?;
        }
        let ignore = self.root.join(".gitignore");
        if !ignore.exists() {
            let text = "# Written by weir loop: state, logs and reports are not committed.\n*\n";
            write_atomically(&ignore, text.as_bytes())
                .map_err(|source| FoldersError { path: ignore, source })?;
        }
        Ok(())
    }
}

/// The folder for the gates of a loop, in the person's folder for caches. Tools look for settings in the folders above
/// the one in which they run, so it must not be in a tree in which a person or a session works.
fn checks_folder(root: &Path) -> Option<PathBuf> {
    let given = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = given.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
    let root = std::path::absolute(root).ok()?;
    let root = root.canonicalize().unwrap_or(root);
    if !cache.is_absolute() || cache.starts_with(root.parent()?) {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    root.hash(&mut hasher);
    Some(cache.join("weir/loop").join(format!("{:016x}", hasher.finish())))
}
