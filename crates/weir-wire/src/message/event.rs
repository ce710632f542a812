//! The remaining top-level lines: small events with their own types.

use crate::decode::object::{open_enum, wire_struct};
use crate::id::{CliSessionId, IdRef, MessageId, ToolUseId};
use crate::json::{RawJson, Text};

wire_struct! {
    /// The state of a message that we sent.
    CommandLifecycleMessage {
        /// The message.
        required command_uuid: IdRef<'a, MessageId> = "command_uuid",
        /// Its state.
        required state: CommandState<'a> = "state",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
        /// This line's own id.
        optional uuid: Text<'a> = "uuid",
    }
}

open_enum! {
    /// The state of a message that we sent.
    CommandState {
        /// It is waiting.
        Queued = "queued",
        /// The turn that answers it has begun.
        Started = "started",
        /// That turn has ended.
        Completed = "completed",
        /// It was cancelled and will not be answered.
        Cancelled = "cancelled",
        /// The CLI dropped it without an answer.
        Discarded = "discarded",
        /// The CLI rejected it.
        Refused = "refused",
    }
}

wire_struct! {
    /// How much of the account's rate limit is used.
    RateLimitMessage {
        /// The limit.
        required rate_limit_info: RateLimitInfo<'a> = "rate_limit_info",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// A limit of the account.
    RateLimitInfo {
        /// Whether requests are accepted.
        required status: RateLimitStatus<'a> = "status",
        /// When the limit is lifted, in seconds since 1970.
        optional resets_at: u64 = "resetsAt",
        /// Which limit: `five_hour`, `seven_day` and the like.
        optional rate_limit_type: Text<'a> = "rateLimitType",
        /// The fraction used: 1.0 is all of it.
        optional utilization: f64 = "utilization",
        /// Whether paid overage is used.
        optional is_using_overage: bool = "isUsingOverage",
        /// Whether requests are accepted through paid overage.
        optional overage_status: Text<'a> = "overageStatus",
    }
}

open_enum! {
    /// Whether requests are accepted.
    RateLimitStatus {
        /// They are.
        Allowed = "allowed",
        /// They are, but the limit is close.
        AllowedWarning = "allowed_warning",
        /// They are not.
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
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// A summary of a run of tool calls, in a sentence.
    ToolUseSummaryMessage {
        /// The summary.
        required summary: Text<'a> = "summary",
        /// The calls.
        list preceding_tool_use_ids: Vec<IdRef<'a, ToolUseId>> = "preceding_tool_use_ids",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// The CLI is logging in.
    AuthStatusMessage {
        /// Whether the login is in progress.
        optional is_authenticating: bool = "isAuthenticating",
        /// What to show the user.
        list output: Vec<Text<'a>> = "output",
        /// Why it failed.
        optional error: Text<'a> = "error",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// Carries nothing; keeps the connection open.
    KeepAliveMessage {
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// What the user may want to say next.
    PromptSuggestionMessage {
        /// The text.
        required suggestion: Text<'a> = "suggestion",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// The session starts over, for example after `/clear`.
    ConversationResetMessage {
        /// The CLI's id of the new session.
        optional new_conversation_id: IdRef<'a, CliSessionId> = "new_conversation_id",
        /// What caused the reset.
        optional trigger: Text<'a> = "trigger",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// What the session is working towards.
    ActiveGoalMessage {
        /// The goal; null if there is none.
        optional value: RawJson<'a> = "value",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// What was written to a transcript. Only with the flag `--session-mirror`.
    TranscriptMirrorMessage {
        /// The transcript.
        required file_path: Text<'a> = "filePath",
        /// The lines that were added to it.
        list entries: Vec<RawJson<'a>> = "entries",
    }
}
