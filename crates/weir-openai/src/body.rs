//! The bodies of complete answers, of models and of errors, as they are written and described.

use serde::Serialize;
use serde_json::{Map, Value};

/// A complete reply.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ReplyBody {
    /// To `POST /v1/chat/completions`.
    Chat(ChatCompletion),
    /// To `POST /v1/responses`.
    Response(Box<ResponseObject>),
}

/// A complete answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ChatCompletion {
    pub(crate) id: String,
    /// `chat.completion`.
    pub(crate) object: &'static str,
    /// Seconds since 1970.
    pub(crate) created: i64,
    pub(crate) model: String,
    /// Exactly one.
    pub(crate) choices: Vec<ChatChoice>,
    pub(crate) usage: ChatUsage,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ChatChoice {
    pub(crate) index: u32,
    pub(crate) message: ChatAnswer,
    /// Always null.
    pub(crate) logprobs: Option<Value>,
    /// `stop`, `length` if the answer was cut off, `content_filter` if it was refused, or `tool_calls`.
    pub(crate) finish_reason: &'static str,
}

/// The agent's message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ChatAnswer {
    /// `assistant`.
    pub(crate) role: &'static str,
    /// The text; none if the agent refuses or calls a function.
    pub(crate) content: Option<String>,
    /// Why the agent refuses.
    pub(crate) refusal: Option<String>,
    /// The call of the required function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_calls: Option<[ChatCall; 1]>,
    /// The agent's tools, one per line, if they are reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning_content: Option<String>,
}

/// A call of one of the client's functions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ChatCall {
    pub(crate) id: String,
    /// `function`.
    pub(crate) r#type: &'static str,
    pub(crate) function: ChatFunction,
}

/// A function and its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ChatFunction {
    pub(crate) name: String,
    /// JSON that matches the function's schema.
    pub(crate) arguments: String,
}

/// Token usage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ChatUsage {
    pub(crate) prompt_tokens: u64,
    pub(crate) completion_tokens: u64,
    pub(crate) total_tokens: u64,
    pub(crate) prompt_tokens_details: InputDetails,
}

/// A response: complete, or as far as it is written.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ResponseObject {
    pub(crate) id: String,
    /// `response`.
    pub(crate) object: &'static str,
    /// Seconds since 1970.
    pub(crate) created_at: i64,
    /// `completed`, or `incomplete` if it was cut off or refused; in a stream also `in_progress` and `failed`.
    pub(crate) status: &'static str,
    /// Why it failed.
    pub(crate) error: Option<ResponseFailure>,
    /// Why it is incomplete.
    pub(crate) incomplete_details: Option<IncompleteDetails>,
    /// The instructions of the request.
    pub(crate) instructions: Option<String>,
    /// The metadata of the request.
    #[cfg_attr(feature = "schema", schema(value_type = std::collections::HashMap<String, Value>))]
    pub(crate) metadata: Map<String, Value>,
    pub(crate) model: String,
    /// What the agent did, if tools are reported, then a message with the text.
    pub(crate) output: Vec<ResponseItem>,
    pub(crate) parallel_tool_calls: bool,
    pub(crate) previous_response_id: Option<String>,
    pub(crate) text: UsedTextOptions,
    /// Always null.
    pub(crate) temperature: Option<f64>,
    /// `auto`.
    pub(crate) tool_choice: &'static str,
    /// Always empty: the agent has tools of its own.
    pub(crate) tools: [Value; 0],
    /// Always null.
    pub(crate) top_p: Option<f64>,
    pub(crate) usage: Option<ResponseUsage>,
}

/// Why a response failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ResponseFailure {
    pub(crate) code: String,
    pub(crate) message: String,
}

/// Why a response is incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct IncompleteDetails {
    /// `max_output_tokens` or `content_filter`.
    pub(crate) reason: &'static str,
}

/// Options of a response's text.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct UsedTextOptions {
    /// The format, as in the request.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    pub(crate) format: Value,
}

/// A message, or what the agent did.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ResponseItem {
    /// A message of the agent.
    Message {
        /// Its id.
        id: String,
        /// `completed`; in a stream also `in_progress`.
        status: &'static str,
        /// `assistant`.
        role: &'static str,
        /// One text; none while it is written.
        content: Vec<ResponsePart>,
    },
    /// What the agent did: its tools, one per line.
    Reasoning {
        /// Its id.
        id: String,
        /// `completed`; in a stream also `in_progress`.
        status: &'static str,
        /// One text; none while it is written.
        summary: Vec<ResponsePart>,
    },
}

/// A text of a response.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ResponsePart {
    /// The answer.
    OutputText {
        /// The text.
        text: String,
        /// Always empty.
        annotations: [Value; 0],
    },
    /// Why the agent refuses.
    Refusal {
        /// The text.
        refusal: String,
    },
    /// What the agent did.
    SummaryText {
        /// The text.
        text: String,
    },
}

/// Token usage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ResponseUsage {
    pub(crate) input_tokens: u64,
    pub(crate) input_tokens_details: InputDetails,
    pub(crate) output_tokens: u64,
    pub(crate) output_tokens_details: OutputDetails,
    pub(crate) total_tokens: u64,
}

/// Details of the tokens read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct InputDetails {
    /// Tokens that came from a cache.
    pub(crate) cached_tokens: u64,
}

/// Details of the tokens written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct OutputDetails {
    /// Always zero: the CLI does not count them apart.
    pub(crate) reasoning_tokens: u64,
}

/// The models that a server offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ModelList {
    /// `list`.
    object: &'static str,
    data: Vec<ModelEntry>,
}

impl ModelList {
    /// Models with these names.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self { object: "list", data: names.into_iter().map(ModelEntry::new).collect() }
    }
}

/// A model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ModelEntry {
    id: String,
    /// `model`.
    object: &'static str,
    /// Always zero: the CLI does not say when a model was made.
    created: i64,
    owned_by: &'static str,
}

impl ModelEntry {
    /// The model with this name.
    pub fn new(name: &str) -> Self {
        Self { id: name.to_owned(), object: "model", created: 0, owned_by: "anthropic" }
    }
}

/// An error in OpenAI's format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct OpenAiProblem {
    pub(crate) error: OpenAiProblemDetails,
}

/// Details of an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct OpenAiProblemDetails {
    /// What is wrong, and what to do.
    pub(crate) message: String,
    /// OpenAI's error type.
    pub(crate) r#type: &'static str,
    /// The invalid parameter.
    pub(crate) param: Option<String>,
    /// Error code for programs.
    pub(crate) code: Option<String>,
}
