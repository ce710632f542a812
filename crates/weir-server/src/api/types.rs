//! The bodies of requests and answers that are the server's own. What the host and the transcript have to say is
//! told in their own types.
//!
//! Members that are not known are refused: a request that names the CLI's path, its flags or a scope of its own
//! fails instead of being half understood.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use weir_host::{ClientTools, Image, MessageInfo, MessageMode, SessionInfo, SlashCommand};
use weir_transcript::Entry;
use weir_wire::RuleDestination;

use crate::audit::AuditEntry;
use crate::auth::{Role, TokenInfo};

/// A session to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateSession {
    /// Where it works: a folder below one of the server's roots.
    pub(crate) cwd: String,
    /// The client's own name for it: the second session of that key is the first one.
    pub(crate) key: Option<String>,
    /// What people call it.
    pub(crate) name: Option<String>,
    /// The model; the CLI's own choice where none is given.
    pub(crate) model: Option<String>,
    /// What is allowed without asking; one of `permission_modes` of `/v1/me`.
    pub(crate) permission_mode: Option<String>,
    /// The tools that there are, by name: all that the server has where it is left out. What is not named here does not
    /// exist for the session; what is named and not in `allowed_tools` asks, if it is a tool that asks.
    #[schema(example = json!(["Read", "Grep", "Edit", "Bash"]))]
    pub(crate) tools: Option<Vec<String>>,
    /// Tools that need no permission: reading and searching inside the folder, as `Read` or `Read(src/**)`, and what
    /// whoever started the server allows besides.
    #[serde(default)]
    pub(crate) allowed_tools: Vec<String>,
    /// Tools that must not be used.
    #[serde(default)]
    pub(crate) disallowed_tools: Vec<String>,
    /// Replaces the CLI's own system prompt.
    pub(crate) system_prompt: Option<String>,
    /// Is added to the system prompt.
    pub(crate) append_system_prompt: Option<String>,
    /// What the session may cost, in dollars.
    pub(crate) max_cost_usd: Option<f64>,
    /// Most rounds with the model in a turn.
    #[schema(minimum = 1)]
    pub(crate) max_turns: Option<u32>,
    /// How many seconds a person may take to answer a request before it is denied; the server's own limit where it is
    /// left out. For programs with no person at hand.
    #[schema(minimum = 1)]
    pub(crate) ask_timeout_s: Option<u32>,
    /// Tools of the client that the agent may call, see `/v1/sessions/{id}/client-tools`.
    #[serde(default)]
    pub(crate) client_tools: ClientTools,
    /// Whether the CLI keeps nothing of the session on disk. Then it lives as long as its process: afterwards it takes no
    /// more messages (409 `not_kept`), and there are no copies of it. A version that cannot do this is refused with the
    /// first message. The server's own log is kept until the session is deleted.
    #[serde(default)]
    pub(crate) no_session_persistence: bool,
}

/// Which sessions to list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListParams {
    /// Only those that do this.
    #[param(value_type = Option<weir_host::SessionStatus>)]
    pub(crate) status: Option<String>,
    /// Only those with these words in their name, key, folder or text.
    pub(crate) search: Option<String>,
    /// Those that were put away, instead of those that were not.
    pub(crate) archived: Option<bool>,
    /// How many.
    #[param(minimum = 1, maximum = 200)]
    pub(crate) limit: Option<usize>,
    /// Where the last page ended.
    pub(crate) cursor: Option<String>,
}

/// What to change about a session.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangeSession {
    /// What people call it.
    pub(crate) name: Option<String>,
    /// Whether it is put away.
    pub(crate) archived: Option<bool>,
    /// Whether it is kept although the server removes old sessions.
    pub(crate) pinned: Option<bool>,
}

/// How the copy differs.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForkSession {
    /// What people call it.
    pub(crate) name: Option<String>,
}

/// A message.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendMessage {
    /// The client's own name for it: sent twice, it is one message.
    #[schema(min_length = 1, max_length = 200)]
    pub(crate) client_id: String,
    /// What it says. The text is inert: an `@` in it reads no file, and a leading `/` runs no command.
    #[serde(default)]
    pub(crate) text: String,
    /// Pictures.
    #[serde(default)]
    pub(crate) images: Vec<Image>,
    /// Files of the session's folder whose content goes with the text: their paths, relative to the folder.
    #[serde(default)]
    #[schema(max_items = 20)]
    pub(crate) files: Vec<String>,
    /// A slash command instead of a text and pictures; one of `slash_commands` of `/v1/me`.
    pub(crate) command: Option<SlashCommand>,
    /// What becomes of it while a turn runs.
    #[serde(default)]
    pub(crate) mode: MessageMode,
}

/// Calls of the client's tools that wait.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ToolCallList {
    /// The calls.
    pub(crate) calls: Vec<ToolCall>,
}

/// A call of a client's tool.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ToolCall {
    /// Names the call; the answer carries it.
    pub(crate) request_id: String,
    /// The model's own name for it, where it is known.
    pub(crate) tool_use_id: Option<String>,
    /// The tool.
    pub(crate) name: String,
    /// Its arguments.
    #[schema(value_type = Object)]
    pub(crate) input: Value,
}

/// A message to the session that has a key.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendByKey {
    /// The session to begin where none has the key, without a key of its own. Without this, that is 404.
    pub(crate) session: Option<CreateSession>,
    /// The message.
    pub(crate) message: SendMessage,
}

/// In which words the events of one message are told.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct MessageStreamParams {
    /// In which words, if events are asked for; `agent` if nothing is said.
    #[serde(default)]
    #[param(value_type = Option<MessageEventFormat>)]
    pub(crate) format: MessageEventFormat,
}

/// In which words the events of one message are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MessageEventFormat {
    /// `agent-message-start`, `agent-text-delta` and so on.
    #[default]
    Agent,
    /// `system`, `text`, `tool_use` and so on.
    Classic,
}

/// Which files of a session's folder.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FileParams {
    /// Letters of their path; all files where there are none.
    #[serde(default)]
    pub(crate) query: String,
}

/// Files of a session's folder.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FileList {
    /// Their paths relative to the folder, the likeliest first, at most 50.
    pub(crate) files: Vec<String>,
}

/// Which folder.
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
    /// Names what the folder would run. Who trusts it sends this, so that what is trusted is what was seen.
    pub(crate) seal: String,
}

/// A folder to trust.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrustFolder {
    /// The folder.
    pub(crate) cwd: String,
    /// The `seal` of the folder as a person has seen it.
    pub(crate) seal: String,
}

/// Which messages to list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct MessageParams {
    /// Only those of which this has become.
    #[param(value_type = Option<weir_host::MessageState>)]
    pub(crate) state: Option<String>,
}

/// Messages of a session.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MessageList {
    /// The messages, the oldest first.
    pub(crate) messages: Vec<MessageInfo>,
}

/// A message that was taken back.
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
    /// Whether there was a turn: one that ran, or one that had not begun and whose message was taken back.
    pub(crate) interrupted: bool,
}

/// A task in the background was told to end.
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

/// The decision on a request for permission, or on a plan.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerPermission {
    /// Whether it may.
    pub(crate) behavior: Behavior,
    /// What the model is told with a denial.
    pub(crate) message: Option<String>,
    /// Arguments that replace those of the call. Takes the role `driver`.
    #[schema(value_type = Option<std::collections::HashMap<String, Value>>)]
    pub(crate) updated_input: Option<serde_json::Map<String, Value>>,
    /// Suggestions of the request that hold from now on. Takes the role `driver` for the session, and `admin` where
    /// it is stored.
    #[serde(default)]
    pub(crate) remember: Vec<Remember>,
    /// The permission mode in which a plan is carried out: `default`, which asks for each edit, where nothing is said.
    /// Other modes take the role `driver`.
    pub(crate) permission_mode: Option<String>,
    /// Whether a denial ends the turn.
    pub(crate) interrupt: Option<bool>,
}

/// A suggestion that holds from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Remember {
    /// Its place in the request's `suggestions`, from 0.
    pub(crate) suggestion: usize,
    /// Where it is kept.
    pub(crate) destination: RuleDestination,
}

/// Whether a tool may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Behavior {
    /// It may.
    Allow,
    /// It may not.
    Deny,
}

/// The answer to questions: either the answers, or why there are none.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerQuestion {
    /// For each question a label, several labels, or a text of one's own.
    pub(crate) answers: Option<BTreeMap<String, Choice>>,
    /// Why nobody answers; the model is told.
    pub(crate) decline: Option<String>,
}

/// What was chosen.
#[derive(Debug, Clone, Deserialize, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Choice {
    /// A label, or a text of one's own.
    One(String),
    /// Several labels.
    Several(Vec<String>),
}

/// The answer to what an MCP server asks.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerElicitation {
    /// Whether it is answered.
    pub(crate) action: ElicitationAction,
    /// The answers, by the names of the form's fields. A link has none.
    #[schema(value_type = Option<std::collections::HashMap<String, Value>>)]
    pub(crate) content: Option<serde_json::Map<String, Value>>,
}

/// Whether what an MCP server asks is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ElicitationAction {
    /// It is: with the content, or at the link.
    Accept,
    /// It is not.
    Decline,
    /// It is not, and nothing is said about why.
    Cancel,
}

/// An answer that was taken.
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
    /// The model; the CLI's own choice for null.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required = true)]
    pub(crate) model: Option<String>,
}

/// What is allowed without asking from now on.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetPermissionMode {
    /// One of `permission_modes` of `/v1/me`.
    pub(crate) mode: String,
}

/// Which entries to give.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct TranscriptParams {
    /// Only entries with a smaller number.
    pub(crate) before: Option<u64>,
    /// How many.
    #[param(minimum = 1, maximum = 1000)]
    pub(crate) limit: Option<usize>,
}

/// A part of a conversation.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TranscriptPage {
    /// The entries, the newest first.
    pub(crate) entries: Vec<Arc<Entry>>,
    /// `before` for the next page; none where there are no older ones.
    pub(crate) next_before: Option<u64>,
    /// The number of the newest event.
    pub(crate) seq: u64,
}

/// Which part of the log to give.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LogParams {
    /// Only events with a larger number.
    pub(crate) after: Option<u64>,
}

/// In which form to give a conversation.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ExportFormat {
    /// One HTML file.
    Html,
    /// Markdown.
    Md,
    /// The log, a JSON object a line.
    Ndjson,
}

/// In which form to give a conversation.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExportParams {
    /// The form.
    pub(crate) format: ExportFormat,
}

/// How a stream is to be.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventParams {
    /// In which words events are told; `view` if nothing is said.
    #[serde(default)]
    #[param(value_type = Option<EventFormat>)]
    pub(crate) format: EventFormat,
}

/// In which words events are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EventFormat {
    /// A snapshot of the conversation, then its changes.
    #[default]
    View,
    /// `agent-message-start`, `agent-text-delta` and so on.
    Agent,
    /// `system`, `text`, `tool_use` and so on.
    Classic,
    /// The CLI's lines.
    Raw,
}

/// How long a share link is to be good.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShareSession {
    /// Seconds from now; it does not end by itself where nothing is said.
    #[schema(minimum = 1)]
    pub(crate) expires_in_s: Option<u32>,
}

/// A share link.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Share {
    /// The secret, which is told only here.
    pub(crate) token: String,
    /// Names the token, for revoking it.
    pub(crate) token_id: String,
    /// The path of the page, with the token in its fragment.
    pub(crate) path: String,
}

/// Who the client is, and what it may do here.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Me {
    /// The name of the token.
    pub(crate) name: String,
    /// What it may do.
    pub(crate) role: Role,
    /// The one session that it is good for.
    pub(crate) session: Option<String>,
    /// When it ends, in milliseconds since 1970.
    pub(crate) expires_at: Option<i64>,
    /// What may still be spent with it, in dollars.
    pub(crate) budget_left_usd: Option<f64>,
    /// The version of the server.
    pub(crate) version: &'static str,
    /// Folders below which sessions may work.
    pub(crate) roots: Vec<String>,
    /// Permission modes that may be asked for.
    pub(crate) permission_modes: Vec<String>,
    /// Slash commands that this token may run.
    pub(crate) slash_commands: Vec<String>,
    /// Models to offer.
    pub(crate) models: Vec<String>,
    /// Whether this is the demonstration.
    pub(crate) demo: bool,
    /// Whether the CLI runs behind a fence: it can neither read nor write outside the root of its session.
    pub(crate) sandbox: bool,
}

/// A token to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateToken {
    /// Who gets it.
    #[schema(min_length = 1, max_length = 100)]
    pub(crate) name: String,
    /// What it may do.
    pub(crate) role: Role,
    /// The one session that it is good for.
    pub(crate) session: Option<String>,
    /// When it ends, in seconds from now.
    #[schema(minimum = 1)]
    pub(crate) expires_in_s: Option<u32>,
    /// What its holder may spend, in dollars.
    pub(crate) max_cost_usd: Option<f64>,
    /// How many requests its holder may make in a minute.
    #[schema(minimum = 1)]
    pub(crate) requests_per_minute: Option<u32>,
}

/// A token that was made.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CreatedToken {
    /// The secret, which is told only here.
    pub(crate) token: String,
    /// The rest.
    #[serde(flatten)]
    pub(crate) info: TokenInfo,
}

/// All tokens.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TokenList {
    /// The tokens, the oldest first.
    pub(crate) tokens: Vec<TokenInfo>,
}

/// Which entries of the audit log to give.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditParams {
    /// How many.
    #[param(minimum = 1, maximum = 1000)]
    pub(crate) limit: Option<usize>,
    /// `next_before` of the page before.
    pub(crate) before: Option<u64>,
}

/// A page of the audit log.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AuditPage {
    /// The entries, the newest first.
    pub(crate) entries: Vec<AuditEntry>,
    /// Where the next page begins.
    pub(crate) next_before: Option<u64>,
}

/// How the server is.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    /// `ok`, `stopping`, `disk_full`, or `store_unusable`.
    pub(crate) status: &'static str,
    /// What is wrong, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
    /// What keeps the server from working as fast as it could, in words for people; left out where there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) reasons: Vec<String>,
}

/// All changes to files.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionDiff {
    /// The files.
    pub(crate) files: Vec<weir_host::FileDiff>,
}

/// The server closes the stream: the last event.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ByeEvent {
    /// Why: `lag`, `shutdown`, `revoked`, `expired`, `deleted` or `failed`.
    pub(crate) reason: &'static str,
}

/// The sessions that the stream of all sessions begins with.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionsEvent {
    /// The newest.
    pub(crate) sessions: Vec<SessionInfo>,
}

/// A session was deleted.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RemovedEvent {
    /// Which.
    pub(crate) id: String,
}

/// The bytes of a picture, as a file has them.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "it is only described; the bytes go out as they are")]
pub(crate) struct PictureBytes(Vec<u8>);
