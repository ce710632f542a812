//! Turns: what happens between a message and its result.

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
    /// Who asked for it.
    pub cause: TurnCause,
    /// The messages that it answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<MessageId>,
    /// How far it is.
    pub state: TurnState,
    /// When it began, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<i64>,
    /// Its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<TurnResult>,
    /// What it cost, sub-agents included; none where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The same by model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelCost>,
}

/// Who asked for a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "by", rename_all = "snake_case")]
#[non_exhaustive]
pub enum TurnCause {
    /// A message of ours.
    Message,
    /// Presumably a message: what was sent is not known here, as when a recorded output is replayed.
    Presumed,
    /// Nobody: a background task ended, or the CLI woke up by itself.
    Unasked {
        /// The CLI's word for it, such as `task-notification`.
        origin: Option<String>,
    },
}

/// How far a turn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TurnState {
    /// At work.
    Running,
    /// It has a result.
    Succeeded,
    /// Its result is an error.
    Failed,
    /// It was interrupted.
    Interrupted,
    /// The result was empty and answers nothing, as after some resumes.
    Empty,
    /// There was text, but a result never came.
    Degraded,
    /// Nothing came of it: the CLI ended.
    Lost,
}

/// The result of a turn.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct TurnResult {
    /// `success` also where the API failed.
    pub subtype: String,
    /// Whether the turn failed, whatever the subtype says.
    pub is_error: bool,
    /// The answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether the CLI's result was empty, so that the answer is what was said in the turn.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub degraded: bool,
    /// Why it failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
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
    /// Tokens of the main loop, without sub-agents; none where the CLI said nothing of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
    /// Tool calls that were not allowed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<Denial>,
    /// The answer in the form that was asked for.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub structured_output: Value,
}

impl TurnResult {
    /// What went wrong, in the CLI's words, where it is an error.
    pub fn error(&self) -> String {
        let words = if self.errors.is_empty() {
            self.text.clone().unwrap_or_default()
        } else {
            self.errors.join("; ")
        };
        if words.trim().is_empty() { format!("the turn failed ({})", self.subtype) } else { words }
    }
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
    /// Whether the turn went wrong. One that was interrupted ended because somebody wanted it to.
    pub fn is_error(self) -> bool {
        matches!(self, Self::Failed | Self::Degraded | Self::Lost)
    }

    /// Whether the turn has ended and did not come to a good end: it went wrong, or was interrupted.
    pub fn is_cut_short(self) -> bool {
        self.is_error() || self == Self::Interrupted
    }
}
