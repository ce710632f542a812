//! The plain serde structs that most programs would use, for comparison.

use serde::Deserialize;

/// A line with owned strings.
#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "the fields only have to be deserialised")]
pub(crate) struct TypedLine {
    r#type: String,
    subtype: Option<String>,
    session_id: Option<String>,
    uuid: Option<String>,
    parent_tool_use_id: Option<String>,
    api_message_id: Option<String>,
    pub(crate) event: Option<TypedEvent>,
    message: Option<TypedMessage>,
    tool_use_result: Option<TypedToolResult>,
    result: Option<String>,
    is_error: Option<bool>,
    total_cost_usd: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "the fields only have to be deserialised")]
pub(crate) struct TypedEvent {
    r#type: String,
    index: Option<u64>,
    pub(crate) delta: Option<TypedDelta>,
    content_block: Option<TypedBlock>,
    message: Option<TypedMessage>,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "the fields only have to be deserialised")]
pub(crate) struct TypedDelta {
    r#type: Option<String>,
    pub(crate) text: Option<String>,
    partial_json: Option<String>,
    thinking: Option<String>,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "the fields only have to be deserialised")]
pub(crate) struct TypedMessage {
    id: Option<String>,
    role: Option<String>,
    model: Option<String>,
    content: Vec<TypedBlock>,
    stop_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "the fields only have to be deserialised")]
pub(crate) struct TypedBlock {
    r#type: String,
    text: Option<String>,
    id: Option<String>,
    name: Option<String>,
    input: Option<serde_json::Value>,
    tool_use_id: Option<String>,
    content: Option<String>,
    is_error: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "the fields only have to be deserialised")]
pub(crate) struct TypedToolResult {
    stdout: Option<String>,
    stderr: Option<String>,
    interrupted: Option<bool>,
}
