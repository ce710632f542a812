//! What differs for a task with its own worktree: the worktree is added, merged, kept and removed.

use super::context::Context;
use super::gates::run_gates;
use super::git::GitError;
use crate::judge::judge_gates;
use crate::state::TaskRecord;

/// Why a task's work was not merged.
pub(super) struct NotMerged {
    pub(super) why: String,
    pub(super) output: String,
}

/// Merges a task's commit into the main workspace, and runs the gates if the merged tree differs from the one they have
/// seen. On failure the workspace is restored.
pub(super) async fn merge(
    context: &Context,
    record: &TaskRecord,
    commit: &str,
) -> Result<Result<(), NotMerged>, GitError> {
    let git = &context.git;
    let head = git.head().await?;
    git.restore(&git.tree_of(&head).await?).await?;
    let tree = match git.merge(commit).await? {
        Ok(tree) => tree,
        Err(output) => {
            let why = "its work cannot be merged: it conflicts with earlier merges".to_owned();
            return Ok(Err(NotMerged { why, output }));
        }
    };
    git.restore(&tree).await?;
    if record.base.as_deref() == Some(head.as_str()) || context.config.gates.is_empty() {
        return Ok(Ok(()));
    }
    let folders = &context.folders;
    let after = run_gates(&context.config.gates, git, &folders.state(), &context.secrets).await;
    git.restore(&tree).await?;
    match judge_gates(&record.before, &after, context.config.already_broken) {
        None => Ok(Ok(())),
        Some(failure) => {
            git.restore(&git.tree_of(&head).await?).await?;
            let why = format!("merged with the other tasks, {}", failure.reason);
            Ok(Err(NotMerged { why, output: failure.output }))
        }
    }
}

/// Adds the worktree of a task at its base commit, if it does not exist.
pub(super) async fn ensure(context: &Context, record: &TaskRecord) -> Result<(), GitError> {
    let task = &record.task.id;
    if context.git_of(task).is_worktree().await? {
        return Ok(());
    }
    let base = match &record.base {
        Some(base) => base.clone(),
        None => context.git.head().await?,
    };
    context.git.add_worktree(&context.workspace(task), &context.branch(task), &base).await
}

/// Commits the work of a task that was given up to its branch. Returns the branch, or `None` if there was no work.
pub(super) async fn keep(
    context: &Context,
    record: &TaskRecord,
    message: &str,
) -> Result<Option<String>, GitError> {
    let task = &record.task.id;
    let branch = context.branch(task);
    let git = context.git_of(task);
    if git.is_worktree().await? {
        let head = git.head().await?;
        let tree = git.snapshot().await?;
        if tree != git.tree_of(&head).await? {
            let commit = git.commit(&tree, &[&head], message).await?;
            git.advance(&commit, &head).await?;
        }
    }
    let commit = context.git.branch(&branch).await?;
    Ok(commit.filter(|commit| Some(commit) != record.base.as_ref()).map(|_| branch))
}

/// Removes the worktree of a task that was given up, and its branch if nothing is kept on it.
pub(super) async fn clear(
    context: &Context,
    record: &TaskRecord,
    kept: Option<&str>,
) -> Result<(), GitError> {
    let task = &record.task.id;
    let branch = context.branch(task);
    let unneeded = kept.is_none().then_some(branch.as_str());
    context.git.remove_worktree(&context.workspace(task), unneeded).await
}
