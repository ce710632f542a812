//! Lines that carry the conversation itself: `assistant` and `user`.

use super::content::Content;
use super::usage::Usage;
use crate::decode::object::wire_struct;
use crate::id::{ApiMessageId, IdRef, MessageId, SessionId, ToolUseId};
use crate::json::{RawJson, Text};
use crate::tool::ToolUseResult;

wire_struct! {
    /// A message as the Messages API has it.
    ApiMessage {
        /// The API's name for it. Several lines can carry parts of one message, one block each.
        optional id: IdRef<'a, ApiMessageId> = "id",
        /// `assistant` or `user`.
        optional role: Text<'a> = "role",
        /// The model; `<synthetic>` where the CLI wrote the message itself.
        optional model: Text<'a> = "model",
        /// What it says.
        required content: Content<'a> = "content",
        /// Why the model stopped; null while it is still going.
        optional stop_reason: Text<'a> = "stop_reason",
        /// The stop sequence that was met.
        optional stop_sequence: Text<'a> = "stop_sequence",
        /// Tokens so far. Not a basis for accounts: see [`super::ResultMessage::model_usage`].
        optional usage: Usage<'a> = "usage",
    }
}

wire_struct! {
    /// An `assistant` line: one block, sometimes more, of a message of the model.
    AssistantMessage {
        /// The message, or a part of it.
        required message: ApiMessage<'a> = "message",
        /// The tool call whose sub-agent says this; null for the main agent.
        optional parent_tool_use_id: IdRef<'a, ToolUseId> = "parent_tool_use_id",
        /// The session.
        optional session_id: IdRef<'a, SessionId> = "session_id",
        /// This line's own id.
        optional uuid: Text<'a> = "uuid",
        /// When it was written.
        optional timestamp: Text<'a> = "timestamp",
        /// What went wrong with the API, where the text only tells of an error.
        optional error: Text<'a> = "error",
        /// Whether the text tells of an API error.
        optional is_api_error_message: bool = "is_api_error_message",
        /// The HTTP status of that error.
        optional api_error_status: u64 = "api_error_status",
        /// The API's name for that error.
        optional api_error_type: Text<'a> = "api_error_type",
        /// Set where an interrupt cut the message off.
        optional aborted: bool = "aborted",
        /// The messages that this answers.
        list user_message_uuids: Vec<IdRef<'a, MessageId>> = "user_message_uuids",
        /// The last of those.
        optional user_message_uuid: IdRef<'a, MessageId> = "user_message_uuid",
        /// The sub-agent, by the CLI's own name.
        optional agent_id: Text<'a> = "agent_id",
        /// The kind of sub-agent.
        optional subagent_type: Text<'a> = "subagent_type",
        /// What the sub-agent was started for.
        optional task_description: Text<'a> = "task_description",
        /// How long the model thought.
        optional thinking_duration_ms: u64 = "thinking_duration_ms",
        /// How thinking is meant to be shown.
        optional thinking_display: Text<'a> = "thinking_display",
        /// Lines that this one takes the place of.
        list supersedes: Vec<Text<'a>> = "supersedes",
        /// The API's id of the request.
        optional request_id: Text<'a> = "request_id",
    }
}

wire_struct! {
    /// A `user` line: tool results, prompts of sub-agents, echoes of what we sent, notes of the CLI.
    UserMessage {
        /// The message.
        required message: ApiMessage<'a> = "message",
        /// The tool call whose sub-agent this belongs to; null for the main agent.
        optional parent_tool_use_id: IdRef<'a, ToolUseId> = "parent_tool_use_id",
        /// The session.
        optional session_id: IdRef<'a, SessionId> = "session_id",
        /// This line's own id; for an echo, the id that we stamped on the message.
        optional uuid: Text<'a> = "uuid",
        /// When it was written.
        optional timestamp: Text<'a> = "timestamp",
        /// A tool's result in its structured form.
        optional tool_use_result: ToolUseResult<'a> = "tool_use_result",
        /// How each tool call came to be run, or not.
        list tool_result_meta: Vec<ToolResultMeta<'a>> = "tool_result_meta",
        /// Set where this is an echo of a message that we sent.
        optional is_replay: bool = "isReplay",
        /// Set where the CLI wrote this itself.
        optional is_synthetic: bool = "isSynthetic",
        /// The sub-agent, by the CLI's own name.
        optional agent_id: Text<'a> = "agent_id",
        /// The kind of sub-agent.
        optional subagent_type: Text<'a> = "subagent_type",
        /// What the sub-agent was started for.
        optional task_description: Text<'a> = "task_description",
        /// Who caused this message, where no person did.
        optional origin: RawJson<'a> = "origin",
    }
}

wire_struct! {
    /// How a tool call came to be run, or not.
    ToolResultMeta {
        /// The call.
        required id: IdRef<'a, ToolUseId> = "id",
        /// Who let it run.
        optional permission_decision: RawJson<'a> = "permission_decision",
        /// Why it was not run, such as `user-rejected`.
        optional non_execution_kind: Text<'a> = "non_execution_kind",
    }
}
