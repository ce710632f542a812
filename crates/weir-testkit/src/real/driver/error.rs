//! Why driving a CLI did not work.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why driving a CLI did not work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// It could not be started.
    #[error("{} could not be started", program.display())]
    Start {
        /// The executable.
        program: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It took too long.
    #[error("waited {} s for {what}; the last lines were:\n{tail}\nstandard error:\n{stderr}", waited.as_secs())]
    TimedOut {
        /// What was waited for.
        what: String,
        /// For how long.
        waited: Duration,
        /// The last lines.
        tail: String,
        /// The standard error.
        stderr: String,
    },
    /// It ended first.
    #[error("the CLI ended before {what}; the last lines were:\n{tail}\nstandard error:\n{stderr}")]
    Ended {
        /// What was waited for.
        what: String,
        /// The last lines.
        tail: String,
        /// The standard error.
        stderr: String,
    },
    /// It no longer reads.
    #[error("the CLI no longer takes input: it has ended, or its input was closed")]
    InputClosed,
}
