//! The bodies of the OpenAI-compatible front as described in the OpenAPI document: the subset of OpenAI's API that is
//! supported here. They are read and written by `weir-openai`, which names what it refuses.

#![expect(dead_code, reason = "these types only describe the API; requests are read from JSON")]

use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

/// A chat completion request.
#[derive(ToSchema)]
pub(crate) struct ChatRequest {
    /// A model of `/v1/models`; `default` is the CLI's default.
    #[schema(min_length = 1)]
    model: String,
    /// The messages so far, oldest first. The last one is the user's.
    #[schema(min_items = 1)]
    messages: Vec<ChatMessage>,
    /// Whether the answer is streamed as server-sent events.
    stream: Option<bool>,
    /// Options of a stream.
    stream_options: Option<StreamOptions>,
    /// Format of the answer.
    response_format: Option<ResponseFormat>,
}

/// Format of an answer.
#[derive(Serialize, ToSchema)]
pub(crate) struct ResponseFormat {
    #[serde(rename = "type")]
    kind: FormatKind,
    /// The schema, for `json_schema` of a chat completion.
    json_schema: Option<NamedSchema>,
}

/// Kind of format.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FormatKind {
    Text,
    JsonObject,
    JsonSchema,
}

/// A schema with a name.
#[derive(Serialize, ToSchema)]
pub(crate) struct NamedSchema {
    name: Option<String>,
    /// A JSON Schema of type object.
    #[schema(value_type = Object)]
    schema: serde_json::Value,
}

/// Options of a stream.
#[derive(ToSchema)]
pub(crate) struct StreamOptions {
    /// Whether the stream ends with the token usage.
    include_usage: Option<bool>,
}

/// A message.
#[derive(Serialize, ToSchema)]
pub(crate) struct ChatMessage {
    /// Who wrote the message.
    role: ChatRole,
    /// The content: text, or parts that are text or pictures.
    content: ChatContent,
}

/// Who wrote a message.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChatRole {
    System,
    Developer,
    User,
    Assistant,
    Tool,
}

/// The content of a message.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ChatContent {
    /// A text.
    Text(String),
    /// Parts: text and pictures.
    Parts(Vec<ContentPart>),
}

/// A text or a picture.
#[derive(Serialize, ToSchema)]
pub(crate) struct ContentPart {
    #[serde(rename = "type")]
    kind: ContentKind,
    /// The text, for `text` and `input_text`.
    text: Option<String>,
    /// The picture, for `image_url`; for `input_image` the URL itself.
    image_url: Option<ImageAddress>,
}

/// Kind of part.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ContentKind {
    Text,
    ImageUrl,
    InputText,
    InputImage,
}

/// A picture.
#[derive(Serialize, ToSchema)]
pub(crate) struct ImageAddress {
    /// A data URL, as in `data:image/png;base64,…`. Other URLs are not fetched.
    url: String,
}

/// A complete answer.
#[derive(ToSchema)]
pub(crate) struct ChatCompletion {
    id: String,
    /// `chat.completion`.
    object: String,
    /// Seconds since 1970.
    created: i64,
    model: String,
    /// Exactly one.
    choices: Vec<ChatChoice>,
    usage: ChatUsage,
}

/// The answer.
#[derive(ToSchema)]
pub(crate) struct ChatChoice {
    index: u32,
    message: ChatAnswer,
    /// `stop`, `length` if the answer was cut off, `content_filter` if it was refused, or `tool_calls`.
    finish_reason: String,
}

/// The agent's message.
#[derive(ToSchema)]
pub(crate) struct ChatAnswer {
    /// `assistant`.
    role: String,
    /// The text; none if the agent refuses or calls a function.
    content: Option<String>,
    /// Why the agent refuses.
    refusal: Option<String>,
    /// The call of the required function.
    tool_calls: Option<Vec<ChatCall>>,
    /// The agent's tools, one per line, if they are reported.
    reasoning_content: Option<String>,
}

/// A call of one of the client's functions.
#[derive(ToSchema)]
pub(crate) struct ChatCall {
    id: String,
    /// `function`.
    #[schema(rename = "type")]
    kind: String,
    function: ChatFunction,
}

/// A function and its arguments.
#[derive(ToSchema)]
pub(crate) struct ChatFunction {
    name: String,
    /// JSON that matches the function's schema.
    arguments: String,
}

/// Token usage.
#[derive(ToSchema)]
pub(crate) struct ChatUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
}

/// A request for a response.
#[derive(ToSchema)]
pub(crate) struct ResponseRequest {
    /// A model of `/v1/models`; `default` is the CLI's default.
    #[schema(min_length = 1)]
    model: String,
    /// The user's input: text, or messages of which the last is the user's.
    input: ResponseInput,
    /// Added to the system prompt.
    instructions: Option<String>,
    /// Id of the response that this one continues.
    previous_response_id: Option<String>,
    /// Whether the response is streamed as server-sent events.
    stream: Option<bool>,
    /// Format of the answer.
    text: Option<ResponseTextOptions>,
}

/// Options of the answer's text.
#[derive(ToSchema)]
pub(crate) struct ResponseTextOptions {
    format: Option<ResponseTextFormat>,
}

/// Format of the answer.
#[derive(ToSchema)]
pub(crate) struct ResponseTextFormat {
    #[schema(rename = "type")]
    kind: FormatKind,
    name: Option<String>,
    /// A JSON Schema of type object, for `json_schema`.
    #[schema(value_type = Option<Object>)]
    schema: Option<serde_json::Value>,
}

/// The user's input.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ResponseInput {
    /// A text.
    Text(String),
    /// Messages.
    Messages(Vec<ChatMessage>),
}

/// A complete response.
#[derive(ToSchema)]
pub(crate) struct ResponseObject {
    id: String,
    /// `response`.
    object: String,
    /// Seconds since 1970.
    created_at: i64,
    /// `completed`, or `incomplete` if it was cut off or refused.
    status: String,
    model: String,
    /// What the agent did, if tools are reported, then a message with the text.
    output: Vec<ResponseItem>,
    previous_response_id: Option<String>,
    usage: ResponseUsage,
}

/// A message, or what the agent did.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ResponseItem {
    /// A message.
    Message(ResponseMessage),
    /// What the agent did.
    Reasoning(ResponseReasoning),
}

/// What the agent did: its tools, one per line.
#[derive(Serialize, ToSchema)]
pub(crate) struct ResponseReasoning {
    id: String,
    /// `reasoning`.
    #[serde(rename = "type")]
    kind: String,
    /// `completed`.
    status: String,
    /// One text.
    summary: Vec<ResponseText>,
}

/// A message of the agent.
#[derive(Serialize, ToSchema)]
pub(crate) struct ResponseMessage {
    id: String,
    /// `message`.
    #[serde(rename = "type")]
    kind: String,
    /// `completed`.
    status: String,
    /// `assistant`.
    role: String,
    /// One text.
    content: Vec<ResponseText>,
}

/// A text.
#[derive(Serialize, ToSchema)]
pub(crate) struct ResponseText {
    /// `output_text`, `refusal`, or `summary_text` for what the agent did.
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    refusal: Option<String>,
}

/// Token usage.
#[derive(ToSchema)]
pub(crate) struct ResponseUsage {
    input_tokens: u64,
    output_tokens: u64,
    total_tokens: u64,
}

/// Headers that control the session of a request.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
pub(crate) struct FrontHeaders {
    /// Uses this session, regardless of the history.
    #[param(rename = "X-Weir-Session")]
    session: Option<String>,
    /// The folder of a new session, below a root.
    #[param(rename = "X-Weir-Cwd")]
    cwd: Option<String>,
    /// Whether the answer reports tools as reasoning.
    #[param(rename = "X-Weir-Tools")]
    tools: Option<ToolsOption>,
    /// The client's own id for the request: a second request with the same key gets the same response.
    #[param(rename = "Idempotency-Key")]
    idempotency_key: Option<String>,
    /// Number of earlier attempts, as OpenAI's clients count them. A retry gets the same response as the first attempt;
    /// anything but a number counts as zero.
    #[param(rename = "X-Stainless-Retry-Count")]
    retry_count: Option<String>,
}

/// Whether an answer reports tools.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum ToolsOption {
    Hidden,
    Reasoning,
}

/// The models that the server offers.
#[derive(ToSchema)]
pub(crate) struct ModelList {
    /// `list`.
    object: String,
    data: Vec<ModelEntry>,
}

/// A model.
#[derive(ToSchema)]
pub(crate) struct ModelEntry {
    id: String,
    /// `model`.
    object: String,
    created: i64,
    owned_by: String,
}

/// An error in OpenAI's format.
#[derive(ToSchema)]
pub(crate) struct OpenAiProblem {
    error: OpenAiProblemDetails,
}

/// Details of an error.
#[derive(ToSchema)]
pub(crate) struct OpenAiProblemDetails {
    message: String,
    #[schema(rename = "type")]
    kind: String,
    param: Option<String>,
    code: Option<String>,
}
