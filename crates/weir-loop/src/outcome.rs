//! The outcome of an attempt. Each way to end has its own name; none of them is mistaken for "done".

use serde::{Deserialize, Serialize};

use crate::agent::DeniedTool;

/// The outcome of an attempt or a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The gates passed and the work is committed.
    Done,
    /// A gate failed, the result was an error, or something protected was changed.
    Failed,
    /// A tool was not allowed.
    Denied,
    /// It asked a question that was not answered.
    Question,
    /// It ended successfully but changed nothing.
    NoChange,
    /// The CLI died, or its output was unusable.
    Crashed,
    /// It took too long.
    TimedOut,
    /// The account's limit ended it.
    RateLimited,
    /// Its own cost or token limit ended it.
    Budget,
    /// The loop was stopped or killed.
    Interrupted,
    /// A person stopped its session. This is intentional, so it is not a failure, but the task is not done.
    Stopped,
}

impl Outcome {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::Question => "question asked",
            Self::NoChange => "no change made",
            Self::Crashed => "crashed",
            Self::TimedOut => "timed out",
            Self::RateLimited => "rate limited",
            Self::Budget => "over its budget",
            Self::Interrupted => "interrupted",
            Self::Stopped => "stopped",
        }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.words())
    }
}

/// Why an attempt did not succeed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The outcome.
    pub outcome: Outcome,
    /// The reason, in one line.
    pub reason: String,
    /// What the gate or the CLI printed, trimmed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// Equal for equal failures, whatever times and numbers are in their output.
    pub fingerprint: String,
    /// Tools that were not allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<DeniedTool>,
}

impl Failure {
    /// A failure whose fingerprint is made from its texts.
    pub fn new(outcome: Outcome, reason: impl Into<String>, output: impl Into<String>) -> Self {
        let (reason, output) = (reason.into(), output.into());
        let fingerprint = crate::fingerprint::of(&[outcome.words(), &reason, &output]);
        Self { outcome, reason, output, fingerprint, denials: Vec::new() }
    }
}

/// The result of a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateResult {
    /// Its name.
    pub name: String,
    /// Whether it passed.
    pub passed: bool,
    /// How it ended, for people.
    pub ending: String,
    /// The end of its output; less of it if it passed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// How long it took.
    pub took_ms: u64,
}

/// What an attempt did to the files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Inspection {
    /// The tree as it is now.
    pub tree: String,
    /// Number of files that differ from before the task.
    pub files: u64,
    /// Lines that were added.
    pub added: u64,
    /// Lines that were removed.
    pub removed: u64,
    /// Protected files that were changed and have been restored.
    pub protected: Vec<String>,
    /// Files that say how work is checked, which were changed because the task may touch them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touched: Vec<String>,
    /// New links that lead out of the repository.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leading_outside: Vec<String>,
    /// Whether the task list was changed and has been restored.
    pub list_restored: bool,
    /// Repositories and worktrees in the working tree that are not submodules: work done there cannot be committed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nested: Vec<String>,
}
