//! How a process ended, and how long to wait for one that should.

use std::{fmt, time::Duration};

use crate::ProcessId;

/// How a process ended.
///
/// Both fields are `None` if the system did not say, for instance because another part of the program reaped
/// the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exit {
    /// The exit code, if it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

impl Exit {
    /// Exited with this code.
    pub const fn with_code(code: i32) -> Self {
        Self { code: Some(code), signal: None }
    }

    /// Ended by this signal.
    pub const fn by_signal(signal: i32) -> Self {
        Self { code: None, signal: Some(signal) }
    }

    /// Whether the process ended by itself with code 0.
    pub const fn is_success(self) -> bool {
        matches!(self.code, Some(0))
    }
}

impl From<std::process::ExitStatus> for Exit {
    fn from(status: std::process::ExitStatus) -> Self {
        #[cfg(unix)]
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        #[cfg(not(unix))]
        let signal = None;
        Self { code: status.code(), signal }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit code {code}"),
            (None, Some(signal)) => write!(f, "ended by signal {signal}"),
            (None, None) => f.write_str("ended for an unknown reason"),
        }
    }
}

/// How long each step of the stop ladder waits before the next one.
///
/// The first two steps are up to the caller: interrupting the turn and closing standard input. Then
/// [`Handle::stop`](crate::Handle::stop) takes over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopOptions {
    /// How long the CLI may take to end by itself after its input was closed.
    pub grace: Duration,
    /// How long it may take after SIGTERM, including ending its own tools.
    pub terminate: Duration,
    /// How long tools that outlive the CLI may take after receiving SIGTERM themselves.
    pub descendants: Duration,
    /// How long to wait for processes to end after SIGKILL. Only a process that hangs in the kernel needs it.
    pub kill: Duration,
}

impl Default for StopOptions {
    fn default() -> Self {
        Self {
            grace: Duration::from_secs(5),
            terminate: Duration::from_secs(5),
            descendants: Duration::from_millis(500),
            kill: Duration::from_secs(5),
        }
    }
}

impl StopOptions {
    /// No waiting: SIGKILL at once for the CLI and everything it started.
    pub const fn now() -> Self {
        Self {
            grace: Duration::ZERO,
            terminate: Duration::ZERO,
            descendants: Duration::ZERO,
            kill: Duration::from_secs(5),
        }
    }
}

/// The step of the ladder that ended the CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopStep {
    /// It ended by itself.
    Ended,
    /// It ended after SIGTERM.
    Terminated,
    /// It had to be killed.
    Killed,
}

/// What [`Handle::stop`](crate::Handle::stop) did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopReport {
    /// How the CLI ended.
    pub exit: Exit,
    /// The step that ended it.
    pub step: StopStep,
    /// How many of its descendants had to be ended.
    pub descendants: usize,
    /// Processes still alive despite SIGKILL. Empty unless a process hangs in the kernel.
    pub survivors: Vec<ProcessId>,
}
