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

    /// Sets the branch that is checked out to a commit, if it is still at another one.
    pub async fn set_head(&self, commit: &str, parent: &str) -> Result<(), GitError> {
        self.run(&["update-ref", "-m", "weir loop", "HEAD", commit, parent]).await.map(drop)
    }

    /// Sets a branch to a commit. Repeating it does nothing.
    pub async fn set_branch(&self, branch: &str, commit: &str) -> Result<(), GitError> {
        self.run(&["update-ref", "-m", "weir loop", &format!("refs/heads/{branch}"), commit]).await.map(drop)
    }

    /// Removes a branch, if it is there.
    pub async fn remove_branch(&self, branch: &str) -> Result<(), GitError> {
        self.run(&["update-ref", "-d", &format!("refs/heads/{branch}")]).await.map(drop)
    }

    /// Whether a commit contains another one.
    pub async fn is_ancestor(&self, commit: &str, of: &str) -> Result<bool, GitError> {
        Ok(self.raw(&["merge-base", "--is-ancestor", commit, of], b"").await?.is_success())
    }

    /// The first of these commits that another one does not contain, with what else it does not contain of them.
    pub async fn missing_from(&self, tip: &str, commits: &[String]) -> Result<Vec<String>, GitError> {
        if commits.is_empty() {
            return Ok(Vec::new());
        }
        let mut input = format!("^{tip}\n");
        for commit in commits {
            input.push_str(commit);
            input.push('\n');
        }
        let text = self.run_with(&["rev-list", "--max-count=5", "--stdin"], input.as_bytes()).await?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// The number of commits that one commit has and another has not.
    pub async fn count_between(&self, from: &str, to: &str) -> Result<u64, GitError> {
        let text = self.line(&["rev-list", "--count", "--first-parent", &format!("{from}..{to}")]).await?;
        Ok(text.parse().unwrap_or(0))
    }

    /// Keeps a commit in the stash of a person who has chosen that. Returns its name there.
    ///
    /// `git stash push` would also clean the tree, and after a kill in the middle a partial stash could not be
    /// recognised. So the entry is made by hand: a commit whose second parent is the index.
    pub async fn keep_in_stash(
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
        self.commit_of(&format!("refs/heads/{branch}")).await
    }

    /// The commit that a reference is at, if it exists.
    pub async fn commit_of(&self, reference: &str) -> Result<Option<String>, GitError> {
        let name = format!("{reference}^{{commit}}");
        let done = self.raw(&["rev-parse", "--verify", "--quiet", &name], b"").await?;
        Ok(done.is_success().then(|| done.stdout.text().trim_end().to_owned()))
    }

    /// Merges a commit into the branch that is checked out, with the person's edits put aside meanwhile. Returns what git
    /// printed, as an error if there are conflicts.
    pub async fn merge_here(&self, commit: &str) -> Result<Result<String, String>, GitError> {
        let args = ["merge", "--autostash", "--no-edit", "--no-stat", commit];
        let done = self.raw(&args, b"").await?;
        let printed = format!("{}{}", done.stdout.text(), done.stderr.text()).trim().to_owned();
        match done.exit.code {
            Some(0) => Ok(Ok(printed)),
            Some(1) => Ok(Err(printed)),
            _ => Err(self.failed(&args, &done)),
        }
    }

    /// The tree of a merge of two commits, or the conflicts.
    pub async fn merge(&self, ours: &str, theirs: &str) -> Result<Result<String, String>, GitError> {
        let args = ["merge-tree", "--write-tree", ours, theirs];
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
