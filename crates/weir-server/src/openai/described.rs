//! The bodies of the OpenAI-compatible front as the OpenAPI document describes them: the part of OpenAI's that is
//! honoured here. They are read and written by `weir-openai`, which says by name what it refuses.

#![expect(dead_code, reason = "these types describe; requests are read from their JSON")]

use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

/// A request for an answer.
#[derive(ToSchema)]
pub(crate) struct ChatRequest {
    /// A model of `/v1/models`; `default` is the CLI's own choice.
    #[schema(min_length = 1)]
    model: String,
    /// All that was said, oldest first. The last is of the user.
    #[schema(min_items = 1)]
    messages: Vec<ChatMessage>,
    /// The answer comes as server-sent events while it is written.
    stream: Option<bool>,
    /// More about a stream.
    stream_options: Option<StreamOptions>,
    /// The form of the answer.
    response_format: Option<ResponseFormat>,
}

/// The form of an answer.
#[derive(Serialize, ToSchema)]
pub(crate) struct ResponseFormat {
    #[serde(rename = "type")]
    kind: FormatKind,
    /// The schema, for `json_schema` of a chat completion.
    json_schema: Option<NamedSchema>,
}

/// What form.
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

/// More about a stream.
#[derive(ToSchema)]
pub(crate) struct StreamOptions {
    /// The stream ends with what was used.
    include_usage: Option<bool>,
}

/// Something that was said.
#[derive(Serialize, ToSchema)]
pub(crate) struct ChatMessage {
    /// By whom.
    role: ChatRole,
    /// What: a text, or parts that are texts and pictures.
    content: ChatContent,
}

/// Who says something.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChatRole {
    System,
    Developer,
    User,
    Assistant,
    Tool,
}

/// What is said.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ChatContent {
    /// A text.
    Text(String),
    /// Parts: texts and pictures.
    Parts(Vec<ContentPart>),
}

/// A text or a picture.
#[derive(Serialize, ToSchema)]
pub(crate) struct ContentPart {
    #[serde(rename = "type")]
    kind: ContentKind,
    /// The text, for `text` and `input_text`.
    text: Option<String>,
    /// The picture, for `image_url`; `input_image` has the address itself here.
    image_url: Option<ImageAddress>,
}

/// What a part is.
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
    /// A data URL, as in `data:image/png;base64,…`. Others are not fetched.
    url: String,
}

/// An answer in one piece.
#[derive(ToSchema)]
pub(crate) struct ChatCompletion {
    id: String,
    /// `chat.completion`.
    object: String,
    /// Seconds since 1970.
    created: i64,
    model: String,
    /// One.
    choices: Vec<ChatChoice>,
    usage: ChatUsage,
}

/// The answer.
#[derive(ToSchema)]
pub(crate) struct ChatChoice {
    index: u32,
    message: ChatAnswer,
    /// `stop`, `length` where the answer was cut off, `content_filter` where it was refused, or `tool_calls`.
    finish_reason: String,
}

/// What the agent says.
#[derive(ToSchema)]
pub(crate) struct ChatAnswer {
    /// `assistant`.
    role: String,
    /// What it says; none where it refuses or calls.
    content: Option<String>,
    /// Why it does not answer.
    refusal: Option<String>,
    /// The call of the function that was demanded.
    tool_calls: Option<Vec<ChatCall>>,
    /// The agent's tools, a line for each, where they are told.
    reasoning_content: Option<String>,
}

/// A call of a function of the client's.
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
    /// JSON that fits the function's schema.
    arguments: String,
}

/// What was used, in tokens.
#[derive(ToSchema)]
pub(crate) struct ChatUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
}

/// A request for a response.
#[derive(ToSchema)]
pub(crate) struct ResponseRequest {
    /// A model of `/v1/models`; `default` is the CLI's own choice.
    #[schema(min_length = 1)]
    model: String,
    /// What the user says: a text, or messages of which the last is of the user.
    input: ResponseInput,
    /// Added to the system prompt.
    instructions: Option<String>,
    /// The response that this one continues.
    previous_response_id: Option<String>,
    /// The response comes as server-sent events while it is written.
    stream: Option<bool>,
    /// The form of the answer.
    text: Option<ResponseTextOptions>,
}

/// How the answer is written.
#[derive(ToSchema)]
pub(crate) struct ResponseTextOptions {
    format: Option<ResponseTextFormat>,
}

/// The form of the answer.
#[derive(ToSchema)]
pub(crate) struct ResponseTextFormat {
    #[schema(rename = "type")]
    kind: FormatKind,
    name: Option<String>,
    /// A JSON Schema of type object, for `json_schema`.
    #[schema(value_type = Option<Object>)]
    schema: Option<serde_json::Value>,
}

/// What the user says.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ResponseInput {
    /// A text.
    Text(String),
    /// Messages.
    Messages(Vec<ChatMessage>),
}

/// A response in one piece.
#[derive(ToSchema)]
pub(crate) struct ResponseObject {
    id: String,
    /// `response`.
    object: String,
    /// Seconds since 1970.
    created_at: i64,
    /// `completed`, or `incomplete` where it was cut off or refused.
    status: String,
    model: String,
    /// A message with a text at the end; before it, where tools are told, what the agent did.
    output: Vec<ResponseItem>,
    previous_response_id: Option<String>,
    usage: ResponseUsage,
}

/// What the agent says or does.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ResponseItem {
    /// What it says.
    Message(ResponseMessage),
    /// What it does.
    Reasoning(ResponseReasoning),
}

/// What the agent does: its tools, a line for each.
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

/// What the agent says.
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
    /// `output_text`, `refusal`, or `summary_text` of what the agent does.
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    refusal: Option<String>,
}

/// What was used, in tokens.
#[derive(ToSchema)]
pub(crate) struct ResponseUsage {
    input_tokens: u64,
    output_tokens: u64,
    total_tokens: u64,
}

/// What a request can say about its session.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
pub(crate) struct FrontHeaders {
    /// This session, whatever the history says.
    #[param(rename = "X-Weir-Session")]
    session: Option<String>,
    /// The folder of a new session, below a root.
    #[param(rename = "X-Weir-Cwd")]
    cwd: Option<String>,
    /// Whether the answer tells of tools as reasoning.
    #[param(rename = "X-Weir-Tools")]
    tools: Option<ToolsOption>,
    /// The client's own name for the request: another one with the same name gets what the first one gets.
    #[param(rename = "Idempotency-Key")]
    idempotency_key: Option<String>,
    /// How many tries there were before this one, as OpenAI's clients count them. A retry gets what the first try gets; what
    /// is not a number counts as none.
    #[param(rename = "X-Stainless-Retry-Count")]
    retry_count: Option<String>,
}

/// Whether an answer tells of tools.
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

/// Why a request is not answered, in OpenAI's shape.
#[derive(ToSchema)]
pub(crate) struct OpenAiProblem {
    error: OpenAiProblemDetails,
}

/// Why.
#[derive(ToSchema)]
pub(crate) struct OpenAiProblemDetails {
    message: String,
    #[schema(rename = "type")]
    kind: String,
    param: Option<String>,
    code: Option<String>,
}
