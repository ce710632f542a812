//! The `result` line: the end of a turn, not of the session.

use super::content::Content;
use super::conversation::ApiMessage;
use super::usage::{ModelUsage, Usage};
use crate::decode::object::{Field, Problems, wire_struct};
use crate::id::{CliSessionId, IdRef, MessageId, ToolUseId};
use crate::json::{JsonKind, Node, RawJson, Text};

wire_struct! {
    /// The end of a turn.
    ResultMessage {
        /// May be `success` even if the API failed: check `is_error`.
        required subtype: Text<'a> = "subtype",
        /// Whether the turn failed, whatever the subtype says.
        optional is_error: bool = "is_error",
        /// The last text, or from some programs the last message. Absent on error subtypes.
        optional result: ResultText<'a> = "result",
        /// The text of an error, from some programs that speak the protocol.
        optional content: Content<'a> = "content",
        /// Why the turn failed.
        list errors: Vec<Text<'a>> = "errors",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
        /// This line's own id.
        optional uuid: Text<'a> = "uuid",
        /// Rounds with the model; zero for an empty result after a resume.
        optional num_turns: u64 = "num_turns",
        /// How long the turn took.
        optional duration_ms: u64 = "duration_ms",
        /// How long the API took.
        optional duration_api_ms: u64 = "duration_api_ms",
        /// Time to the first token.
        optional ttft_ms: u64 = "ttft_ms",
        /// Cost so far: cumulative over the process, and over the sessions that it resumes.
        optional total_cost_usd: f64 = "total_cost_usd",
        /// Tokens of the turn's main loop.
        optional usage: Usage<'a> = "usage",
        /// What each model has used, cumulative like the cost.
        list model_usage: Vec<(Text<'a>, ModelUsage<'a>)> = "modelUsage",
        /// What each model has used since the previous result, on newer versions.
        optional model_usage_since_last_result: Vec<(Text<'a>, ModelUsage<'a>)> = "model_usage_since_last_result",
        /// Tool calls that were not allowed, including those denied by our own decision.
        list permission_denials: Vec<PermissionDenial<'a>> = "permission_denials",
        /// Why the model stopped.
        optional stop_reason: Text<'a> = "stop_reason",
        /// Why the turn ended, such as `completed` or `aborted_streaming`.
        optional terminal_reason: Text<'a> = "terminal_reason",
        /// The HTTP status of the API error that ended the turn.
        optional api_error_status: u64 = "api_error_status",
        /// The API's type for that error.
        optional api_error_type: Text<'a> = "api_error_type",
        /// The messages that this result answers.
        list user_message_uuids: Vec<IdRef<'a, MessageId>> = "user_message_uuids",
        /// The last of those.
        optional user_message_uuid: IdRef<'a, MessageId> = "user_message_uuid",
        /// Number of messages that are still waiting.
        optional queued_turn_count: u64 = "queued_turn_count",
        /// Number of this result in the process, counted from zero.
        optional result_index: u64 = "result_index",
        /// What caused the turn, if no message of ours did.
        optional origin: TurnOrigin<'a> = "origin",
        /// Why the CLI could not start, such as `temp_dir_unusable`: no turn ran.
        optional startup_failure_reason: Text<'a> = "startup_failure_reason",
        /// The tool call that the turn was ended for, so that the host can carry it out later.
        optional deferred_tool_use: DeferredToolUse<'a> = "deferred_tool_use",
        /// The answer in the form of the requested JSON schema.
        optional structured_output: RawJson<'a> = "structured_output",
        /// Statistics about the sub-agents of the turn.
        optional subagent_stats: RawJson<'a> = "subagent_stats",
    }
}

wire_struct! {
    /// What caused a turn that no message of ours did.
    TurnOrigin {
        /// Such as `task-notification` or `auto-continuation`; `human` for a person.
        optional kind: Text<'a> = "kind",
        /// Id of the run that ended.
        optional run_id: Text<'a> = "runId",
    }
}

wire_struct! {
    /// A tool call that was put off.
    DeferredToolUse {
        /// The call.
        required id: IdRef<'a, ToolUseId> = "id",
        /// The tool.
        required name: Text<'a> = "name",
        /// Its arguments.
        optional input: RawJson<'a> = "input",
    }
}

wire_struct! {
    /// A tool call that was not allowed.
    PermissionDenial {
        /// The tool.
        required tool_name: Text<'a> = "tool_name",
        /// The call.
        optional tool_use_id: IdRef<'a, ToolUseId> = "tool_use_id",
        /// Its arguments.
        optional tool_input: RawJson<'a> = "tool_input",
    }
}

/// The answer of a turn.
#[derive(Debug, Clone)]
pub enum ResultText<'a> {
    /// As the CLI writes it today.
    Text(Text<'a>),
    /// As some programs that speak the protocol write it.
    Message(Box<ApiMessage<'a>>),
}

impl ResultText<'_> {
    /// The answer as text.
    pub fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.to_str().into_owned(),
            Self::Message(message) => message.content.to_text(),
        }
    }
}

impl<'a> Field<'a> for ResultText<'a> {
    fn decode(node: Node<'a, '_>, problems: &mut Problems) -> Option<Self> {
        match node.kind() {
            JsonKind::String => node.text().map(Self::Text),
            JsonKind::Object => Field::decode(node, problems).map(Self::Message),
            JsonKind::Null | JsonKind::Bool | JsonKind::Number | JsonKind::Array => {
                problems.expected("a string or a message", node);
                None
            }
        }
    }
}
