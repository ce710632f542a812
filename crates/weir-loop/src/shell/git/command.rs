//! How git is run, and what it says about a repository.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use weir_process::{Environment, PlainCommand, Sandbox, SpawnError};

use crate::instant;

/// How long git may take. Hooks do not run and nothing is fetched, so it is much less.
const LONGEST: Duration = Duration::from_secs(300);

/// Commands after which a repository is another one. The rest reads, or writes objects that nothing names.
const CHANGES: [&str; 6] = ["read-tree", "restore", "stash", "update-index", "update-ref", "worktree"];

/// A working tree.
#[derive(Debug, Clone)]
pub struct Git {
    folder: PathBuf,
    state: PathBuf,
    /// The loop's own folder, relative to the top.
    pub(super) own: PathBuf,
    /// A fence around git, which reads configuration that a session in the same fence may have written.
    sandbox: Option<Sandbox>,
    /// Held while worktrees are made or removed: git itself does not guard one of these against the other.
    pub(super) worktrees: Arc<tokio::sync::Mutex<()>>,
}

/// Git could not do it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// There is no git.
    #[error("git cannot be started: {0}")]
    Spawn(#[from] SpawnError),
    /// It said no.
    #[error("`git {command}` failed in {}: {message}", folder.display())]
    Failed {
        /// What was to be done.
        command: String,
        /// Where.
        folder: PathBuf,
        /// What git said.
        message: String,
    },
    /// It is no repository.
    #[error("{} is not in a git repository; the loop keeps every task as a commit. Run `git init` and commit what is there", .0.display())]
    NoRepository(PathBuf),
    /// It is not the top.
    #[error("the repository begins at {}; run the loop there", .0.display())]
    NotTheTop(PathBuf),
    /// There is no commit yet.
    #[error("the repository has no commit yet; make one first, so that there is something to go back to")]
    NoCommit,
    /// Nobody to commit as.
    #[error("git does not know who commits: set user.name and user.email with `git config`")]
    NoIdentity,
    /// Somebody moved the branch.
    #[error(
        "the branch is at {now}, and not at {expected} as before: somebody else has committed. The task's work is in commit {commit}; merge it, then go on"
    )]
    Moved {
        /// Where it is.
        now: String,
        /// Where it should be.
        expected: String,
        /// The work.
        commit: String,
    },
}

impl Git {
    /// The working tree in a folder. `own` is the loop's folder in it, which no commit gets, whatever git is told to ignore.
    pub fn new(folder: impl Into<PathBuf>, state: impl Into<PathBuf>, own: &Path) -> Self {
        Self {
            folder: folder.into(),
            state: state.into(),
            // Without `.`, as git names it.
            own: own.components().filter(|part| *part != Component::CurDir).collect(),
            sandbox: None,
            worktrees: Arc::default(),
        }
    }

    /// The same in a fence.
    #[must_use]
    pub fn fenced(self, sandbox: Option<Sandbox>) -> Self {
        Self { sandbox, ..self }
    }

    /// The fence that it is in.
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

    /// Runs git and gives what it printed, also if it said no with code 1.
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
        // Nothing is asked, nothing is translated, and a variable of an outer git does not lead elsewhere.
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
        command.timeout = Some(LONGEST);
        command.keep_bytes = 64 << 20;
        command.leaves_nothing = true;
        command.state_directory = Some(self.state.clone());
        command.purpose = "git".to_owned();
        command
    }

    pub(super) async fn run(&self, args: &[&str]) -> Result<String, GitError> {
        self.run_with(args, b"").await
    }

    /// The same for names of files, which need not be text.
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

    /// Whether the loop can work here: the top of a repository with a commit, and somebody to commit as.
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

    /// Locks that a killed git has left would stop all others. Only called while nobody else works here. Gives how many
    /// there were.
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
                message: format!("it said {text:?}"),
            }),
        }
    }

    /// The tree of a commit.
    pub async fn tree_of(&self, commit: &str) -> Result<String, GitError> {
        self.line(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")]).await
    }
}

/// Runs git in a fence, with what it knows of the person: who commits, and what is ignored everywhere.
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
