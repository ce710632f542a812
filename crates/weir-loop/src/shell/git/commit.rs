//! Commits and branches.

use super::{Git, GitError};

impl Git {
    /// Makes a commit of a tree, without setting a branch to it.
    pub async fn commit(&self, tree: &str, parents: &[&str], message: &str) -> Result<String, GitError> {
        let mut args = vec!["commit-tree", tree];
        for parent in parents {
            args.extend(["-p", parent]);
        }
        args.extend(["-F", "-"]);
        Ok(self.run_with(&args, message.as_bytes()).await?.trim_end().to_owned())
    }

    /// Sets the branch to a commit, if it is still at the parent. Repeating it does nothing.
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

    /// Whether the branch contains a commit.
    pub async fn contains(&self, commit: &str) -> Result<bool, GitError> {
        Ok(self.raw(&["merge-base", "--is-ancestor", commit, "HEAD"], b"").await?.is_success())
    }

    /// Keeps the working tree's changes on their own branch, or in the stash, without touching the working tree.
    /// Returns where they are kept, or `None` if there are none. Repeating it returns the same.
    pub async fn keep(&self, branch: &str, message: &str, stash: bool) -> Result<Option<String>, GitError> {
        let head = self.head().await?;
        let tree = self.snapshot().await?;
        if tree == self.tree_of(&head).await? {
            return Ok(None);
        }
        if stash {
            return self.keep_in_stash(&head, &tree, branch, message).await.map(Some);
        }
        let commit = self.commit(&tree, &[&head], message).await?;
        self.run(&["update-ref", &format!("refs/heads/{branch}"), &commit]).await?;
        Ok(Some(branch.to_owned()))
    }

    /// `git stash push` would also clean the tree, and after a kill in the middle a partial stash could not be
    /// recognised. So the entry is made by hand: a commit whose second parent is the index.
    async fn keep_in_stash(
        &self,
        head: &str,
        tree: &str,
        name: &str,
        message: &str,
    ) -> Result<String, GitError> {
        let kept = format!("stash: {name}");
        let known = self.run(&["stash", "list", "--format=%gs"]).await?;
        if !known.lines().any(|line| line == name) {
            let index = self.commit(tree, &[head], "The index\n").await?;
            let commit = self.commit(tree, &[head, &index], message).await?;
            self.run(&["stash", "store", "--message", name, &commit]).await?;
        }
        Ok(kept)
    }

    /// The commit that a branch is at, if the branch exists.
    pub async fn branch(&self, branch: &str) -> Result<Option<String>, GitError> {
        let reference = format!("refs/heads/{branch}");
        let done = self.raw(&["rev-parse", "--verify", "--quiet", &reference], b"").await?;
        Ok(done.is_success().then(|| done.stdout.text().trim_end().to_owned()))
    }

    /// The tree of a merge with the branch, or the conflicts.
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
}
