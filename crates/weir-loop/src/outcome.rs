//! What came of an attempt. Each way to end has a name of its own; none of them is taken for "done".

use serde::{Deserialize, Serialize};

use crate::agent::DeniedTool;

/// What came of an attempt, or of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The gates passed and the work is committed.
    Done,
    /// A gate failed, the result was an error, or something protected was changed.
    Failed,
    /// A tool was not allowed.
    Denied,
    /// It asked something, and nobody answered.
    Question,
    /// It ended well and changed nothing.
    NoChange,
    /// The CLI died, or its output was unusable.
    Crashed,
    /// It took too long.
    TimedOut,
    /// The account's limit ended it.
    RateLimited,
    /// Its own money or token limit ended it.
    Budget,
    /// Somebody stopped the loop, or it was killed.
    Interrupted,
    /// A person stopped its session. That was wanted, so nothing is wrong; the task is not done.
    Stopped,
}

impl Outcome {
    /// In words.
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
    /// What it was.
    pub outcome: Outcome,
    /// In a line.
    pub reason: String,
    /// What the gate or the CLI printed, trimmed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// The same for the same failure, whatever times and numbers are in its output.
    pub fingerprint: String,
    /// Tools that were not allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<DeniedTool>,
}

impl Failure {
    /// A failure whose fingerprint is made from what it says.
    pub fn new(outcome: Outcome, reason: impl Into<String>, output: impl Into<String>) -> Self {
        let (reason, output) = (reason.into(), output.into());
        let fingerprint = crate::fingerprint::of(&[outcome.words(), &reason, &output]);
        Self { outcome, reason, output, fingerprint, denials: Vec::new() }
    }
}

/// What a gate said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateResult {
    /// Its name.
    pub name: String,
    /// Whether it passed.
    pub passed: bool,
    /// How it ended, in words.
    pub ending: String,
    /// The last that it printed; nothing where it passed.
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
    /// How many files differ from before the task.
    pub files: u64,
    /// Lines that were added.
    pub added: u64,
    /// Lines that were removed.
    pub removed: u64,
    /// What was protected, was changed and is restored.
    pub protected: Vec<String>,
    /// Whether the task list was changed and is restored.
    pub list_restored: bool,
    /// Repositories and worktrees in the working tree that are no submodules: what is done there cannot be committed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nested: Vec<String>,
}
