//! `weir loop answer`, `skip` and `retry`: a person's commands to a run.

use std::io::Write as _;

use weir_loop::shell::{Delivered, Mail, PersonError, tell};
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
    let by = std::env::var("USER").unwrap_or_else(|_| "a user at a terminal".to_owned());
    deliver(place, &Mail::Answer { question, answers, by }, "answer given")
}

pub(super) fn skip(place: &Place, task: &str) -> anyhow::Result<Exit> {
    deliver(place, &Mail::Skip { task: TaskId::new(task) }, "task skipped")
}

pub(super) fn retry(place: &Place, task: &str) -> anyhow::Result<Exit> {
    deliver(place, &Mail::Retry { task: TaskId::new(task) }, "the task will be retried")
}

fn deliver(place: &Place, mail: &Mail, done: &str) -> anyhow::Result<Exit> {
    let delivered = match tell(&place.folders, mail) {
        Ok(delivered) => delivered,
        Err(error @ (PersonError::NoRun | PersonError::NoTask(_) | PersonError::NotNow(_))) => {
            return Err(UsageError(error.to_string()).into());
        }
        Err(error) => return Err(error.into()),
    };
    let text = match delivered {
        Delivered::ToTheRun => format!("{done}; the running loop has been notified"),
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
