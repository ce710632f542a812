//! A repository of a person, seen from one of its worktrees.

use std::path::{Path, PathBuf};

use weir_process::{CommandOutput, PlainCommand};

use crate::command::plain_command;
use crate::entry::path_of;
use crate::error::{GitError, failure};
use crate::name::RevisionName;
use crate::programs::{self, Override};

/// The id of a commit that exists: hexadecimal digits, so it is never an option.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Commit(String);

impl Commit {
    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first digits, for people.
    pub fn short(&self) -> &str {
        self.0.get(..10).unwrap_or(&self.0)
    }

    /// An id that git has printed.
    pub(crate) fn printed(text: &str) -> Option<Self> {
        let text = text.trim_end();
        let is_id = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id.then(|| Self(text.to_owned()))
    }
}

/// A worktree and its repository. Opening it reads the configuration once; what a session writes into it later has no
/// effect on programs that git already knows to be off, so open it anew for each piece of work.
#[derive(Debug, Clone)]
pub struct Repository {
    top: PathBuf,
    git_folder: PathBuf,
    common_folder: PathBuf,
    state: Option<PathBuf>,
    overrides: Vec<Override>,
}

impl Repository {
    /// Opens the repository that a folder is in. `state` is where processes are recorded.
    ///
    /// # Errors
    /// If the folder is in no repository with files, or git fails.
    pub async fn open(folder: &Path, state: Option<&Path>) -> Result<Self, GitError> {
        let mut found = Vec::new();
        // One by one: a folder's name may have a line break.
        for what in ["--show-toplevel", "--absolute-git-dir", "--git-common-dir"] {
            let args = ["rev-parse", "--path-format=absolute", what];
            let done = plain_command(folder, state, &args, b"").run().await?;
            if !done.is_success() {
                return Err(GitError::NoRepository(folder.to_owned()));
            }
            let path = path_of(done.stdout.bytes.strip_suffix(b"\n").unwrap_or(&done.stdout.bytes));
            let path = path.canonicalize().map_err(|source| GitError::File { path, source })?;
            found.push(path);
        }
        let [top, git_folder, common_folder] =
            <[PathBuf; 3]>::try_from(found).map_err(|_| GitError::NoRepository(folder.to_owned()))?;
        let within =
            folder.canonicalize().map_err(|source| GitError::File { path: folder.to_owned(), source })?;
        // `core.worktree` can name any folder.
        if !within.starts_with(&top) {
            return Err(GitError::NoRepository(folder.to_owned()));
        }
        let overrides = programs::overrides(folder, state).await?;
        Ok(Self { top, git_folder, common_folder, state: state.map(Path::to_owned), overrides })
    }

    /// The top folder of this worktree, with links resolved.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// Where git keeps what belongs to this worktree alone.
    pub fn git_folder(&self) -> &Path {
        &self.git_folder
    }

    /// Where git keeps what all worktrees share.
    pub fn common_folder(&self) -> &Path {
        &self.common_folder
    }

    /// Whether this is a linked worktree, and not the main one.
    pub fn is_linked(&self) -> bool {
        self.git_folder != self.common_folder
    }

    /// The same repository, seen from another of its worktrees.
    ///
    /// # Errors
    /// If that folder belongs to another repository.
    pub async fn at(&self, folder: &Path) -> Result<Self, GitError> {
        let other = Self::open(folder, self.state.as_deref()).await?;
        if other.common_folder == self.common_folder {
            Ok(other)
        } else {
            Err(GitError::OtherRepository(folder.to_owned()))
        }
    }

    /// The commit that `HEAD` is at; none before the first one.
    ///
    /// # Errors
    /// If git fails.
    pub async fn head(&self) -> Result<Option<Commit>, GitError> {
        self.commit_named("HEAD").await
    }

    /// The branch that is checked out, without `refs/heads/`.
    ///
    /// # Errors
    /// If git fails.
    pub async fn branch(&self) -> Result<Option<String>, GitError> {
        let done = self.raw(&["symbolic-ref", "--quiet", "HEAD"], b"").await?;
        let text = done.stdout.text();
        let name = text.trim_end_matches('\n').strip_prefix("refs/heads/").map(str::to_owned);
        Ok(name.filter(|_| done.is_success()))
    }

    /// The commit of a revision that a person has named; none where nothing has this name.
    ///
    /// # Errors
    /// If git fails.
    pub async fn resolve(&self, name: &RevisionName) -> Result<Option<Commit>, GitError> {
        self.commit_named(name.as_str()).await
    }

    /// The commit that two commits have in common; none where they share no history.
    ///
    /// # Errors
    /// If git fails.
    pub async fn merge_base(&self, one: &Commit, other: &Commit) -> Result<Option<Commit>, GitError> {
        let args = ["merge-base", one.as_str(), other.as_str()];
        let done = self.raw(&args, b"").await?;
        match done.exit.code {
            Some(0) => Ok(Commit::printed(&done.stdout.text())),
            Some(1) => Ok(None),
            _ => Err(failure(&self.top, &args, &done)),
        }
    }

    async fn commit_named(&self, name: &str) -> Result<Option<Commit>, GitError> {
        let name = format!("{name}^{{commit}}");
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", &name];
        let done = self.raw(&args, b"").await?;
        Ok(Commit::printed(&done.stdout.text()).filter(|_| done.is_success()))
    }

    /// A run of git in this worktree.
    pub(crate) fn command(&self, args: &[&str], input: &[u8]) -> PlainCommand {
        let mut command = plain_command(&self.top, self.state.as_deref(), args, input);
        command.environment =
            programs::apply(command.environment, &self.overrides).set("GIT_LITERAL_PATHSPECS", "1");
        command
    }

    pub(crate) async fn raw(&self, args: &[&str], input: &[u8]) -> Result<CommandOutput, GitError> {
        Ok(self.command(args, input).run().await?)
    }

    pub(crate) async fn bytes(&self, args: &[&str]) -> Result<Vec<u8>, GitError> {
        let done = self.raw(args, b"").await?;
        if done.is_success() { Ok(done.stdout.bytes) } else { Err(failure(&self.top, args, &done)) }
    }

    pub(crate) async fn run(&self, args: &[&str], input: &[u8]) -> Result<String, GitError> {
        let done = self.raw(args, input).await?;
        if done.is_success() { Ok(done.stdout.text()) } else { Err(failure(&self.top, args, &done)) }
    }
}
