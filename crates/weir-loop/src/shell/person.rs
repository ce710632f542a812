//! Requests of a person: answers, skips, retries.
//!
//! A running loop gets them through its mailbox. Otherwise the state is changed under the lock.

use weir_process::{Lock, LockError};

use super::folders::Folders;
use super::mailbox::{Mail, Mailbox};
use crate::agent::match_answers;
use crate::state::{
    Asked, OpenQuestion, RunState, RunStatus, StateError, StateWriter, Step, TaskState, load,
};
use crate::tasks::TaskId;

/// How a request was delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivered {
    /// To the mailbox of a running loop.
    ToTheRun,
    /// No loop is running, so the state was changed.
    ToTheState,
}

/// Why a request was not delivered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PersonError {
    /// There is no run.
    #[error("no run here; `weir loop run` starts one")]
    NoRun,
    /// There is no such task.
    #[error("no task {0}; `weir loop status` shows the names")]
    NoTask(TaskId),
    /// The request does not fit the state of the run.
    #[error("{0}")]
    NotNow(String),
    /// The state cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// The lock cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The mailbox cannot be used.
    #[error("cannot use the mailbox: {0}")]
    Mailbox(#[from] std::io::Error),
}

/// Delivers a person's request to a loop.
pub fn tell(folders: &Folders, mail: &Mail) -> Result<Delivered, PersonError> {
    let run = load(&folders.state())?.ok_or(PersonError::NoRun)?;
    let mail = &addressed(&run, mail)?;
    check(&run, mail)?;
    match Lock::acquire(&folders.lock_file(), "weir loop") {
        Err(LockError::Held { .. }) => {
            Mailbox::new(folders.mailbox()).send(mail)?;
            Ok(Delivered::ToTheRun)
        }
        Err(error) => Err(error.into()),
        Ok(_lock) => {
            // The run may have ended meanwhile.
            let mut run = load(&folders.state())?.ok_or(PersonError::NoRun)?;
            check(&run, mail)?;
            change(&mut run, mail)?;
            StateWriter::new(folders.state()).write(&run)?;
            Ok(Delivered::ToTheState)
        }
    }
}

/// Applies the mails that a killed run had left unread to its state. Returns the errors. The caller forgets the mails
/// once the state is saved.
pub(super) fn catch_up(run: &mut RunState, mailbox: &mut Mailbox) -> Vec<String> {
    let (mails, invalid) = mailbox.take();
    let invalid = invalid.iter().map(|path| format!("{} is not a valid mail", path.display()));
    let mut problems: Vec<String> = invalid.collect();
    for mail in mails {
        problems
            .extend(check(run, &mail).and_then(|()| change(run, &mail)).err().map(|error| error.to_string()));
    }
    problems
}

/// Adds the id of the question to an answer, so that it cannot be mistaken for the answer to a later question. Refuses
/// an invalid answer.
fn addressed(run: &RunState, mail: &Mail) -> Result<Mail, PersonError> {
    let Mail::Answer { question, answers, by } = mail else { return Ok(mail.clone()) };
    let is_meant = |open: &&OpenQuestion| {
        question.as_deref().is_none_or(|name| open.id.starts_with(name) || open.task.as_str() == name)
    };
    let mut meant = run.questions.iter().filter(is_meant);
    let not_now = |text: &str| PersonError::NotNow(text.to_owned());
    let open = meant.next().ok_or_else(|| {
        not_now(if run.questions.is_empty() {
            "no question is open; `weir loop status` shows open questions"
        } else {
            "no such question is open; `weir loop answer` shows open questions"
        })
    })?;
    if meant.next().is_some() {
        return Err(not_now(
            "several questions are open; choose one with --question and an id from `weir loop answer`",
        ));
    }
    if let Asked::Questions { questions } = &open.asked {
        match_answers(questions, answers).map_err(|error| PersonError::NotNow(error.to_string()))?;
    }
    Ok(Mail::Answer { question: Some(open.id.clone()), answers: answers.clone(), by: by.clone() })
}

fn check(run: &RunState, mail: &Mail) -> Result<(), PersonError> {
    let state = |task: &TaskId| {
        run.task(task).map(|record| record.state).ok_or_else(|| PersonError::NoTask(task.clone()))
    };
    match mail {
        Mail::Answer { .. } if run.questions.is_empty() => Err(PersonError::NotNow(
            "no question is open; `weir loop status` shows open questions".to_owned(),
        )),
        Mail::Answer { .. } => Ok(()),
        Mail::Skip { task } => match state(task)? {
            TaskState::Pending | TaskState::Failed => Ok(()),
            TaskState::Active if is_being_committed(run, task) => {
                Err(PersonError::NotNow(format!("task {task} is done and is being committed")))
            }
            TaskState::Active => Ok(()),
            TaskState::Done => Err(PersonError::NotNow(format!("task {task} is done"))),
            TaskState::Skipped => Err(PersonError::NotNow(format!("task {task} is already skipped"))),
        },
        Mail::Retry { task } => match state(task)? {
            TaskState::Failed | TaskState::Skipped => Ok(()),
            _ => Err(PersonError::NotNow(format!(
                "task {task} has not failed, so there is nothing to try again"
            ))),
        },
    }
}

fn is_being_committed(run: &RunState, task: &TaskId) -> bool {
    let step = run.task(task).and_then(|record| record.step.as_ref());
    matches!(step, Some(Step::Committing { .. } | Step::Advancing { .. }))
}

fn change(run: &mut RunState, mail: &Mail) -> Result<(), PersonError> {
    let record = |run: &mut RunState, task: &TaskId, state| {
        if let Some(record) = run.tasks.iter_mut().find(|record| record.task.id == *task) {
            record.state = state;
        }
    };
    match mail {
        Mail::Skip { task } => match run.tasks.iter_mut().find(|record| record.task.id == *task) {
            // The next start keeps its work.
            Some(record) if record.state == TaskState::Active => record.is_unwanted = true,
            _ => record(run, task, TaskState::Skipped),
        },
        Mail::Retry { task } => {
            record(run, task, TaskState::Pending);
            if let Some(record) = run.tasks.iter_mut().find(|record| record.task.id == *task) {
                record.failure = None;
            }
            // The next start resumes this run.
            run.status = RunStatus::Running;
        }
        Mail::Answer { question, answers, .. } => {
            let is_meant = |id: &str, task: &str| {
                question.as_deref().is_none_or(|name| id.starts_with(name) || task == name)
            };
            let open = run.questions.iter().find(|open| is_meant(&open.id, open.task.as_str())).cloned();
            let open = open.ok_or_else(|| PersonError::NotNow("no such question is open".to_owned()))?;
            let Asked::Questions { questions } = &open.asked else {
                return Err(PersonError::NotNow(
                    "the session that asked has ended; it asks again when the loop runs".to_owned(),
                ));
            };
            let matched =
                match_answers(questions, answers).map_err(|error| PersonError::NotNow(error.to_string()))?;
            if let Some(record) = run.tasks.iter_mut().find(|record| record.task.id == open.task) {
                record.answers.extend(matched);
            }
            run.questions.retain(|other| other.id != open.id);
        }
    }
    Ok(())
}
