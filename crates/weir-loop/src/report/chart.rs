//! A chart of cost and time for each task, as inline SVG.

use std::fmt::Write as _;

use super::html::escape;
use crate::outcome::Outcome;
use crate::state::{RunState, TaskRecord};
use crate::time::words;

const ROW: usize = 26;
const LABEL: usize = 230;
const BAR: usize = 300;
const GAP: usize = 90;
/// So much of a title fits before the bars.
const LETTERS: usize = 32;
/// More bars than this say nothing to anybody.
const MOST: usize = 200;

/// The chart: for each task a bar of its cost and a bar of its time, both to the scale of the largest.
pub(super) fn chart(run: &RunState) -> String {
    let records: Vec<&TaskRecord> =
        run.tasks.iter().filter(|record| !record.attempts.is_empty()).take(MOST).collect();
    if records.is_empty() {
        return String::new();
    }
    let most_cost = records.iter().map(|record| record.cost_usd()).fold(0.0, f64::max);
    let most_time = records.iter().map(|record| record.took_ms()).max().unwrap_or(0) as f64;
    let width = LABEL + 2 * (BAR + GAP);
    let height = ROW * (records.len() + 1) + 8;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"Cost and time of each task\">\n\
         <text class=\"head\" x=\"{LABEL}\" y=\"16\">cost</text>\
         <text class=\"head\" x=\"{}\" y=\"16\">time</text>\n",
        LABEL + BAR + GAP
    );
    for (place, record) in records.iter().enumerate() {
        row(&mut svg, ROW * (place + 1), record, most_cost, most_time);
    }
    svg.push_str("</svg>\n");
    svg
}

fn row(svg: &mut String, top: usize, record: &TaskRecord, most_cost: f64, most_time: f64) {
    let (cost, time) = (record.cost_usd(), record.took_ms());
    let class = match record.outcome() {
        Some(Outcome::Done) => "done",
        Some(Outcome::Stopped) | None => "open",
        Some(_) => "failed",
    };
    let mut title: String = record.task.title.chars().take(LETTERS).collect();
    if title.len() < record.task.title.len() {
        title = format!("{}…", title.trim_end());
    }
    let middle = top + 17;
    let known = record.attempts.iter().any(|attempt| attempt.cost_usd.is_some());
    let cost_text = if known { format!("${cost:.4}") } else { "unknown".to_owned() };
    let (cost_width, time_width) = (length(cost, most_cost), length(time as f64, most_time));
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
        words(time),
    );
}

fn length(value: f64, most: f64) -> usize {
    if most <= 0.0 {
        return 1;
    }
    // At least a line, so that a small one is seen.
    ((value / most * BAR as f64).round() as usize).clamp(1, BAR)
}
