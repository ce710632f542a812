//! `system` lines that report what went wrong, or what ended, outside of a turn.

use crate::decode::object::wire_struct;
use crate::id::{CliSessionId, IdRef, MessageId};
use crate::json::Text;

wire_struct! {
    /// The model refused, and no other one takes over.
    ModelRefusalNoFallbackMessage {
        /// The model that refused.
        optional original_model: Text<'a> = "original_model",
        /// What to tell the user.
        optional content: Text<'a> = "content",
        /// The message that it refused.
        optional refused_user_message_uuid: IdRef<'a, MessageId> = "refused_user_message_uuid",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// The CLI could not store something, because the disk is full.
    SessionWritesLostMessage {
        /// Why, such as `ENOSPC`.
        optional error_code: Text<'a> = "error_code",
        /// What is lost: `transcript`, `global_config`.
        list lost: Vec<Text<'a>> = "lost",
        /// The sessions whose transcripts miss lines.
        list transcript_session_ids: Vec<IdRef<'a, CliSessionId>> = "transcript_session_ids",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// A copy of the transcript could not be written.
    MirrorErrorMessage {
        /// What went wrong.
        required error: Text<'a> = "error",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// The CLI is about to end.
    WorkerShuttingDownMessage {
        /// Why, such as `host_exit`.
        optional reason: Text<'a> = "reason",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// What an MCP server asked for by an address has been done there.
    ElicitationCompleteMessage {
        /// The server.
        optional mcp_server_name: Text<'a> = "mcp_server_name",
        /// The server's own id of the request.
        optional elicitation_id: Text<'a> = "elicitation_id",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}
