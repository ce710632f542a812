//! Token counts and costs.

use crate::decode::object::wire_struct;
use crate::json::{RawJson, Text};

wire_struct! {
    /// Tokens of a message, or of a turn's main loop. Sub-agents are not included.
    Usage {
        /// Tokens read that were not in a cache.
        optional input_tokens: u64 = "input_tokens",
        /// Tokens written.
        optional output_tokens: u64 = "output_tokens",
        /// Tokens read and put into the cache.
        optional cache_creation_input_tokens: u64 = "cache_creation_input_tokens",
        /// Tokens read from the cache.
        optional cache_read_input_tokens: u64 = "cache_read_input_tokens",
        /// Searches and fetches by the API.
        optional server_tool_use: RawJson<'a> = "server_tool_use",
        /// The tier that served the request.
        optional service_tier: Text<'a> = "service_tier",
        /// The cached tokens, by lifetime.
        optional cache_creation: RawJson<'a> = "cache_creation",
        /// The written tokens, by kind.
        optional output_tokens_details: RawJson<'a> = "output_tokens_details",
    }
}

wire_struct! {
    /// What one model has used, sub-agents included, cumulative over the process's turns.
    ModelUsage {
        /// Tokens read that were not in a cache.
        optional input_tokens: u64 = "inputTokens",
        /// Tokens written.
        optional output_tokens: u64 = "outputTokens",
        /// Tokens read from the cache.
        optional cache_read_input_tokens: u64 = "cacheReadInputTokens",
        /// Tokens read and put into the cache.
        optional cache_creation_input_tokens: u64 = "cacheCreationInputTokens",
        /// Searches by the API.
        optional web_search_requests: u64 = "webSearchRequests",
        /// The CLI's estimate of the price in dollars.
        optional cost_usd: f64 = "costUSD",
        /// Size of the model's context window in tokens.
        optional context_window: u64 = "contextWindow",
        /// Maximum number of tokens that the model can write at once.
        optional max_output_tokens: u64 = "maxOutputTokens",
        /// Tokens spent on thinking.
        optional thinking_tokens: u64 = "thinkingTokens",
    }
}
