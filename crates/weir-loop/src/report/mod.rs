//! The report of a run: the outcome and cost of each task, and the reasons for failures. Pure.

mod blocked;
mod chart;
mod html;
mod json;
mod markdown;
mod needs;
mod pull_request;

pub use blocked::blocked;
pub use html::{html, html_parts};
pub use json::{LoopReport, TaskReport, report, schema};
pub use markdown::{markdown, markdown_parts};
pub use needs::needs_you;
pub use pull_request::{PullRequest, pull_request, pull_requests};
use weir_base::money;
use weir_base::time::Utc;

use std::collections::BTreeMap;

use crate::agent::Setup;
use crate::state::{RunEnd, RunState, RunStatus, TaskRecord, TaskState};
use crate::tasks::TaskId;

/// How a run ended, or that it has not, for people.
pub fn ending(run: &RunState) -> String {
    match run.end() {
        None => "It is still running, or was killed: `weir loop run` resumes it.".to_owned(),
        Some(end) => {
            let unchecked = run.tasks.iter().filter(|record| record.is_done_unchecked()).count();
            format!("{}{}", end_words(end), unchecked_words(unchecked))
        }
    }
}

/// That tasks count as done only because the model said so, in parentheses. Empty if there are none.
pub fn unchecked_words(tasks: usize) -> String {
    match tasks {
        0 => String::new(),
        _ => format!(" ({tasks} not checked: there are no gates)"),
    }
}

/// How a run ended, for people.
pub fn end_words(end: &RunEnd) -> String {
    match end {
        RunEnd::Completed => "All tasks are done.".to_owned(),
        RunEnd::BoxesOpen { tasks } => {
            let names = tasks.iter().take(5).map(TaskId::as_str).collect::<Vec<_>>().join(", ");
            let more = if tasks.len() > 5 { ", …" } else { "" };
            format!(
                "The run has done its tasks, and {} open in the list: {names}{more}. `weir loop merge` brings commits that \
                 wait, `weir loop retry TASK` does a task again.",
                if tasks.len() == 1 { "a box is".to_owned() } else { format!("{} boxes are", tasks.len()) }
            )
        }
        RunEnd::OnBranches => {
            "All tasks are done, each on a branch of its own. `weir loop pull-request --each` prints the \
             texts for pull requests, `weir loop merge` merges them all here."
                .to_owned()
        }
        RunEnd::TimeIsUp { at } => {
            format!(
                "The time to stop was reached ({}). `weir loop run` resumes.",
                Utc::from_ms(*at).rfc3339()
            )
        }
        RunEnd::Unfinished => "No other task can be started, and not all tasks are done.".to_owned(),
        RunEnd::Enough => "It ended where requested.".to_owned(),
        RunEnd::Limit { limit } => {
            format!("A limit was reached: {limit}. Raise it, then `weir loop run` resumes.")
        }
        RunEnd::Denied { task } => {
            format!(
                "A tool was not allowed in task {task}. Allow it in the configuration, then `weir loop retry {task}`."
            )
        }
        RunEnd::WaitTooLong { until } => format!(
            "The account's limit lasts until {}, and waiting for it would exceed rate_limit.longest_wait \
             without any progress in between. `weir loop run` resumes.",
            Utc::from_ms(*until).rfc3339()
        ),
        RunEnd::SameFailure { reason } => {
            format!(
                "Three tasks in a row failed in the same way, so the problem is not in the tasks: {reason}"
            )
        }
        RunEnd::Unconfirmed { why } => format!(
            "The last check, which begins with nothing but the last commit, failed: {why}. Tasks that are marked as done may \
             not be."
        ),
        RunEnd::NotStarted { why } => format!("The CLI could not be started: {why}"),
        RunEnd::Interrupted => "It was interrupted; `weir loop run` resumes it.".to_owned(),
        RunEnd::Error { why } => format!("The loop could not continue: {why}"),
    }
}

/// When a run began, and when it ended if it has.
fn times(run: &RunState) -> String {
    let started = Utc::from_ms(run.started_at).rfc3339();
    match &run.status {
        RunStatus::Running => format!("started {started}"),
        RunStatus::Ended { at, .. } => format!("started {started}, ended {}", Utc::from_ms(*at).rfc3339()),
    }
}

/// A task's state, in a word or two.
pub fn task_words(run: &RunState, record: &TaskRecord) -> &'static str {
    match (record.state, record.outcome()) {
        _ if record.is_done_unchecked() => "done, not checked",
        (TaskState::Done, _) if record.is_checked_by_hand && record.receipt.is_none() => "checked by hand",
        (_, Some(outcome)) => outcome.words(),
        // The next start resumes it.
        (TaskState::Active, _) if run.end().is_some() => "interrupted",
        (TaskState::Active, _) => "at work",
        (TaskState::Skipped, _) => "skipped",
        _ => "open",
    }
}

/// Why a task was given up, if its last session does not say so: its work could not be merged, or a limit was reached.
fn given_up_reason(record: &TaskRecord) -> Option<&str> {
    let reason = record.failure.as_ref().map(|failure| failure.reason.as_str())?;
    let last = record.attempts.last().and_then(|attempt| attempt.failure.as_ref());
    (last.map(|failure| failure.reason.as_str()) != Some(reason)).then_some(reason)
}

/// The state of a task for a table, with the task that blocks it.
fn state_words(run: &RunState, record: &TaskRecord, blocked: &BTreeMap<&TaskId, &TaskId>) -> String {
    match blocked.get(&record.task.id) {
        Some(need) => format!("blocked by {need}"),
        None => task_words(run, record).to_owned(),
    }
}

/// The distinct setups of a run's sessions, each with its number of sessions. Usually there is one.
fn setups(run: &RunState) -> Vec<(String, usize)> {
    let mut all: Vec<(&Setup, usize)> = Vec::new();
    let of_receipts = run.tasks.iter().filter_map(|task| task.receipt.as_ref()?.setup.as_deref());
    let of_attempts = run.tasks.iter().flat_map(|task| &task.attempts).filter_map(|a| a.setup.as_deref());
    for setup in of_receipts.chain(of_attempts) {
        match all.iter_mut().find(|(known, _)| is_same_setup(run, known, setup)) {
            Some((_, sessions)) => *sessions += 1,
            None => all.push((setup, 1)),
        }
    }
    all.into_iter().map(|(setup, sessions)| (setup.words(), sessions)).collect()
}

/// Whether two setups are the same. Parallel tasks differ in their folders.
fn is_same_setup(run: &RunState, one: &Setup, other: &Setup) -> bool {
    let without_folder = |setup: &Setup| Setup { cwd: None, ..setup.clone() };
    if run.parallel > 1 { without_folder(one) == without_folder(other) } else { one == other }
}

/// Writes a part of a report.
fn part(write: impl FnOnce(&mut String) -> std::fmt::Result) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut text);
    text
}

/// What a run's cost does not include, and what it includes apart from tasks.
fn cost_notes(run: &RunState) -> String {
    let mut notes = String::new();
    let unknown = run.budget().unknown_costs;
    if unknown > 0 {
        notes.push_str(&format!(", {unknown} of unknown cost"));
    }
    if !run.planning.is_empty() {
        let planned =
            run.planning.iter().filter_map(|planned| planned.cost_usd).fold(0.0, |all, usd| all + usd);
        notes.push_str(&format!(", planning {}", money::dollars(planned)));
    }
    notes
}

/// The cost of a task, or that it is unknown.
fn dollars(record: &TaskRecord) -> String {
    let known = record.attempts.iter().any(|attempt| attempt.cost_usd.is_some());
    match (record.attempts.is_empty(), known) {
        (true, _) => String::new(),
        (false, true) => money::dollars(record.cost_usd()),
        (false, false) => "unknown".to_owned(),
    }
}

#[cfg(test)]
pub(crate) fn tests_attempt(usd: f64, duration_ms: u64) -> crate::state::Attempt {
    crate::state::Attempt { duration_ms, ..tests::attempt(1, crate::outcome::Outcome::Done, Some(usd), None) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::agent::Setup;
    use crate::config::Config;
    use crate::outcome::{Failure, Outcome};
    use crate::state::{Attempt, Receipt};
    use crate::tasks::{Source, TaskList};

    pub(super) fn attempt(
        number: u32,
        outcome: Outcome,
        cost: Option<f64>,
        failure: Option<Failure>,
    ) -> Attempt {
        Attempt {
            number,
            counted: true,
            cut_off: false,
            is_review: false,
            outcome,
            failure: failure.map(Box::new),
            ended_at: 1_794_726_184_346,
            duration_ms: 61_000,
            cost_usd: cost,
            tokens: 1200,
            said: "I did it <all>.".into(),
            turns: Some(3),
            models: Vec::new(),
            session_id: Some("11111111-2222-3333-4444-555555555555".into()),
            forked: false,
            degraded: false,
            malformed_lines: 0,
            log: Some(std::path::Path::new("/w/.ralph/logs/claude/x-coder-a.ndjson").into()),
            setup: None,
        }
    }

    fn run() -> RunState {
        let list = TaskList::parse(Source::Markdown(
            "- [ ] Add <b>a</b> flag | now\n- [ ] Break\n- [ ] Later\n".into(),
        ))
        .unwrap();
        let mut run = RunState::new("0f0f0f0f-run".into(), 1_794_726_000_000, list.tasks, &Config::default());
        run.status = RunStatus::Ended { end: RunEnd::Unfinished, at: 1_794_726_190_000 };
        let failure =
            Failure::new(Outcome::Failed, "gates failed: test (exit code 1)", "```\nassertion <failed>\n");
        run.tasks[0].state = TaskState::Done;
        run.tasks[0].attempts = vec![
            attempt(1, Outcome::Failed, Some(0.02), Some(failure.clone())),
            attempt(2, Outcome::Done, Some(0.03), None),
        ];
        run.tasks[0].receipt = Some(Box::new(Receipt {
            parent: String::new(),
            branch: None,
            commit: "0123456789abcdef".into(),
            cost_usd: Some(0.05),
            tokens: 2400,
            duration_ms: 122_000,
            turns: Some(3),
            attempts: 2,
            models: vec!["opus".into()],
            session_id: None,
            log: None,
            gates: vec![("test".into(), 1500)],
            gate_output: vec!["12 passed\n".into()],
            diff: (2, 30, 4),
            review: None,
            touched: Vec::new(),
            setup: Some(Arc::new(Setup {
                version: Some("2.1.325".into()),
                cwd: Some("/w".into()),
                permission_mode: Some("default".into()),
                tools: vec!["Read".into(), "Bash".into()],
                skills: vec!["review".into()],
                plugins: Vec::new(),
            })),
        }));
        run.tasks[1].state = TaskState::Failed;
        run.tasks[1].attempts = vec![attempt(1, Outcome::Failed, None, Some(failure.clone()))];
        run.tasks[1].failure = Some(Box::new(failure));
        run.tasks[1].kept = Some("weir/failed/0f0f0f0f/break-1".into());
        run
    }

    #[test]
    fn the_markdown_report() {
        insta::assert_snapshot!(markdown(&run()));
    }

    #[test]
    fn interrupted_blocked_and_open_tasks_are_distinguished() {
        let list = "- [ ] a\n- [ ] b\n  - needs: a\n- [ ] c\n  - needs: b\n- [ ] d\n- [ ] e\n";
        let tasks = TaskList::parse(Source::Markdown(list.into())).unwrap().tasks;
        let mut run = RunState::new("r".into(), 0, tasks, &Config::default());
        run.tasks[0].state = TaskState::Failed;
        run.tasks[0].failure = Some(Box::new(Failure::new(Outcome::Failed, "it conflicts", "")));
        run.tasks[0].attempts = vec![attempt(1, Outcome::Done, Some(0.1), None)];
        run.tasks[3].state = TaskState::Active;
        run.tasks[3].attempts = vec![attempt(1, Outcome::RateLimited, Some(0.0), None)];
        assert_eq!(task_words(&run, &run.tasks[3]), "at work");
        run.status = RunStatus::Ended { end: RunEnd::Interrupted, at: 1 };
        let text = markdown(&run);
        let has = |part: &str| assert!(text.contains(part), "{part}: {text}");
        has("| b | blocked by a |");
        has("| c | blocked by b |");
        has("| d | interrupted |");
        has("| e | open |");
        has("Given up: it conflicts");
        assert!(html(&run).contains("blocked by a") && html(&run).contains("it conflicts"));
    }

    #[test]
    fn a_pull_request_says_what_was_done_and_measured() {
        let mut run = run();
        let request = pull_request(&run, None).unwrap();
        assert_eq!(request.title, "Add <b>a</b> flag | now");
        assert!(
            request.body.contains("0123456789: 2 files, +30 -4; 2 attempts, $0.05, opus."),
            "{}",
            request.body
        );
        assert!(request.body.contains("Passed: test (1.5 s)."), "{}", request.body);
        assert_eq!(pull_request(&run, Some("break")), None);
        run.tasks[0].receipt = None;
        assert_eq!(pull_request(&run, None), None);
    }

    #[test]
    fn text_is_escaped_in_the_page() {
        let page = html(&run());
        assert!(page.contains("Add &lt;b&gt;a&lt;/b&gt; flag") && !page.contains("<b>a</b>"));
        assert!(
            page.contains("assertion &lt;failed&gt;") && page.contains("<svg") && !page.contains("<script")
        );
        assert!(page.contains("weir/failed/0f0f0f0f/break-1"));
    }
}
