//! A chart of each task's cost and time, as inline SVG.

use std::fmt::Write as _;

use weir_base::money::dollars;
use weir_base::time::duration_text;

use super::html::escape;
use crate::outcome::Outcome;
use crate::state::{RunState, TaskRecord};

const ROW: usize = 26;
const LABEL: usize = 230;
const BAR: usize = 300;
const GAP: usize = 90;
/// Characters of a title that fit before the bars.
const MAX_TITLE: usize = 32;
/// A chart with more rows than this is not readable.
const MAX_ROWS: usize = 200;

/// The chart: a bar for the cost and a bar for the time of each task, relative to the largest.
pub(super) fn chart(run: &RunState) -> String {
    let records: Vec<&TaskRecord> =
        run.tasks.iter().filter(|record| !record.attempts.is_empty()).take(MAX_ROWS).collect();
    if records.is_empty() {
        return String::new();
    }
    let max_cost = records.iter().map(|record| record.cost_usd()).fold(0.0, f64::max);
    let max_time = records.iter().map(|record| record.took_ms()).max().unwrap_or(0) as f64;
    let width = LABEL + 2 * (BAR + GAP);
    let height = ROW * (records.len() + 1) + 8;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"Cost and time of each task\">\n\
         <text class=\"head\" x=\"{LABEL}\" y=\"16\">cost</text>\
         <text class=\"head\" x=\"{}\" y=\"16\">time</text>\n",
        LABEL + BAR + GAP
    );
    for (place, record) in records.iter().enumerate() {
        row(&mut svg, ROW * (place + 1), record, max_cost, max_time);
    }
    svg.push_str("</svg>\n");
    svg
}

fn row(svg: &mut String, top: usize, record: &TaskRecord, max_cost: f64, max_time: f64) {
    let (cost, time) = (record.cost_usd(), record.took_ms());
    let class = match record.outcome() {
        Some(Outcome::Done) => "done",
        Some(Outcome::Stopped) | None => "open",
        Some(_) => "failed",
    };
    let title = weir_base::text::shorten(&record.task.title, MAX_TITLE);
    let middle = top + 17;
    let known = record.attempts.iter().any(|attempt| attempt.cost_usd.is_some());
    let cost_text = if known { dollars(cost) } else { "unknown".to_owned() };
    let (cost_width, time_width) = (length(cost, max_cost), length(time as f64, max_time));
    let second = LABEL + BAR + GAP;
    // Writing to a string does not fail.
    let _ = writeln!(
        svg,
        "<g class=\"{class}\"><title>{}</title><text class=\"label\" x=\"{}\" y=\"{middle}\">{}</text>\
         <rect x=\"{LABEL}\" y=\"{}\" width=\"{cost_width}\" height=\"16\" rx=\"2\"/>\
         <text x=\"{}\" y=\"{middle}\">{cost_text}</text>\
         <rect x=\"{second}\" y=\"{}\" width=\"{time_width}\" height=\"16\" rx=\"2\"/>\
         <text x=\"{}\" y=\"{middle}\">{}</text></g>",
        escape(&record.task.title),
        LABEL - 10,
        escape(&title),
        top + 5,
        LABEL + cost_width + 6,
        top + 5,
        second + time_width + 6,
        duration_text(time),
    );
}

fn length(value: f64, max: f64) -> usize {
    if max <= 0.0 {
        return 1;
    }
    // At least one pixel, so that a small value is visible.
    ((value / max * BAR as f64).round() as usize).clamp(1, BAR)
}
