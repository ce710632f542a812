//! Renders the events of a run as plain lines. Pure.

use weir_base::money;
use weir_base::time::{Utc, duration_text};
use weir_loop::event::LoopEvent;
use weir_loop::limits::LimitTable as _;
use weir_loop::outcome::Outcome;
use weir_loop::report::{end_words, unchecked_words};
use weir_loop::state::{Asked, AskedQuestion, OpenQuestion};

use crate::screen::{Style, dollars, one_line};

/// Joins several lines into one: CLI output often begins with a heading.
fn flat(text: &str, max_length: usize) -> String {
    one_line(&weir_base::text::one_line(text), max_length)
}

/// The line for an event, if it is worth one.
pub(super) fn line(event: &LoopEvent, style: Style) -> Option<String> {
    Some(match event {
        LoopEvent::RunStarted { run_id, resumed, tasks, done, limits, task_limits, budget } => {
            let verb = if *resumed { "resumed" } else { "started" };
            let (limits, task_limits) = (limits.words(Some(budget)), task_limits.words(None));
            format!("run {run_id} {verb}: {done} of {tasks} tasks done\n{limits}\n{task_limits}")
        }
        LoopEvent::TaskStarted { task, title } => {
            format!("{} {task}: {}", style.accent("▸"), one_line(title, 100))
        }
        LoopEvent::Gates { task, when, results } => {
            let gates: Vec<String> = results
                .iter()
                .map(|gate| {
                    let mark = if gate.passed { style.good("✓") } else { style.bad("✗") };
                    let how = if gate.passed { String::new() } else { format!(" {}", gate.ending) };
                    format!("{mark} {}{how} {}", gate.name, style.faint(&duration_text(gate.took_ms)))
                })
                .collect();
            format!("  {task}: gates {when}: {}", gates.join(", "))
        }
        LoopEvent::AttemptStarted { task, number, session_id, again } => {
            let again = if *again { " again" } else { "" };
            format!("  {task}: attempt {number}{again}, session {session_id}")
        }
        LoopEvent::AttemptEnded { task, number, outcome, reason, cost_usd, counted, denials } => {
            let reason = reason.as_ref().map(|reason| format!(": {}", flat(reason, 400))).unwrap_or_default();
            let note = if *counted { "" } else { " (not counted)" };
            // Whether the task is done is said by the line of the task.
            let how = if *outcome == Outcome::Done { "succeeded" } else { outcome.words() };
            let mut text = format!("  {task}: attempt {number} {how}{reason}, {}{note}", dollars(*cost_usd));
            for denial in denials {
                text.push_str(&format!(
                    "\n    not allowed: {}\n    input: {}\n    this rule would allow it: {}",
                    one_line(&denial.headline(), 300),
                    one_line(&denial.input.to_string(), 1000),
                    denial.rule
                ));
            }
            text
        }
        LoopEvent::TaskDone { task, commit, cost_usd, checked } => {
            let commit = commit.get(..10).unwrap_or(commit);
            let how = if *checked { "done" } else { "done, not checked (no gates)" };
            format!("{} {task}: {how}, commit {commit}, {}", style.good("✓"), dollars(*cost_usd))
        }
        LoopEvent::TaskFailed { task, outcome, reason, kept } => {
            let kept = kept.as_ref().map(|kept| format!("; its work is kept on {kept}")).unwrap_or_default();
            format!("{} {task}: {outcome}: {}{kept}", style.bad("✗"), flat(reason, 400))
        }
        LoopEvent::TaskStopped { task, kept } => {
            let kept = kept.as_ref().map(|kept| format!("; its work is kept on {kept}")).unwrap_or_default();
            format!("{} {task}: stopped{kept}", style.faint("-"))
        }
        LoopEvent::TaskSkipped { task, kept } => {
            let kept = kept.as_ref().map(|kept| format!("; its work is kept on {kept}")).unwrap_or_default();
            format!("{} {task}: skipped{kept}", style.faint("-"))
        }
        LoopEvent::Waiting { until, reason } => {
            format!("{} waiting until {}: {reason}", style.careful("…"), Utc::from_ms(*until).rfc3339())
        }
        LoopEvent::Paused { by } => format!(
            "{} paused by {by}: what is in progress is judged, and no session begins until `weir loop unpause`",
            style.careful("‖")
        ),
        LoopEvent::Unpaused { by } => format!("the pause was ended by {by}"),
        LoopEvent::WaitEnded => "the wait is over".to_owned(),
        LoopEvent::Asked(question) => open_question(question, style),
        LoopEvent::AskEnded { id, by: Some(by) } => format!("question {id} was answered by {by}"),
        LoopEvent::AskEnded { id, by: None } => format!("question {id} is no longer open"),
        LoopEvent::Warning { text } => format!("{} {}", style.careful("!"), flat(text, 500)),
        LoopEvent::RunEnded { end, budget, done, failed, pending, unchecked } => format!(
            "{}{}\n{done} done{}, {failed} failed, {pending} open; {}{}, {} iterations, {} working time",
            end_words(end),
            unchecked_words(*unchecked),
            unchecked_words(*unchecked),
            money::dollars(budget.cost_usd),
            if budget.unknown_costs > 0 {
                format!(" and {} sessions of unknown cost", budget.unknown_costs)
            } else {
                String::new()
            },
            budget.iterations,
            duration_text(budget.active_ms),
        ),
        _ => return None,
    })
}

/// A question and its choices.
pub(super) fn question(task: &str, asked: &AskedQuestion, style: Style) -> String {
    let mut text = format!("{} {task} asks: {}\n", style.careful("?"), flat(&asked.question, 400));
    for (place, option) in asked.options.iter().enumerate() {
        text.push_str(&format!("    {}. {}\n", place + 1, one_line(option, 200)));
    }
    text
}

/// An open question and how to answer it.
pub(super) fn open_question(open: &OpenQuestion, style: Style) -> String {
    let OpenQuestion { id, task, asked, .. } = open;
    let mut text = String::new();
    match asked {
        Asked::Questions { questions } => {
            text.extend(questions.iter().map(|asked| question(task.as_str(), asked, style)));
            text.push_str(&format!("  answer with: weir loop answer --question {id} 1"));
        }
        Asked::Permission { what, rule } => {
            text.push_str(&format!("{} {task} wants to use: {}\n", style.careful("?"), one_line(what, 400)));
            text.push_str(&format!("  the rule {rule} would always allow it\n"));
            text.push_str(&format!("  answer with: weir loop answer --question {id} yes"));
        }
    }
    text
}
