//! Costs, counted once, and tokens.

use serde::{Deserialize, Serialize};
use weir_wire::{ApiMessageId, ToolUseId, TurnId};

use super::EntryId;

/// What a session or a turn has cost, by the CLI's estimate.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Cost {
    /// The sum of what the turns cost; absent if no turn reported a cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// The CLI's own total, as last reported. It continues across resumes and starts over after a reset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reported_usd: Option<f64>,
    /// The cost by model, sub-agents included.
    pub models: Vec<ModelCost>,
    /// How often the CLI's total started over.
    pub resets: u32,
}

/// What one model used and cost.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ModelCost {
    /// The model.
    pub model: String,
    /// Tokens read that were not in a cache.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Tokens read from the cache.
    pub cache_read_tokens: u64,
    /// Tokens read and put into the cache.
    pub cache_creation_tokens: u64,
    /// The estimate in dollars.
    pub usd: f64,
}

/// Tokens of a message, or of a turn's main loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TokenUsage {
    /// Tokens read that were not in a cache.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Tokens read from the cache.
    pub cache_read_input_tokens: u64,
    /// Tokens read and put into the cache.
    pub cache_creation_input_tokens: u64,
}

/// What one message from the model used. Do not use it for accounting: see [`Cost`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MessageUsage {
    /// The API's id of the message; its blocks carry it.
    pub message: ApiMessageId,
    /// The turn that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The sub-agent that it belongs to; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ToolUseId>,
    /// The next entry when it first appeared: its first block.
    pub entry: EntryId,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its tokens. The written tokens are final once the message is complete.
    pub usage: TokenUsage,
}
