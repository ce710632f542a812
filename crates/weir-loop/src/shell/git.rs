//! Git, by its plumbing: trees are written, commits are made without a branch, and then a branch is set to them if it is
//! still what it was. Each of it can be done again after a kill.

use std::path::{Path, PathBuf};
use std::time::Duration;

use weir_process::{Environment, PlainCommand, SpawnError};

use crate::outcome::Inspection;

/// How long git may take. Hooks do not run and nothing is fetched, so it is much less.
const LONGEST: Duration = Duration::from_secs(300);

/// A working tree.
#[derive(Debug, Clone)]
pub struct Git {
    folder: PathBuf,
    state: PathBuf,
    /// The loop's own folder, as git names it.
    own: String,
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
    /// The working tree in a folder. `own` is the loop's folder in it, which git shall not see.
    pub fn new(folder: impl Into<PathBuf>, state: impl Into<PathBuf>, own: &Path) -> Self {
        Self { folder: folder.into(), state: state.into(), own: own.to_string_lossy().into_owned() }
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
    async fn raw(&self, args: &[&str], input: &[u8]) -> Result<weir_process::CommandOutput, GitError> {
        let mut command = PlainCommand::new("git").args(args.iter().copied()).cwd(&self.folder).input(input);
        // Nothing is asked, nothing is translated, and a variable of an outer git does not lead elsewhere.
        command.environment = Environment::inherit()
            .exclude("GIT_DIR")
            .exclude("GIT_WORK_TREE")
            .exclude("GIT_INDEX_FILE")
            .set("GIT_TERMINAL_PROMPT", "0")
            .set("GIT_OPTIONAL_LOCKS", "0")
            .set("LC_ALL", "C");
        command.timeout = Some(LONGEST);
        command.keep_bytes = 64 << 20;
        command.leaves_nothing = true;
        command.state_directory = Some(self.state.clone());
        command.purpose = "git".to_owned();
        Ok(command.run().await?)
    }

    async fn run(&self, args: &[&str]) -> Result<String, GitError> {
        self.run_with(args, b"").await
    }

    async fn run_with(&self, args: &[&str], input: &[u8]) -> Result<String, GitError> {
        let done = self.raw(args, input).await?;
        if done.is_success() {
            return Ok(done.stdout.text());
        }
        Err(self.failed(args, &done))
    }

    fn failed(&self, args: &[&str], done: &weir_process::CommandOutput) -> GitError {
        let printed = if done.stderr.bytes.is_empty() { done.stdout.text() } else { done.stderr.text() };
        let message = if done.timed_out { "it took too long".to_owned() } else { printed.trim().to_owned() };
        GitError::Failed { command: args.join(" "), folder: self.folder.clone(), message }
    }

    async fn line(&self, args: &[&str]) -> Result<String, GitError> {
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

    /// A lock that a killed git has left would stop all others. Only called while nobody else works here.
    pub async fn remove_stale_lock(&self) -> Result<bool, GitError> {
        let path = self.line(&["rev-parse", "--git-path", "index.lock"]).await?;
        let path = self.folder.join(path);
        Ok(path.exists() && std::fs::remove_file(path).is_ok())
    }

    /// The commit that the branch is at.
    pub async fn head(&self) -> Result<String, GitError> {
        self.line(&["rev-parse", "--verify", "HEAD^{commit}"]).await
    }

    /// The tree of a commit.
    pub async fn tree_of(&self, commit: &str) -> Result<String, GitError> {
        self.line(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")]).await
    }

    /// Files that are not as they are in the last commit.
    pub async fn dirty(&self) -> Result<Vec<String>, GitError> {
        let exclude = self.exclude();
        let text = self.run(&["status", "--porcelain", "-z", "--no-renames", "--", ".", &exclude]).await?;
        Ok(text.split('\0').filter_map(|entry| entry.get(3..)).map(str::to_owned).collect())
    }

    fn exclude(&self) -> String {
        format!(":(exclude,top){}", self.own)
    }

    /// Writes down the working tree as it is, new files included and ignored ones not.
    pub async fn snapshot(&self) -> Result<String, GitError> {
        let exclude = self.exclude();
        self.run(&["add", "--all", "--", ".", &exclude]).await?;
        self.line(&["write-tree"]).await
    }

    /// Puts the working tree back to one that was written down. What is not in it is removed, ignored files excepted.
    pub async fn restore(&self, tree: &str) -> Result<(), GitError> {
        if self.snapshot().await? != tree {
            self.run(&["read-tree", "--reset", "-u", tree]).await?;
        }
        Ok(())
    }

    /// The same, and what is there is kept under a name of its own first: it may be somebody's.
    pub async fn restore_keeping(&self, tree: &str, name: &str) -> Result<bool, GitError> {
        let now = self.snapshot().await?;
        if now == tree {
            return Ok(false);
        }
        let head = self.head().await?;
        let commit = self.commit(&now, &[&head], "What a session that was cut off had done\n").await?;
        self.run(&["update-ref", &format!("refs/weir/{name}"), &commit]).await?;
        self.run(&["read-tree", "--reset", "-u", tree]).await?;
        Ok(true)
    }

    /// What was changed since a commit. What is protected, and the task list, is put back.
    pub async fn inspect(
        &self,
        base: &str,
        protected: &[PathBuf],
        list: Option<&Path>,
    ) -> Result<Inspection, GitError> {
        let mut work = Inspection { tree: self.snapshot().await?, ..Inspection::default() };
        let mut changed = self.changed(base, &work.tree).await?;
        let is_in = |path: &str, folder: &Path| Path::new(path).starts_with(folder);
        let mut back: Vec<String> = Vec::new();
        for (path, ..) in &changed {
            if protected.iter().any(|protected| is_in(path, protected)) {
                work.protected.push(path.clone());
                back.push(path.clone());
            } else if list.is_some_and(|list| is_in(path, list)) {
                work.list_restored = true;
                back.push(path.clone());
            }
        }
        if !back.is_empty() {
            let mut args = vec!["restore", "--source", base, "--staged", "--worktree", "--"];
            let literal: Vec<String> = back.iter().map(|path| format!(":(literal,top){path}")).collect();
            args.extend(literal.iter().map(String::as_str));
            self.run(&args).await?;
            work.tree = self.snapshot().await?;
            changed = self.changed(base, &work.tree).await?;
        }
        work.files = changed.len() as u64;
        work.added = changed.iter().map(|(_, added, _)| added).sum();
        work.removed = changed.iter().map(|(_, _, removed)| removed).sum();
        Ok(work)
    }

    /// Files that differ, with added and removed lines; a binary file has none.
    async fn changed(&self, base: &str, tree: &str) -> Result<Vec<(String, u64, u64)>, GitError> {
        let text = self.run(&["diff-tree", "-r", "-z", "--no-renames", "--numstat", base, tree]).await?;
        let entry = |entry: &str| {
            let mut parts = entry.splitn(3, '\t');
            let (added, removed) = (parts.next()?, parts.next()?);
            Some((parts.next()?.to_owned(), added.parse().unwrap_or(0), removed.parse().unwrap_or(0)))
        };
        Ok(text.split('\0').filter_map(entry).collect())
    }

    /// Makes a commit of a tree that no branch has yet.
    pub async fn commit(&self, tree: &str, parents: &[&str], message: &str) -> Result<String, GitError> {
        let mut args = vec!["commit-tree", tree];
        for parent in parents {
            args.extend(["-p", parent]);
        }
        args.extend(["-F", "-"]);
        Ok(self.run_with(&args, message.as_bytes()).await?.trim_end().to_owned())
    }

    /// Sets the branch to a commit, if it is still at the parent. Doing it again does nothing.
    pub async fn advance(&self, commit: &str, parent: &str) -> Result<(), GitError> {
        let args = ["update-ref", "-m", "weir loop", "HEAD", commit, parent];
        let done = self.raw(&args, b"").await?;
        if done.is_success() || self.contains(commit).await? {
            return Ok(());
        }
        let now = self.head().await?;
        if now == parent {
            return Err(self.failed(&args, &done));
        }
        Err(GitError::Moved { now, expected: parent.to_owned(), commit: commit.to_owned() })
    }

    /// Whether the branch has a commit.
    pub async fn contains(&self, commit: &str) -> Result<bool, GitError> {
        Ok(self.raw(&["merge-base", "--is-ancestor", commit, "HEAD"], b"").await?.is_success())
    }

    /// Puts the working tree's changes onto a branch of their own and cleans it. Gives the branch, or nothing if there were
    /// no changes. Doing it again gives the same.
    pub async fn shelve(&self, branch: &str, message: &str, stash: bool) -> Result<Option<String>, GitError> {
        let head = self.head().await?;
        let tree = self.snapshot().await?;
        if tree == self.tree_of(&head).await? {
            return Ok(self.branch_exists(branch).await?.then(|| branch.to_owned()));
        }
        let kept = if stash {
            self.run(&[
                "stash",
                "push",
                "--include-untracked",
                "--quiet",
                "-m",
                branch,
                "--",
                ".",
                &self.exclude(),
            ])
            .await?;
            format!("stash: {branch}")
        } else {
            let commit = self.commit(&tree, &[&head], message).await?;
            self.run(&["update-ref", &format!("refs/heads/{branch}"), &commit]).await?;
            branch.to_owned()
        };
        self.run(&["read-tree", "--reset", "-u", "HEAD"]).await?;
        Ok(Some(kept))
    }

    /// Whether there is a branch of this name.
    pub async fn branch_exists(&self, branch: &str) -> Result<bool, GitError> {
        let reference = format!("refs/heads/{branch}");
        Ok(self.raw(&["rev-parse", "--verify", "--quiet", &reference], b"").await?.is_success())
    }

    /// The tree of a merge with the branch, or what is in conflict.
    pub async fn merge(&self, commit: &str) -> Result<Result<String, String>, GitError> {
        let args = ["merge-tree", "--write-tree", "HEAD", commit];
        let done = self.raw(&args, b"").await?;
        let text = done.stdout.text();
        match done.exit.code {
            Some(0) => Ok(Ok(text.trim_end().to_owned())),
            Some(1) => Ok(Err(text
                .split_once("\n\n")
                .map_or(text.as_str(), |(_, messages)| messages)
                .trim()
                .to_owned())),
            _ => Err(self.failed(&args, &done)),
        }
    }

    /// Makes a worktree on a branch of its own at a commit, unless it is there.
    pub async fn add_worktree(&self, folder: &Path, branch: &str, commit: &str) -> Result<(), GitError> {
        // One that a kill has left half made.
        self.run(&["worktree", "prune"]).await?;
        let path = folder.to_string_lossy();
        if folder.join(".git").exists() {
            return Ok(());
        }
        let _ = std::fs::remove_dir_all(folder);
        self.run(&["worktree", "prune"]).await?;
        self.run(&["worktree", "add", "--quiet", "--force", "-B", branch, &path, commit]).await.map(drop)
    }

    /// Removes a worktree, and its branch if nobody needs it.
    pub async fn remove_worktree(&self, folder: &Path, branch: Option<&str>) -> Result<(), GitError> {
        if folder.exists() {
            self.run(&["worktree", "remove", "--force", &folder.to_string_lossy()]).await?;
        }
        self.run(&["worktree", "prune"]).await?;
        if let Some(branch) = branch {
            let reference = format!("refs/heads/{branch}");
            self.run(&["update-ref", "-d", &reference]).await?;
        }
        Ok(())
    }
}
