//! A text for a pull request: what was done, and what was measured. Pure.

use std::fmt::Write as _;

use serde::Serialize;
use weir_base::money;
use weir_base::text::plural;
use weir_base::time::duration_text;

use super::part;
use crate::state::{Receipt, RunState, TaskRecord};

/// A pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PullRequest {
    /// The title.
    pub title: String,
    /// The text, as Markdown.
    pub body: String,
    /// The branch that has the commits, without `refs/heads/`. Absent for a run without a branch.
    pub branch: Option<String>,
    /// The branch to merge them into: for a task with a branch of its own, that of the task before it, or else the branch
    /// that the run began on.
    pub base: Option<String>,
    /// The last commit.
    pub commit: String,
}

/// A pull request for one task that is done, or for all of them. `None` if there is none.
pub fn pull_request(run: &RunState, task: Option<&str>) -> Option<PullRequest> {
    let is_meant = |record: &&TaskRecord| task.is_none_or(|name| record.task.id.as_str() == name);
    let done = run.tasks.iter().filter(is_meant);
    let done: Vec<(&TaskRecord, &Receipt)> =
        done.filter_map(|record| Some((record, record.receipt.as_deref()?))).collect();
    let (first, _) = done.first()?;
    let title = match done.len() {
        1 => first.task.title.clone(),
        more => format!("{} and {}", first.task.title, plural(more as u64 - 1, "more task")),
    };
    let line = run.line.as_ref();
    let own = line.and_then(|line| line.branch.as_deref());
    let own = own.map(|name| name.trim_start_matches("refs/heads/").to_owned());
    let all = run.branch_of_all();
    let last = done.last().map(|(_, receipt)| receipt.commit.clone()).unwrap_or_default();
    let body = part(|out| body(&done, out));
    let one = done.first().map(|(_, receipt)| *receipt).filter(|_| task.is_some());
    Some(match one {
        Some(receipt) => PullRequest {
            title,
            body,
            branch: run.branch_of(receipt),
            base: base(run, receipt).or(own),
            commit: last,
        },
        None => {
            let commit = line.map_or(last, |line| line.tip.clone());
            PullRequest { title, body, branch: all, base: own, commit }
        }
    })
}

/// A pull request for each task that is done.
pub fn pull_requests(run: &RunState) -> Vec<PullRequest> {
    let done = run.tasks.iter().filter(|record| record.receipt.is_some());
    done.filter_map(|record| pull_request(run, Some(record.task.id.as_str()))).collect()
}

/// The branch of the task that this one is based on.
fn base(run: &RunState, receipt: &Receipt) -> Option<String> {
    let receipts = run.tasks.iter().filter_map(|record| record.receipt.as_deref());
    let mut before = receipts.filter(|before| before.commit == receipt.parent);
    before.next().and_then(|before| before.branch.clone())
}

fn body(done: &[(&TaskRecord, &Receipt)], out: &mut String) -> std::fmt::Result {
    for (record, receipt) in done {
        writeln!(out, "## {}\n", record.task.title)?;
        for condition in &record.task.acceptance {
            writeln!(out, "- {condition}")?;
        }
        if !record.task.acceptance.is_empty() {
            writeln!(out)?;
        }
        let (files, added, removed) = receipt.diff;
        let cost = receipt.cost_usd.map_or_else(|| "unknown cost".to_owned(), money::dollars);
        let commit = receipt.commit.get(..10).unwrap_or(&receipt.commit);
        writeln!(
            out,
            "{commit}: {}, +{added} -{removed}; {}, {cost}, {}.",
            plural(files, "file"),
            plural(receipt.attempts.into(), "attempt"),
            receipt.models.join(", ")
        )?;
        let gates = receipt.gates.iter().map(|(name, took)| format!("{name} ({})", duration_text(*took)));
        match receipt.gates.is_empty() {
            true => writeln!(out, "**Not checked**: there are no gates.\n")?,
            false => writeln!(out, "Passed: {}.\n", gates.collect::<Vec<_>>().join(", "))?,
        }
        if !receipt.touched.is_empty() {
            writeln!(out, "**Changed what checks the work**: {}.\n", receipt.touched.join(", "))?;
        }
    }
    Ok(())
}
