//! Turns: everything between a message and its result.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_wire::{MessageId, ToolUseId, TurnId};

use super::{ModelCost, TokenUsage};

/// A turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Turn {
    /// Its number.
    pub id: TurnId,
    /// What caused it.
    pub cause: TurnCause,
    /// The messages that it answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<MessageId>,
    /// Its state.
    pub state: TurnState,
    /// When it began, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<i64>,
    /// For how many milliseconds it has waited for decisions of people.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waited_ms: u64,
    /// Its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<TurnResult>,
    /// What it cost, sub-agents included; absent if not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The cost by model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelCost>,
}

/// Most turns never wait for a person.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "signature required by serde")]
fn is_zero(milliseconds: &u64) -> bool {
    *milliseconds == 0
}

/// What caused a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "by", rename_all = "snake_case")]
#[non_exhaustive]
pub enum TurnCause {
    /// A message of ours.
    Message,
    /// Presumably a message: what was sent is not known, as in the replay of a recording.
    Presumed,
    /// No message: a background task ended, or the CLI continued on its own.
    Unasked {
        /// The CLI's word for it, such as `task-notification`.
        origin: Option<String>,
    },
}

/// The state of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TurnState {
    /// It is running.
    Running,
    /// It has a successful result.
    Succeeded,
    /// Its result is an error.
    Failed,
    /// It was interrupted.
    Interrupted,
    /// The result was empty and answers nothing, as after some resumes.
    Empty,
    /// There was text, but no result.
    Degraded,
    /// The CLI ended before there was any text or result.
    Lost,
}

/// The result of a turn.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TurnResult {
    /// The CLI's subtype; it may be `success` even if the API failed.
    pub subtype: String,
    /// Whether the turn failed, whatever the subtype says.
    pub is_error: bool,
    /// The answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether the CLI's result was empty and the answer is the turn's streamed text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub degraded: bool,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// Why it ended, such as `completed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal_reason: Option<String>,
    /// Why the model stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// The HTTP status of the API error that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_error_status: Option<u64>,
    /// Rounds with the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_turns: Option<u64>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// How long the API took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_api_ms: Option<u64>,
    /// Tokens of the main loop, without sub-agents; absent if the CLI did not report them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
    /// Tool calls that were not allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<Denial>,
    /// The answer in the requested format.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub structured_output: Value,
}

impl TurnResult {
    /// What went wrong, in the CLI's words, if the result is an error.
    pub fn error(&self) -> String {
        let words = if self.errors.is_empty() {
            self.text.clone().unwrap_or_default()
        } else {
            self.errors.join("; ")
        };
        if words.trim().is_empty() { format!("the turn failed ({})", self.subtype) } else { words }
    }
}

/// Why a message has no good answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Its kind.
    pub kind: FailureKind,
    /// A sentence for people, with what to do.
    pub message: String,
}

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The CLI could not be started.
    NotStarted,
    /// This version of the CLI cannot do what was asked.
    Unsupported,
    /// It ended before it answered.
    Died,
    /// It ended before it answered, and reported success.
    NoResult,
    /// A limit of time was reached.
    TimedOut,
    /// The limit of cost was reached.
    BudgetExhausted,
    /// The sender may not send messages any more.
    Unauthorized,
    /// The message was cancelled.
    Cancelled,
    /// The session was stopped.
    Stopped,
    /// The turn was interrupted.
    Interrupted,
    /// The host was restarted while the turn ran.
    Restarted,
    /// The turn's result is an error.
    #[default]
    Error,
}

/// A tool call that was not allowed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Denial {
    /// The tool.
    pub tool_name: String,
    /// The call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<ToolUseId>,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub tool_input: Value,
}

impl TurnState {
    /// Whether the turn went wrong. An interrupted turn was ended on purpose.
    pub fn is_error(self) -> bool {
        matches!(self, Self::Failed | Self::Degraded | Self::Lost)
    }

    /// Whether the turn ended early: it went wrong or was interrupted.
    pub fn is_cut_short(self) -> bool {
        self.is_error() || self == Self::Interrupted
    }
}
