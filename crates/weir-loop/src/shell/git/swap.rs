//! Replaces files in a person's tree without ever losing what the person saves meanwhile.
//!
//! A new file is exchanged with the one that is there in one step, and only then it is checked whether the one that was
//! there is the one that was expected. If a person has saved it in the last instant, the two are exchanged back. What
//! was taken out is kept until everything is done, so each step can also be undone after a kill.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::remove;
use crate::instant;

/// One file that is replaced, created or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Swap {
    /// The file in the person's tree.
    pub(super) path: PathBuf,
    /// Number of its files in the folder of the exchange.
    pub(super) number: usize,
    /// Whether it was there before.
    pub(super) was_there: bool,
    /// Whether it is there afterwards.
    pub(super) stays: bool,
}

/// The folder in which files wait, and are kept until all is done.
#[derive(Debug, Clone)]
pub(super) struct Exchange {
    folder: PathBuf,
}

impl Exchange {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn manifest(&self) -> PathBuf {
        self.folder.join("manifest.json")
    }

    /// The new file, which waits here. After the exchange: the file that was there before.
    pub(super) fn waiting(&self, swap: &Swap) -> PathBuf {
        self.folder.join(format!("{}.waiting", swap.number))
    }

    /// A copy of the new file.
    fn wanted(&self, swap: &Swap) -> PathBuf {
        self.folder.join(format!("{}.wanted", swap.number))
    }

    /// A copy of the file that is expected to be there.
    pub(super) fn expected(&self, swap: &Swap) -> PathBuf {
        self.folder.join(format!("{}.expected", swap.number))
    }

    /// Copies the new file, so that it can be recognised later.
    pub(super) fn prepare(&self, swap: &Swap) -> io::Result<()> {
        if swap.stays { copy(&self.waiting(swap), &self.wanted(swap)) } else { Ok(()) }
    }

    /// Replaces, creates or removes a file. Returns whether that was possible: otherwise the file was saved by a person
    /// just now, and is as they saved it.
    pub(super) fn make(&self, swap: &Swap) -> io::Result<bool> {
        instant::begin();
        let waiting = self.waiting(swap);
        let done = match (swap.was_there, swap.stays) {
            (false, false) => true,
            (false, true) => {
                if let Some(parent) = swap.path.parent() {
                    std::fs::create_dir_all(parent)?;
                }
                let is_made = put(&waiting, &swap.path)?;
                if is_made {
                    remove(&waiting)?;
                }
                is_made
            }
            (true, true) => {
                exchange(&waiting, &swap.path)?;
                self.is_expected(swap) || {
                    exchange(&waiting, &swap.path)?;
                    false
                }
            }
            (true, false) => match std::fs::rename(&swap.path, &waiting) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => false,
                Err(error) => return Err(error),
                Ok(()) if self.is_expected(swap) => true,
                Ok(()) => {
                    if put(&waiting, &swap.path)? {
                        remove(&waiting)?;
                    }
                    false
                }
            },
        };
        instant::reached("a file of the person's tree was replaced");
        Ok(done)
    }

    fn is_expected(&self, swap: &Swap) -> bool {
        is_same(&self.waiting(swap), &self.expected(swap))
    }

    /// Undoes what was done with a file, if it was done. What a person has saved meanwhile stays where it is; and if
    /// both are theirs, the older one goes to `kept`.
    pub(super) fn undo(&self, swap: &Swap, kept: &Path) -> io::Result<()> {
        instant::begin();
        let (waiting, wanted) = (self.waiting(swap), self.wanted(swap));
        match (swap.was_there, swap.stays) {
            (false, true) if is_same(&swap.path, &wanted) => {
                // Both may be the same file, and then a rename would do nothing.
                remove(&waiting)?;
                std::fs::rename(&swap.path, &waiting)?;
                if !is_same(&waiting, &wanted) {
                    put(&waiting, &swap.path)?;
                }
            }
            (true, true) if waiting.symlink_metadata().is_ok() && !is_same(&waiting, &wanted) => {
                if is_same(&swap.path, &wanted) {
                    exchange(&waiting, &swap.path)?;
                    if !is_same(&waiting, &wanted) {
                        // Saved in this instant: the person's last word stays.
                        exchange(&waiting, &swap.path)?;
                        self.keep(swap, kept)?;
                    }
                } else if !self.is_expected(swap) {
                    self.keep(swap, kept)?;
                }
            }
            (true, false) if waiting.symlink_metadata().is_ok() => {
                if let Some(parent) = swap.path.parent() {
                    std::fs::create_dir_all(parent)?;
                }
                if !put(&waiting, &swap.path)? && !self.is_expected(swap) {
                    self.keep(swap, kept)?;
                }
            }
            _ => {}
        }
        instant::reached("a file of the person's tree was put back");
        Ok(())
    }

    fn keep(&self, swap: &Swap, kept: &Path) -> io::Result<()> {
        std::fs::create_dir_all(kept)?;
        let name = swap.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut number = 1;
        let mut free = kept.join(&name);
        while free.symlink_metadata().is_ok() {
            number += 1;
            free = kept.join(format!("{name}.{number}"));
        }
        copy(&self.waiting(swap), &free)
    }

    /// Removes the folder: everything is done or undone.
    pub(super) fn clear(&self) -> io::Result<()> {
        // The manifest first: without it there is nothing to undo.
        remove(&self.manifest())?;
        remove(&self.folder)
    }
}

/// Replaces the text of one file, if it has the expected one. Returns whether it had.
pub(crate) fn replace_expected(path: &Path, expected: &[u8], new: &[u8]) -> io::Result<bool> {
    // A link stays a link.
    let path = path.canonicalize()?;
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".weir");
    let waiting = path.with_file_name(name);
    instant::begin();
    std::fs::write(&waiting, new)?;
    std::fs::set_permissions(&waiting, std::fs::metadata(&path)?.permissions())?;
    exchange(&waiting, &path)?;
    let is_expected = std::fs::read(&waiting)? == expected;
    if !is_expected {
        exchange(&waiting, &path)?;
    }
    std::fs::remove_file(&waiting)?;
    instant::reached("a task list was replaced");
    Ok(is_expected)
}

/// Puts a file at a path, unless there is something. The file also stays where it was.
fn put(from: &Path, to: &Path) -> io::Result<bool> {
    match std::fs::hard_link(from, to) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Exchanges two files in one step.
#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

/// Exchanges two files. In between, the second one is not there.
#[cfg(not(target_os = "linux"))]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    let aside = one.with_extension("aside");
    std::fs::rename(other, &aside)?;
    if !put(one, other)? {
        // Saved just now: that is what the caller finds in `one`, and puts back.
        std::fs::rename(other, one)?;
        std::fs::rename(&aside, other)?;
        return std::fs::rename(one, &aside);
    }
    std::fs::remove_file(one)?;
    std::fs::rename(&aside, one)
}

/// Copies a file or a link.
pub(super) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if std::fs::symlink_metadata(from)?.is_symlink() {
        return std::os::unix::fs::symlink(std::fs::read_link(from)?, to);
    }
    std::fs::copy(from, to).map(drop)
}

/// Whether two files, or two links, have the same content.
pub(super) fn is_same(one: &Path, other: &Path) -> bool {
    let (Ok(first), Ok(second)) = (std::fs::symlink_metadata(one), std::fs::symlink_metadata(other)) else {
        return false;
    };
    if first.is_symlink() && second.is_symlink() {
        return std::fs::read_link(one).ok() == std::fs::read_link(other).ok();
    }
    first.is_file()
        && second.is_file()
        && first.len() == second.len()
        && matches!((std::fs::read(one), std::fs::read(other)), (Ok(one), Ok(other)) if one == other)
}
