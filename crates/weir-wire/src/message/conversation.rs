//! Lines that carry the messages of a session: `assistant` and `user`.

use super::content::Content;
use super::usage::Usage;
use crate::decode::object::wire_struct;
use crate::id::{ApiMessageId, CliSessionId, IdRef, MessageId, ToolUseId};
use crate::json::{RawJson, Text};
use crate::tool::ToolUseResult;

wire_struct! {
    /// A message in the form of the Messages API.
    ApiMessage {
        /// The API's id for it. Several lines can carry parts of one message, one block each.
        optional id: IdRef<'a, ApiMessageId> = "id",
        /// `assistant` or `user`.
        optional role: Text<'a> = "role",
        /// The model; `<synthetic>` if the CLI wrote the message itself.
        optional model: Text<'a> = "model",
        /// The content.
        required content: Content<'a> = "content",
        /// Why the model stopped; null while it is still writing.
        optional stop_reason: Text<'a> = "stop_reason",
        /// The stop sequence that was reached.
        optional stop_sequence: Text<'a> = "stop_sequence",
        /// Tokens so far. Do not use these for accounting: see [`super::ResultMessage::model_usage`].
        optional usage: Usage<'a> = "usage",
    }
}

wire_struct! {
    /// An `assistant` line: one block, sometimes more, of a message from the model.
    AssistantMessage {
        /// The message, or a part of it.
        required message: ApiMessage<'a> = "message",
        /// The tool call whose sub-agent wrote this; null for the main agent.
        optional parent_tool_use_id: IdRef<'a, ToolUseId> = "parent_tool_use_id",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
        /// This line's own id.
        optional uuid: Text<'a> = "uuid",
        /// When it was written.
        optional timestamp: Text<'a> = "timestamp",
        /// The API error, if the text only reports an error.
        optional error: Text<'a> = "error",
        /// Whether the text reports an API error.
        optional is_api_error_message: bool = "is_api_error_message",
        /// The HTTP status of that error.
        optional api_error_status: u64 = "api_error_status",
        /// The API's type for that error.
        optional api_error_type: Text<'a> = "api_error_type",
        /// Set if an interrupt cut the message off.
        optional aborted: bool = "aborted",
        /// The messages that this answers.
        list user_message_uuids: Vec<IdRef<'a, MessageId>> = "user_message_uuids",
        /// The last of those.
        optional user_message_uuid: IdRef<'a, MessageId> = "user_message_uuid",
        /// The CLI's own id of the sub-agent.
        optional agent_id: Text<'a> = "agent_id",
        /// The kind of sub-agent.
        optional subagent_type: Text<'a> = "subagent_type",
        /// What the sub-agent was started to do.
        optional task_description: Text<'a> = "task_description",
        /// How long the model thought.
        optional thinking_duration_ms: u64 = "thinking_duration_ms",
        /// How thinking should be shown.
        optional thinking_display: Text<'a> = "thinking_display",
        /// Lines that this one replaces.
        list supersedes: Vec<Text<'a>> = "supersedes",
        /// The API's id of the request.
        optional request_id: Text<'a> = "request_id",
        /// What `/context` prints, as data.
        optional context_usage: RawJson<'a> = "context_usage",
        /// What `/usage` prints, as data.
        optional usage_report: RawJson<'a> = "usage_report",
    }
}

wire_struct! {
    /// A `user` line: tool results, prompts of sub-agents, echoes of what we sent, notes from the CLI.
    UserMessage {
        /// The message.
        required message: ApiMessage<'a> = "message",
        /// The tool call whose sub-agent this belongs to; null for the main agent.
        optional parent_tool_use_id: IdRef<'a, ToolUseId> = "parent_tool_use_id",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
        /// This line's own id; for an echo, the id that we gave the message.
        optional uuid: Text<'a> = "uuid",
        /// When it was written.
        optional timestamp: Text<'a> = "timestamp",
        /// A tool's result in its structured form.
        optional tool_use_result: ToolUseResult<'a> = "tool_use_result",
        /// Why each tool call was run, or was not.
        list tool_result_meta: Vec<ToolResultMeta<'a>> = "tool_result_meta",
        /// Set if this is an echo of a message that we sent.
        optional is_replay: bool = "isReplay",
        /// Set if the CLI wrote this itself.
        optional is_synthetic: bool = "isSynthetic",
        /// The CLI's own id of the sub-agent.
        optional agent_id: Text<'a> = "agent_id",
        /// The kind of sub-agent.
        optional subagent_type: Text<'a> = "subagent_type",
        /// What the sub-agent was started to do.
        optional task_description: Text<'a> = "task_description",
        /// What caused this message, if not a person.
        optional origin: RawJson<'a> = "origin",
    }
}

wire_struct! {
    /// Why a tool call was run, or was not.
    ToolResultMeta {
        /// The call.
        required id: IdRef<'a, ToolUseId> = "id",
        /// Who allowed it.
        optional permission_decision: RawJson<'a> = "permission_decision",
        /// Why it was not run, such as `user-rejected`.
        optional non_execution_kind: Text<'a> = "non_execution_kind",
    }
}
