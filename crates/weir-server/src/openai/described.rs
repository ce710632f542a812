//! The requests of the OpenAI-compatible front as described in the OpenAPI document: the subset of OpenAI's API that is
//! supported here. They are read by `weir-openai`, which names what it refuses.

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
