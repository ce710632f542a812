//! Commands of a person: answers, skips, retries, pauses.
//!
//! A running loop gets them by its socket. Otherwise the state is changed under the lock.

use std::time::{Duration, Instant};

use weir_base::time::now_ms;
use weir_process::{Lock, LockError};

use super::folders::Folders;
use super::steering::{PersonCommand, send};
use crate::agent::match_answers;
use crate::state::{
    Asked, OpenQuestion, Paused, RunState, RunStatus, StateError, StateWriter, Step, TaskState, load,
};
use crate::tasks::TaskId;

/// How long to try to reach a loop that has the lock and does not answer: it may be starting or ending.
const MAX_TRY_TIME: Duration = Duration::from_secs(10);

/// How often to try meanwhile.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// How a request was delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivered {
    /// To a running loop, which has it in its saved state.
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
}

/// Delivers a person's command to a loop. When it returns, the command is in the saved state.
pub fn tell(folders: &Folders, command: &PersonCommand) -> Result<Delivered, PersonError> {
    let run = load(&folders.state())?.ok_or(PersonError::NoRun)?;
    let command = &addressed(&run, command)?;
    check(&run, command)?;
    let deadline = Instant::now() + MAX_TRY_TIME;
    loop {
        match Lock::acquire(&folders.lock_file(), "weir loop") {
            Err(LockError::Held { path, owner }) => {
                let reply = owner.as_ref().and_then(|owner| send(&folders.state(), owner.process, command));
                match reply {
                    Some(Ok(())) => return Ok(Delivered::ToTheRun),
                    Some(Err(why)) => return Err(PersonError::NotNow(why)),
                    None if Instant::now() >= deadline => return Err(LockError::Held { path, owner }.into()),
                    None => std::thread::park_timeout(RETRY_INTERVAL),
                }
            }
            Err(error) => return Err(error.into()),
            Ok(_lock) => {
                // The run may have ended meanwhile.
                let mut run = load(&folders.state())?.ok_or(PersonError::NoRun)?;
                check(&run, command)?;
                change(&mut run, command)?;
                StateWriter::new(folders.state()).write(&run)?;
                return Ok(Delivered::ToTheState);
            }
        }
    }
}

/// Adds the id of the question to an answer, so that it cannot be mistaken for the answer to a later question. Refuses
/// an invalid answer.
pub(super) fn addressed(run: &RunState, command: &PersonCommand) -> Result<PersonCommand, PersonError> {
    let PersonCommand::Answer { question, answers, by } = command else { return Ok(command.clone()) };
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
    Ok(PersonCommand::Answer { question: Some(open.id.clone()), answers: answers.clone(), by: by.clone() })
}

/// Whether a command fits the state of a run.
pub(super) fn check(run: &RunState, command: &PersonCommand) -> Result<(), PersonError> {
    let state = |task: &TaskId| {
        run.task(task).map(|record| record.state).ok_or_else(|| PersonError::NoTask(task.clone()))
    };
    match command {
        PersonCommand::Pause { .. } | PersonCommand::Unpause { .. } => Ok(()),
        PersonCommand::Answer { .. } if run.questions.is_empty() => Err(PersonError::NotNow(
            "no question is open; `weir loop status` shows open questions".to_owned(),
        )),
        PersonCommand::Answer { .. } => Ok(()),
        PersonCommand::Skip { task } => match state(task)? {
            TaskState::Pending | TaskState::Failed => Ok(()),
            TaskState::Active if is_being_committed(run, task) => {
                Err(PersonError::NotNow(format!("task {task} is done and is being committed")))
            }
            TaskState::Active => Ok(()),
            TaskState::Done => Err(PersonError::NotNow(format!("task {task} is done"))),
            TaskState::Skipped => Err(PersonError::NotNow(format!("task {task} is already skipped"))),
        },
        PersonCommand::Retry { task } => match state(task)? {
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

fn change(run: &mut RunState, command: &PersonCommand) -> Result<(), PersonError> {
    let record = |run: &mut RunState, task: &TaskId, state| {
        if let Some(record) = run.tasks.iter_mut().find(|record| record.task.id == *task) {
            record.state = state;
        }
    };
    match command {
        PersonCommand::Pause { by } => {
            run.paused.get_or_insert(Paused { since: now_ms(), by: by.clone() });
        }
        PersonCommand::Unpause { .. } => run.paused = None,
        PersonCommand::Skip { task } => match run.tasks.iter_mut().find(|record| record.task.id == *task) {
            // The next start keeps its work.
            Some(record) if record.state == TaskState::Active => record.is_unwanted = true,
            _ => record(run, task, TaskState::Skipped),
        },
        PersonCommand::Retry { task } => {
            record(run, task, TaskState::Pending);
            if let Some(record) = run.tasks.iter_mut().find(|record| record.task.id == *task) {
                record.failure = None;
            }
            // The next start resumes this run.
            run.status = RunStatus::Running;
        }
        PersonCommand::Answer { question, answers, .. } => {
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
