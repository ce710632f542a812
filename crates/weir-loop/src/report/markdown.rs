//! The report as Markdown.

use std::fmt::Write as _;
use std::iter::once_with as once;

use weir_base::money;
use weir_base::time::duration_text;

use super::{blocked, cost_notes, dollars, ending, given_up_reason, part, state_words, task_words, times};
use crate::limits::{LimitTable as _, Unit};
use crate::state::{RunState, TaskRecord, TaskState};

/// The report of a run as Markdown.
pub fn markdown(run: &RunState) -> String {
    markdown_parts(run).collect()
}

/// The same report in parts, at most one task each, so that the whole report is never in memory.
pub fn markdown_parts(run: &RunState) -> impl Iterator<Item = String> {
    let blocked = blocked(run);
    let rows = run.tasks.iter().map(move |record| {
        let state = state_words(run, record, &blocked);
        part(|out| row(record, &state, out))
    });
    let begun = run.tasks.iter().filter(|record| !record.attempts.is_empty());
    let details = begun.map(|record| part(|out| details(run, record, out)));
    once(|| part(|out| begin(run, out)))
        .chain(rows)
        .chain(details)
        .chain(once(|| part(|out| setups(run, out))))
        .chain(once(|| "\nCosts are the CLI's estimates.\n".to_owned()))
}

fn begin(run: &RunState, out: &mut String) -> std::fmt::Result {
    writeln!(out, "# Report of run {}\n", run.run_id)?;
    writeln!(out, "It {}. {}\n", times(run), ending(run))?;
    let needs = super::needs_you(run);
    if !needs.is_empty() {
        writeln!(out, "## Needs you\n")?;
        for need in needs {
            writeln!(out, "- {}", cell(&need))?;
        }
        writeln!(out)?;
    }
    writeln!(
        out,
        "**{} of {} tasks done**, {} failed, {} skipped, {} open.\n",
        run.count(TaskState::Done),
        run.tasks.len(),
        run.count(TaskState::Failed),
        run.count(TaskState::Skipped),
        run.count(TaskState::Pending) + run.count(TaskState::Active),
    )?;
    writeln!(out, "| | spent | limit |\n|---|---:|---:|")?;
    for (limit, used, max) in run.limits.usage(&run.counted_budget()) {
        let more = if limit.unit == Unit::Dollars { cost_notes(run) } else { String::new() };
        writeln!(out, "| {} | {used}{more} | {max} |", limit.name)?;
    }
    writeln!(out)?;
    writeln!(
        out,
        "| task | outcome | sessions | cost | time | change | commit |\n|---|---|---:|---:|---:|---|---|"
    )
}

/// What the sessions worked with, for audits.
fn setups(run: &RunState, out: &mut String) -> std::fmt::Result {
    let all = super::setups(run);
    if all.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n## Session setup\n")?;
    for (words, sessions) in all {
        writeln!(out, "- {}: {}", weir_base::text::plural(sessions as u64, "session"), cell(&words))?;
    }
    Ok(())
}

fn row(record: &TaskRecord, state: &str, out: &mut String) -> std::fmt::Result {
    let receipt = record.receipt.as_ref();
    let change = receipt.map(|receipt| {
        let (files, added, removed) = receipt.diff;
        format!("{}, +{added} -{removed}", weir_base::text::plural(files, "file"))
    });
    let commit = receipt.and_then(|receipt| receipt.commit.get(..10)).unwrap_or_default();
    let time = if record.attempts.is_empty() { String::new() } else { duration_text(record.took_ms()) };
    writeln!(
        out,
        "| {} | {} | {} | {} | {time} | {} | {commit} |",
        cell(&record.task.title),
        cell(state),
        record.attempts.len(),
        dollars(record),
        change.unwrap_or_default(),
    )
}

fn details(run: &RunState, record: &TaskRecord, out: &mut String) -> std::fmt::Result {
    writeln!(out, "\n## {} ({})\n", cell(&record.task.title), task_words(run, record))?;
    receipt(run, record, out)?;
    for attempt in &record.attempts {
        let cost = attempt.cost_usd.map_or_else(|| "cost unknown".to_owned(), money::dollars);
        let degraded = if attempt.degraded { ", degraded answer" } else { "" };
        writeln!(
            out,
            "{}. {}{}, {cost}, {}{degraded}",
            attempt.number,
            if attempt.is_review { "review: " } else { "" },
            attempt.outcome,
            duration_text(attempt.duration_ms)
        )?;
        if let Some(failure) = &attempt.failure {
            writeln!(out, "   {}", cell(&failure.reason))?;
        }
        if !attempt.said.trim().is_empty() {
            writeln!(out, "   The model said: “{}”", cell(&attempt.said))?;
        }
        if let Some(log) = &attempt.log {
            writeln!(out, "   Log: `{}`", log.display())?;
        }
    }
    if let Some(reason) = given_up_reason(record) {
        writeln!(out, "\nGiven up: {}", cell(reason))?;
    }
    if let Some(kept) = &record.kept {
        writeln!(out, "\nWork kept in: `{kept}`")?;
    }
    if let Some(failure) = record.failure.as_ref().filter(|failure| !failure.output.trim().is_empty()) {
        let fence = "~".repeat(4 + failure.output.matches("~~~~").count());
        writeln!(out, "\n{fence}text\n{}\n{fence}", failure.output.trim_end())?;
    }
    Ok(())
}

/// What was measured for a task that is done.
fn receipt(run: &RunState, record: &TaskRecord, out: &mut String) -> std::fmt::Result {
    let Some(receipt) = &record.receipt else { return Ok(()) };
    let (files, added, removed) = receipt.diff;
    let branch = run.branch_of(receipt).unwrap_or_else(|| "a detached HEAD".to_owned());
    let commit = receipt.commit.get(..10).unwrap_or_default();
    writeln!(
        out,
        "Commit `{commit}` on `{}`: {}, +{added} -{removed}. Models: {}.",
        cell(&branch),
        weir_base::text::plural(files, "file"),
        cell(&receipt.models.join(", ")),
    )?;
    let gates =
        receipt.gates.iter().map(|(name, took_ms)| format!("{} ({})", cell(name), duration_text(*took_ms)));
    let gates: Vec<String> = gates.collect();
    match gates.is_empty() {
        true => writeln!(out, "Not checked: there are no gates.\n"),
        false => writeln!(out, "Gates that passed: {}.\n", gates.join(", ")),
    }
}

/// Escapes text for a table or a heading.
fn cell(text: &str) -> String {
    weir_base::text::one_line(text).replace('|', "\\|").replace('<', "&lt;")
}
