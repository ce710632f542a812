//! Errors of a session, and what to do about them.

use std::sync::Arc;
use std::time::Duration;

use weir_base::money::dollars;
use weir_process::Exit;

use crate::machine::{Phase, TurnEnd};

/// Why an operation on a session failed.
///
/// It can be cloned because every caller waiting for the same thing receives it.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The CLI could not be started.
    #[error("the claude CLI could not be started: {0}")]
    NotStarted(#[source] Arc<StartError>),
    /// The CLI ended before it answered.
    #[error("the claude CLI ended before it answered ({exit}){}{}", because(reason.as_deref(), stderr), tail(stderr))]
    Died {
        /// How it ended.
        exit: Exit,
        /// Why, if it said so in a result, as it does for a session that it does not find.
        reason: Option<Box<str>>,
        /// The end of its standard error; if that is empty, the last plain text of its standard output. On a
        /// terminal both are the same.
        stderr: String,
        /// What it had said in the turn so far, if anything.
        text: Option<String>,
    },
    /// The raw log is required and could not be written, so the CLI was stopped.
    #[error("the claude CLI was stopped, because the raw log is required: {0}")]
    Log(#[source] Arc<weir_process::LogError>),
    /// Nothing happened for too long.
    #[error("{}{}", timed_out(*phase, *after), tail(stderr))]
    TimedOut {
        /// What the CLI was doing.
        phase: Phase,
        /// The limit that was reached.
        after: Duration,
        /// The end of the CLI's standard error.
        stderr: String,
    },
    /// The cost limit of the session is reached.
    #[error(
        "the session has cost {}, which is its limit of {}; raise the limit to continue",
        dollars(*spent),
        dollars(*limit)
    )]
    BudgetExhausted {
        /// Cost so far.
        spent: f64,
        /// The limit.
        limit: f64,
    },
    /// The turn ended with an error: the model's API refused or failed, or a limit ended it.
    #[error("the turn failed: {}", .0.error().unwrap_or_default())]
    TurnFailed(Arc<TurnEnd>),
    /// The message was cancelled.
    #[error("the message was cancelled before it was answered")]
    Cancelled,
    /// The message was interrupted before it was answered.
    #[error("the message was interrupted before it was answered")]
    Interrupted,
    /// The CLI dropped the message.
    #[error("the claude CLI discarded the message without answering it; send it again")]
    Discarded,
    /// The message is unknown, already answered, or can no longer be cancelled.
    #[error("the message can no longer be cancelled")]
    NotCancellable,
    /// The session was stopped.
    #[error("the session was stopped")]
    Stopped,
    /// The request was already answered.
    #[error("{}", by.as_ref().map_or_else(|| "the request is closed: it was answered, withdrawn, or expired".to_owned(), |by| format!("the request was already answered by {by}")))]
    AlreadyAnswered {
        /// Who answered it, if known.
        by: Option<String>,
    },
    /// The request does not exist, or was closed long ago.
    #[error("no open request with this id; it may have been withdrawn or have timed out")]
    NoSuchRequest,
    /// The answer does not match the request.
    #[error("{0}")]
    BadAnswer(String),
    /// The CLI refused the request.
    #[error("the claude CLI refused: {message}")]
    Refused {
        /// The CLI's error message.
        message: String,
    },
    /// This version of the CLI cannot do it.
    #[error("this version of the claude CLI cannot do that ({what}); update it with `claude update`")]
    NotSupported {
        /// The requested operation.
        what: &'static str,
    },
    /// The answer is not the requested value.
    #[error("the answer is not a value of the requested type: {reason}")]
    Unstructured {
        /// What does not fit.
        reason: String,
    },
    /// The CLI answered a control request in a form that Weir does not know.
    #[error(
        "the claude CLI answered in an unknown form ({reason}); `Session::request` returns such an answer as it is"
    )]
    UnreadableAnswer {
        /// What was unexpected.
        reason: String,
    },
    /// The CLI did not answer a control request.
    #[error("the claude CLI did not answer the request ({what}) within {} seconds", after.as_secs_f64())]
    NoAnswer {
        /// The request.
        what: &'static str,
        /// The time limit.
        after: Duration,
    },
    /// Not possible while no process is running.
    #[error("no claude process is running; the next message starts one")]
    NotRunning,
}

/// Why a CLI could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The CLI was not found.
    #[error(transparent)]
    NotFound(weir_process::FindError),
    /// Its version could not be determined.
    #[error(transparent)]
    Probe(weir_process::ProbeError),
    /// It could not be spawned.
    #[error(transparent)]
    Spawn(#[from] weir_process::SpawnError),
    /// Sessions may not work in the folder, or this version would run settings that are not trusted.
    #[error("{0}")]
    Folder(String),
    /// Another process holds the session or the workspace.
    #[error("{0}")]
    Locked(String),
    /// A requested option needs flags that this version does not have.
    #[error(
        "claude{} does not support {}; update it with `claude update`, or leave the option out",
        version.map(|version| format!(" {version}")).unwrap_or_default(), flags.join(" and ")
    )]
    Unsupported {
        /// Its version, if known.
        version: Option<weir_process::Version>,
        /// The flags that it does not have.
        flags: Vec<&'static str>,
    },
    /// This version of the CLI does not support the request.
    #[error("{0}")]
    TooOld(String),
    /// Any other reason.
    #[error("{0}")]
    Other(String),
}

fn timed_out(phase: Phase, after: Duration) -> String {
    let seconds = after.as_secs_f64();
    match phase {
        Phase::Turn => format!("the turn took longer than its limit of {seconds} seconds and was stopped"),
        _ => format!("there was no output for {seconds} seconds {phase}, so it was stopped"),
    }
}

/// The reason, unless standard error already states it.
fn because(reason: Option<&str>, stderr: &str) -> String {
    reason.filter(|reason| !stderr.contains(reason)).map(|reason| format!(": {reason}")).unwrap_or_default()
}

/// The last lines of standard error, to append to a message.
fn tail(stderr: &str) -> String {
    let text = stderr.trim_end();
    if text.is_empty() {
        return String::new();
    }
    let lines: Vec<&str> = text.lines().collect();
    let last = lines.get(lines.len().saturating_sub(8)..).unwrap_or_default();
    format!("; it printed:\n{}", last.join("\n"))
}
