//! `weir loop answer`, `skip` and `retry`: a person's commands to a run.

use std::io::Write as _;

use weir_loop::shell::{Delivered, PersonCommand, PersonError, tell};
use weir_loop::state::load;
use weir_loop::tasks::TaskId;

use super::Place;
use super::lines::open_question;
use crate::exit::{Exit, UsageError};
use crate::screen::Style;

pub(super) fn answer(place: &Place, question: Option<String>, answers: Vec<String>) -> anyhow::Result<Exit> {
    if answers.is_empty() {
        return list(place);
    }
    deliver(place, &PersonCommand::Answer { question, answers, by: person() }, "answer given")
}

/// Who is at this terminal.
fn person() -> String {
    std::env::var("USER").unwrap_or_else(|_| "a user at a terminal".to_owned())
}

pub(super) fn pause(place: &Place) -> anyhow::Result<Exit> {
    deliver(
        place,
        &PersonCommand::Pause { by: person() },
        "paused: no session begins until `weir loop unpause`",
    )
}

pub(super) fn unpause(place: &Place) -> anyhow::Result<Exit> {
    deliver(place, &PersonCommand::Unpause { by: person() }, "the pause is over")
}

pub(super) fn skip(place: &Place, task: &str) -> anyhow::Result<Exit> {
    deliver(place, &PersonCommand::Skip { task: TaskId::new(task) }, "task skipped")
}

pub(super) fn retry(place: &Place, task: &str) -> anyhow::Result<Exit> {
    deliver(place, &PersonCommand::Retry { task: TaskId::new(task) }, "the task will be retried")
}

fn deliver(place: &Place, command: &PersonCommand, done: &str) -> anyhow::Result<Exit> {
    let delivered = match tell(&place.folders, command) {
        Ok(delivered) => delivered,
        Err(error @ (PersonError::NoRun | PersonError::NoTask(_) | PersonError::NotNow(_))) => {
            return Err(UsageError(error.to_string()).into());
        }
        Err(error) => return Err(error.into()),
    };
    let text = match delivered {
        Delivered::ToTheRun => format!("{done}; the running loop has it"),
        Delivered::ToTheState => {
            format!("{done}; no loop is running here, so it takes effect with `weir loop run`")
        }
    };
    writeln!(std::io::stdout().lock(), "{text}")?;
    Ok(Exit::Success)
}

fn list(place: &Place) -> anyhow::Result<Exit> {
    let run = load(&place.folders.state())?;
    let open = run.map(|run| run.questions).unwrap_or_default();
    let mut out = std::io::stdout().lock();
    if open.is_empty() {
        writeln!(out, "No open questions.")?;
    }
    for question in &open {
        writeln!(out, "{}", open_question(question, Style::for_stdout()))?;
    }
    Ok(Exit::Success)
}
