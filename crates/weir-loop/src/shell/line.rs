//! The run's own line of commits, and how it meets the branch of the person.
//!
//! Each task is based on the last commit that Weir made, which is known from the journal and not from a reference. The
//! branch follows when that is safe. What a person commits meanwhile is taken in before the next task begins.

use std::sync::Arc;

use super::context::{Context, slot};
use super::gates::{Check, run_gates};
use super::git::{Git, GitError, Publication, Published, short};
use super::perform::{Done, text};
use super::tasks::ticks_since;
use crate::config::Results;
use crate::judge::judge_gates;
use crate::machine::Event;
use crate::state::{Line, TaskRecord};
use crate::tasks::TaskId;

/// Why the branch of a person does not follow when the results are branches.
const ON_BRANCHES: &str = "each task has a branch of its own (git.results = \"branches\")";

/// The line of a run that begins now.
pub(super) async fn begin(home: &Git) -> Result<Line, GitError> {
    let head = home.head().await?;
    Ok(Line { branch: home.current_branch().await?, tip: head.clone(), published: head, waits: None })
}

/// Takes in what a person has committed to the branch since Weir last saw it. Returns what a person should know.
pub(super) async fn catch_up(context: &Context, line: Option<Line>) -> Result<(Line, Vec<String>), GitError> {
    let home = &context.home;
    let own = context.ready().await?.places.bare();
    let Some(mut line) = line else { return Ok((begin(home).await?, Vec::new())) };
    let name = short(line.branch.as_deref()).to_owned();
    let Some(now) = home.commit_of(line.branch.as_deref().unwrap_or("HEAD")).await? else {
        let text = format!("{name} is gone; the run's commits are on {}", context.run_branch());
        return wait(context, line, text).await;
    };
    let mut notes = Vec::new();
    if now != line.published && now != line.tip {
        let changes = home.changes(&line.published, &now).await?;
        let protection = context.protection_of_all().await?;
        let touched = changes.iter().find(|change| protection.covers(&change.path));
        if !home.is_ancestor(&line.published, &now).await? {
            let text = format!("{name} was set to another commit ({now}), which the run does not follow");
            return wait(context, line, text).await;
        }
        if let Some(change) = touched.filter(|_| context.sandbox.is_none()) {
            // Without a sandbox, a session could have made this commit.
            let text = format!(
                "{name} has commits by someone else that change {}, which says how work is checked: this run does not take \
                 them in; `weir loop merge` does",
                change.path.display()
            );
            return wait(context, line, text).await;
        }
        let count = home.count_between(&line.published, &now).await?;
        notes.push(format!("{name} has {count} more commits; the next task is based on them"));
        if home.is_ancestor(&line.tip, &now).await? {
            line.tip.clone_from(&now);
        } else {
            match own.merge(&line.tip, &now).await? {
                Err(conflicts) => {
                    let text = format!("{name} has commits that conflict with the run's: {conflicts}");
                    return wait(context, line, text).await;
                }
                Ok(tree) => {
                    let message = format!("Merge {name} into the run\n");
                    line.tip = own.commit(&tree, &[&line.tip, &now], &message).await?;
                }
            }
        }
        line.published = now;
    }
    if line.tip != line.published {
        let tip = line.tip.clone();
        let (line, more) = publish(context, line, tip, None).await?;
        notes.extend(more);
        return Ok((line, notes));
    }
    Ok((line, notes))
}

/// Notes that the branch does not follow now, and keeps the commits on a branch of Weir's.
async fn wait(context: &Context, mut line: Line, why: String) -> Result<(Line, Vec<String>), GitError> {
    let mut notes = Vec::new();
    if line.tip != line.published {
        context.home.set_branch(&context.run_branch(), &line.tip).await?;
        let count = context.home.count_between(&line.published, &line.tip).await?;
        notes.push(format!(
            "{why}; {count} commits of the run wait on {}: run `weir loop merge`",
            context.run_branch()
        ));
    } else {
        notes.push(why.clone());
    }
    if line.waits.as_deref() == Some(&why) {
        notes.clear();
    }
    line.waits = Some(why);
    Ok((line, notes))
}

/// Makes a commit the last one of the line, and brings the branch to it if that is safe.
pub(super) async fn publish(
    context: &Context,
    mut line: Line,
    commit: String,
    done: Option<&TaskId>,
) -> Result<(Line, Vec<String>), GitError> {
    line.tip = commit;
    let home = &context.home;
    let expected = context.list.expected(done);
    let ticks = ticks_since(home, &line.published, &line.tip, context.list_path()).await?;
    let merged = |path: &std::path::Path, text: &str| {
        path.starts_with(context.list_path()).then(|| ticks.apply(path, text)).flatten()
    };
    let publication =
        Publication { branch: line.branch.as_deref(), from: &line.published, to: &line.tip, merged: &merged };
    let published = match context.config.git.results {
        Results::Branch => context.person().publish(&publication).await?,
        Results::Branches => Published::Waits(ON_BRANCHES.to_owned()),
    };
    let is_here = home.current_branch().await? == line.branch;
    let (line, mut notes) = match published {
        Published::Yes => {
            home.remove_branch(&context.run_branch()).await?;
            line.published.clone_from(&line.tip);
            line.waits = None;
            (line, Vec::new())
        }
        Published::Waits(why) => wait(context, line, why).await?,
    };
    let is_in_repository = ticks.has_list();
    let is_kept_out = is_in_repository && context.config.git.results == Results::Branches;
    if let Some(task) = done.filter(|_| (is_here || !is_in_repository) && !is_kept_out) {
        // The list as the person has it now, with their own edits.
        if let Err(error) = context.list.tick(task) {
            notes.push(format!("the box of task {task} could not be checked: {error}"));
        }
    }
    context.list.note_expected(expected);
    Ok((line, notes))
}

/// Why a task's work was not merged.
pub(super) struct NotMerged {
    pub(super) why: String,
    pub(super) output: String,
}

/// The tree of a merge of a task's commit with the last one of the run, with the box of the task checked. The gates run on
/// it if they have not seen it.
pub(super) async fn merge(
    context: &Context,
    record: &TaskRecord,
    tip: &str,
    commit: &str,
) -> Result<Result<String, NotMerged>, GitError> {
    let tree = match context.ready().await?.places.bare().merge(tip, commit).await? {
        Ok(tree) => tree,
        Err(output) => {
            let why = "its work cannot be merged: it conflicts with earlier merges".to_owned();
            return Ok(Err(NotMerged { why, output }));
        }
    };
    let tree = super::perform::ticked(context, record, &tree).await?;
    if record.base.as_deref() == Some(tip) || context.config.gates.is_empty() {
        return Ok(Ok(tree));
    }
    let git = context.ready().await?.places.session(slot(record));
    let merge = git.commit(&tree, &[tip, commit], "What is being checked\n").await?;
    let check = Check { slot: slot(record), tree: &tree, head: &merge, task: Some(&record.task.id) };
    let after = run_gates(context, check).await?;
    match judge_gates(&record.before, &after, context.config.already_broken) {
        None => Ok(Ok(tree)),
        Some(failure) => {
            let why = format!("merged with the other tasks, {}", failure.reason);
            Ok(Err(NotMerged { why, output: failure.output }))
        }
    }
}

/// Checks the last commit of the run with nothing that earlier checks have left, and that it contains the commit of each
/// task that is done.
pub(super) async fn check_last(context: Arc<Context>, line: Option<Line>, commits: Vec<String>) -> Done {
    let Some(line) = line else { return Ok(Event::LastChecked { problem: None }) };
    let problem = last_problem(&context, &line, &commits).await.map_err(text)?;
    Ok(Event::LastChecked { problem })
}

async fn last_problem(
    context: &Context,
    line: &Line,
    commits: &[String],
) -> Result<Option<String>, GitError> {
    let missing = context.home.missing_from(&line.tip, commits).await?;
    if !missing.is_empty() {
        return Ok(Some(format!("{} does not contain {}", line.tip, missing.join(", "))));
    }
    let places = &context.ready().await?.places;
    places.forget_kept(1)?;
    context.forget_setup();
    let tree = context.home.tree_of(&line.tip).await?;
    let check = Check { slot: 1, tree: &tree, head: &line.tip, task: None };
    let results = run_gates(context, check).await?;
    let failed = judge_gates(&[], &results, context.config.already_broken);
    Ok(failed.map(|failure| failure.reason))
}
