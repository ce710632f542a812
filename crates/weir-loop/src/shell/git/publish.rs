//! Brings the commits of a run to a person's branch, and to the files that the person has checked out.
//!
//! It is all or nothing: the branch moves only if it is where Weir left it, and only if each file that the commits
//! change is as it was in the last commit. While that is decided, the person's index is locked as by any other git. If
//! something is in the way, nothing is touched, and the reason is returned: the commits wait on Weir's own branch.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use weir_git::{Change, Entry, LINK, SYMLINK, bytes_of};

use super::person::CheckedOut;
use super::swap::{Exchange, Swap, copy, is_same};
use super::{Git, GitError, remove};
use crate::instant;
use crate::state::write_atomically;

/// How long to wait for another git that has locked the person's index.
const MAX_LOCK_WAIT: Duration = Duration::from_secs(5);

/// How often to try meanwhile.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Whether the branch has the commits now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Published {
    /// It has, and so have the files that are checked out.
    Yes,
    /// It has not, for this reason, and nothing was touched.
    Waits(String),
}

/// What is to be published.
pub(crate) struct Publication<'a> {
    /// The branch; `None` for a detached `HEAD`.
    pub(crate) branch: Option<&'a str>,
    /// The commit that Weir left it at.
    pub(crate) from: &'a str,
    /// The commit to move it to.
    pub(crate) to: &'a str,
    /// The person's own version of a file that was edited on both sides, if it can be had: the task list.
    pub(crate) merged: &'a (dyn Fn(&Path, &str) -> Option<String> + Sync),
}

/// A person's tree.
pub(crate) struct PersonTree<'a> {
    pub(crate) git: &'a Git,
    /// A folder of Weir's own on the same file system.
    pub(crate) folder: PathBuf,
    /// Where a person's version goes if there are two.
    pub(crate) kept: PathBuf,
}

/// Why something waits, or a failure.
enum Stop {
    Waits(String),
    Failed(GitError),
}

impl From<GitError> for Stop {
    fn from(error: GitError) -> Self {
        Self::Failed(error)
    }
}

/// A person's index, its lock, and the index that replaces it.
struct IndexFiles {
    index: PathBuf,
    lock: PathBuf,
    next: PathBuf,
}

impl IndexFiles {
    /// Removes the lock, and what has not become the index. Both must be Weir's own.
    fn release(&self) {
        let _ = std::fs::remove_file(&self.next);
        let _ = std::fs::remove_file(&self.lock);
    }
}

/// Held as the lock of a person's index.
struct IndexLock(IndexFiles);

impl Drop for IndexLock {
    fn drop(&mut self) {
        // After a kill, `recover` does this.
        self.0.release();
    }
}

impl PersonTree<'_> {
    fn exchange(&self) -> Exchange {
        Exchange::new(self.folder.join("publishing"))
    }

    fn failed(path: &Path) -> impl FnOnce(io::Error) -> Stop {
        move |source| Stop::Failed(GitError::Own { path: path.to_owned(), source })
    }

    /// Undoes or ends what a kill has left half done.
    pub(crate) async fn recover(&self) -> Result<(), GitError> {
        let exchange = self.exchange();
        let files = self.index_files().await?;
        let path = exchange.manifest();
        let own = |path: PathBuf| move |source| GitError::Own { path, source };
        // A lock without the mark is another git's.
        if std::fs::read(&files.lock).is_ok_and(|text| text == LOCK_MARK) {
            files.release();
        }
        if let Ok(text) = std::fs::read(&path) {
            let (from, to, branch, swaps): (String, String, Option<String>, Vec<Swap>) =
                serde_json::from_slice(&text).map_err(io::Error::other).map_err(own(path))?;
            let now = self.git.commit_of(Git::reference(branch.as_deref())).await?;
            if now.as_deref() == Some(&to) {
                // The branch has moved, so the files are there as well. Only the index may be behind.
                self.catch_up_index(&from, &to).await?;
            } else {
                self.undo(&swaps).map_err(own(exchange.folder().to_owned()))?;
            }
        }
        exchange.clear().map_err(own(exchange.folder().to_owned()))
    }

    /// Brings the entries of the index to a commit that are still those of another one.
    async fn catch_up_index(&self, from: &str, to: &str) -> Result<(), GitError> {
        let changes = self.git.changes(from, to).await?;
        let staged = self.git.staged(&changes).await?;
        let behind = changes.iter().filter(|change| staged.get(&change.path) == change.old.as_ref());
        self.git.set_entries(behind.map(|change| (change.path.as_path(), change.new.as_ref()))).await?;
        self.git.raw(&["update-index", "-q", "--refresh"], b"").await.map(drop)
    }

    /// Undoes what was done with files: first what is new, then what was removed, which may be in its place.
    fn undo(&self, swaps: &[Swap]) -> io::Result<()> {
        let exchange = self.exchange();
        let (gone, rest): (Vec<&Swap>, Vec<&Swap>) = swaps.iter().partition(|swap| !swap.stays);
        for swap in rest.iter().chain(&gone) {
            exchange.undo(swap, &self.kept)?;
            if !swap.was_there {
                self.remove_empty_folders(&swap.path);
            }
        }
        Ok(())
    }

    async fn index_files(&self) -> Result<IndexFiles, GitError> {
        let index = self.git.absolute(&self.git.line(&["rev-parse", "--git-path", "index"]).await?);
        let with = |extension: &str| {
            let mut name = index.clone().into_os_string();
            name.push(extension);
            PathBuf::from(name)
        };
        Ok(IndexFiles { lock: with(".lock"), next: with(".weir"), index })
    }

    /// Takes the lock, as any git does. An editor may hold it for a while.
    async fn lock(&self) -> Result<IndexLock, Stop> {
        let names = self.index_files().await?;
        let deadline = tokio::time::Instant::now() + MAX_LOCK_WAIT;
        loop {
            instant::begin();
            let made = std::fs::OpenOptions::new().write(true).create_new(true).open(&names.lock);
            match made {
                Ok(mut file) => {
                    io::Write::write_all(&mut file, LOCK_MARK).map_err(Self::failed(&names.lock))?;
                    instant::reached("a person's index was locked");
                    return Ok(IndexLock(names));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    if tokio::time::Instant::now() >= deadline {
                        let text = format!("another git has locked the index ({})", names.lock.display());
                        return Err(Stop::Waits(text));
                    }
                    tokio::time::sleep(RETRY_INTERVAL).await;
                }
                Err(error) => {
                    let text = format!("the index cannot be locked ({}: {error})", names.lock.display());
                    return Err(Stop::Waits(text));
                }
            }
        }
    }

    /// Publishes commits.
    pub(crate) async fn publish(&self, what: &Publication<'_>) -> Result<Published, GitError> {
        self.recover().await?;
        match self.try_publish(what).await {
            Ok(()) => Ok(Published::Yes),
            Err(Stop::Waits(why)) => Ok(Published::Waits(why)),
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    async fn try_publish(&self, what: &Publication<'_>) -> Result<(), Stop> {
        let name = short(what.branch);
        let now = self.git.commit_of(Git::reference(what.branch)).await?;
        if now.as_deref() == Some(what.to) {
            return Ok(());
        }
        let moved = || Stop::Waits(format!("{name} has moved: someone else has set it to another commit"));
        if now.as_deref() != Some(what.from) {
            return Err(moved());
        }
        match self.git.checked_out(what.branch).await? {
            CheckedOut::Here => {}
            CheckedOut::Nowhere => {
                let is_there = self.git.advance(what.branch, what.to, what.from).await?;
                return if is_there { Ok(()) } else { Err(moved()) };
            }
            CheckedOut::Attached => {
                return Err(Stop::Waits("a branch is checked out, and the run began without one".to_owned()));
            }
            CheckedOut::In(folder) => {
                return Err(Stop::Waits(format!("{name} is checked out in {}", folder.display())));
            }
        }
        if let Some(words) = self.git.begun().await? {
            return Err(Stop::Waits(format!("{words} is in progress in your tree")));
        }
        let changes = self.git.changes(what.from, what.to).await?;
        let lock = self.lock().await?;
        let (swaps, exchange) = (self.stage(&changes, what).await?, self.exchange());
        let done = self.replace(what, &changes, &swaps, &lock.0).await;
        if done.is_err() {
            self.undo(&swaps).map_err(Self::failed(exchange.folder()))?;
        }
        exchange.clear().map_err(Self::failed(exchange.folder()))?;
        done
    }

    /// Exchanges the files, moves the branch and writes the index. The caller undoes it if it fails.
    async fn replace(
        &self,
        what: &Publication<'_>,
        changes: &[Change],
        swaps: &[Swap],
        lock: &IndexFiles,
    ) -> Result<(), Stop> {
        let exchange = self.exchange();
        std::fs::copy(&lock.index, &lock.next).map_err(Self::failed(&lock.next))?;
        let next = lock.next.display().to_string();
        let entries = changes.iter().map(|change| (change.path.as_path(), change.new.as_ref()));
        self.git.set_entries_of(&next, entries).await?;
        let manifest = serde_json::to_vec(&(what.from, what.to, what.branch, swaps)).unwrap_or_default();
        write_atomically(&exchange.manifest(), &manifest).map_err(Self::failed(&exchange.manifest()))?;
        // Removals first, so that a folder can become a file.
        let (gone, rest): (Vec<&Swap>, Vec<&Swap>) = swaps.iter().partition(|swap| !swap.stays);
        for swap in gone.iter().chain(&rest) {
            match exchange.make(swap) {
                Ok(true) => {}
                Ok(false) => return Err(Stop::Waits(edits(&[self.relative(&swap.path)]))),
                Err(error) => {
                    let text = format!("{} cannot be replaced: {error}", self.relative(&swap.path));
                    return Err(Stop::Waits(text));
                }
            }
            if !swap.stays {
                self.remove_empty_folders(&swap.path);
            }
        }
        // What can be checked is checked: the stamps of the files are in the index then.
        self.git.refresh(&next).await?;
        if !self.git.advance(what.branch, what.to, what.from).await? {
            return Err(Stop::Waits(format!("{} has moved just now", short(what.branch))));
        }
        instant::begin();
        std::fs::rename(&lock.next, &lock.index).map_err(Self::failed(&lock.index))?;
        instant::reached("a person's index was replaced");
        Ok(())
    }

    /// Checks that each file is as in the last commit, and puts its new content next to it.
    async fn stage(&self, changes: &[Change], what: &Publication<'_>) -> Result<Vec<Swap>, Stop> {
        let exchange = self.exchange();
        let folder = exchange.folder().to_owned();
        remove(&folder).and_then(|()| std::fs::create_dir_all(&folder)).map_err(Self::failed(&folder))?;
        // Copied first: what is copied is what is looked at, and what must be there at the exchange.
        let mut swaps = Vec::new();
        for (number, change) in changes.iter().enumerate().filter(|(_, change)| !is_link(change)) {
            let (was_there, stays) = (change.old.is_some(), change.new.is_some());
            let swap = Swap { path: self.git.folder().join(&change.path), number, was_there, stays };
            if was_there && std::fs::symlink_metadata(&swap.path).is_ok_and(|found| !found.is_dir()) {
                copy(&swap.path, &exchange.expected(&swap)).map_err(Self::failed(&swap.path))?;
            }
            swaps.push(swap);
        }
        let staged = self.git.staged(changes).await?;
        let hashes = self.hashes(changes).await?;
        let written = self.git.write_out(changes, &folder).await?;
        let is_edited_in_index = |change: &&Change| staged.get(&change.path) != change.old.as_ref();
        let mut edited: Vec<String> =
            changes.iter().filter(is_edited_in_index).map(|change| self.relative(&change.path)).collect();
        for swap in &swaps {
            let Some(change) = changes.get(swap.number) else { continue };
            if let Some(written) = written.get(&change.path) {
                std::fs::rename(written, exchange.waiting(swap)).map_err(Self::failed(written))?;
            }
            let is_ready = self.is_unchanged(change, &hashes)
                || self.merge(swap, change, what).map_err(Self::failed(&swap.path))?;
            if is_ready && (!swap.was_there || is_same(&swap.path, &exchange.expected(swap))) {
                self.finish_new(swap, change).map_err(Self::failed(&swap.path))?;
            } else if staged.get(&change.path) == change.old.as_ref() {
                edited.push(self.relative(&change.path));
            }
        }
        if edited.is_empty() { Ok(swaps) } else { Err(Stop::Waits(edits(&edited))) }
    }

    /// Gives the new file the permissions of the one that is there, and notes what it is.
    fn finish_new(&self, swap: &Swap, change: &Change) -> io::Result<()> {
        let exchange = self.exchange();
        if let (Some(old), Some(new)) = (&change.old, &change.new)
            && old.mode == new.mode
            && new.mode != SYMLINK
        {
            let permissions = std::fs::symlink_metadata(exchange.expected(swap))?.permissions();
            std::fs::set_permissions(exchange.waiting(swap), permissions)?;
        }
        exchange.prepare(swap)
    }

    /// Merges a person's edit of a file with the new version, if that can be done. Returns whether it was.
    fn merge(&self, swap: &Swap, change: &Change, what: &Publication<'_>) -> io::Result<bool> {
        let theirs = self.exchange().expected(swap);
        let is_file = std::fs::symlink_metadata(&theirs).is_ok_and(|found| found.is_file());
        if !is_file || !swap.was_there || !swap.stays {
            return Ok(false);
        }
        let Ok(text) = std::fs::read_to_string(&theirs) else { return Ok(false) };
        let Some(merged) = (what.merged)(&change.path, &text) else { return Ok(false) };
        std::fs::write(self.exchange().waiting(swap), merged)?;
        Ok(true)
    }

    /// The hashes of the files as they are now, as git would store them.
    async fn hashes(&self, changes: &[Change]) -> Result<HashMap<PathBuf, String>, GitError> {
        let mut hashes = HashMap::new();
        let (mut files, mut input) = (Vec::new(), Vec::new());
        for change in changes.iter().filter(|change| change.old.is_some()) {
            let path = self.git.folder().join(&change.path);
            let Ok(found) = std::fs::symlink_metadata(&path) else { continue };
            let name = bytes_of(&change.path);
            if let Some(target) = std::fs::read_link(&path).ok().filter(|_| found.is_symlink()) {
                let args = ["hash-object", "--no-filters", "--stdin"];
                let hash = self.git.run_with(&args, &bytes_of(&target)).await?;
                hashes.insert(change.path.clone(), hash.trim_end().to_owned());
            } else if found.is_file() && !name.contains(&b'\n') && !name.starts_with(b"\"") {
                // A line for each: git has no other way here. A file with such a name counts as edited.
                input.extend_from_slice(&name);
                input.push(b'\n');
                files.push(change.path.clone());
            }
        }
        if !files.is_empty() {
            let text = self.git.run_with(&["hash-object", "--stdin-paths"], &input).await?;
            hashes.extend(files.into_iter().zip(text.lines().map(str::to_owned)));
        }
        Ok(hashes)
    }

    /// Whether a file is as it was in the last commit.
    fn is_unchanged(&self, change: &Change, hashes: &HashMap<PathBuf, String>) -> bool {
        let path = self.git.folder().join(&change.path);
        let Ok(found) = std::fs::symlink_metadata(&path) else {
            return change.old.is_none();
        };
        match &change.old {
            // A folder of files that are removed may give way. If it does not, the exchange says so.
            None => found.is_dir(),
            Some(old) => {
                let is_same_kind = found.is_symlink() == (old.mode == SYMLINK);
                is_same_kind && hashes.get(&change.path) == Some(&old.object)
            }
        }
    }

    /// Removes the folders that a removal has left empty.
    fn remove_empty_folders(&self, path: &Path) {
        for folder in path.ancestors().skip(1).take_while(|folder| *folder != self.git.folder()) {
            if std::fs::remove_dir(folder).is_err() {
                return;
            }
        }
    }

    fn relative(&self, path: &Path) -> String {
        path.strip_prefix(self.git.folder()).unwrap_or(path).display().to_string()
    }
}

/// What is written into a lock, so that after a kill it is known whose it is.
const LOCK_MARK: &[u8] = b"weir loop\n";

/// The name of a branch for people.
pub(crate) fn short(branch: Option<&str>) -> &str {
    branch.map_or("HEAD", |branch| branch.trim_start_matches("refs/heads/"))
}

/// Whether a change is about a commit of another repository, which is not a file.
fn is_link(change: &Change) -> bool {
    [&change.old, &change.new].into_iter().flatten().any(|entry| entry.mode == LINK)
}

fn edits(names: &[String]) -> String {
    let more = names.len().saturating_sub(5);
    let list = names.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("your tree has edits in {list}{more}")
}

impl Git {
    /// Sets or removes entries in another index of the person's repository.
    async fn set_entries_of<'a>(
        &self,
        index: &str,
        entries: impl Iterator<Item = (&'a Path, Option<&'a Entry>)>,
    ) -> Result<(), GitError> {
        self.with_person_index(index).set_entries(entries).await
    }

    /// Notes the stamps of files in another index of the person's repository. Files that differ are left as they are.
    async fn refresh(&self, index: &str) -> Result<(), GitError> {
        self.with_person_index(index).raw(&["update-index", "-q", "--refresh"], b"").await.map(drop)
    }

    /// Writes the new files into a folder, with the person's filters. Returns where each of them is.
    async fn write_out(
        &self,
        changes: &[Change],
        folder: &Path,
    ) -> Result<HashMap<PathBuf, PathBuf>, GitError> {
        let new: Vec<&Change> =
            changes.iter().filter(|change| change.new.as_ref().is_some_and(|new| new.mode != LINK)).collect();
        if new.is_empty() {
            return Ok(HashMap::new());
        }
        let index = folder.join("index").display().to_string();
        let git = self.with_person_index(&index);
        git.set_entries(new.iter().map(|change| (change.path.as_path(), change.new.as_ref()))).await?;
        let prefix = format!("{}/", folder.join("new").display());
        git.run(&["checkout-index", "--all", "--force", "--quiet", &format!("--prefix={prefix}")]).await?;
        let place = |change: &&Change| (change.path.clone(), Path::new(&prefix).join(&change.path));
        Ok(new.iter().map(place).collect())
    }
}
