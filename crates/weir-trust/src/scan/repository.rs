//! The repository that a folder is in: what git itself would run there.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use sha2::Digest as _;

use super::{Scan, ScanError};
use crate::files::{entries, file_name, path, read_up_to, regular};
use crate::finding::FindingKind;
use crate::settings::finding;

/// The largest git index that is read.
const MAX_INDEX: u64 = 256 << 20;

impl Scan<'_> {
    /// Adds the configuration and the hooks of the repository that the folder is in.
    pub(super) fn git(&mut self, folder: &Path) -> Result<(), ScanError> {
        for top in folder.ancestors() {
            // A folder can be a repository without containing a `.git`.
            for directory in [top.join(".git"), top.to_owned()] {
                let directory = self.follow_git_file(&directory, top)?;
                if std::fs::symlink_metadata(directory.join("HEAD")).is_err() {
                    continue;
                }
                self.repository(&directory, top)?;
                // Git looks further up if it does not consider this a repository.
                if self.detect_repository(&directory)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Follows `.git` if it is a file, as in a worktree.
    fn follow_git_file(&mut self, directory: &Path, top: &Path) -> Result<PathBuf, ScanError> {
        let place = self.content(directory)?;
        let place = place.as_deref().and_then(|text| text.trim_ascii().strip_prefix(b"gitdir:"));
        Ok(place.map_or_else(|| directory.to_owned(), |place| top.join(path(place.trim_ascii()))))
    }

    /// The directory that the worktrees of a repository share.
    fn common(&mut self, directory: &Path) -> Result<PathBuf, ScanError> {
        let common = self.content(&directory.join("commondir"))?;
        Ok(common.map_or_else(|| directory.to_owned(), |text| directory.join(path(text.trim_ascii()))))
    }

    /// Whether git certainly considers this a repository and looks no further.
    fn detect_repository(&mut self, directory: &Path) -> Result<bool, ScanError> {
        let common = self.common(directory)?;
        let head = self.content(&directory.join("HEAD"))?.unwrap_or_default();
        let head = head.trim_ascii();
        let is_head =
            head.starts_with(b"ref: refs/") || head.len() == 40 && head.iter().all(u8::is_ascii_hexdigit);
        // With a dot, because a folder that cannot be entered does not count.
        Ok(is_head && ["objects/.", "refs/."].iter().all(|folder| common.join(folder).is_dir()))
    }

    /// Adds a repository and its submodules, into which git also looks.
    fn repository(&mut self, directory: &Path, top: &Path) -> Result<(), ScanError> {
        let mut seen = HashSet::new();
        let mut waiting = vec![(directory.to_owned(), top.to_owned())];
        while let Some((directory, top)) = waiting.pop() {
            if !seen.insert(directory.canonicalize().unwrap_or_else(|_| directory.clone())) {
                continue;
            }
            self.programs(&directory, &top)?;
            let index = directory.join("index");
            // The index grows with the repository, so it does not count towards the limits.
            let Some((file, _)) = regular(&index)? else { continue };
            let content = read_up_to(file, MAX_INDEX, &index)?;
            let Some(submodules) = crate::git_index::submodules(&content) else {
                self.git_program(FindingKind::Git, &index, "an index in an unknown format");
                continue;
            };
            for submodule in submodules.iter().map(|below| top.join(path(below))) {
                let directory = self.follow_git_file(&submodule.join(".git"), &submodule)?;
                if std::fs::symlink_metadata(&directory).is_ok() {
                    waiting.push((directory, submodule));
                }
            }
        }
        Ok(())
    }

    fn git_program(&mut self, kind: FindingKind, file: &Path, what: &str) {
        self.hash.update(what.as_bytes());
        self.hash.update([0]);
        let file = self.name(file);
        self.found.push(finding(kind, &file, what));
    }

    /// Adds what the configuration and the hooks of one repository make git run.
    fn programs(&mut self, directory: &Path, top: &Path) -> Result<(), ScanError> {
        let common = self.common(directory)?;
        let mut found = Vec::new();
        for file in [common.join("config"), directory.join("config.worktree")] {
            match self.content(&file)? {
                Some(text) => found.extend(crate::git::configuration(&self.name(&file), &text)),
                None if file.exists() => {
                    found.push(finding(FindingKind::Git, &self.name(&file), "not a regular file"));
                }
                None => {}
            }
        }
        // A submodule's configuration names its working tree, which is where it was found.
        let here = |place: &str| directory.join(place).canonicalize().ok() == top.canonicalize().ok();
        found.retain(|found| !found.what.strip_prefix("core.worktree: ").is_some_and(here));
        for hook in entries(&common.join("hooks"))? {
            let name = file_name(&hook);
            if !name.ends_with(".sample") && hook.is_file() {
                found.push(finding(FindingKind::GitHook, &self.name(&hook), &name));
            }
        }
        for program in &found {
            self.hash.update(program.what.as_bytes());
            self.hash.update([0]);
        }
        self.found.extend(found);
        Ok(())
    }
}
