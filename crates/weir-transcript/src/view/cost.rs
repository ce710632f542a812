//! Money, counted once.

use serde::{Deserialize, Serialize};

/// What a conversation or a turn has cost, by the CLI's estimate.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Cost {
    /// The sum of what the turns cost; none where no turn said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// The CLI's own total, as last heard. It goes on over resumes and starts over after a reset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reported_usd: Option<f64>,
    /// The same by model, sub-agents included.
    pub models: Vec<ModelCost>,
    /// How often the CLI's total started over.
    pub resets: u32,
}

/// What one model was used for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct ModelCost {
    /// The model.
    pub model: String,
    /// Tokens read that were in no cache.
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
