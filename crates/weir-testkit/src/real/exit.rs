//! How a process ended.

/// How a process ended, and what it said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it printed on its standard error.
    pub stderr: String,
}
