//! The places where work happens: a folder for each task at work, and one for its gates.
//!
//! Both are checkouts that Weir has made, with an index that Weir keeps elsewhere. The `.git` in them is for the git that
//! sessions and gates run, and is never read. The folder of gates holds exactly the files of the commit that is checked.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_base::file::create_private_folder;
use weir_process::Sandbox;

use super::folders::Folders;
use super::git::{Git, GitError, OwnRepository, remove};
use super::outside::{Stamp, tree_stamp};
use crate::config::Config;

/// Makes and finds the places of a run.
#[derive(Debug, Clone)]
pub(super) struct Places {
    folders: Folders,
    home: Git,
    own: Arc<OwnRepository>,
    copies: Vec<PathBuf>,
    kept: Vec<PathBuf>,
    /// The index of each place of gates as Weir left it.
    left: Arc<Mutex<BTreeMap<u32, Stamp>>>,
    /// Folders that gates keep, and what they were like when the last gate had ended.
    caches: Vec<PathBuf>,
    left_caches: Arc<Mutex<BTreeMap<u32, u64>>>,
}

impl Places {
    /// The places of a run. Creates Weir's own repository, or takes over the one that is there.
    pub(super) async fn open(folders: &Folders, config: &Config, home: &Git) -> Result<Self, GitError> {
        let own = OwnRepository::open(folders.state().join("git"), home).await?;
        for folder in [folders.worktrees(), folders.indexes(), folders.checks.clone()] {
            create_private_folder(&folder).map_err(|source| GitError::Own { path: folder, source })?;
        }
        Ok(Self {
            folders: folders.clone(),
            home: home.clone(),
            own: Arc::new(own),
            copies: config.copies.clone(),
            kept: config.kept_folders(),
            left: Arc::default(),
            caches: config
                .setup
                .iter()
                .flat_map(|setup| &setup.caches)
                .chain(&config.caches)
                .cloned()
                .collect(),
            left_caches: Arc::default(),
        })
    }

    /// Weir's own repository without a place, for what needs only commits.
    pub(super) fn bare(&self) -> Git {
        self.at(self.folders.worktrees(), "bare.index")
    }

    /// Weir's own view of the place of a task.
    pub(super) fn session(&self, slot: u32) -> Git {
        self.at(self.folders.place(slot), &format!("{slot}.index"))
    }

    /// Weir's own view of the place where the gates of a task run.
    pub(super) fn gates(&self, slot: u32) -> Git {
        self.at(self.folders.gate_place(slot), &format!("{slot}-gates.index"))
    }

    fn at(&self, folder: PathBuf, index: &str) -> Git {
        self.home.private(Arc::clone(&self.own), folder, self.folders.indexes().join(index))
    }

    fn index(&self, name: &str) -> PathBuf {
        self.folders.indexes().join(name)
    }

    /// Makes sure that the place of a task is there. What is in it stays.
    pub(super) async fn ensure(&self, slot: u32, tree: &str, head: &str) -> Result<Git, GitError> {
        let git = self.session(slot);
        let is_there = std::fs::symlink_metadata(git.folder()).is_ok_and(|found| found.is_dir())
            && self.index(&format!("{slot}.index")).is_file();
        if !is_there {
            self.fresh_folder(&git).await?;
            git.restore(tree).await?;
            self.finish(&git, head, &self.index(&format!("{slot}.index")))?;
        }
        Ok(git)
    }

    /// Makes the place of a task contain a tree, with a commit as its `HEAD`. What git ignores stays.
    pub(super) async fn prepare(&self, slot: u32, tree: &str, head: &str) -> Result<(), GitError> {
        let git = self.ensure(slot, tree, head).await?;
        git.restore(tree).await?;
        git.remove_nested().await?;
        self.finish(&git, head, &self.index(&format!("{slot}.index")))
    }

    /// Makes the place of gates contain exactly the files of a tree.
    pub(super) async fn lay_out_gates(&self, slot: u32, tree: &str, head: &str) -> Result<Git, GitError> {
        let git = self.gates(slot);
        let index = self.index(&format!("{slot}-gates.index"));
        self.remove_strangers()?;
        if !(std::fs::symlink_metadata(git.folder()).is_ok_and(|found| found.is_dir()) && index.is_file()) {
            self.fresh_folder(&git).await?;
        } else if Stamp::of(&index).is_none_or(|now| self.left().get(&slot) != Some(&now)) {
            // Somebody else may have written it, and have told git not to look at a file.
            git.forget_index().await?;
        }
        git.lay_out(tree, &self.kept).await?;
        self.finish(&git, head, &index)?;
        if let Some(stamp) = Stamp::of(&index) {
            self.left().insert(slot, stamp);
        }
        Ok(git)
    }

    /// Removes what is next to the places of gates: tools look for settings and packages in the folders above.
    fn remove_strangers(&self) -> Result<(), GitError> {
        let folder = &self.folders.checks;
        let failed = |source| GitError::Own { path: folder.clone(), source };
        let is_ours = |name: &str| {
            let number = name.strip_suffix("-gates").unwrap_or_default();
            !number.is_empty() && number.bytes().all(|letter| letter.is_ascii_digit())
        };
        create_private_folder(folder).map_err(failed)?;
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if !entry.file_name().to_str().is_some_and(is_ours) {
                remove(&entry.path()).map_err(failed)?;
            }
        }
        Ok(())
    }

    fn left(&self) -> MutexGuard<'_, BTreeMap<u32, Stamp>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn fresh_folder(&self, git: &Git) -> Result<(), GitError> {
        let folder = git.folder().to_owned();
        let failed = |source| GitError::Own { path: folder.clone(), source };
        remove(&folder).map_err(failed)?;
        std::fs::create_dir_all(&folder).map_err(failed)?;
        git.forget_index().await
    }

    /// Writes what programs in a place may see of a repository, and copies what the person wants copied.
    fn finish(&self, git: &Git, head: &str, index: &Path) -> Result<(), GitError> {
        let folder = git.folder();
        let failed = |source| GitError::Own { path: folder.to_owned(), source };
        self.own.write_visible(folder, head, index).map_err(failed)?;
        for name in &self.copies {
            let (from, to) = (self.folders.workspace.join(name), folder.join(name));
            if from.is_file() {
                let parent = to.parent().unwrap_or(folder);
                std::fs::create_dir_all(parent)
                    .and_then(|()| remove(&to))
                    .and_then(|()| std::fs::copy(&from, &to).map(drop))
                    .map_err(|source| GitError::Own { path: to, source })?;
            }
        }
        Ok(())
    }

    /// Notes what the folders are like that gates keep. Until the next gate begins, nothing should write there.
    pub(super) fn note_caches(&self, slot: u32) {
        let stamp = self.stamp_caches(slot);
        self.left_caches.lock().unwrap_or_else(PoisonError::into_inner).insert(slot, stamp);
    }

    /// Removes the folders that gates keep, if anything but a gate has written there. Returns whether it has.
    pub(super) fn forget_strange_caches(&self, slot: u32) -> Result<bool, GitError> {
        let known = self.left_caches.lock().unwrap_or_else(PoisonError::into_inner).get(&slot).copied();
        if self.caches.is_empty() || known == Some(self.stamp_caches(slot)) {
            return Ok(false);
        }
        self.forget_kept(slot)?;
        Ok(true)
    }

    fn stamp_caches(&self, slot: u32) -> u64 {
        let mut hasher = DefaultHasher::new();
        for name in &self.caches {
            tree_stamp(&self.folders.gate_place(slot).join(name)).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Removes the folders that gates keep, so that the next check starts from nothing.
    pub(super) fn forget_kept(&self, slot: u32) -> Result<(), GitError> {
        for name in &self.kept {
            let path = self.folders.gate_place(slot).join(name);
            remove(&path).map_err(|source| GitError::Own { path, source })?;
        }
        Ok(())
    }

    /// A sandbox that holds one place instead of the workspace, and can read the objects that its git needs.
    pub(super) fn fence(&self, sandbox: &Sandbox, place: &Path) -> Sandbox {
        fence_place(sandbox, &self.folders.workspace, place, &self.own.objects())
    }
}

/// A sandbox for one place of a loop: instead of the workspace it holds that place, and of the repository only the
/// objects, which it can read.
#[must_use]
pub fn fence_place(sandbox: &Sandbox, workspace: &Path, place: &Path, objects: &[PathBuf]) -> Sandbox {
    let mut sandbox = sandbox.clone();
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let workspace = real(workspace);
    sandbox.writable.retain(|folder| real(folder) != workspace);
    sandbox.writable.push(real(place));
    sandbox.readable.extend(objects.iter().cloned());
    sandbox
}

/// The setup that has run in each place, by the content of its files.
#[derive(Debug, Default)]
pub(super) struct SetupDone(BTreeMap<PathBuf, String>);

impl SetupDone {
    /// Whether the setup has run in a folder for these contents.
    pub(super) fn is_done(&self, folder: &Path, key: &str) -> bool {
        self.0.get(folder).is_some_and(|known| known == key)
    }

    /// Notes that the setup has run.
    pub(super) fn note(&mut self, folder: &Path, key: String) {
        self.0.insert(folder.to_owned(), key);
    }
}
