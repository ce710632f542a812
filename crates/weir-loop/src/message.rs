//! Commit messages, with the receipt as a trailer. Pure.

use weir_base::text::{fit, one_line};

use crate::outcome::Failure;
use crate::state::TaskRecord;

/// Maximum length of the first line, in characters.
const MAX_SUBJECT: usize = 72;

/// The message for a task that is done.
pub fn done(record: &TaskRecord, run_id: &str) -> String {
    let task = &record.task;
    let mut text = format!("{}\n", subject(&task.title));
    if subject(&task.title) != task.title.trim() {
        text.push_str(&format!("\n{}\n", task.title.trim()));
    }
    if !task.acceptance.is_empty() {
        text.push('\n');
        for condition in &task.acceptance {
            text.push_str(&format!("- {}\n", one_line(condition)));
        }
    }
    text.push_str(&format!("\nWeir-Run: {run_id}\nWeir-Task: {}\n", task.id));
    if let Some(receipt) = &record.receipt {
        let (files, added, removed) = receipt.diff;
        let receipt = serde_json::json!({
            "cost_usd": receipt.cost_usd,
            "tokens": receipt.tokens,
            "duration_ms": receipt.duration_ms,
            "turns": receipt.turns,
            "attempts": receipt.attempts,
            "models": receipt.models,
            "session_id": receipt.session_id,
            "gates": receipt.gates.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            "diff": {"files": files, "added": added, "removed": removed},
            "review": receipt.review.as_ref().map(|review| review.approves),
            "setup": receipt.setup,
        });
        text.push_str(&format!("Weir-Receipt: {receipt}\n"));
    }
    text
}

/// The message for the work of a task that was given up.
pub fn given_up(record: &TaskRecord, failure: &Failure, run_id: &str) -> String {
    let subject = subject(&format!("Unfinished ({}): {}", failure.outcome, record.task.title));
    format!(
        "{subject}\n\n{}\n\nWeir-Run: {run_id}\nWeir-Task: {}\nWeir-Outcome: {}\n",
        failure.reason, record.task.id, failure.outcome
    )
}

fn subject(title: &str) -> String {
    fit(&one_line(title), MAX_SUBJECT).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Outcome;
    use crate::tasks::{Source, TaskList};

    fn record(text: &str) -> TaskRecord {
        let list = TaskList::parse(Source::Markdown(text.into())).unwrap();
        TaskRecord::new(list.tasks.into_iter().next().unwrap())
    }

    #[test]
    fn the_message_has_the_title_and_trailers_for_run_and_task() {
        let text = done(&record("- [ ] Add a flag\n  - accept: it works\n"), "r1");
        assert_eq!(text, "Add a flag\n\n- it works\n\nWeir-Run: r1\nWeir-Task: add-a-flag\n");
    }

    #[test]
    fn a_long_title_is_cut_in_the_subject_and_complete_below_it() {
        let title = "word ".repeat(40);
        let text = done(&record(&format!("- [ ] {title}\n")), "r1");
        let mut lines = text.lines();
        assert!(lines.next().unwrap().chars().count() <= 72);
        assert!(text.contains(title.trim()));
        let failure = Failure::new(Outcome::Crashed, "it died", "");
        assert!(
            given_up(&record("- [ ] x\n"), &failure, "r1")
                .starts_with("Unfinished (crashed): x\n\nit died\n")
        );
    }
}
