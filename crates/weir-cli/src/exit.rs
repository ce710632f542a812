//! All exit codes in one place.

use std::io::Write as _;
use std::process::ExitCode;

use weir_session::SessionError;
use weir_transcript::Outcome;

/// How a command ended. The numbers are a promise to scripts.
///
/// | code | meaning |
/// |---|---|
/// | 0 | success |
/// | 1 | the run ended in an error result, or the command itself failed |
/// | 2 | the command line is wrong |
/// | 3 | the CLI could not be started |
/// | 4 | the CLI died or was killed |
/// | 5 | no result, or unusable output |
/// | 6 | the result is a success, but a tool was not allowed |
/// | 7 | timeout |
/// | 8 | a money limit ended the run |
/// | 9 | a rate limit ended the run |
/// | 130 | interrupted |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Success = 0,
    ErrorResult = 1,
    Usage = 2,
    NotStarted = 3,
    Died = 4,
    NoResult = 5,
    PermissionDenied = 6,
    TimedOut = 7,
    BudgetExhausted = 8,
    RateLimited = 9,
    Interrupted = 130,
}

impl From<Outcome> for Exit {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Success => Self::Success,
            Outcome::NoResult => Self::NoResult,
            Outcome::PermissionDenied => Self::PermissionDenied,
            Outcome::BudgetExhausted => Self::BudgetExhausted,
            Outcome::RateLimited => Self::RateLimited,
            Outcome::Interrupted => Self::Interrupted,
            Outcome::ErrorResult | _ => Self::ErrorResult,
        }
    }
}

impl From<&SessionError> for Exit {
    fn from(error: &SessionError) -> Self {
        match error {
            SessionError::NotStarted(_) => Self::NotStarted,
            // It exited successfully without a result.
            SessionError::Died { exit, .. } if exit.is_success() => Self::NoResult,
            SessionError::Died { .. } | SessionError::Log(_) => Self::Died,
            SessionError::TimedOut { .. } => Self::TimedOut,
            SessionError::BudgetExhausted { .. } => Self::BudgetExhausted,
            SessionError::Stopped | SessionError::Interrupted => Self::Interrupted,
            _ => Self::ErrorResult,
        }
    }
}

/// A usage error, reported without a chain of causes.
#[derive(Debug)]
pub(crate) struct UsageError(pub(crate) String);

impl std::fmt::Display for UsageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// Prints a message on the standard error.
pub(crate) fn tell(text: &str) {
    // If this fails, there is no other way to report it.
    let _ = std::io::stderr().write_all(format!("{}\n", text.trim_end()).as_bytes());
}

/// Reports an error to the user and returns the exit code.
pub(crate) fn report(done: anyhow::Result<Exit>) -> ExitCode {
    let exit = match done {
        Ok(exit) => exit,
        Err(error) if is_closed_pipe(&error) => Exit::Success,
        Err(error) => {
            tell(&format!("weir: {}", words(&error)));
            if error.is::<UsageError>() { Exit::Usage } else { Exit::ErrorResult }
        }
    };
    ExitCode::from(exit as u8)
}

/// An error and its causes, each mentioned once: many errors already include their cause.
fn words(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// Whether the reader of our output has closed it, as `head` does. That does not count as an error.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    io.is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
}
