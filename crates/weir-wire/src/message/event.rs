//! The remaining top-level lines: small events with a type of their own.

use crate::decode::object::{open_enum, wire_struct};
use crate::id::{IdRef, MessageId, SessionId, ToolUseId};
use crate::json::{RawJson, Text};

wire_struct! {
    /// What has become of a message that we sent.
    CommandLifecycleMessage {
        /// The message.
        required command_uuid: IdRef<'a, MessageId> = "command_uuid",
        /// Its state.
        required state: CommandState<'a> = "state",
        /// The session.
        optional session_id: IdRef<'a, SessionId> = "session_id",
        /// This line's own id.
        optional uuid: Text<'a> = "uuid",
    }
}

open_enum! {
    /// The state of a message that we sent.
    CommandState {
        /// It waits.
        Queued = "queued",
        /// The turn that answers it has begun.
        Started = "started",
        /// That turn has ended.
        Completed = "completed",
        /// It was taken back and will not be answered.
        Cancelled = "cancelled",
        /// The CLI has dropped it without an answer.
        Discarded = "discarded",
        /// The CLI does not take it.
        Refused = "refused",
    }
}

wire_struct! {
    /// How much of the account's allowance is used.
    RateLimitMessage {
        /// The limit.
        required rate_limit_info: RateLimitInfo<'a> = "rate_limit_info",
        /// The session.
        optional session_id: IdRef<'a, SessionId> = "session_id",
    }
}

wire_struct! {
    /// A limit of the account.
    RateLimitInfo {
        /// Whether requests pass.
        required status: RateLimitStatus<'a> = "status",
        /// When the limit is lifted, in seconds since 1970.
        optional resets_at: u64 = "resetsAt",
        /// Which limit: `five_hour`, `seven_day` and the like.
        optional rate_limit_type: Text<'a> = "rateLimitType",
        /// How much is used: one is all of it.
        optional utilization: f64 = "utilization",
        /// Whether paid overage is used.
        optional is_using_overage: bool = "isUsingOverage",
        /// Whether requests pass by paid overage.
        optional overage_status: Text<'a> = "overageStatus",
    }
}

open_enum! {
    /// Whether requests pass.
    RateLimitStatus {
        /// They do.
        Allowed = "allowed",
        /// They do, but not for long.
        AllowedWarning = "allowed_warning",
        /// They do not.
        Rejected = "rejected",
    }
}

wire_struct! {
    /// A tool is still running.
    ToolProgressMessage {
        /// The call.
        required tool_use_id: IdRef<'a, ToolUseId> = "tool_use_id",
        /// The tool.
        optional tool_name: Text<'a> = "tool_name",
        /// The tool call whose sub-agent made the call; null for the main agent.
        optional parent_tool_use_id: IdRef<'a, ToolUseId> = "parent_tool_use_id",
        /// How long it has been running.
        optional elapsed_time_seconds: f64 = "elapsed_time_seconds",
        /// The session.
        optional session_id: IdRef<'a, SessionId> = "session_id",
    }
}

wire_struct! {
    /// What a run of tool calls came to, in a sentence.
    ToolUseSummaryMessage {
        /// The sentence.
        required summary: Text<'a> = "summary",
        /// The calls.
        list preceding_tool_use_ids: Vec<IdRef<'a, ToolUseId>> = "preceding_tool_use_ids",
        /// The session.
        optional session_id: IdRef<'a, SessionId> = "session_id",
    }
}

wire_struct! {
    /// The CLI logs in.
    AuthStatusMessage {
        /// Whether it is at it.
        optional is_authenticating: bool = "isAuthenticating",
        /// What to show the user.
        list output: Vec<Text<'a>> = "output",
        /// Why it failed.
        optional error: Text<'a> = "error",
        /// The session.
        optional session_id: IdRef<'a, SessionId> = "session_id",
    }
}

wire_struct! {
    /// Nothing; keeps the connection open.
    KeepAliveMessage {
        /// The session.
        optional session_id: IdRef<'a, SessionId> = "session_id",
    }
}

wire_struct! {
    /// What the user may want to say next.
    PromptSuggestionMessage {
        /// The text.
        required suggestion: Text<'a> = "suggestion",
        /// The session.
        optional session_id: IdRef<'a, SessionId> = "session_id",
    }
}

wire_struct! {
    /// The conversation starts over, for example after `/clear`.
    ConversationResetMessage {
        /// The new conversation.
        optional new_conversation_id: IdRef<'a, SessionId> = "new_conversation_id",
        /// Why.
        optional trigger: Text<'a> = "trigger",
        /// The session.
        optional session_id: IdRef<'a, SessionId> = "session_id",
    }
}

wire_struct! {
    /// What the session is working towards.
    ActiveGoalMessage {
        /// The goal; null where there is none.
        optional value: RawJson<'a> = "value",
        /// The session.
        optional session_id: IdRef<'a, SessionId> = "session_id",
    }
}
