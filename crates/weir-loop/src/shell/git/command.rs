//! Runs git, and reads the basics of a repository.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use weir_process::{Environment, PlainCommand, Sandbox, SpawnError};

use crate::instant;

/// How long git may take. Hooks do not run and nothing is fetched, so it usually takes far less.
const MAX_DURATION: Duration = Duration::from_secs(300);

/// Commands that change a repository. All others only read, or write objects without a reference.
const CHANGES: [&str; 6] = ["read-tree", "restore", "stash", "update-index", "update-ref", "worktree"];

/// A working tree.
#[derive(Debug, Clone)]
pub struct Git {
    folder: PathBuf,
    state: PathBuf,
    /// The loop's own folder, relative to the top.
    pub(super) own: PathBuf,
    /// The sandbox for git, which reads configuration that a session in the same sandbox may have written.
    sandbox: Option<Sandbox>,
    /// Held while worktrees are added or removed: git itself does not guard against doing both at once.
    pub(super) worktrees: Arc<tokio::sync::Mutex<()>>,
}

/// A git command failed, or the repository cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// Git cannot be started.
    #[error("cannot start git: {0}")]
    Spawn(#[from] SpawnError),
    /// A command failed.
    #[error("`git {command}` failed in {}: {message}", folder.display())]
    Failed {
        /// The command.
        command: String,
        /// The folder in which it ran.
        folder: PathBuf,
        /// What git printed.
        message: String,
    },
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
    /// The branch has moved.
    #[error(
        "the branch has moved from {expected} to {now}: another commit was made. The task's work is in commit {commit}; merge it, then run the loop again"
    )]
    Moved {
        /// The commit that the branch is at.
        now: String,
        /// The commit that it should be at.
        expected: String,
        /// The commit with the task's work.
        commit: String,
    },
}

impl Git {
    /// The working tree in a folder. `own` is the loop's folder in it, which is never committed, whatever git ignores.
    pub fn new(folder: impl Into<PathBuf>, state: impl Into<PathBuf>, own: &Path) -> Self {
        Self {
            folder: folder.into(),
            state: state.into(),
            // Without `.`, as in git's paths.
            own: own.components().filter(|part| *part != Component::CurDir).collect(),
            sandbox: None,
            worktrees: Arc::default(),
        }
    }

    /// The same working tree, with git in a sandbox.
    #[must_use]
    pub fn fenced(self, sandbox: Option<Sandbox>) -> Self {
        Self { sandbox, ..self }
    }

    /// The sandbox, if there is one.
    pub(crate) fn sandbox(&self) -> Option<&Sandbox> {
        self.sandbox.as_ref()
    }

    /// Another working tree of the same repository.
    #[must_use]
    pub fn at(&self, folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), ..self.clone() }
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
        instant::begin();
        let done = self.command(args, input).run().await?;
        if let Some(name) = args.first().filter(|name| CHANGES.contains(name)) {
            instant::reached(name);
        }
        Ok(done)
    }

    fn command(&self, args: &[&str], input: &[u8]) -> PlainCommand {
        let mut command = PlainCommand::new("git").args(args.iter().copied()).cwd(&self.folder).input(input);
        // No prompts, no translated messages, and no variables of an outer git that point elsewhere.
        command.environment = Environment::inherit()
            .exclude("GIT_DIR")
            .exclude("GIT_WORK_TREE")
            .exclude("GIT_INDEX_FILE")
            .set("GIT_TERMINAL_PROMPT", "0")
            .set("GIT_OPTIONAL_LOCKS", "0")
            .set("LC_ALL", "C");
        if let Some(sandbox) = &self.sandbox {
            command = fenced(command, sandbox.clone());
        }
        command.timeout = Some(MAX_DURATION);
        command.keep_bytes = 64 << 20;
        command.leaves_nothing = true;
        command.state_directory = Some(self.state.clone());
        command.purpose = "git".to_owned();
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
        let printed = if done.stderr.bytes.is_empty() { done.stdout.text() } else { done.stderr.text() };
        let message = if done.timed_out { "it took too long".to_owned() } else { printed.trim().to_owned() };
        GitError::Failed { command: args.join(" "), folder: self.folder.clone(), message }
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

    /// Removes locks that a killed git has left, which would block all others. Must be called only while nothing else
    /// works here. Returns the number of locks.
    pub async fn remove_stale_locks(&self) -> Result<usize, GitError> {
        let common = self.line(&["rev-parse", "--git-common-dir"]).await?;
        let common = self.folder.join(common);
        let mut folders = vec![common.clone()];
        folders.extend(below(&common.join("worktrees")));
        folders.extend(all_below(&common.join("refs")));
        let is_lock = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "lock");
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
            _ => Err(GitError::Failed {
                command: args.join(" "),
                folder: self.folder.clone(),
                message: format!("unexpected output {text:?}"),
            }),
        }
    }

    /// The tree of a commit.
    pub async fn tree_of(&self, commit: &str) -> Result<String, GitError> {
        self.line(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")]).await
    }
}

/// Runs git in a sandbox that can read the user's git configuration: the identity, and what is ignored everywhere.
fn fenced(mut command: PlainCommand, mut sandbox: Sandbox) -> PlainCommand {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    if let Some(config) = config.or_else(|| Some(home.as_ref()?.join(".config"))) {
        sandbox.readable.push(config.join("git"));
        command.environment = command.environment.set("XDG_CONFIG_HOME", config);
    }
    let own = home.map(|home| home.join(".gitconfig")).filter(|file| file.is_file());
    if let Some(file) = own {
        sandbox.readable.push(file.clone());
        command.environment = command.environment.set("GIT_CONFIG_GLOBAL", file);
    }
    command.sandbox = Some(sandbox);
    command
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
