//! `weir loop replay`: replays a run from its logs, without the CLI.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;

use anyhow::Context as _;
use serde_json::json;
use weir_base::money;
use weir_loop::agent::{AgentRun, run_from_log};
use weir_loop::protection::Protection;
use weir_loop::report::{ending, task_words};
use weir_loop::state::{Attempt, last_words};
use weir_transcript::{Fold, FoldOptions, HostEvent, View};
use weir_wire::{Decoder, Framer};

use super::{Place, report};
use crate::exit::Exit;
use crate::screen::{Style, dollars, story};

pub(super) fn run(place: &Place, name: Option<&str>, as_json: bool) -> anyhow::Result<Exit> {
    let run = report::find(&place.folders, name)?;
    let style = Style::for_stdout();
    let mut out = std::io::stdout().lock();
    let mut is_same = true;
    for record in &run.tasks {
        for attempt in &record.attempts {
            let Some(log) = &attempt.log else { continue };
            let replayed = run_from_log(log, &place.folders.workspace, &Protection::default())
                .with_context(|| format!("cannot read the log {}", log.display()))?;
            let cost = replayed.as_ref().and_then(|replayed| replayed.cost_usd);
            let problem = problem(attempt, replayed.as_ref());
            let agrees = problem.is_none();
            is_same &= agrees;
            if as_json {
                let line = json!({
                    "run_id": run.run_id, "task": record.task.id, "attempt": attempt.number, "outcome": attempt.outcome,
                    "log": log, "agrees": agrees, "session": replayed,
                });
                writeln!(out, "{line}")?;
                continue;
            }
            let head = format!(
                "{} attempt {}: {}, {}",
                record.task.id,
                attempt.number,
                attempt.outcome,
                dollars(attempt.cost_usd)
            );
            writeln!(out, "{}", style.bold(&format!("== {head}")))?;
            if let Some(problem) = problem {
                writeln!(out, "{} {problem} ({} in the log)", style.bad("✗"), dollars(cost))?;
            }
            writeln!(out, "{}", story(&view(log)?, None, style).trim_end())?;
            if let Some(failure) = &attempt.failure {
                writeln!(out, "{} {}", style.bad("✗"), failure.reason)?;
            }
            writeln!(out)?;
        }
        if !as_json {
            writeln!(out, "{} {}: {}\n", style.bold("=="), record.task.id, task_words(&run, record))?;
        }
    }
    if !as_json {
        let budget = run.budget();
        writeln!(
            out,
            "{} {} in {} iterations.",
            ending(&run),
            money::dollars(budget.cost_usd),
            budget.iterations
        )?;
    }
    Ok(if is_same { Exit::Success } else { Exit::ErrorResult })
}

/// What the report says that the log of a session does not. A log without a result may have no cost.
fn problem(attempt: &Attempt, replayed: Option<&AgentRun>) -> Option<&'static str> {
    let is_same_cost = match (attempt.cost_usd, replayed.and_then(|run| run.cost_usd)) {
        (Some(counted), Some(logged)) => (counted - logged).abs() < 1e-9,
        (Some(counted), None) => counted == 0.0,
        (None, _) => true,
    };
    if !is_same_cost {
        return Some("the log has another cost");
    }
    let run = replayed?;
    if run.tokens != attempt.tokens {
        return Some("the log has another number of tokens");
    }
    // Runs of earlier versions did not keep it.
    (!attempt.said.is_empty() && attempt.said != last_words(&run.text))
        .then_some("the log has another last answer")
}

/// The whole session of a log.
fn view(log: &Path) -> anyhow::Result<View> {
    let mut fold = Fold::new(FoldOptions { keep_entries: None, ..FoldOptions::default() });
    let (mut framer, mut decoder) = (Framer::new(), Decoder::new());
    let mut file = File::open(log).with_context(|| format!("cannot read {}", log.display()))?;
    loop {
        let count = file.read(framer.space())?;
        if count == 0 {
            break;
        }
        framer.filled(count);
        while let Some(frame) = framer.next_frame() {
            fold.line(&decoder.decode_frame(frame), &mut |_, _| {});
        }
    }
    if let Some(frame) = framer.finish() {
        fold.line(&decoder.decode_frame(frame), &mut |_, _| {});
    }
    fold.host(&HostEvent::RecordingEnded, &mut |_, _| {});
    Ok(fold.into_view())
}
