//! What a person has to look at first. Pure.

use crate::outcome::Outcome;
use crate::state::{Asked, OpenQuestion, RunEnd, RunState, TaskRecord};

use super::end_words;

/// What a person has to look at first: questions, refusals, what was put back, limits, conflicts, and what was allowed to
/// change the checks.
pub fn needs_you(run: &RunState) -> Vec<String> {
    let mut all: Vec<String> = run.questions.iter().map(question).collect();
    let is_about_the_run = |end: &&RunEnd| {
        !matches!(end, RunEnd::Completed | RunEnd::OnBranches | RunEnd::Unfinished | RunEnd::Enough)
    };
    all.extend(run.end().filter(is_about_the_run).map(end_words));
    if let Some(why) = run.line.as_ref().and_then(|line| line.waits.as_ref()) {
        all.push(format!(
            "The branch does not have the last commits: {why}. `weir loop merge` brings them there."
        ));
    }
    all.extend(run.tasks.iter().flat_map(of_task));
    let unchecked = run.tasks.iter().filter(|record| record.is_done_unchecked()).count();
    if unchecked > 0 {
        all.push(format!("{} done without a check: there are no gates.", tasks_are(unchecked)));
    }
    let cut_off = run.tasks.iter().flat_map(|task| &task.attempts).filter(|attempt| attempt.cut_off).count();
    if cut_off > 0 {
        let sessions =
            if cut_off == 1 { "1 session was".to_owned() } else { format!("{cut_off} sessions were") };
        all.push(format!(
            "{sessions} cut off when the loop was stopped or killed; what they cost is not known."
        ));
    }
    all
}

fn tasks_are(count: usize) -> String {
    if count == 1 { "1 task is".to_owned() } else { format!("{count} tasks are") }
}

fn question(open: &OpenQuestion) -> String {
    let what = match &open.asked {
        Asked::Questions { questions } => {
            questions.iter().map(|asked| asked.question.as_str()).collect::<Vec<_>>().join(" ")
        }
        Asked::Permission { what, .. } => format!("it wants to use {what}"),
    };
    format!("Task {} asks: {what} Answer with `weir loop answer --question {}`.", open.task, open.id)
}

fn of_task(record: &TaskRecord) -> Vec<String> {
    let id = &record.task.id;
    let mut all = Vec::new();
    let touched = record.receipt.as_ref().map(|receipt| receipt.touched.as_slice()).unwrap_or_default();
    if !touched.is_empty() {
        all.push(format!(
            "Task {id} was allowed to change what checks the work, and changed {}.",
            touched.join(", ")
        ));
    }
    let put_back = record.attempts.iter().filter(|attempt| {
        attempt.failure.as_ref().is_some_and(|failure| failure.reason.starts_with(crate::judge::PUT_BACK))
    });
    let put_back = put_back.count();
    if put_back > 0 {
        all.push(format!("Task {id} changed protected files {}; they were put back.", times(put_back)));
    }
    if record.is_checked_by_hand && record.receipt.is_none() {
        all.push(format!(
            "The box of task {id} was checked during the run, and not by the loop: no session has done it."
        ));
    }
    let Some(failure) = &record.failure else { return all };
    match record.outcome() {
        Some(Outcome::Question) => {
            all.push(format!("Task {id} asked, and nobody answered: {}", failure.reason));
        }
        Some(Outcome::Denied) => all.push(format!("Task {id}: {}", failure.reason)),
        Some(Outcome::Budget | Outcome::TimedOut) => {
            all.push(format!("Task {id} reached a limit: {}", failure.reason));
        }
        Some(outcome) if outcome != Outcome::Stopped => {
            all.push(format!("Task {id} is not done: {}", failure.reason));
        }
        _ => {}
    }
    all
}

fn times(count: usize) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}
