//! Where a repository's own files really are. A session can write them: a link instead of a folder, or a line in the list
//! of other object folders, makes git read and write anywhere.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::entry::path_of;
use crate::error::GitError;
use crate::repository::Repository;

/// Git's own limit for object folders that name others.
const MAX_ALTERNATES: usize = 6;
/// More links than this are not looked at: no repository has this many.
const MAX_LINKS: usize = 1000;

impl Repository {
    /// The places outside of its own folders that git reads or writes for this repository, with links resolved. Blocks.
    ///
    /// # Errors
    /// If a file cannot be read, or a link leads nowhere: git would create what it names.
    pub fn reach(&self) -> Result<BTreeSet<PathBuf>, GitError> {
        let mut reached = Reached::default();
        for folder in [self.git_folder(), self.common_folder()] {
            reached.links_in(folder, 1)?;
            for name in ["logs", "refs", "info", "worktrees"] {
                reached.links_in(&folder.join(name), 64)?;
            }
            let objects = folder.join("objects");
            reached.links_in(&objects, 2)?;
            reached.alternates(&objects, MAX_ALTERNATES)?;
        }
        Ok(reached.places)
    }
}

#[derive(Default)]
struct Reached {
    places: BTreeSet<PathBuf>,
}

impl Reached {
    /// Adds what the links in a folder lead to. What is behind a link is not looked at: it is refused, or is where the
    /// caller allows everything.
    fn links_in(&mut self, folder: &Path, depth: usize) -> Result<(), GitError> {
        let failed = |source| GitError::File { path: folder.to_owned(), source };
        let entries = match fs::read_dir(folder) {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(());
            }
            entries => entries.map_err(failed)?,
        };
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_symlink() {
                self.add(&entry.path())?;
            } else if kind.is_dir() && depth > 1 {
                self.links_in(&entry.path(), depth - 1)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, path: &Path) -> Result<(), GitError> {
        let place = path.canonicalize().map_err(|source| GitError::File { path: path.to_owned(), source })?;
        self.places.insert(place);
        if self.places.len() > MAX_LINKS {
            let source = io::Error::other(format!("the repository has more than {MAX_LINKS} links"));
            return Err(GitError::File { path: path.to_owned(), source });
        }
        Ok(())
    }

    /// Adds the object folders that an object folder names, and those that they name.
    fn alternates(&mut self, objects: &Path, depth: usize) -> Result<(), GitError> {
        let list = objects.join("info/alternates");
        let text = match fs::read(&list) {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(());
            }
            text => text.map_err(|source| GitError::File { path: list.clone(), source })?,
        };
        for line in
            text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && !line.starts_with(b"#"))
        {
            if line.starts_with(b"\"") {
                // Written in a form that git reads differently.
                let source = io::Error::other("a name in quotation marks is not supported here");
                return Err(GitError::File { path: list, source });
            }
            let other = objects.join(path_of(line));
            // Git passes over one that does not exist.
            let Ok(place) = other.canonicalize() else { continue };
            if self.places.insert(place.clone()) && depth > 1 {
                self.links_in(&place, 2)?;
                self.alternates(&place, depth - 1)?;
            }
        }
        Ok(())
    }
}
