//! Errors of the driver.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why driving a CLI failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// It could not be started.
    #[error("cannot start {}", program.display())]
    Start {
        /// The executable.
        program: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// A deadline passed.
    #[error("waited {} s for {what}; the last lines were:\n{tail}\nstandard error:\n{stderr}", waited.as_secs())]
    TimedOut {
        /// What the driver waited for.
        what: String,
        /// For how long.
        waited: Duration,
        /// The last lines of output.
        tail: String,
        /// Its standard error.
        stderr: String,
    },
    /// It ended first.
    #[error("the CLI ended before {what}; the last lines were:\n{tail}\nstandard error:\n{stderr}")]
    Ended {
        /// What the driver waited for.
        what: String,
        /// The last lines of output.
        tail: String,
        /// Its standard error.
        stderr: String,
    },
    /// It no longer reads its input.
    #[error("the CLI no longer accepts input: it has ended, or its input was closed")]
    InputClosed,
}
