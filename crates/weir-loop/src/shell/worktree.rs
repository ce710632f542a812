//! What differs for a task that has a worktree of its own: it is made, merged and removed.

use super::context::Context;
use super::gates::run_gates;
use super::git::GitError;
use crate::judge::judge_gates;
use crate::state::TaskRecord;

/// Why a task's work is not in the branch.
pub(super) struct NotMerged {
    pub(super) why: String,
    pub(super) output: String,
}

/// Puts a task's commit into the main workspace, merged with what is there, and runs the gates if that is something
/// else than they have seen. The workspace is as before if it does not work.
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
            let why = "its work cannot be merged: it conflicts with what was merged before".to_owned();
            return Ok(Err(NotMerged { why, output }));
        }
    };
    git.restore(&tree).await?;
    if record.base.as_deref() == Some(head.as_str()) || context.config.gates.is_empty() {
        return Ok(Ok(()));
    }
    let folders = &context.folders;
    let after =
        run_gates(&context.config.gates, &folders.workspace, &folders.state(), &context.secrets).await;
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

/// Puts away the work of a task that was given up: it stays on its branch, and the worktree goes.
pub(super) async fn shelve(
    context: &Context,
    record: &TaskRecord,
    message: &str,
) -> Result<Option<String>, GitError> {
    let task = &record.task.id;
    let (folder, branch) = (context.workspace(task), context.branch(task));
    let git = context.git_of(task);
    let mut kept = None;
    if folder.join(".git").exists() {
        let head = git.head().await?;
        let tree = git.snapshot().await?;
        if tree != git.tree_of(&head).await? {
            let commit = git.commit(&tree, &[&head], message).await?;
            git.advance(&commit, &head).await?;
        }
        kept = (Some(git.head().await?) != record.base).then(|| branch.clone());
    } else if context.git.branch_exists(&branch).await? {
        kept = Some(branch.clone());
    }
    context.git.remove_worktree(&folder, kept.is_none().then_some(branch.as_str())).await?;
    Ok(kept)
}
