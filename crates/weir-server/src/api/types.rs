//! The server's own request and response bodies. Data of the host and the transcript has types in their crates.
//!
//! Unknown fields are refused: a request with the CLI's path, its flags or an invented scope fails instead of being
//! half understood.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use weir_host::{Bye, ClientTools, Image, MessageInfo, MessageMode, SessionInfo, SessionSpec, SlashCommand};
use weir_transcript::Entry;
use weir_wire::RuleDestination;

use crate::audit::AuditEntry;
use crate::auth::{Role, TokenInfo};
use crate::extract::part;
use crate::problem::Problem;

/// A session to create.
///
/// Tools are names of tools of the server; a rule of `allowed_tools` may be about reading and searching inside the folder,
/// and what else the operator allows. The permission mode is one of `permission_modes` of `/v1/me`. A session of which the
/// CLI stores nothing accepts no messages after its process has ended (409 `not_kept`) and cannot be forked.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct CreateSession {
    /// Working directory: a folder below one of the server's roots.
    pub(crate) cwd: String,
    /// The client's own id for the session: creating it again with the same key returns the existing session.
    pub(crate) key: Option<String>,
    /// Display name.
    pub(crate) name: Option<String>,
    /// Seconds until an unanswered request is denied; the server's own limit if left out. For unattended programs.
    #[schema(minimum = 1)]
    pub(crate) ask_timeout_s: Option<u32>,
    /// Client tools that the agent may call, see `/v1/sessions/{id}/client-tools`.
    #[serde(default)]
    pub(crate) client_tools: ClientTools,
    // Read by `take_spec`, so that errors say where they are.
    #[serde(flatten)]
    #[schema(value_type = SessionSpec)]
    pub(crate) spec: serde_json::Map<String, Value>,
}

impl CreateSession {
    /// Refuses what [`CreateSession::take_spec`] would refuse.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        part::<SessionSpec>(self.spec.clone()).map(drop)
    }

    /// What the session is to be like. Fields that do not exist are refused: a misspelt limit must not be ignored.
    pub(crate) fn take_spec(&mut self) -> Result<SessionSpec, Problem> {
        part(std::mem::take(&mut self.spec))
    }
}

/// Which sessions to list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListParams {
    /// Only sessions with this status.
    #[param(value_type = Option<weir_host::SessionStatus>)]
    pub(crate) status: Option<String>,
    /// Only sessions with these words in their name, key, folder or text.
    pub(crate) search: Option<String>,
    /// Archived sessions instead of unarchived ones.
    pub(crate) archived: Option<bool>,
    /// Page size.
    #[param(minimum = 1, maximum = 200)]
    pub(crate) limit: Option<usize>,
    /// Cursor of the previous page.
    pub(crate) cursor: Option<String>,
}

/// Changes to a session.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangeSession {
    /// Display name.
    pub(crate) name: Option<String>,
    /// Whether the session is archived.
    pub(crate) archived: Option<bool>,
    /// Whether the session is kept when the server removes old sessions.
    pub(crate) pinned: Option<bool>,
}

/// How the copy differs.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForkSession {
    /// Display name.
    pub(crate) name: Option<String>,
}

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
    /// Files whose content is sent with the text: paths relative to the session's folder.
    #[serde(default)]
    #[schema(max_items = 20)]
    pub(crate) files: Vec<String>,
    /// A slash command instead of text and pictures; one of `slash_commands` of `/v1/me`.
    pub(crate) command: Option<SlashCommand>,
    /// What to do with the message while a turn runs.
    #[serde(default)]
    pub(crate) mode: MessageMode,
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

/// Which files of a session's folder to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FileParams {
    /// Letters of the path; empty for all files.
    #[serde(default)]
    pub(crate) query: String,
}

/// Files of a session's folder.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FileList {
    /// Paths relative to the folder, best match first, at most 50.
    pub(crate) files: Vec<String>,
}

/// The folder to show.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FolderParams {
    /// A folder below one of the server's roots.
    pub(crate) cwd: String,
}

/// A folder that sessions may work in.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Folder {
    #[serde(flatten)]
    pub(crate) report: weir_host::FolderReport,
    /// Digest of what the folder would run. It is sent back to trust the folder, so that only what was seen is trusted.
    pub(crate) seal: String,
}

/// A folder to trust.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrustFolder {
    /// The folder.
    pub(crate) cwd: String,
    /// The `seal` of the folder as the person saw it.
    pub(crate) seal: String,
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

/// The decision on a permission request or on a plan.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerPermission {
    /// Whether the request is allowed.
    pub(crate) behavior: Behavior,
    /// Message to the model with a denial.
    pub(crate) message: Option<String>,
    /// Arguments that replace those of the call. Needs the role `driver`.
    #[schema(value_type = Option<std::collections::HashMap<String, Value>>)]
    pub(crate) updated_input: Option<serde_json::Map<String, Value>>,
    /// Suggestions of the request that apply from now on. Needs the role `driver` for the session, and `admin` to store
    /// it.
    #[serde(default)]
    pub(crate) remember: Vec<Remember>,
    /// The permission mode in which a plan is carried out; `default`, which asks for each edit, if left out. Other
    /// modes need the role `driver`.
    pub(crate) permission_mode: Option<String>,
    /// Whether a denial ends the turn.
    pub(crate) interrupt: Option<bool>,
}

/// A suggestion that applies from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Remember {
    /// Index in the request's `suggestions`, from 0.
    pub(crate) suggestion: usize,
    /// Where the rule is kept.
    pub(crate) destination: RuleDestination,
}

/// Whether a tool may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Behavior {
    /// The tool may be used.
    Allow,
    /// The tool may not be used.
    Deny,
}

/// The response to questions: either answers, or a reason to decline.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerQuestion {
    /// For each question a label, several labels, or free text.
    pub(crate) answers: Option<BTreeMap<String, Choice>>,
    /// Why the questions are declined; the model is told.
    pub(crate) decline: Option<String>,
}

/// The answer to one question.
#[derive(Debug, Clone, Deserialize, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Choice {
    /// A label, or free text.
    One(String),
    /// Several labels.
    Several(Vec<String>),
}

/// The response to an elicitation of an MCP server.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerElicitation {
    /// Whether the elicitation is accepted.
    pub(crate) action: ElicitationAction,
    /// The answers, by field name of the form; left out for a link.
    #[schema(value_type = Option<std::collections::HashMap<String, Value>>)]
    pub(crate) content: Option<serde_json::Map<String, Value>>,
}

/// The decision on an elicitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ElicitationAction {
    /// Accepted, with the content or at the link.
    Accept,
    /// Declined.
    Decline,
    /// Dismissed without a decision.
    Cancel,
}

/// An accepted decision.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Answered {
    /// The request.
    pub(crate) request_id: String,
    /// Who answered it.
    pub(crate) answered_by: String,
}

/// The model to use from now on.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetModel {
    /// The model; null for the CLI's default.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required = true)]
    pub(crate) model: Option<String>,
}

/// The permission mode to use from now on.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetPermissionMode {
    /// One of `permission_modes` of `/v1/me`.
    pub(crate) mode: String,
}

/// Which entries of the transcript to return.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct TranscriptParams {
    /// Only entries with a smaller number.
    pub(crate) before: Option<u64>,
    /// Page size.
    #[param(minimum = 1, maximum = 1000)]
    pub(crate) limit: Option<usize>,
}

/// A page of the transcript.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TranscriptPage {
    /// The entries, the newest first.
    pub(crate) entries: Vec<Arc<Entry>>,
    /// `before` for the next page; none if there are no older entries.
    pub(crate) next_before: Option<u64>,
    /// Number of the newest event.
    pub(crate) seq: u64,
}

/// Which part of the log to return.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LogParams {
    /// Only events with a larger number.
    pub(crate) after: Option<u64>,
}

/// Format of an export.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ExportFormat {
    /// One HTML file.
    Html,
    /// Markdown.
    Md,
    /// The log, one JSON object per line.
    Ndjson,
}

/// Format of an export.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExportParams {
    /// The format.
    pub(crate) format: ExportFormat,
}

/// Options of an event stream.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventParams {
    /// Format of the events; `view` by default.
    #[serde(default)]
    #[param(value_type = Option<EventFormat>)]
    pub(crate) format: EventFormat,
}

/// Format of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EventFormat {
    /// A snapshot of the session, then its changes.
    #[default]
    View,
    /// `agent-message-start`, `agent-text-delta` and so on.
    Agent,
    /// `system`, `text`, `tool_use` and so on.
    Classic,
    /// The CLI's lines.
    Raw,
}

/// Options of a share link.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShareSession {
    /// Seconds until the link expires; never if left out.
    #[schema(minimum = 1)]
    pub(crate) expires_in_s: Option<u32>,
}

/// A share link.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Share {
    /// The secret, which is only returned here.
    pub(crate) token: String,
    /// Id for revoking the token.
    pub(crate) token_id: String,
    /// Path of the page, with the token in its fragment.
    pub(crate) path: String,
}

/// Who the client is and what it may do.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Me {
    /// The name of the token.
    pub(crate) name: String,
    /// What it may do.
    pub(crate) role: Role,
    /// The only session that it gives access to.
    pub(crate) session: Option<String>,
    /// Expiry time, in milliseconds since 1970.
    pub(crate) expires_at: Option<i64>,
    /// What is left of its budget, in dollars.
    pub(crate) budget_left_usd: Option<f64>,
    /// The version of the server.
    pub(crate) version: &'static str,
    /// Folders below which sessions may work.
    pub(crate) roots: Vec<String>,
    /// Permission modes that this server allows.
    pub(crate) permission_modes: Vec<String>,
    /// Slash commands that this token may run.
    pub(crate) slash_commands: Vec<String>,
    /// Models to offer.
    pub(crate) models: Vec<String>,
    /// Whether the server runs in demo mode.
    pub(crate) demo: bool,
    /// Whether the CLI runs in a sandbox: it can neither read nor write outside its session's root.
    pub(crate) sandbox: bool,
}

/// A token to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateToken {
    /// Name of the holder.
    #[schema(min_length = 1, max_length = 100)]
    pub(crate) name: String,
    /// What it may do.
    pub(crate) role: Role,
    /// The only session that it gives access to.
    pub(crate) session: Option<String>,
    /// Seconds until the token expires.
    #[schema(minimum = 1)]
    pub(crate) expires_in_s: Option<u32>,
    /// What its holder may spend, in dollars.
    pub(crate) max_cost_usd: Option<f64>,
    /// Maximum requests per minute.
    #[schema(minimum = 1)]
    pub(crate) requests_per_minute: Option<u32>,
}

/// A created token.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CreatedToken {
    /// The secret, which is only returned here.
    pub(crate) token: String,
    /// The token's properties.
    #[serde(flatten)]
    pub(crate) info: TokenInfo,
}

/// All tokens.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TokenList {
    /// The tokens, the oldest first.
    pub(crate) tokens: Vec<TokenInfo>,
}

/// Which entries of the audit log to return.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditParams {
    /// Page size.
    #[param(minimum = 1, maximum = 1000)]
    pub(crate) limit: Option<usize>,
    /// `next_before` of the previous page.
    pub(crate) before: Option<u64>,
}

/// A page of the audit log.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AuditPage {
    /// The entries, the newest first.
    pub(crate) entries: Vec<AuditEntry>,
    /// `before` for the next page.
    pub(crate) next_before: Option<u64>,
}

/// Health of the server.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    /// `ok`, `stopping`, `disk_full`, or `store_unusable`.
    pub(crate) status: &'static str,
    /// What is wrong, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
    /// What slows the server down, in words for people; left out if there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) reasons: Vec<String>,
}

/// All file changes of a session.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionDiff {
    /// The files.
    pub(crate) files: Vec<weir_host::FileDiff>,
}

/// The last event before the server closes the stream.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ByeEvent {
    /// Why the stream ends.
    pub(crate) reason: ByeReason,
}

/// Why the server closes a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ByeReason {
    /// The client was too slow. It can come back with its cursor.
    Lag,
    /// The server is shutting down.
    Shutdown,
    /// The token was revoked.
    Revoked,
    /// The token has expired.
    Expired,
    /// The session was deleted.
    Deleted,
    /// The log failed. The client can come back.
    Failed,
}

impl From<Bye> for ByeReason {
    fn from(bye: Bye) -> Self {
        match bye {
            Bye::Lag => Self::Lag,
            Bye::Shutdown => Self::Shutdown,
            Bye::Deleted => Self::Deleted,
            Bye::Failed => Self::Failed,
        }
    }
}

/// The sessions that the stream of all sessions starts with.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionsEvent {
    /// The newest sessions.
    pub(crate) sessions: Vec<SessionInfo>,
}

/// A session was deleted.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RemovedEvent {
    /// Id of the deleted session.
    pub(crate) id: String,
}

/// The bytes of a picture file.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "only used for the description; the bytes are sent as they are")]
pub(crate) struct PictureBytes(Vec<u8>);
