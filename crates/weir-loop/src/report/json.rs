//! The report as JSON, for programs. Its schema is a promise. Pure.

use schemars::JsonSchema;
use serde::Serialize;

use super::{blocked, ending, needs_you, state_words};
use crate::state::{Attempt, RunState, TaskRecord, TaskState};

/// The report of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LoopReport {
    /// Version of this format.
    pub version: u32,
    /// Id of the run.
    pub run_id: String,
    /// When it began, in milliseconds since 1970.
    pub started_at: i64,
    /// When it ended, if it has.
    pub ended_at: Option<i64>,
    /// How it ended, in words.
    pub ending: String,
    /// What a person has to look at first.
    pub needs_you: Vec<String>,
    /// The branch that has the commits, or gets them.
    pub branch: Option<String>,
    /// The last commit of the run.
    pub commit: Option<String>,
    /// Number of tasks that are done.
    pub done: usize,
    /// Number of tasks that were given up.
    pub failed: usize,
    /// Number of tasks that are neither done, nor given up, nor skipped.
    pub open: usize,
    /// Dollars that were spent, as far as known, also by sessions that came to nothing.
    pub cost_usd: f64,
    /// Number of sessions of unknown cost.
    pub unknown_costs: u32,
    /// Sessions with the model.
    pub iterations: u32,
    /// Tokens.
    pub tokens: u64,
    /// Time at work, in milliseconds.
    pub active_ms: u64,
    /// The tasks, in the order of the list.
    pub tasks: Vec<TaskReport>,
}

/// A task in a report.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TaskReport {
    /// Its name.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its state, in words.
    pub state: String,
    /// Whether its work is committed.
    pub is_done: bool,
    /// Whether gates have checked the work.
    pub is_checked: bool,
    /// The commit.
    pub commit: Option<String>,
    /// The branch that has it.
    pub branch: Option<String>,
    /// Where the work is, if the task was given up.
    pub kept: Option<String>,
    /// The gates that passed.
    pub gates: Vec<GateReport>,
    /// Whether a second session approves of the work; `null` without a review.
    pub review: Option<bool>,
    /// Number of files that it changed.
    pub files: u64,
    /// Lines that it added.
    pub added: u64,
    /// Lines that it removed.
    pub removed: u64,
    /// Files that say how the work is checked, which it changed because it was allowed to.
    pub touched: Vec<String>,
    /// The models.
    pub models: Vec<String>,
    /// Dollars, as far as known.
    pub cost_usd: f64,
    /// Tokens.
    pub tokens: u64,
    /// Time of its sessions, in milliseconds.
    pub duration_ms: u64,
    /// Why it was given up.
    pub failure: Option<String>,
    /// Its sessions.
    pub attempts: Vec<AttemptReport>,
}

/// A gate in a report.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GateReport {
    /// Its name.
    pub name: String,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// The end of what it printed.
    pub output: String,
}

/// A session in a report.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AttemptReport {
    /// Number of the attempt that it belongs to.
    pub number: u32,
    /// Whether it has reviewed the work of another session.
    pub is_review: bool,
    /// How it ended, in words.
    pub outcome: String,
    /// Why it did not succeed.
    pub reason: Option<String>,
    /// What the gates or the CLI printed then.
    pub output: Option<String>,
    /// The end of what the model said at last. It decides nothing.
    pub said: String,
    /// Dollars; `null` if they are not known.
    pub cost_usd: Option<f64>,
    /// Tokens.
    pub tokens: u64,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// The session.
    pub session_id: Option<String>,
    /// Its log.
    pub log: Option<String>,
}

/// The report of a run, for programs.
pub fn report(run: &RunState) -> LoopReport {
    let budget = run.budget();
    let blocked = blocked(run);
    let ended_at = match &run.status {
        crate::state::RunStatus::Running => None,
        crate::state::RunStatus::Ended { at, .. } => Some(*at),
    };
    LoopReport {
        version: 1,
        run_id: run.run_id.clone(),
        started_at: run.started_at,
        ended_at,
        ending: ending(run),
        needs_you: needs_you(run),
        branch: run.line.as_ref().and_then(|line| line.branch.clone()),
        commit: run.line.as_ref().map(|line| line.tip.clone()),
        done: run.count(TaskState::Done),
        failed: run.count(TaskState::Failed),
        open: run.count(TaskState::Pending) + run.count(TaskState::Active),
        cost_usd: budget.cost_usd,
        unknown_costs: budget.unknown_costs,
        iterations: budget.iterations,
        tokens: budget.tokens,
        active_ms: budget.active_ms,
        tasks: run.tasks.iter().map(|record| task(run, record, state_words(run, record, &blocked))).collect(),
    }
}

fn task(run: &RunState, record: &TaskRecord, state: String) -> TaskReport {
    let receipt = record.receipt.as_deref();
    let mut models: Vec<String> =
        record.attempts.iter().flat_map(|attempt| &attempt.models).map(|model| model.model.clone()).collect();
    models.sort();
    models.dedup();
    let gates = receipt.into_iter().flat_map(|receipt| {
        let output = receipt.gate_output.iter().map(String::as_str).chain(std::iter::repeat(""));
        receipt.gates.iter().zip(output).map(|((name, took_ms), output)| GateReport {
            name: name.clone(),
            took_ms: *took_ms,
            output: output.to_owned(),
        })
    });
    let (files, added, removed) = receipt.map(|receipt| receipt.diff).unwrap_or_default();
    TaskReport {
        id: record.task.id.to_string(),
        title: record.task.title.clone(),
        state,
        is_done: record.state == TaskState::Done,
        is_checked: receipt.is_some_and(|receipt| !receipt.gates.is_empty()),
        commit: receipt.map(|receipt| receipt.commit.clone()),
        branch: receipt.and_then(|receipt| run.branch_of(receipt)),
        kept: record.kept.clone(),
        gates: gates.collect(),
        review: receipt.and_then(|receipt| receipt.review.as_ref()).map(|review| review.approves),
        files,
        added,
        removed,
        touched: receipt.map(|receipt| receipt.touched.clone()).unwrap_or_default(),
        models,
        cost_usd: record.cost_usd(),
        tokens: record.tokens(),
        duration_ms: record.took_ms(),
        failure: record.failure.as_ref().map(|failure| failure.reason.clone()),
        attempts: record.attempts.iter().map(attempt).collect(),
    }
}

fn attempt(attempt: &Attempt) -> AttemptReport {
    let failure = attempt.failure.as_ref();
    AttemptReport {
        number: attempt.number,
        is_review: attempt.is_review,
        outcome: attempt.outcome.to_string(),
        reason: failure.map(|failure| failure.reason.clone()),
        output: failure.map(|failure| failure.output.clone()).filter(|output| !output.is_empty()),
        said: attempt.said.clone(),
        cost_usd: attempt.cost_usd,
        tokens: attempt.tokens,
        duration_ms: attempt.duration_ms,
        session_id: attempt.session_id.clone(),
        log: attempt.log.as_ref().map(|log| log.display().to_string()),
    }
}

/// The schema of the report.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(LoopReport).to_value()
}
