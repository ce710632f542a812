//! Runs git, in one of two repositories: a person's, or Weir's own ([`super::own`]).

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use weir_process::PlainCommand;

use super::own::OwnRepository;
use crate::instant;

/// Commands that change a repository. All others only read, or write objects without a reference.
const CHANGES: [&str; 6] = ["read-tree", "restore", "stash", "update-index", "update-ref", "worktree"];

/// A working tree.
#[derive(Debug, Clone)]
pub struct Git {
    folder: PathBuf,
    state: PathBuf,
    /// The loop's own folder, relative to the top.
    pub(super) own: PathBuf,
    /// Weir's own repository and the index in it, for a folder that Weir has laid out. `None` for a person's.
    pub(super) private: Option<Private>,
    /// Another index than the person's own.
    index: Option<PathBuf>,
}

/// What git uses for a folder that Weir has laid out.
#[derive(Debug, Clone)]
pub(super) struct Private {
    pub(super) repository: Arc<OwnRepository>,
    pub(super) index: PathBuf,
}

/// A git command failed, or the repository cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// Git failed.
    #[error(transparent)]
    Git(#[from] weir_git::GitError),
    /// The folder is not in a repository.
    #[error("{} is not in a git repository, and the loop keeps every task as a commit; run `git init` and make a first commit", .0.display())]
    NoRepository(PathBuf),
    /// The folder is not the top of the repository.
    #[error("the top of the repository is {}; run the loop there", .0.display())]
    NotTheTop(PathBuf),
    /// There is no commit yet.
    #[error("the repository has no commit yet; make one first, so that the loop can return to it")]
    NoCommit,
    /// Git has no identity to commit with.
    #[error("git has no identity to commit with: set user.name and user.email with `git config`")]
    NoIdentity,
    /// Weir's own repository cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Own {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        #[source]
        source: std::io::Error,
    },
    /// What takes part in checks and is not in the repository is different than when the run began.
    #[error(
        "{0} is not as it was when the run began, and takes part in the checks, so their results would say nothing; if a \
         person has changed it, `weir loop run` resumes, otherwise put it back first"
    )]
    Outside(String),
    /// A folder that Weir has laid out is no longer a folder.
    #[error("{} is not a folder any more; remove it, then run the loop again", .0.display())]
    Replaced(PathBuf),
}

impl Git {
    /// The working tree in a folder. `own` is the loop's folder in it, which is never committed, whatever git ignores.
    pub fn new(folder: impl Into<PathBuf>, state: impl Into<PathBuf>, own: &Path) -> Self {
        Self {
            folder: folder.into(),
            state: state.into(),
            // Without `.`, as in git's paths.
            own: own.components().filter(|part| *part != Component::CurDir).collect(),
            private: None,
            index: None,
        }
    }

    /// A folder that Weir has laid out, seen with Weir's own repository and this index: what is in a `.git` there, and
    /// every configuration outside, is without effect.
    #[must_use]
    pub(crate) fn private(&self, repository: Arc<OwnRepository>, folder: PathBuf, index: PathBuf) -> Self {
        Self { folder, private: Some(Private { repository, index }), ..self.clone() }
    }

    /// A person's repository with another index.
    #[must_use]
    pub(super) fn with_person_index(&self, path: &str) -> Self {
        Self { index: Some(PathBuf::from(path)), ..self.clone() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs git and returns its output, also if it failed.
    pub(super) async fn raw(
        &self,
        args: &[&str],
        input: &[u8],
    ) -> Result<weir_process::CommandOutput, GitError> {
        if let Some(Private { repository, .. }) = &self.private {
            repository.ensure_own()?;
        }
        instant::begin();
        let done = self.command(args, input).run().await.map_err(weir_git::GitError::from)?;
        if let Some(name) = args.first().filter(|name| CHANGES.contains(name)) {
            instant::reached(name);
        }
        Ok(done)
    }

    fn command(&self, args: &[&str], input: &[u8]) -> PlainCommand {
        let mut command = weir_git::plain_command(&self.folder, Some(&self.state), args, input);
        if let Some(index) = &self.index {
            command.environment = command.environment.set("GIT_INDEX_FILE", index);
        }
        if let Some(Private { repository, index }) = &self.private {
            command.environment = repository.environment(command.environment, &self.folder, index);
        }
        command
    }

    pub(super) async fn run(&self, args: &[&str]) -> Result<String, GitError> {
        self.run_with(args, b"").await
    }

    /// Runs git for output that need not be text, such as file names.
    pub(super) async fn run_bytes(&self, args: &[&str]) -> Result<Vec<u8>, GitError> {
        let done = self.raw(args, b"").await?;
        if done.is_success() {
            return Ok(done.stdout.bytes);
        }
        Err(self.failed(args, &done))
    }

    pub(super) async fn run_with(&self, args: &[&str], input: &[u8]) -> Result<String, GitError> {
        let done = self.raw(args, input).await?;
        if done.is_success() {
            return Ok(done.stdout.text());
        }
        Err(self.failed(args, &done))
    }

    pub(super) fn failed(&self, args: &[&str], done: &weir_process::CommandOutput) -> GitError {
        weir_git::failure(&self.folder, args, done).into()
    }

    /// A path that git has printed, which may be relative to the folder.
    pub(super) fn absolute(&self, path: &str) -> PathBuf {
        let path = self.folder.join(path);
        path.canonicalize().unwrap_or(path)
    }

    pub(super) async fn line(&self, args: &[&str]) -> Result<String, GitError> {
        Ok(self.run(args).await?.trim_end().to_owned())
    }

    /// Checks that the loop can work here: at the top of a repository with a commit, and with an identity to commit
    /// with.
    pub async fn check(&self) -> Result<(), GitError> {
        let top = self.raw(&["rev-parse", "--show-toplevel"], b"").await?;
        if !top.is_success() {
            return Err(GitError::NoRepository(self.folder.clone()));
        }
        let top = PathBuf::from(top.stdout.text().trim_end());
        if top.canonicalize().ok() != self.folder.canonicalize().ok() {
            return Err(GitError::NotTheTop(top));
        }
        if self.head().await.is_err() {
            return Err(GitError::NoCommit);
        }
        self.run(&["var", "GIT_COMMITTER_IDENT"]).await.map(drop).map_err(|_| GitError::NoIdentity)
    }

    /// Removes locks that a killed git of Weir's has left, on references and on Weir's own indexes. The lock of a
    /// person's index is not among them: it may be an editor's. Must be called only while nothing else works here.
    /// Returns the number of locks.
    pub async fn remove_stale_locks(&self) -> Result<usize, GitError> {
        let common = self.line(&["rev-parse", "--git-common-dir"]).await?;
        let common = self.folder.join(common);
        let mut folders = all_below(&common.join("refs"));
        folders.extend([self.state.join("places"), self.git_folder().await?, common]);
        let is_lock = |path: &PathBuf| {
            path.extension().is_some_and(|extension| extension == "lock") && !path.ends_with("index.lock")
        };
        let locks = folders.iter().flat_map(|folder| entries(folder)).filter(is_lock);
        Ok(locks.filter(|lock| std::fs::remove_file(lock).is_ok()).count())
    }

    /// The commit that the branch is at.
    pub async fn head(&self) -> Result<String, GitError> {
        self.line(&["rev-parse", "--verify", "HEAD^{commit}"]).await
    }

    /// The commit that the branch is at, and its tree.
    pub async fn head_and_tree(&self) -> Result<(String, String), GitError> {
        let args = ["rev-parse", "HEAD^{commit}", "HEAD^{tree}"];
        let text = self.run(&args).await?;
        let mut lines = text.lines();
        match (lines.next(), lines.next()) {
            (Some(head), Some(tree)) => Ok((head.to_owned(), tree.to_owned())),
            _ => Err(weir_git::GitError::Failed {
                command: args.join(" "),
                folder: self.folder.clone(),
                message: format!("unexpected output {text:?}"),
            }
            .into()),
        }
    }

    /// The tree of a commit.
    pub async fn tree_of(&self, commit: &str) -> Result<String, GitError> {
        self.line(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")]).await
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect()
}

fn below(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|path| path.is_dir()).collect()
}

/// A folder and all folders below it.
fn all_below(folder: &Path) -> Vec<PathBuf> {
    let mut all = vec![folder.to_owned()];
    let mut next = 0;
    while let Some(folder) = all.get(next).cloned() {
        all.extend(below(&folder));
        next += 1;
    }
    all
}
