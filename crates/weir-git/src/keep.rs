//! Keeps the files of a worktree under a reference of Weir's own, so that what is removed or reverted can be had back.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::entry::{bytes_of, path_of};
use crate::error::{GitError, failure};
use crate::repository::{Commit, Repository};

/// Where Weir's references are.
const KEPT: &str = "refs/weir/kept/";

/// Who has made the commits that only keep something.
const KEEPER: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "Weir"),
    ("GIT_AUTHOR_EMAIL", "weir@localhost"),
    ("GIT_COMMITTER_NAME", "Weir"),
    ("GIT_COMMITTER_EMAIL", "weir@localhost"),
];

/// An index of Weir's own, removed on drop.
struct ScratchIndex(PathBuf);

impl Drop for ScratchIndex {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Repository {
    /// The tree of the files as they are, new ones included and ignored ones not. Neither the branch nor the index of the
    /// worktree changes.
    ///
    /// # Errors
    /// If git cannot read a file or write an object.
    pub async fn tree_now(&self) -> Result<String, GitError> {
        let scratch = self.scratch_index()?;
        self.clear_flags(&scratch).await?;
        let listed = ["ls-files", "-z", "--others", "--modified", "--deleted", "--exclude-standard"];
        let found = self.with_index(&scratch, &listed, b"").await?;
        let mut changed: Vec<&[u8]> = parts(&found).filter(|path| self.can_be_taken(path)).collect();
        if !changed.is_empty() {
            // New paths are listed first, and a new folder would hide the file that it replaces.
            changed.reverse();
            let args = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
            self.with_index(&scratch, &args, &changed.join(&0)).await?;
        }
        let tree = self.with_index(&scratch, &["write-tree"], b"").await?;
        Ok(String::from_utf8_lossy(&tree).trim_end().to_owned())
    }

    /// The repositories inside this worktree that are not submodules. They belong to no snapshot.
    ///
    /// # Errors
    /// If git fails.
    pub async fn nested_repositories(&self) -> Result<Vec<String>, GitError> {
        let found = self.bytes(&["ls-files", "-z", "--others", "--exclude-standard"]).await?;
        let nested = parts(&found).filter_map(|path| path.strip_suffix(b"/"));
        Ok(nested.map(|path| path_of(path).to_string_lossy().into_owned()).collect())
    }

    /// An index can say of a file that it is not to be looked at. A session can set that, so it does not count here, but
    /// for files of a sparse checkout that are not there.
    async fn clear_flags(&self, index: &ScratchIndex) -> Result<(), GitError> {
        let listed = self.with_index(index, &["ls-files", "-v", "-z"], b"").await?;
        let (mut unwatched, mut skipped) = (Vec::new(), Vec::new());
        for entry in parts(&listed) {
            let [tag, b' ', path @ ..] = entry else { continue };
            if tag.is_ascii_lowercase() {
                unwatched.push(path);
            }
            if tag.eq_ignore_ascii_case(&b'S') && self.top().join(path_of(path)).symlink_metadata().is_ok() {
                skipped.push(path);
            }
        }
        for (flag, paths) in [("--no-assume-unchanged", unwatched), ("--no-skip-worktree", skipped)] {
            if !paths.is_empty() {
                self.with_index(index, &["update-index", flag, "-z", "--stdin"], &paths.join(&0)).await?;
            }
        }
        Ok(())
    }

    /// Whether a listed path is one that git can take: not a repository inside this one, a pipe or a socket.
    fn can_be_taken(&self, path: &[u8]) -> bool {
        if path.ends_with(b"/") {
            return false;
        }
        let found = self.top().join(path_of(path)).symlink_metadata();
        found.map_or(true, |found| found.is_file() || found.is_symlink() || found.is_dir())
    }

    async fn with_index(
        &self,
        index: &ScratchIndex,
        args: &[&str],
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        let mut command = self.command(args, input);
        command.environment = command.environment.set("GIT_INDEX_FILE", &index.0);
        let done = command.run().await?;
        if done.is_success() { Ok(done.stdout.bytes) } else { Err(failure(self.top(), args, &done)) }
    }

    /// The files as they are, as a commit on top of `HEAD` that is on no branch.
    ///
    /// # Errors
    /// If git cannot read a file or write an object.
    pub async fn snapshot(&self, message: &str) -> Result<Commit, GitError> {
        let head = self.head().await?;
        let tree = self.tree_now().await?;
        let mut args = vec!["commit-tree", &tree, "-F", "-"];
        if let Some(head) = &head {
            args.extend(["-p", head.as_str()]);
        }
        let mut command = self.command(&args, message.as_bytes());
        command.environment =
            KEEPER.iter().fold(command.environment, |all, (name, value)| all.set(*name, *value));
        let done = command.run().await?;
        Commit::printed(&done.stdout.text())
            .filter(|_| done.is_success())
            .ok_or_else(|| failure(self.top(), &args, &done))
    }

    /// Keeps the files as they are under a new reference, whose name is returned. `purpose` is a word of Weir's own.
    ///
    /// # Errors
    /// If git cannot read a file or write an object.
    pub async fn keep(&self, purpose: &'static str, message: &str) -> Result<String, GitError> {
        let commit = self.snapshot(message).await?;
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut number = 0_u32;
        loop {
            let name = match number {
                0 => format!("{KEPT}{purpose}-{seconds}"),
                number => format!("{KEPT}{purpose}-{seconds}.{number}"),
            };
            // Forty zeros or none: it must not exist.
            let args = ["update-ref", "-m", "weir", &name, commit.as_str(), ""];
            let done = self.raw(&args, b"").await?;
            if done.is_success() {
                return Ok(name);
            }
            number += 1;
            if number > 100 {
                return Err(failure(self.top(), &args, &done));
            }
        }
    }

    /// Those of the files that exist and that a snapshot would not have: ignored ones, those of repositories inside this
    /// one, and those outside the worktree.
    ///
    /// # Errors
    /// If git cannot read a file or write an object.
    pub async fn missing_in_snapshot(&self, files: &[PathBuf]) -> Result<Vec<PathBuf>, GitError> {
        let tree = self.tree_now().await?;
        let listed = self.bytes(&["ls-tree", "-r", "-z", "--name-only", "--full-tree", &tree]).await?;
        let known: HashSet<&[u8]> = parts(&listed).collect();
        let is_known = |file: &Path| {
            // The same file may be named through a link.
            let folder = file.parent().and_then(|parent| parent.canonicalize().ok());
            let path = folder.zip(file.file_name()).map(|(folder, name)| folder.join(name));
            let inside = path.as_deref().and_then(|path| path.strip_prefix(self.top()).ok());
            inside.is_some_and(|inside| known.contains(bytes_of(inside).as_slice()))
        };
        let exists = |file: &&PathBuf| file.symlink_metadata().is_ok();
        Ok(files.iter().filter(exists).filter(|file| !is_known(file)).cloned().collect())
    }

    /// A copy of the worktree's index, so that unchanged files are not read again.
    fn scratch_index(&self) -> Result<ScratchIndex, GitError> {
        let mark = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let path = self.git_folder().join(format!("weir-index-{}-{mark}", std::process::id()));
        let index = self.git_folder().join("index");
        let scratch = ScratchIndex(path);
        match copy_with_time(&index, &scratch.0) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(GitError::File { path: index, source })
            }
            // Before the first `git add` there is none.
            _ => Ok(scratch),
        }
    }
}

/// The parts of a list that ends with a zero byte.
fn parts(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|byte| *byte == 0).filter(|part| !part.is_empty())
}

/// Copies an index. Its own time says which files git must read again: those that are not older.
fn copy_with_time(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::copy(from, to)?;
    let time = std::fs::metadata(from)?.modified()?;
    std::fs::File::options().write(true).open(to)?.set_modified(time)
}
