//! Performs one action and returns the resulting event.

use std::sync::Arc;

use weir_base::error::with_causes;

use super::context::Context;
use super::gates::run_gates;
use super::git::Looked;
use super::notes::{add_note, read_notes};
use super::worktree;
use crate::agent::{AgentEnd, AgentRequest, AgentRun, Surroundings, answer_from_log, find_log, run_from_log};
use crate::machine::{AgentOrder, Event};
use crate::message;
use crate::outcome::Failure;
use crate::prompt::{Parts, RULES, pack};
use crate::state::{Step, TaskRecord};
use crate::tasks::TaskId;

/// The resulting event, or why the run cannot continue.
pub(super) type Done = Result<Event, String>;

fn text(error: impl std::error::Error) -> String {
    with_causes(&error)
}

pub(super) fn read_list(context: &Context) -> Done {
    let tasks = context.list.read().map_err(text)?;
    Ok(tasks.map_or(Event::TasksUnchanged, Event::Tasks))
}

pub(super) async fn prepare(context: Arc<Context>, task: TaskId) -> Done {
    let git = context.git_of(&task);
    if context.is_parallel {
        let head = context.git.head().await.map_err(text)?;
        let branch = context.branch(&task);
        // No work has been done in it yet, so an incomplete one is not worth keeping.
        context.git.add_worktree(git.folder(), &branch, &head).await.map_err(text)?;
    }
    let (head, tree) = git.head_and_tree().await.map_err(text)?;
    if context.is_parallel {
        git.restore(&tree).await.map_err(text)?;
        return Ok(Event::Prepared { task, head, tree });
    }
    // Changes that a person has made meanwhile are not the task's.
    let dirty = git.dirty().await.map_err(text)?;
    if dirty.is_empty() {
        return Ok(Event::Prepared { task, head, tree });
    }
    Err(format!(
        "the working tree was changed while no task was running ({}); commit or stash the changes, then run the loop again",
        dirty.iter().take(5).cloned().collect::<Vec<_>>().join(", ")
    ))
}

pub(super) async fn restore(context: Arc<Context>, record: TaskRecord, tree: String) -> Done {
    let task = record.task.id.clone();
    if context.is_parallel {
        worktree::ensure(&context, &record).await.map_err(text)?;
    }
    let name = context.cut_off(&task, record.attempts.len());
    context.git_of(&task).restore_keeping(&tree, &name).await.map_err(text)?;
    Ok(Event::Restored { task })
}

/// Runs the gates. What they leave in the working tree is removed, so that only the work of the session is committed.
pub(super) async fn gates(context: Arc<Context>, record: TaskRecord) -> Done {
    let task = record.task.id.clone();
    let git = context.git_of(&task);
    let results = run_gates(&context.config.gates, &git, &context.folders.state(), &context.secrets).await;
    let tree = match &record.step {
        Some(Step::GatesBefore { tree }) => Some(tree),
        Some(Step::GatesAfter { work, .. }) => Some(&work.tree),
        _ => None,
    };
    if let Some(tree) = tree {
        git.restore(tree).await.map_err(text)?;
    }
    Ok(Event::Gates { task, results })
}

pub(super) async fn agent(
    context: Arc<Context>,
    order: AgentOrder,
    record: TaskRecord,
    around: Surroundings,
) -> Done {
    let progress = read_notes(&context.folders.workspace.join(&context.config.progress));
    let answers: Vec<(String, String)> = record.answers.into_iter().collect();
    let parts = Parts {
        task: &record.task,
        attempt: order.number,
        failure: order.failure.as_ref(),
        progress: &progress,
        broken: &order.broken,
        answers: &answers,
    };
    let request = AgentRequest {
        task: order.task.to_string(),
        mode: "coder".to_owned(),
        cwd: context.workspace(&order.task),
        session_id: order.session_id,
        resume: false,
        prompt: pack(&parts, &context.config),
        spec: context.config.coder.session(order.max_cost_usd, context.config.task_limits.turns),
        extra_args: context.config.coder.extra_args.clone(),
        rules: RULES,
        timeout: std::time::Duration::from_millis(order.timeout_ms),
        skip_permissions: context.skip_permissions,
        protected: context.protected(),
    };
    let run = context.agent.run(request, around).await;
    Ok(Event::AgentEnded { task: order.task, run: Box::new(run) })
}

/// Reads the log of a session that was running when the program was killed.
pub(super) fn recover(context: &Context, task: TaskId, session_id: &str) -> Done {
    let found = find_log(&context.folders.logs(), session_id);
    let run = match &found {
        Some(log) => run_from_log(log, &context.workspace(&task), &context.protected())
            .map_err(|error| format!("cannot read the log {}: {error}", log.display()))?,
        None => None,
    };
    let run = run.or_else(|| {
        let run = AgentRun {
            end: AgentEnd::Interrupted,
            session_id: Some(session_id.to_owned()),
            ..AgentRun::default()
        };
        found.map(|log| AgentRun { log: Some(log), ..run })
    });
    Ok(Event::Recovered { task, run: run.map(Box::new) })
}

pub(super) async fn inspect(context: Arc<Context>, task: TaskId, base: String, seen: Option<String>) -> Done {
    let git = context.git_of(&task);
    let list = &context.config.tasks;
    let looked = git.inspect(&base, &context.protected(), Some(list), seen.as_deref()).await.map_err(text)?;
    let work = match looked {
        Looked::Changed(tree) => return Ok(Event::Seen { task, tree }),
        Looked::Work(work) => work,
    };
    if let Some(seen) = seen.filter(|_| work.list_restored)
        && let Some(before) = git.file_in(&seen, list).await.map_err(text)?
    {
        // A person may have changed it as well, so it is kept.
        let name = list.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let kept = context.folders.kept();
        let _ = std::fs::create_dir_all(&kept)
            .and_then(|()| std::fs::write(kept.join(format!("{task}-{name}")), before));
    }
    Ok(Event::Inspected { task, work })
}

pub(super) async fn make_commit(
    context: Arc<Context>,
    record: TaskRecord,
    on_branch: bool,
    merges: Option<String>,
) -> Done {
    let task = record.task.id.clone();
    let message = message::done(&record, &context.run_id);
    if on_branch {
        return commit_on_branch(&context, &record, &message).await;
    }
    let git = &context.git;
    if let Some(commit) = &merges {
        match worktree::merge(&context, &record, commit).await.map_err(text)? {
            Ok(()) => {}
            Err(not) => return Ok(Event::NotMerged { task, why: not.why, output: not.output }),
        }
    }
    // A list outside the repository, or one that git ignores, is edited as well.
    context.list.tick(&task).map_err(text)?;
    let parent = git.head().await.map_err(text)?;
    let tree = git.snapshot().await.map_err(text)?;
    let parents: Vec<&str> = std::iter::once(parent.as_str()).chain(merges.as_deref()).collect();
    let commit = git.commit(&tree, &parents, &message).await.map_err(text)?;
    Ok(Event::CommitMade { task, commit, parent })
}

/// Commits in a worktree. Nothing else sets its branch, so it is set at once. A branch that is already set is
/// recognised by its tree.
async fn commit_on_branch(context: &Context, record: &TaskRecord, message: &str) -> Done {
    let task = record.task.id.clone();
    let git = context.git_of(&task);
    let head = git.head().await.map_err(text)?;
    let base = record.base.clone().unwrap_or_default();
    let tree = git.snapshot().await.map_err(text)?;
    if head != base && git.tree_of(&head).await.map_err(text)? == tree {
        return Ok(Event::CommitMade { task, commit: head, parent: base });
    }
    let commit = git.commit(&tree, &[&head], message).await.map_err(text)?;
    git.advance(&commit, &head).await.map_err(text)?;
    Ok(Event::CommitMade { task, commit, parent: head })
}

pub(super) async fn advance(
    context: Arc<Context>,
    task: TaskId,
    commit: String,
    parent: String,
    is_again: bool,
) -> Done {
    context.git.advance(&commit, &parent).await.map_err(text)?;
    if is_again {
        // After a kill the index may differ from the commit.
        let tree = context.git.tree_of(&commit).await.map_err(text)?;
        context.git.restore(&tree).await.map_err(text)?;
    }
    if context.is_parallel {
        let (folder, branch) = (context.workspace(&task), context.branch(&task));
        context.git.remove_worktree(&folder, Some(&branch)).await.map_err(text)?;
    }
    Ok(Event::Advanced { task })
}

pub(super) async fn shelve(context: Arc<Context>, record: TaskRecord, failure: Box<Failure>) -> Done {
    let task = record.task.id.clone();
    let message = message::given_up(&record, &failure, &context.run_id);
    let kept = if context.is_parallel {
        worktree::keep(&context, &record, &message).await
    } else {
        let branch = context.failed_branch(&task, record.attempts.len());
        let stash = context.config.git.keep_failed == crate::config::KeepFailed::Stash;
        context.git.keep(&branch, &message, stash).await
    };
    Ok(Event::Shelved { task, kept: kept.map_err(text)? })
}

pub(super) async fn clear(context: Arc<Context>, record: TaskRecord, kept: Option<String>) -> Done {
    if context.is_parallel {
        worktree::clear(&context, &record, kept.as_deref()).await.map_err(text)?;
    } else {
        let head = context.git.head().await.map_err(text)?;
        let tree = context.git.tree_of(&head).await.map_err(text)?;
        context.git.restore(&tree).await.map_err(text)?;
    }
    Ok(Event::Cleared { task: record.task.id })
}

pub(super) fn learn(context: &Context, record: &TaskRecord, key: &str, answer: &str) -> Result<(), String> {
    let path = context.folders.workspace.join(&context.config.progress);
    add_note(&path, key, &record.task.title, answer)
        .map(drop)
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Records what a session learned, from its log.
pub(super) fn learn_again(
    context: &Context,
    record: &TaskRecord,
    key: &str,
    log: &std::path::Path,
) -> Result<(), String> {
    // Without a readable log there is nothing to record.
    let Ok(answer) = answer_from_log(log) else { return Ok(()) };
    learn(context, record, key, &answer)
}
