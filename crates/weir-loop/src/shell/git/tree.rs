//! The files of a place that Weir has laid out: takes snapshots, restores and inspects them.
//!
//! All of this goes through Weir's own index: what a session has told its own git about a file is without effect.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use weir_git::{Change, Entry, LINK, SYMLINK, bytes_of, parse_raw_diff, parse_tree, path_of};

use super::{Git, GitError, remove};
use crate::outcome::Inspection;
use crate::protection::Protection;

/// The result of inspecting the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Looked {
    /// Something has to be restored. This is the current tree, to be saved before that.
    Changed(String),
    /// Nothing is left to restore.
    Work(Inspection),
}

impl Git {
    /// Writes the files as a tree object, with new files and without ignored ones.
    ///
    /// Uses the paths that git lists instead of `git add`, which fails to exclude a path that the repository's own
    /// rules ignore, and which adds an entry for each nested repository.
    pub async fn snapshot(&self) -> Result<String, GitError> {
        self.check_folder()?;
        let listed = ["ls-files", "-z", "--others", "--modified", "--deleted", "--exclude-standard"];
        let paths = self.run_bytes(&listed).await?;
        let mut changed = Vec::new();
        let mut nested = Vec::new();
        let mut gone = Vec::new();
        for path in paths.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
            if path_of(path).starts_with(&self.own) {
                continue;
            }
            match path.strip_suffix(b"/") {
                Some(repository) => nested.push(repository),
                None if self.can_be_taken(path) => changed.push(path),
                None => gone.push(path),
            }
        }
        if !nested.is_empty() {
            let declared = self.submodules().await?;
            changed.extend(
                nested.into_iter().filter(|path| declared.iter().any(|known| known.as_bytes() == *path)),
            );
        }
        if !gone.is_empty() {
            let args = ["update-index", "--force-remove", "-z", "--stdin"];
            self.run_with(&args, &gone.join(&0)).await?;
        }
        if !changed.is_empty() {
            // New paths are listed first, and a new folder would hide the file that it replaces.
            changed.reverse();
            let args = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
            self.run_with(&args, &changed.join(&0)).await?;
        }
        self.line(&["write-tree"]).await
    }

    /// Whether git can take what is at a path: not a pipe or a socket. A file that its owner cannot read is made
    /// readable.
    fn can_be_taken(&self, path: &[u8]) -> bool {
        let path = self.folder().join(path_of(path));
        let Ok(found) = std::fs::symlink_metadata(&path) else { return true };
        #[cfg(unix)]
        if found.is_file() {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = found.permissions().mode();
            if mode & 0o400 == 0 {
                // If this fails, git says why it cannot read the file.
                let _ = std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode | 0o400));
            }
        }
        found.is_file() || found.is_symlink() || found.is_dir()
    }

    /// Checks that a session has not put something else where its folder was.
    fn check_folder(&self) -> Result<(), GitError> {
        let is_folder = std::fs::symlink_metadata(self.folder()).is_ok_and(|found| found.is_dir());
        if is_folder { Ok(()) } else { Err(GitError::Replaced(self.folder().to_owned())) }
    }

    /// Restores the files from a tree object. Files that are not in it are removed, except ignored ones.
    pub async fn restore(&self, tree: &str) -> Result<(), GitError> {
        if self.snapshot().await? != tree {
            self.run(&["read-tree", "--reset", "-u", tree]).await?;
        }
        Ok(())
    }

    /// Makes the folder contain exactly the files of a tree. Everything else is removed, also what git ignores, except
    /// what is `kept`.
    pub async fn lay_out(&self, tree: &str, kept: &[PathBuf]) -> Result<(), GitError> {
        self.check_folder()?;
        let own = |path: PathBuf| move |source| GitError::Own { path, source };
        remove(&self.folder().join(".git")).map_err(own(self.folder().join(".git")))?;
        self.run(&["read-tree", "--reset", "-u", tree]).await?;
        let tracked = self.run_bytes(&["ls-files", "-z"]).await?;
        let tracked: HashSet<PathBuf> =
            tracked.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(path_of).collect();
        let folders = tracked.iter().flat_map(|path| path.ancestors().skip(1)).map(Path::to_owned).collect();
        sweep(self.folder(), Path::new(""), &Wanted { tracked, folders, kept })
            .map_err(own(self.folder().to_owned()))?;
        // A program may have left a folder in the place of a file, or have made one unwritable.
        let left = self.run_bytes(&["ls-files", "-z", "--modified", "--deleted"]).await?;
        if !left.is_empty() {
            self.run(&["read-tree", "--reset", "-u", tree]).await?;
        }
        Ok(())
    }

    /// Restores the files, and first keeps what is there under its own reference in the repository `home`.
    pub async fn restore_keeping(
        &self,
        home: &Self,
        tree: &str,
        head: &str,
        name: &str,
    ) -> Result<bool, GitError> {
        let now = self.snapshot().await?;
        if now == tree {
            return Ok(false);
        }
        let commit = self.commit(&now, &[head], "Work of a session that was cut off\n").await?;
        let reference = home.free_reference(&format!("refs/weir/{name}")).await?;
        home.run(&["update-ref", &reference, &commit]).await?;
        self.run(&["read-tree", "--reset", "-u", tree]).await?;
        Ok(true)
    }

    /// A reference that does not exist yet. A kill during a restore leaves a partial tree, which must not replace the
    /// complete one.
    async fn free_reference(&self, name: &str) -> Result<String, GitError> {
        let mut free = name.to_owned();
        let mut number = 1;
        while self.raw(&["rev-parse", "--verify", "--quiet", &free], b"").await?.is_success() {
            number += 1;
            free = format!("{name}.{number}");
        }
        Ok(free)
    }

    /// The changes since a commit. Restores protected files and the task list, but only if `seen` is the saved tree
    /// from before that.
    pub(crate) async fn inspect(
        &self,
        base: &str,
        protection: &Protection,
        list: &Path,
        seen: Option<&str>,
    ) -> Result<Looked, GitError> {
        let tree = match seen {
            Some(tree) => {
                // A kill may have come when a part was already restored.
                self.restore(tree).await?;
                tree.to_owned()
            }
            None => self.snapshot().await?,
        };
        let mut work = Inspection { tree, ..Inspection::default() };
        if self.drop_new_links(base, &work.tree).await? {
            work.tree = self.snapshot().await?;
        }
        work.nested = self.nested_repositories().await?;
        let mut changed = self.changes(base, &work.tree).await?;
        let mut to_restore: Vec<&Change> = Vec::new();
        for change in &changed {
            let name = || change.path.to_string_lossy().into_owned();
            if change.path.starts_with(list) {
                work.list_restored = true;
                to_restore.push(change);
            } else if protection.covers(&change.path) {
                work.protected.push(name());
                to_restore.push(change);
            } else if protection.is_allowed(&change.path) {
                work.touched.push(name());
            }
        }
        if !to_restore.is_empty() {
            if seen.is_none() {
                return Ok(Looked::Changed(work.tree));
            }
            work.tree = self.put_back(&to_restore).await?;
            self.run(&["read-tree", "--reset", "-u", &work.tree]).await?;
            changed = self.changes(base, &work.tree).await?;
        }
        work.leading_outside = self.links_outside(&changed).await?;
        let (added, removed) = self.lines(base, &work.tree).await?;
        (work.files, work.added, work.removed) = (changed.len() as u64, added, removed);
        Ok(Looked::Work(work))
    }

    /// The new links that lead out of the repository.
    async fn links_outside(&self, changes: &[Change]) -> Result<Vec<String>, GitError> {
        let mut found = Vec::new();
        for change in changes {
            let Some(new) = change.new.as_ref().filter(|new| new.mode == SYMLINK) else { continue };
            let target = path_of(&self.run_bytes(&["cat-file", "blob", &new.object]).await?);
            if leads_outside(&change.path, &target) {
                found.push(change.path.to_string_lossy().into_owned());
            }
        }
        Ok(found)
    }

    /// Puts the old entries of these files back into the index. Returns the tree.
    async fn put_back(&self, changes: &[&Change]) -> Result<String, GitError> {
        let edits = changes.iter().map(|change| (change.path.as_path(), change.old.as_ref()));
        self.set_entries(edits).await?;
        self.line(&["write-tree"]).await
    }

    /// Sets or removes entries of the index.
    pub(super) async fn set_entries<'a>(
        &self,
        entries: impl Iterator<Item = (&'a Path, Option<&'a Entry>)>,
    ) -> Result<(), GitError> {
        let (mut gone, mut there) = (Vec::new(), Vec::new());
        for (path, entry) in entries {
            let input = match entry {
                Some(Entry { mode, object }) => {
                    there.extend_from_slice(format!("{mode} {object}\t").as_bytes());
                    &mut there
                }
                None => &mut gone,
            };
            input.extend_from_slice(&bytes_of(path));
            input.push(0);
        }
        // Removals first: a folder may have replaced a file.
        if !gone.is_empty() {
            self.run_with(&["update-index", "--force-remove", "-z", "--stdin"], &gone).await?;
        }
        if !there.is_empty() {
            self.run_with(&["update-index", "--replace", "-z", "--index-info"], &there).await?;
        }
        Ok(())
    }

    /// A tree with other contents of some files, and with the modes that they had. Makes the trees on the way to them anew, and
    /// looks at nothing else, however large the tree is.
    pub(crate) async fn tree_with(
        &self,
        tree: &str,
        files: &[(PathBuf, String)],
    ) -> Result<String, GitError> {
        let mut tree = tree.to_owned();
        for (path, text) in files {
            let object = self.run_with(&["hash-object", "-w", "--stdin"], text.as_bytes()).await?;
            tree = self.tree_with_object(&tree, path, object.trim_end()).await?;
        }
        Ok(tree)
    }

    /// A tree with another object as a file.
    async fn tree_with_object(&self, tree: &str, path: &Path, object: &str) -> Result<String, GitError> {
        // The trees from the top down to the file, each with what it contains.
        let names: Vec<Vec<u8>> = path.iter().map(|name| bytes_of(Path::new(name))).collect();
        let mut levels: Vec<Vec<TreeLine>> = Vec::new();
        let mut below = Some(tree.to_owned());
        for name in &names {
            let lines = match &below {
                Some(tree) => parse_level(&self.run_bytes(&["ls-tree", "-z", tree]).await?),
                None => Vec::new(),
            };
            let folder = lines.iter().find(|line| line.name == *name && line.mode == FOLDER);
            below = folder.map(|line| line.object.clone());
            levels.push(lines);
        }
        let (mut mode, mut object) = ("100644".to_owned(), object.to_owned());
        for (mut lines, name) in levels.into_iter().zip(names).rev() {
            let known = lines.iter().position(|line| line.name == name);
            if let Some(known) = known.and_then(|place| lines.get(place)).filter(|_| mode != FOLDER) {
                // A file keeps its mode.
                if known.mode != FOLDER && known.mode != LINK {
                    mode.clone_from(&known.mode);
                }
            }
            lines.retain(|line| line.name != name);
            lines.push(TreeLine { mode, object, name });
            let input: Vec<u8> = lines.iter().flat_map(TreeLine::encode).collect();
            object = self.run_with(&["mktree", "-z"], &input).await?.trim_end().to_owned();
            mode = FOLDER.to_owned();
        }
        Ok(object)
    }

    /// The files of a tree, at a path and below it.
    pub(crate) async fn entries_in(
        &self,
        tree: &str,
        path: &Path,
    ) -> Result<Vec<(PathBuf, Entry)>, GitError> {
        let name = path.to_string_lossy();
        let mut args = vec!["ls-tree", "-r", "-z", "--full-tree", tree];
        if !name.is_empty() {
            args.extend(["--", name.as_ref()]);
        }
        let text = self.run_bytes(&args).await?;
        Ok(parse_tree(&text))
    }

    /// Files that differ between two trees or commits.
    pub(crate) async fn changes(&self, base: &str, tree: &str) -> Result<Vec<Change>, GitError> {
        let text = self.run_bytes(&["diff-tree", "-r", "-z", "--raw", "--no-renames", base, tree]).await?;
        Ok(parse_raw_diff(&text))
    }

    /// Numbers of added and removed lines. A binary file has none.
    async fn lines(&self, base: &str, tree: &str) -> Result<(u64, u64), GitError> {
        let args = [
            "diff-tree",
            "-r",
            "-z",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--numstat",
            base,
            tree,
        ];
        let text = self.run(&args).await?;
        let entry = |entry: &str| {
            let mut parts = entry.splitn(3, '\t');
            let (added, removed) = (parts.next()?, parts.next()?);
            parts.next()?;
            Some((added.parse::<u64>().unwrap_or(0), removed.parse::<u64>().unwrap_or(0)))
        };
        let all = text.split('\0').filter_map(entry);
        Ok(all.fold((0, 0), |(added, removed), (more, less)| (added + more, removed + less)))
    }

    /// The difference between two trees, as text.
    pub(crate) async fn diff(&self, base: &str, tree: &str) -> Result<String, GitError> {
        let args = [
            "diff-tree",
            "-p",
            "-r",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            base,
            tree,
        ];
        Ok(String::from_utf8_lossy(&self.run_bytes(&args).await?).into_owned())
    }

    /// The content of a file in a tree.
    pub(crate) async fn file_in(&self, tree: &str, path: &Path) -> Result<Option<Vec<u8>>, GitError> {
        let name = format!("{tree}:{}", path.to_string_lossy());
        let done = self.raw(&["cat-file", "blob", &name], b"").await?;
        Ok(done.is_success().then_some(done.stdout.bytes))
    }

    /// Writes the index anew from a tree, without looking at files, for a place that has none.
    pub async fn forget_index(&self) -> Result<(), GitError> {
        if let Some(private) = &self.private {
            let path = private.index.clone();
            remove(&path).map_err(|source| GitError::Own { path, source })?;
        }
        Ok(())
    }
}

/// The mode of a folder in a tree.
const FOLDER: &str = "040000";

/// An entry of one level of a tree.
#[derive(Debug, PartialEq, Eq)]
struct TreeLine {
    mode: String,
    object: String,
    name: Vec<u8>,
}

impl TreeLine {
    /// As `git mktree -z` reads it.
    fn encode(&self) -> Vec<u8> {
        let kind = match self.mode.as_str() {
            FOLDER => "tree",
            LINK => "commit",
            _ => "blob",
        };
        let mut line = format!("{} {kind} {}\t", self.mode, self.object).into_bytes();
        line.extend_from_slice(&self.name);
        line.push(0);
        line
    }
}

/// What `git ls-tree -z` prints.
fn parse_level(text: &[u8]) -> Vec<TreeLine> {
    let line = |line: &[u8]| {
        let (head, name) = line.split_at(line.iter().position(|byte| *byte == b'\t')?);
        let mut head = std::str::from_utf8(head).ok()?.split(' ');
        let (mode, object) = (head.next()?.to_owned(), head.nth(1)?.to_owned());
        Some(TreeLine { mode, object, name: name.get(1..)?.to_vec() })
    };
    text.split(|byte| *byte == 0).filter_map(line).collect()
}

/// Whether the target of a link is outside of the repository, or in its git folder.
fn leads_outside(link: &Path, target: &Path) -> bool {
    let mut depth = link.components().count().saturating_sub(1);
    for part in target.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::Normal(name) if name != ".git" => depth += 1,
            _ => return true,
        }
    }
    false
}

/// What stays in a place.
struct Wanted<'a> {
    tracked: HashSet<PathBuf>,
    folders: HashSet<PathBuf>,
    kept: &'a [PathBuf],
}

/// Removes everything from a folder that is not wanted there. Looks at names, not at what git knows of them: a planted
/// `.git` in a folder of the project is never listed by git.
fn sweep(top: &Path, folder: &Path, wanted: &Wanted<'_>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(top.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if wanted.kept.iter().any(|kept| path.starts_with(kept)) {
            continue;
        }
        let is_folder = entry.file_type()?.is_dir();
        let leads_on =
            wanted.folders.contains(&path) || wanted.kept.iter().any(|kept| kept.starts_with(&path));
        // A tracked folder is the empty one of a submodule.
        if is_folder && (leads_on || wanted.tracked.contains(&path)) {
            sweep(top, &path, wanted)?;
        } else if is_folder || !wanted.tracked.contains(&path) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_of_a_tree_is_written_as_it_was_read() {
        let text =
            b"100644 blob aa\tTASKS.md\x00040000 tree bb\tsrc\x00160000 commit cc\tlib\x00120000 blob dd\ta b\tc\0";
        let lines = parse_level(text);
        assert_eq!(
            lines.iter().map(|line| line.name.as_slice()).collect::<Vec<_>>(),
            [b"TASKS.md".as_slice(), b"src", b"lib", b"a b\tc"]
        );
        let written: Vec<u8> = lines.iter().flat_map(TreeLine::encode).collect();
        assert_eq!(written, text);
    }
}
