//! The report as one self-contained HTML file.

use std::fmt::Write as _;
use std::iter::once_with as once;

use weir_base::money;
use weir_base::time::duration_text;

use super::chart::chart;
use super::{blocked, cost_notes, dollars, ending, given_up_reason, part, state_words, task_words, times};
use crate::limits::{LimitTable as _, Unit};
use crate::outcome::Outcome;
use crate::state::{RunState, TaskRecord, TaskState};

const STYLE: &str = "
:root { color-scheme: light dark; --line: #8884; --good: #2a7d4f; --bad: #b3402e; --open: #6b7280; --soft: #8881; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin-top: 2rem; }
p.sub { margin-top: .2rem; opacity: .75; }
.totals { display: flex; flex-wrap: wrap; gap: 1rem; margin: 1.2rem 0; }
.totals div { border: 1px solid var(--line); border-radius: 8px; padding: .6rem .9rem; min-width: 9rem; flex: 1; }
.totals b { display: block; font-size: 1.25rem; font-variant-numeric: tabular-nums; }
.meter { height: 4px; background: var(--soft); border-radius: 2px; margin-top: .4rem; }
.meter i { display: block; height: 100%; background: var(--good); border-radius: 2px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number, th.number { text-align: right; white-space: nowrap; } td.tight, td.tight code { white-space: nowrap; } td:first-child { min-width: 12rem; }
.state { white-space: nowrap; font-weight: 600; } .state.done { color: var(--good); } .state.failed { color: var(--bad); } .state.open { color: var(--open); }
code { font-family: ui-monospace, monospace; font-size: .9em; overflow-wrap: anywhere; }
pre { background: var(--soft); padding: .8rem; border-radius: 6px; overflow-x: auto; max-height: 24rem; font-size: .85rem; }
.needs { border: 1px solid var(--bad); border-radius: 8px; padding: .2rem 1rem; margin: 1.2rem 0; } .needs h2 { margin: .6rem 0 0; }
.needs li, li { overflow-wrap: anywhere; } blockquote { margin: .4rem 0; padding-left: .8rem; border-left: 3px solid var(--line); opacity: .8; overflow-wrap: anywhere; }
svg { width: 100%; min-width: 56rem; height: auto; font: 12px system-ui, sans-serif; fill: currentColor; }
svg .label { text-anchor: end; } svg .head { font-weight: 600; opacity: .7; }
svg .done rect { fill: var(--good); } svg .failed rect { fill: var(--bad); } svg .open rect { fill: var(--open); }
@media (max-width: 40rem) { body { margin: 1rem auto; } .totals { display: grid; grid-template-columns: 1fr 1fr; gap: .6rem; } .totals div { min-width: 0; }
  .wide { display: none; } thead { display: none; } table, tbody, tr, td { display: block; } tr { padding: .5rem 0; border-bottom: 1px solid var(--line); }
  td { padding: 0; border: 0; } td:first-child { min-width: 0; font-weight: 600; overflow-wrap: anywhere; }
  td.number, td.tight { display: inline; margin-right: .6rem; font-size: .9em; opacity: .85; } td.count:not(:empty)::after { content: \"×\"; } }
";

/// The report of a run as one HTML file.
pub fn html(run: &RunState) -> String {
    html_parts(run).collect()
}

/// The same report in parts, at most one task each, so that the whole report is never in memory.
pub fn html_parts(run: &RunState) -> impl Iterator<Item = String> {
    let blocked = blocked(run);
    let rows = run.tasks.iter().map(move |record| {
        let state = state_words(run, record, &blocked);
        part(|out| row(record, &state, out))
    });
    let details = run.tasks.iter().map(|record| part(|out| details(run, record, out)));
    let end = "<p class=\"sub\">Costs are the CLI's estimates.</p></body></html>\n";
    once(|| part(|out| begin(run, out)))
        .chain(rows)
        .chain(once(|| "</tbody></table></div>\n".to_owned()))
        .chain(details)
        .chain(once(|| part(|out| setups(run, out))))
        .chain(once(move || end.to_owned()))
}

fn begin(run: &RunState, out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <title>Run {}</title><style>{STYLE}</style></head><body>",
        escape(&run.run_id)
    )?;
    writeln!(out, "<h1>{} of {} tasks done</h1>", run.count(TaskState::Done), run.tasks.len())?;
    writeln!(
        out,
        "<p class=\"sub\">Run <code>{}</code>, {}. {}</p>",
        escape(&run.run_id),
        times(run),
        escape(&ending(run))
    )?;
    let needs = super::needs_you(run);
    if !needs.is_empty() {
        writeln!(out, "<section class=\"needs\"><h2>Needs you</h2><ul>")?;
        for need in needs {
            writeln!(out, "<li>{}</li>", escape(&need))?;
        }
        writeln!(out, "</ul></section>")?;
    }
    totals(run, out)?;
    writeln!(
        out,
        "<section class=\"wide\"><h2>Cost and time</h2><div class=\"scroll\">{}</div></section>",
        chart(run)
    )?;
    writeln!(
        out,
        "<h2>Tasks</h2><div class=\"scroll\"><table><thead><tr><th>Task</th><th>Outcome</th><th class=\"number\">Sessions</th>\
         <th class=\"number\">Cost</th><th class=\"number\">Time</th><th>Change</th><th>Commit</th></tr></thead><tbody>"
    )
}

/// What the sessions worked with, for audits.
fn setups(run: &RunState, out: &mut String) -> std::fmt::Result {
    let all = super::setups(run);
    if all.is_empty() {
        return Ok(());
    }
    writeln!(out, "<h2>Session setup</h2><ul>")?;
    for (words, sessions) in all {
        writeln!(
            out,
            "<li>{}: {}</li>",
            weir_base::text::plural(sessions as u64, "session"),
            escape(&words)
        )?;
    }
    writeln!(out, "</ul>")
}

fn totals(run: &RunState, out: &mut String) -> std::fmt::Result {
    writeln!(out, "<div class=\"totals\">")?;
    for (limit, used, max) in run.limits.usage(&run.counted_budget()) {
        let more = if limit.unit == Unit::Dollars { cost_notes(run) } else { String::new() };
        let percent = max.part(used) * 100.0;
        writeln!(
            out,
            "<div>{}<b>{used}</b>of {max}{more}<div class=\"meter\" style=\"border:0;padding:0;min-width:0\"><i style=\"width:{percent:.1}%\"></i></div></div>",
            limit.name
        )?;
    }
    writeln!(out, "</div>")
}

fn class(record: &TaskRecord) -> &'static str {
    match record.outcome() {
        Some(Outcome::Done) => "done",
        Some(Outcome::Stopped) | None => "open",
        Some(_) => "failed",
    }
}

fn row(record: &TaskRecord, state: &str, out: &mut String) -> std::fmt::Result {
    let receipt = record.receipt.as_ref();
    let change = receipt.map(|receipt| {
        let (files, added, removed) = receipt.diff;
        format!("{}, +{added} −{removed}", weir_base::text::plural(files, "file"))
    });
    let time = if record.attempts.is_empty() { String::new() } else { duration_text(record.took_ms()) };
    let attempts = if record.attempts.is_empty() { String::new() } else { record.attempts.len().to_string() };
    writeln!(
        out,
        "<tr><td>{}</td><td class=\"state {}\">{}</td><td class=\"number count\">{attempts}</td><td class=\"number\">{}</td>\
         <td class=\"number\">{time}</td><td class=\"tight\">{}</td><td class=\"tight\"><code>{}</code></td></tr>",
        escape(&record.task.title),
        class(record),
        escape(state),
        dollars(record),
        change.unwrap_or_default(),
        escape(receipt.and_then(|receipt| receipt.commit.get(..10)).unwrap_or_default()),
    )
}

/// The work of a task: what was measured, and next to it what the model said.
fn details(run: &RunState, record: &TaskRecord, out: &mut String) -> std::fmt::Result {
    if record.attempts.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "<h2>{} <span class=\"state {}\">{}</span></h2>",
        escape(&record.task.title),
        class(record),
        task_words(run, record)
    )?;
    receipt(run, record, out)?;
    writeln!(out, "<ol>")?;
    for attempt in &record.attempts {
        let cost = attempt.cost_usd.map_or_else(|| "cost unknown".to_owned(), money::dollars);
        let reason = attempt
            .failure
            .as_ref()
            .map(|failure| format!("<br>{}", escape(&failure.reason)))
            .unwrap_or_default();
        let said = match attempt.said.trim() {
            "" => String::new(),
            said => format!("<br>The model said:<blockquote>{}</blockquote>", escape(said)),
        };
        let log = attempt
            .log
            .as_ref()
            .map(|log| format!("<br><code>{}</code>", escape(&log.display().to_string())))
            .unwrap_or_default();
        writeln!(
            out,
            "<li>{}{}, {cost}, {}{reason}{said}{log}</li>",
            if attempt.is_review { "review: " } else { "" },
            attempt.outcome,
            duration_text(attempt.duration_ms)
        )?;
    }
    writeln!(out, "</ol>")?;
    if let Some(reason) = given_up_reason(record) {
        writeln!(out, "<p>Given up: {}</p>", escape(reason))?;
    }
    if let Some(kept) = &record.kept {
        writeln!(out, "<p>Work kept in: <code>{}</code></p>", escape(kept))?;
    }
    if let Some(failure) = record.failure.as_ref().filter(|failure| !failure.output.trim().is_empty()) {
        writeln!(out, "<pre>{}</pre>", escape(failure.output.trim_end()))?;
    }
    Ok(())
}

/// What was measured for a task that is done.
fn receipt(run: &RunState, record: &TaskRecord, out: &mut String) -> std::fmt::Result {
    let Some(receipt) = &record.receipt else { return Ok(()) };
    let (files, added, removed) = receipt.diff;
    let branch = run.branch_of(receipt).unwrap_or_else(|| "a detached HEAD".to_owned());
    writeln!(
        out,
        "<p>Commit <code>{}</code> on <code>{}</code>: {}, +{added} −{removed}. Models: {}.</p>",
        escape(receipt.commit.get(..10).unwrap_or_default()),
        escape(&branch),
        weir_base::text::plural(files, "file"),
        escape(&receipt.models.join(", ")),
    )?;
    if receipt.gates.is_empty() {
        return writeln!(out, "<p>Not checked: there are no gates.</p>");
    }
    for (place, (name, took_ms)) in receipt.gates.iter().enumerate() {
        let output = receipt.gate_output.get(place).map(|output| output.trim_end()).unwrap_or_default();
        let title = format!("✓ {}, {}", escape(name), duration_text(*took_ms));
        match output {
            "" => writeln!(out, "<p>{title}</p>")?,
            output => {
                writeln!(out, "<details><summary>{title}</summary><pre>{}</pre></details>", escape(output))?;
            }
        }
    }
    Ok(())
}

/// Escapes text for HTML, and drops terminal colours and other control characters.
pub(super) fn escape(text: &str) -> String {
    let is_shown = |letter: &char| !letter.is_control() || matches!(letter, '\n' | '\t');
    weir_base::html::escape(&text.chars().filter(is_shown).collect::<String>()).into_owned()
}
