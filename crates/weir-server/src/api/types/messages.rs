//! Messages to a session, and what stops them.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use weir_host::{Document, Image, MessageInfo, MessageMode, SlashCommand};

use super::CreateSession;

/// A message.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendMessage {
    /// The client's own id for the message: sent twice, it is one message.
    #[schema(min_length = 1, max_length = 200)]
    pub(crate) client_id: String,
    /// The text. It is inert: an `@` in it does not read a file, and a leading `/` does not run a command.
    #[serde(default)]
    pub(crate) text: String,
    /// Pictures.
    #[serde(default)]
    pub(crate) images: Vec<Image>,
    /// Documents: PDFs, and texts that the model is given as documents.
    #[serde(default)]
    pub(crate) documents: Vec<Document>,
    /// Web addresses (`https://…`, `http://…`) of pictures and PDFs, which the model's API fetches: a PDF if the path ends
    /// with `.pdf`, otherwise a picture.
    #[serde(default)]
    #[schema(max_items = 20)]
    pub(crate) links: Vec<String>,
    /// Files whose content is sent with the text: paths relative to the session's folder.
    #[serde(default)]
    #[schema(max_items = 20)]
    pub(crate) files: Vec<String>,
    /// A slash command instead of text and attachments; one of `slash_commands` of `/v1/me`.
    pub(crate) command: Option<SlashCommand>,
    /// What to do with the message while a turn runs.
    #[serde(default)]
    pub(crate) mode: MessageMode,
}

/// Changes to a message that waits. What is left out stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangeQueued {
    /// Another text, which is inert too. Its author then pays for the message.
    pub(crate) text: Option<String>,
    /// Its place in the queue: 0 for the next one; last if there are fewer.
    pub(crate) position: Option<u32>,
}

/// Calls of client tools that wait for an answer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ToolCallList {
    /// The calls.
    pub(crate) calls: Vec<ClientToolCall>,
}

/// A call of a client tool.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClientToolCall {
    /// Id of the call, needed to answer it.
    pub(crate) request_id: String,
    /// The model's id for the call, if known.
    pub(crate) tool_use_id: Option<String>,
    /// The tool.
    pub(crate) name: String,
    /// Its arguments.
    #[schema(value_type = Object)]
    pub(crate) input: Value,
}

/// A message to the session with a key.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendByKey {
    /// The session to create if none has the key; its own `key` must be left out. Without this, a missing session is a
    /// 404.
    pub(crate) session: Option<CreateSession>,
    /// The message.
    pub(crate) message: SendMessage,
}

/// Format of the events of one message.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct MessageStreamParams {
    /// Format of the events, if they are requested; `agent` by default.
    #[serde(default)]
    #[param(value_type = Option<MessageEventFormat>)]
    pub(crate) format: MessageEventFormat,
}

/// Format of the events of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MessageEventFormat {
    /// `agent-message-start`, `agent-text-delta` and so on.
    #[default]
    Agent,
    /// `system`, `text`, `tool_use` and so on.
    Classic,
}

/// Which messages to list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct MessageParams {
    /// Only messages in this state.
    #[param(value_type = Option<weir_host::MessageState>)]
    pub(crate) state: Option<String>,
}

/// Messages of a session.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MessageList {
    /// The messages, the oldest first.
    pub(crate) messages: Vec<MessageInfo>,
}

/// A cancelled message.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CancelledMessage {
    /// The message.
    pub(crate) message_id: String,
    /// `cancelled`.
    pub(crate) state: weir_host::MessageState,
}

/// Whether something was interrupted.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Interrupted {
    /// Whether there was a turn: a running one, or one that had not started and whose message was cancelled.
    pub(crate) interrupted: bool,
}

/// A background task was told to stop.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StoppedTask {
    /// The task.
    pub(crate) task_id: String,
}

/// The session has no process.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Stopped {
    /// Always true.
    pub(crate) stopped: bool,
}
