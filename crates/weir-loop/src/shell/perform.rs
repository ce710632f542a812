//! Performs one action and returns the resulting event.

use std::path::PathBuf;
use std::sync::Arc;

use weir_base::error::with_causes;

use super::context::{Context, slot};
use super::gates::{Check, run_gates, run_setup};
use super::git::{Git, GitError, Looked};
use super::notes::{add_note, read_notes};
use super::tasks::ticked_in;
use crate::agent::{AgentRequest, AgentRun, Surroundings, answer_from_log, find_log, killed_run_from_log};
use crate::machine::{AgentOrder, Event, ReviewOrder};
use crate::message;
use crate::outcome::Failure;
use crate::prompt::{self, Parts, REVIEW_RULES, RULES, pack};
use crate::state::{Line, Step, TaskRecord};

/// The resulting event, or why the run cannot continue.
pub(super) type Done = Result<Event, String>;

pub(super) fn text(error: impl std::error::Error) -> String {
    with_causes(&error)
}

pub(super) fn read_list(context: &Context) -> Done {
    let tasks = context.list.read().map_err(text)?;
    Ok(tasks.map_or(Event::TasksUnchanged, Event::Tasks))
}

/// Brings the place of a task to the last commit of the run, with what the person has committed since.
pub(super) async fn prepare(context: Arc<Context>, record: TaskRecord, line: Option<Line>) -> Done {
    let (line, mut notes) = super::line::catch_up(&context, line).await.map_err(text)?;
    let places = &context.ready().await.map_err(text)?.places;
    let head = line.tip.clone();
    let tree = context.home.tree_of(&head).await.map_err(text)?;
    places.prepare(slot(&record), &tree, &head).await.map_err(text)?;
    let folder = context.workspace(&record);
    if let Some(failed) = run_setup(&context, &folder).await.map_err(text)? {
        notes.push(format!(
            "{} failed in the place of task {}: {}",
            failed.name, record.task.id, failed.ending
        ));
    }
    Ok(Event::Prepared { task: record.task.id, head, tree, line: Some(line), notes })
}

pub(super) async fn restore(context: Arc<Context>, record: TaskRecord, tree: String) -> Done {
    let git = place(&context, &record, &tree).await.map_err(text)?;
    let name = context.cut_off(&record.task.id, record.attempts.len());
    let head = record.base.clone().unwrap_or_default();
    git.restore_keeping(&context.home, &tree, &head, &name).await.map_err(text)?;
    // The git that the next session sees has nothing of the one before.
    let places = &context.ready().await.map_err(text)?.places;
    places.prepare(slot(&record), &tree, &head).await.map_err(text)?;
    Ok(Event::Restored { task: record.task.id })
}

/// The place of a task, which is made again if it is gone.
async fn place(context: &Context, record: &TaskRecord, tree: &str) -> Result<Git, GitError> {
    let head = match &record.base {
        Some(base) => base.clone(),
        None => context.home.head().await?,
    };
    context.ready().await?.places.ensure(slot(record), tree, &head).await
}

/// Runs the gates in a checkout of what will be committed.
pub(super) async fn gates(context: Arc<Context>, record: TaskRecord) -> Done {
    let results = match &record.step {
        Some(Step::GatesAfter { work, .. }) => check_work(&context, &record, &work.tree).await,
        Some(Step::GatesBefore { tree }) => {
            let head = record.base.as_deref().unwrap_or_default();
            let task = Some(&record.task.id);
            run_gates(&context, Check { slot: slot(&record), tree, head, task }).await
        }
        _ => Ok(Vec::new()),
    };
    Ok(Event::Gates { task: record.task.id, results: results.map_err(text)? })
}

async fn check_work(
    context: &Context,
    record: &TaskRecord,
    tree: &str,
) -> Result<Vec<crate::outcome::GateResult>, GitError> {
    let base = record.base.clone().unwrap_or_default();
    let tree = ticked(context, record, tree).await?;
    let git = context.ready().await?.places.session(slot(record));
    let commit = git.commit(&tree, &[&base], "What is being checked\n").await?;
    let check = Check { slot: slot(record), tree: &tree, head: &commit, task: Some(&record.task.id) };
    run_gates(context, check).await
}

/// The tree that is committed: the work with the box of the task checked, if the list is in the repository.
pub(super) async fn ticked(context: &Context, record: &TaskRecord, tree: &str) -> Result<String, GitError> {
    // What was checked is what is committed.
    if let Some(known) = context.known_ticked(&record.task.id, tree) {
        return Ok(known);
    }
    let git = context.ready().await?.places.session(slot(record));
    let files = ticked_in(&git, tree, context.list_path(), &record.task.id).await?;
    let made = git.tree_with(tree, &files).await?;
    context.note_ticked(&record.task.id, tree, &made);
    Ok(made)
}

pub(super) async fn agent(
    context: Arc<Context>,
    order: AgentOrder,
    record: TaskRecord,
    around: Surroundings,
) -> Done {
    let protected = context.protection(&record).await.map_err(text)?;
    let cwd = context.workspace(&record);
    let progress = read_notes(&context.folders.workspace.join(&context.config.progress));
    let answers: Vec<(String, String)> = record.answers.into_iter().collect();
    let parts = Parts {
        task: &record.task,
        attempt: order.number,
        failure: order.failure.as_ref(),
        // Its work could not be merged, so this attempt begins without it.
        begins_anew: record.failure.is_some() && record.failure.as_deref() == order.failure.as_ref(),
        progress: &progress,
        broken: &order.broken,
        answers: &answers,
    };
    let options = record.task.options.clone();
    let turns = options.limits(&context.config.task_limits).turns;
    let mut spec = context.config.coder.session(order.max_cost_usd, turns);
    spec.model = options.model.or(spec.model);
    spec.effort = options.effort.or(spec.effort);
    let request = AgentRequest {
        task: order.task.to_string(),
        mode: "coder".to_owned(),
        cwd,
        session_id: order.session_id,
        resume: false,
        prompt: pack(&parts, &context.config),
        spec,
        extra_args: context.config.coder.extra_args.clone(),
        rules: RULES,
        timeout: std::time::Duration::from_millis(order.timeout_ms),
        skip_permissions: context.skip_permissions,
        protected,
    };
    let run = context.agent.run(request, around).await;
    Ok(Event::AgentEnded { task: order.task, run: Box::new(run) })
}

/// Lets a second session review the work, in the place where it was done.
pub(super) async fn review(
    context: Arc<Context>,
    order: ReviewOrder,
    record: TaskRecord,
    around: Surroundings,
) -> Done {
    let Some((Step::Reviewing { work, .. }, review)) =
        record.step.as_ref().zip(context.config.review.as_ref())
    else {
        return Err(format!("task {} has no work to review", order.task));
    };
    let git = context.ready().await.map_err(text)?.places.session(slot(&record));
    let base = record.base.clone().unwrap_or_default();
    let diff = git.diff(&base, &work.tree).await.map_err(text)?;
    let mut spec = context.config.coder.session(order.max_cost_usd, None);
    spec.allowed_tools = ["Read", "Glob", "Grep"].map(str::to_owned).to_vec();
    spec.model = review.model.clone().or(spec.model);
    spec.effort = review.effort.or(spec.effort);
    let request = AgentRequest {
        task: order.task.to_string(),
        mode: "reviewer".to_owned(),
        cwd: context.workspace(&record),
        session_id: order.session_id,
        resume: false,
        prompt: prompt::review(&record.task, &diff, &review.instructions, &context.config),
        spec,
        extra_args: context.config.coder.extra_args.clone(),
        rules: REVIEW_RULES,
        timeout: review.timeout.duration(),
        skip_permissions: false,
        protected: context.protection(&record).await.map_err(text)?,
    };
    let run = context.agent.run(request, around).await;
    Ok(Event::Reviewed { task: order.task, run: Box::new(run) })
}

/// Reads the log of a session that was running when the program was killed.
pub(super) async fn recover(context: Arc<Context>, record: TaskRecord, session_id: String) -> Done {
    let protected = context.protection(&record).await.map_err(text)?;
    let found = find_log(&context.folders.logs(), &session_id);
    let read = |log: &PathBuf| {
        let run = killed_run_from_log(log, &context.workspace(&record), &protected)
            .map_err(|error| format!("cannot read the log {}: {error}", log.display()))?;
        Ok::<_, String>(AgentRun { session_id: run.session_id.clone().or(Some(session_id.clone())), ..run })
    };
    let run = found.as_ref().map(read).transpose()?;
    Ok(Event::Recovered { task: record.task.id, run: run.map(Box::new) })
}

pub(super) async fn inspect(
    context: Arc<Context>,
    record: TaskRecord,
    base: String,
    seen: Option<String>,
) -> Done {
    let task = record.task.id.clone();
    let base_tree = context.home.tree_of(&base).await.map_err(text)?;
    let git = place(&context, &record, &base_tree).await.map_err(text)?;
    let list = context.list_path();
    let protection = context.protection(&record).await.map_err(text)?;
    let looked = git.inspect(&base, &protection, list, seen.as_deref()).await.map_err(text)?;
    let work = match looked {
        Looked::Changed(tree) => return Ok(Event::Seen { task, tree }),
        Looked::Work(work) => work,
    };
    if let Some(seen) = seen.filter(|_| work.list_restored)
        && let Some(before) = git.file_in(&seen, list).await.map_err(text)?
    {
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
    line: Option<Line>,
    on_branch: bool,
    merges: Option<String>,
) -> Done {
    let task = record.task.id.clone();
    let message = message::done(&record, &context.run_id);
    let git = context.ready().await.map_err(text)?.places.session(slot(&record));
    let base = record.base.clone().unwrap_or_default();
    let Some(Step::Committing { work, .. }) = &record.step else {
        return Err(format!("task {task} has no work to commit"));
    };
    if on_branch {
        // Made again after a kill: another commit of the same tree.
        let commit = git.commit(&work.tree, &[&base], &message).await.map_err(text)?;
        context.home.set_branch(&context.branch(&task), &commit).await.map_err(text)?;
        return Ok(Event::CommitMade { task, commit, parent: base });
    }
    let parent = line.map_or(base, |line| line.tip);
    let (tree, parents) = match &merges {
        None => (ticked(&context, &record, &work.tree).await.map_err(text)?, vec![parent.as_str()]),
        Some(commit) => match super::line::merge(&context, &record, &parent, commit).await.map_err(text)? {
            Ok(tree) => (tree, vec![parent.as_str(), commit.as_str()]),
            Err(not) => return Ok(Event::NotMerged { task, why: not.why, output: not.output }),
        },
    };
    let commit = git.commit(&tree, &parents, &message).await.map_err(text)?;
    Ok(Event::CommitMade { task, commit, parent })
}

/// Makes a commit the last one of the run, and publishes it.
pub(super) async fn advance(
    context: Arc<Context>,
    record: TaskRecord,
    line: Option<Line>,
    commit: String,
    parent: String,
) -> Done {
    let task = record.task.id.clone();
    let line = match line {
        Some(line) => line,
        None => super::line::begin(&context.home).await.map_err(text)?,
    };
    if line.tip != parent && line.tip != commit {
        return Err(format!("the run's last commit is {}, not {parent}: its state was changed", line.tip));
    }
    let (mut line, mut notes) =
        super::line::publish(&context, line, commit.clone(), Some(&task)).await.map_err(text)?;
    if line.waits.is_some() {
        // A person may have committed meanwhile. There may be no next task that takes that in.
        let (now, more) = super::line::catch_up(&context, Some(line)).await.map_err(text)?;
        if now.waits.is_none() {
            notes.clear();
        }
        notes.extend(more);
        line = now;
    }
    let ticked = context.list.is_ticked(&task);
    let branch = context.task_branch(&task);
    if let Some(branch) = &branch {
        context.home.set_branch(branch, &commit).await.map_err(text)?;
    }
    if context.is_parallel {
        context.home.remove_branch(&context.branch(&task)).await.map_err(text)?;
    }
    Ok(Event::Advanced { task, line: Some(line), ticked, branch, notes })
}

/// Keeps the work of a task that was given up.
pub(super) async fn shelve(context: Arc<Context>, record: TaskRecord, failure: Box<Failure>) -> Done {
    let task = record.task.id.clone();
    let kept = keep(&context, &record, &failure).await.map_err(text)?;
    Ok(Event::Shelved { task, kept })
}

async fn keep(context: &Context, record: &TaskRecord, failure: &Failure) -> Result<Option<String>, GitError> {
    let task = &record.task.id;
    let message = message::given_up(record, failure, &context.run_id);
    // It has passed its gates, and was not merged.
    let not_merged = match context.is_parallel && context.home.branch(&context.branch(task)).await?.is_some()
    {
        true => Some(context.branch(task)),
        false => None,
    };
    // Without a base its place was never prepared.
    let Some(base) = record.base.as_ref().filter(|_| not_merged.is_none() || record.is_requeued) else {
        return Ok(not_merged);
    };
    let base_tree = context.home.tree_of(base).await?;
    let git = place(context, record, &base_tree).await?;
    let tree = git.snapshot().await?;
    if tree == base_tree {
        return Ok(not_merged);
    }
    let name = context.failed_branch(task, record.attempts.len());
    if context.config.git.keep_failed == crate::config::KeepFailed::Stash && !context.is_parallel {
        return context.home.keep_in_stash(base, &tree, &name, &message).await.map(Some);
    }
    let commit = git.commit(&tree, &[base], &message).await?;
    // The work that was not merged stays where it is.
    let is_first = context.is_parallel && !record.is_requeued;
    let branch = if is_first { context.branch(task) } else { name };
    context.home.set_branch(&branch, &commit).await?;
    Ok(Some(branch))
}

pub(super) async fn clear(context: Arc<Context>, record: TaskRecord, kept: Option<String>) -> Done {
    if let Some(base) = &record.base {
        let tree = context.home.tree_of(base).await.map_err(text)?;
        let places = &context.ready().await.map_err(text)?.places;
        places.prepare(slot(&record), &tree, base).await.map_err(text)?;
    }
    if context.is_parallel && kept.is_none() {
        context.home.remove_branch(&context.branch(&record.task.id)).await.map_err(text)?;
    }
    Ok(Event::Cleared { task: record.task.id })
}

fn notes_file(context: &Context) -> PathBuf {
    context.folders.workspace.join(&context.config.progress)
}

pub(super) fn learn(context: &Context, record: &TaskRecord, key: &str, answer: &str) -> Result<(), String> {
    let path = notes_file(context);
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
