//! What can go wrong in a conversation, and what to do about it.

use std::sync::Arc;
use std::time::Duration;

use weir_process::Exit;

use crate::machine::Phase;

/// Why something in a session did not come to a good end.
///
/// It can be cloned because everybody who waits for the same thing is told.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The CLI could not be started.
    #[error("the claude CLI could not be started: {0}")]
    NotStarted(#[source] Arc<StartError>),
    /// The CLI ended before it said what was waited for.
    #[error("the claude CLI ended before it answered ({exit}){}{}", because(reason.as_deref(), stderr), tail(stderr))]
    Died {
        /// How it ended.
        exit: Exit,
        /// Why, where it said so in a result of its own, as it does for a session that it does not find.
        reason: Option<Box<str>>,
        /// The last that it printed on its standard error; where that is nothing, the last plain text of its standard
        /// output. On a terminal both are one.
        stderr: String,
        /// What it had said in the turn until then, if anything.
        text: Option<String>,
    },
    /// The raw log, which is required, could not be written, so the CLI was ended.
    #[error("the claude CLI was stopped, because the raw log is required: {0}")]
    Log(#[source] Arc<weir_process::LogError>),
    /// Nothing happened for too long.
    #[error("{}{}", timed_out(*phase, *after), tail(stderr))]
    TimedOut {
        /// What it was doing.
        phase: Phase,
        /// The limit that was reached.
        after: Duration,
        /// The last that the CLI printed on its standard error.
        stderr: String,
    },
    /// The limit of what the conversation may cost is reached.
    #[error(
        "the conversation has cost ${spent:.4}, which is its limit of ${limit:.4}; raise the limit to go on"
    )]
    BudgetExhausted {
        /// What was spent.
        spent: f64,
        /// The limit.
        limit: f64,
    },
    /// The message was taken back.
    #[error("the message was taken back before it was answered")]
    Cancelled,
    /// The message was interrupted before it was answered.
    #[error("the message was interrupted before it was answered")]
    Interrupted,
    /// The CLI dropped the message.
    #[error("the claude CLI discarded the message without answering it; send it again")]
    Discarded,
    /// The message is not known, or is answered, or cannot be taken back any more.
    #[error("the message can no longer be taken back")]
    NotCancellable,
    /// The session was stopped.
    #[error("the session was stopped")]
    Stopped,
    /// Somebody else answered first.
    #[error("{}", by.as_ref().map_or_else(|| "the request is closed: it was answered, was taken back or has expired".to_owned(), |by| format!("the request was answered already by {by}")))]
    AlreadyAnswered {
        /// Who.
        by: Option<String>,
    },
    /// There is no such request, or it is long gone.
    #[error("there is no open request of that name; it may have been withdrawn or have timed out")]
    NoSuchRequest,
    /// The answer does not fit the request.
    #[error("{0}")]
    BadAnswer(String),
    /// The CLI said no.
    #[error("the claude CLI refused: {message}")]
    Refused {
        /// In its words.
        message: String,
    },
    /// This version of the CLI cannot do it.
    #[error("this version of the claude CLI cannot do that ({what}); update it with `claude update`")]
    NotSupported {
        /// What was asked for.
        what: &'static str,
    },
    /// The CLI did not answer a control request.
    #[error("the claude CLI did not answer the request ({what}) within {} seconds", after.as_secs_f64())]
    NoAnswer {
        /// What was asked for.
        what: &'static str,
        /// The limit.
        after: Duration,
    },
    /// It cannot be done while no process runs.
    #[error("no claude process runs at the moment; it is started by the next message")]
    NotRunning,
}

/// Why a CLI could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// There is none.
    #[error(transparent)]
    NotFound(weir_process::FindError),
    /// It does not say which version it is.
    #[error(transparent)]
    Probe(weir_process::ProbeError),
    /// It could not be spawned.
    #[error(transparent)]
    Spawn(#[from] weir_process::SpawnError),
    /// The folder is not one that this may work in, or the version would run what nobody has trusted.
    #[error("{0}")]
    Folder(String),
    /// Another process has the session or the workspace.
    #[error("{0}")]
    Locked(String),
    /// Something was asked for that this version cannot do.
    #[error(
        "claude{} cannot do what was asked for, because it has no {}; update it with `claude update`, or leave the option out",
        version.map(|version| format!(" {version}")).unwrap_or_default(), flags.join(" and no ")
    )]
    Unsupported {
        /// Its version, where it is known.
        version: Option<weir_process::Version>,
        /// The flags that it does not have.
        flags: Vec<&'static str>,
    },
    /// This version of the CLI cannot do what was asked.
    #[error("{0}")]
    TooOld(String),
    /// Something else.
    #[error("{0}")]
    Other(String),
}

fn timed_out(phase: Phase, after: Duration) -> String {
    let seconds = after.as_secs_f64();
    match phase {
        Phase::Turn => format!("the turn took longer than its limit of {seconds} seconds and was stopped"),
        _ => format!("nothing was heard for {seconds} seconds {phase}, so it was stopped"),
    }
}

/// The reason, unless the standard error tells it as well.
fn because(reason: Option<&str>, stderr: &str) -> String {
    reason.filter(|reason| !stderr.contains(reason)).map(|reason| format!(": {reason}")).unwrap_or_default()
}

/// The last lines of the standard error, for the end of a message.
fn tail(stderr: &str) -> String {
    let text = stderr.trim_end();
    if text.is_empty() {
        return String::new();
    }
    let lines: Vec<&str> = text.lines().collect();
    let last = lines.get(lines.len().saturating_sub(8)..).unwrap_or_default();
    format!("; it printed:\n{}", last.join("\n"))
}
