//! Adds and removes worktrees, also if a kill has left an incomplete one.

use std::path::{Path, PathBuf};

use super::{Git, GitError};
use crate::instant;

impl Git {
    /// Whether the folder is a worktree with a commit. In an incomplete one, git would find the surrounding repository
    /// and work there.
    pub async fn is_worktree(&self) -> Result<bool, GitError> {
        if !self.folder().join(".git").exists() {
            return Ok(false);
        }
        let done = self.raw(&["rev-parse", "--show-toplevel", "--verify", "HEAD^{commit}"], b"").await?;
        let text = done.stdout.text();
        let top = text.lines().next().map(Path::new).and_then(|top| top.canonicalize().ok());
        Ok(done.is_success() && top.is_some() && top == self.folder().canonicalize().ok())
    }

    /// Adds a worktree on its own branch at a commit. An existing folder is removed.
    pub async fn add_worktree(&self, folder: &Path, branch: &str, commit: &str) -> Result<(), GitError> {
        let _guard = self.worktrees.lock().await;
        self.remove(folder).await?;
        let path = folder.to_string_lossy();
        let args = ["worktree", "add", "--quiet", "--force", "-B", branch, &path, commit];
        self.run(&args).await.map(drop)
    }

    /// Removes a worktree, and its branch if one is given.
    pub async fn remove_worktree(&self, folder: &Path, branch: Option<&str>) -> Result<(), GitError> {
        let _guard = self.worktrees.lock().await;
        self.remove(folder).await?;
        if let Some(branch) = branch {
            let reference = format!("refs/heads/{branch}");
            self.run(&["update-ref", "-d", &reference]).await?;
        }
        Ok(())
    }

    async fn remove(&self, folder: &Path) -> Result<(), GitError> {
        if folder.exists() {
            instant::begin();
            // By hand: git refuses to remove a worktree that is already incomplete.
            std::fs::remove_dir_all(folder).map_err(|error| self.not_removed(folder, &error))?;
            instant::reached("a worktree was removed");
        }
        // By hand as well: git refuses to unlock or list any worktree while one is incomplete, and a kill leaves that
        // one locked, so it would also keep its branch forever.
        for record in self.worktree_records().await?.iter().filter(|record| record.is_for(folder)) {
            instant::begin();
            std::fs::remove_dir_all(&record.path).map_err(|error| self.not_removed(&record.path, &error))?;
            instant::reached("a worktree was forgotten");
        }
        self.run(&["worktree", "prune"]).await.map(drop)
    }

    fn not_removed(&self, path: &Path, error: &std::io::Error) -> GitError {
        GitError::Failed {
            command: "worktree remove".to_owned(),
            folder: self.folder().to_owned(),
            message: format!("{}: {error}", path.display()),
        }
    }

    /// The folders of the repository's worktrees, without the main one. Read from git's files, because `git worktree
    /// list` fails while another git is adding one, or after it was killed while adding one.
    pub(super) async fn worktree_folders(&self) -> Result<Vec<PathBuf>, GitError> {
        let records = self.worktree_records().await?;
        Ok(records.into_iter().filter_map(|record| record.folder).collect())
    }

    async fn worktree_records(&self) -> Result<Vec<WorktreeRecord>, GitError> {
        let common = self.line(&["rev-parse", "--git-common-dir"]).await?;
        let records = self.folder().join(common).join("worktrees");
        let Ok(entries) = std::fs::read_dir(records) else { return Ok(Vec::new()) };
        let paths = entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.is_dir());
        Ok(paths.map(WorktreeRecord::read).collect())
    }
}

/// Git's record of a worktree, in the repository's `worktrees` folder.
struct WorktreeRecord {
    path: PathBuf,
    /// Where the worktree is. `None` if git was killed before it wrote that.
    folder: Option<PathBuf>,
}

impl WorktreeRecord {
    fn read(path: PathBuf) -> Self {
        let link = std::fs::read_to_string(path.join("gitdir")).unwrap_or_default();
        // A relative path is relative to the record.
        let link = path.join(link.trim_end_matches('\n'));
        let folder = (link.file_name() == Some(".git".as_ref())).then(|| link.parent().map(Path::to_owned));
        Self { folder: folder.flatten(), path }
    }

    /// Whether this is the record of a worktree in this folder. An incomplete record has only its name, which is the
    /// name of the folder, with a number if that was taken.
    fn is_for(&self, folder: &Path) -> bool {
        let Some(own) = &self.folder else {
            let names = (
                self.path.file_name().and_then(|name| name.to_str()),
                folder.file_name().and_then(|name| name.to_str()),
            );
            return matches!(names, (Some(record), Some(folder)) if record.strip_prefix(folder).is_some_and(is_number));
        };
        without_links(own) == without_links(folder)
    }
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A path without symbolic links, also if its last component does not exist.
fn without_links(folder: &Path) -> PathBuf {
    let parent = folder.parent().and_then(|parent| parent.canonicalize().ok());
    match (parent, folder.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => folder.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use weir_testkit::begin_repository;

    use super::*;

    struct Repository(tempfile::TempDir);

    impl Repository {
        fn new() -> Self {
            let repository = Self(tempfile::tempdir().unwrap());
            begin_repository(repository.0.path());
            repository
        }

        fn git(&self) -> Git {
            Git::new(self.0.path(), self.0.path().join(".ralph"), Path::new(".ralph"))
        }

        fn record(&self, name: &str) -> PathBuf {
            self.0.path().join(".git/worktrees").join(name)
        }
    }

    /// A killed `git worktree add` leaves a locked record in which any file may be empty or missing.
    #[tokio::test]
    async fn an_incomplete_worktree_is_replaced() {
        for file in ["commondir", "gitdir", "HEAD", "index"] {
            for is_there in [true, false] {
                let repository = Repository::new();
                let git = repository.git();
                let folder = repository.0.path().join(".ralph/trees/two");
                git.add_worktree(&folder, "weir/two", "HEAD").await.unwrap();
                std::fs::write(repository.record("two/locked"), "initializing").unwrap();
                std::fs::write(repository.record("two").join(file), "").unwrap();
                if !is_there {
                    std::fs::remove_file(repository.record("two").join(file)).unwrap();
                }
                assert!(git.nested_repositories().await.unwrap().is_empty(), "{file}");
                git.add_worktree(&folder, "weir/two", "HEAD").await.unwrap();
                assert!(git.at(&folder).is_worktree().await.unwrap(), "{file}");
                assert_eq!(git.run(&["worktree", "list"]).await.unwrap().lines().count(), 2, "{file}");
                git.remove_worktree(&folder, Some("weir/two")).await.unwrap();
                assert_eq!(git.run(&["worktree", "list"]).await.unwrap().lines().count(), 1, "{file}");
            }
        }
    }

    #[tokio::test]
    async fn worktrees_of_others_stay() {
        let repository = Repository::new();
        let git = repository.git();
        let elsewhere = tempfile::tempdir().unwrap();
        let theirs = elsewhere.path().join("two");
        git.run(&["worktree", "add", "-q", "--lock", &theirs.to_string_lossy()]).await.unwrap();
        let folder = repository.0.path().join(".ralph/trees/two");
        git.add_worktree(&folder, "weir/two", "HEAD").await.unwrap();
        assert!(repository.record("two1").is_dir(), "git gave the second one a number");
        git.remove_worktree(&folder, Some("weir/two")).await.unwrap();
        assert!(git.at(&theirs).is_worktree().await.unwrap());
        assert!(!repository.record("two1").exists());
    }
}
