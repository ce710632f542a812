//! Finds what differs from a base.

use std::path::Path;

use super::list::{self, FileChange};
use super::patch::{self, Patch};
use crate::entry::bytes_of;
use crate::error::GitError;
use crate::name::RevisionName;
use crate::repository::{Commit, Repository};

/// What the files are compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    /// The commit that is checked out: what is not committed.
    Head,
    /// Where the history of this revision and of `HEAD` part: what the branch has done.
    MergeBase(RevisionName),
    /// A revision itself.
    Revision(RevisionName),
}

/// Everything that differs from a base, at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// The commit of the base; none if there is no commit yet, and everything is new.
    pub base: Option<Commit>,
    /// The tree of the files as they are.
    pub now: String,
    /// The files, by path.
    pub files: Vec<FileChange>,
}

/// The tree without files, which every git knows.
const EMPTY_SHA1: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const EMPTY_SHA256: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";

/// Nothing of the person's configuration decides what a difference is, and no program of the repository makes one.
const DIFF: [&str; 12] = [
    "diff-tree",
    "-r",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--full-index",
    "--find-renames",
    "-l1000",
    "--diff-algorithm=histogram",
    "--ignore-submodules=dirty",
    "--submodule=short",
    "--no-relative",
];

impl Repository {
    /// Everything that this worktree has and the base has not, new files included and ignored ones not.
    ///
    /// # Errors
    /// If the base does not exist, or git fails.
    pub async fn changes(&self, base: &Base) -> Result<Changes, GitError> {
        let base = self.base(base).await?;
        let now = self.tree_now().await?;
        let mut args = DIFF.to_vec();
        args.extend(["-z", "--raw", "--numstat", self.or_nothing(base.as_ref(), &now), &now]);
        let files = list::parse(&self.bytes(&args).await?);
        Ok(Changes { base, now, files })
    }

    /// The patches of all files, in the order of the files. A file without one, such as a binary one, has an empty patch.
    ///
    /// # Errors
    /// If git fails.
    pub async fn patches(&self, changes: &Changes) -> Result<Vec<Patch>, GitError> {
        self.patches_of(changes, &changes.files).await
    }

    /// The patch of one file.
    ///
    /// # Errors
    /// If git fails.
    pub async fn patch(&self, changes: &Changes, file: &FileChange) -> Result<Patch, GitError> {
        let patches = self.patches_of(changes, std::slice::from_ref(file)).await?;
        Ok(patches.into_iter().next().unwrap_or_default())
    }

    async fn patches_of(&self, changes: &Changes, files: &[FileChange]) -> Result<Vec<Patch>, GitError> {
        let mut args = DIFF.to_vec();
        args.extend(["--patch", "--unified=3", "--src-prefix=a/", "--dst-prefix=b/"]);
        args.extend([self.or_nothing(changes.base.as_ref(), &changes.now), &changes.now]);
        let names: Vec<String>;
        if let [file] = files {
            let paths = [Some(&file.path), file.old_path.as_ref()];
            names = paths.into_iter().flatten().map(|path| text_of(path)).collect::<Result<_, _>>()?;
            args.push("--");
            args.extend(names.iter().map(String::as_str));
        }
        let done = self.raw(&args, b"").await?;
        if !done.is_success() || done.stdout.dropped > 0 {
            return Err(crate::error::failure(self.top(), &args, &done));
        }
        let mut sections = patch::parse(&done.stdout.bytes).into_iter();
        let mut patches = Vec::new();
        for file in files {
            let mut patch = sections.next().unwrap_or_default();
            for _ in 1..file.sections() {
                // Removed and added again: shown as one, and never reverted in parts.
                patch.hunks.extend(sections.next().unwrap_or_default().hunks);
            }
            patches.push(patch);
        }
        Ok(patches)
    }

    async fn base(&self, base: &Base) -> Result<Option<Commit>, GitError> {
        let found = |name: &RevisionName| {
            let name = name.clone();
            async move { self.resolve(&name).await?.ok_or_else(|| GitError::NoRevision(name.to_string())) }
        };
        match base {
            Base::Head => self.head().await,
            Base::Revision(name) => found(name).await.map(Some),
            Base::MergeBase(name) => {
                let other = found(name).await?;
                match self.head().await? {
                    // Without a common history everything differs.
                    Some(head) => Ok(Some(self.merge_base(&head, &other).await?.unwrap_or(other))),
                    None => Ok(Some(other)),
                }
            }
        }
    }

    fn or_nothing<'a>(&self, base: Option<&'a Commit>, now: &str) -> &'a str {
        match base {
            Some(base) => base.as_str(),
            None if now.len() == EMPTY_SHA1.len() => EMPTY_SHA1,
            None => EMPTY_SHA256,
        }
    }
}

/// A path as an argument of git.
pub(super) fn text_of(path: &Path) -> Result<String, GitError> {
    String::from_utf8(bytes_of(path)).map_err(|_| GitError::File {
        path: path.to_owned(),
        source: std::io::Error::other("its name is not UTF-8, so it can only be changed with git itself"),
    })
}
