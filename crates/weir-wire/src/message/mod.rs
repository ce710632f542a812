//! The lines that the CLI writes, as types.
//!
//! They mirror the CLI and nothing else: `weir-transcript` builds the view of a session from them. Everything
//! is borrowed from the line. Strings are unescaped when they are read; members that Weir has no field for are
//! in each struct's `source`.

mod code;
mod content;
mod control;
mod conversation;
mod event;
mod result;
mod stream;
mod system;
mod trouble;
mod usage;

pub use code::{CodeChangePublishedMessage, VcsStateChangedMessage};
pub use content::{
    Content, ContentBlock, MediaBlock, MediaSource, RedactedThinkingBlock, ServerToolResultBlock,
    ServerToolUseBlock, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock,
};
pub use control::{
    CanUseTool, ControlCancelMessage, ControlRequest, ControlRequestMessage, ControlResponse,
    ControlResponseMessage, Elicitation, HookCallback, McpMessage, UserDialog,
};
pub use conversation::{ApiMessage, AssistantMessage, ToolResultMeta, UserMessage};
pub use event::{
    ActiveGoalMessage, AuthStatusMessage, CommandLifecycleMessage, CommandState, ConversationResetMessage,
    KeepAliveMessage, PromptSuggestionMessage, RateLimitInfo, RateLimitMessage, RateLimitStatus,
    ToolProgressMessage, ToolUseSummaryMessage, TranscriptMirrorMessage,
};
pub use result::{DeferredToolUse, PermissionDenial, ResultMessage, ResultText, TurnOrigin};
pub use stream::{
    BlockDelta, BlockStart, BlockStop, Delta, MessageDelta, MessageStart, StopDelta, StreamError,
    StreamEvent, StreamEventMessage,
};
pub use system::{
    ApiRetryMessage, BackgroundTask, BackgroundTasksChangedMessage, CommandsChangedMessage,
    CompactBoundaryMessage, CompactMetadata, ControlRequestProgressMessage, FilesPersistedMessage,
    HookMessage, InformationalMessage, InitMessage, LocalCommandOutputMessage, McpServer,
    MemoryRecallMessage, ModelRefusalFallbackMessage, NotificationMessage, PermissionDeniedMessage,
    PluginError, PluginInstallMessage, SessionStateChangedMessage, SessionTitleChangedMessage, StatusMessage,
    SystemMessage, TaskNotificationMessage, TaskPatch, TaskProgressMessage, TaskStartedMessage, TaskStatus,
    TaskUpdatedMessage, TaskUsage, ThinkingTokensMessage,
};
pub use trouble::{
    ElicitationCompleteMessage, MirrorErrorMessage, ModelRefusalNoFallbackMessage, SessionWritesLostMessage,
    WorkerShuttingDownMessage,
};
pub use usage::{ModelUsage, Usage};

use crate::decode::object::{Field, Problems};
use crate::id::{CliSessionId, IdRef};
use crate::json::{Node, RawJson};

/// Declares the enum of all lines together with the list of their types.
macro_rules! messages {
    ($( $(#[$doc:meta])* $variant:ident($type:ident) = $name:literal, )*) => {
        /// A line of the protocol, decoded.
        #[derive(Debug, Clone)]
        #[non_exhaustive]
        pub enum Message<'a> {
            /// An event of the session other than its messages.
            System(SystemMessage<'a>),
            /// The end of a turn.
            Result(Box<ResultMessage<'a>>),
            $( $(#[$doc])* $variant($type<'a>), )*
        }

        impl<'a> Message<'a> {
            /// Every top-level type that has a Rust type of its own.
            pub const TYPES: &'static [&'static str] = &["system", "result", $($name),*];

            /// `None` if the type (or a system line's subtype) is unknown, or if nothing could be decoded.
            pub(crate) fn read(
                name: &str,
                subtype: Option<&str>,
                node: Node<'a, '_>,
                problems: &mut Problems,
            ) -> Option<Self> {
                match name {
                    "system" => SystemMessage::read(subtype?, node, problems).map(Self::System),
                    "result" => Field::decode(node, problems).map(Self::Result),
                    $( $name => Field::decode(node, problems).map(Self::$variant), )*
                    _ => None,
                }
            }

            /// The `type` as it appears in the line.
            pub fn type_name(&self) -> &'static str {
                match self {
                    Self::System(_) => "system",
                    Self::Result(_) => "result",
                    $( Self::$variant(_) => $name, )*
                }
            }

            /// The line as received.
            pub fn json(&self) -> RawJson<'a> {
                match self {
                    Self::System(message) => message.json(),
                    Self::Result(message) => message.source.json(),
                    $( Self::$variant(message) => message.source.json(), )*
                }
            }
        }
    };
}

messages! {
    /// A message from the model, or a part of one.
    Assistant(AssistantMessage) = "assistant",
    /// Tool results, prompts of sub-agents, echoes of what we sent.
    User(UserMessage) = "user",
    /// A message from the model while it is being written.
    StreamEvent(StreamEventMessage) = "stream_event",
    /// The CLI asks for something.
    ControlRequest(ControlRequestMessage) = "control_request",
    /// The CLI answers a request of ours.
    ControlResponse(ControlResponseMessage) = "control_response",
    /// The CLI no longer wants an answer.
    ControlCancel(ControlCancelMessage) = "control_cancel_request",
    /// The state of a message that we sent.
    CommandLifecycle(CommandLifecycleMessage) = "command_lifecycle",
    /// How much of the account's rate limit is used.
    RateLimit(RateLimitMessage) = "rate_limit_event",
    /// A tool is still running.
    ToolProgress(ToolProgressMessage) = "tool_progress",
    /// A summary of a run of tool calls.
    ToolUseSummary(ToolUseSummaryMessage) = "tool_use_summary",
    /// The CLI is logging in.
    AuthStatus(AuthStatusMessage) = "auth_status",
    /// Carries nothing; keeps the connection open.
    KeepAlive(KeepAliveMessage) = "keep_alive",
    /// What the user may want to say next.
    PromptSuggestion(PromptSuggestionMessage) = "prompt_suggestion",
    /// The session starts over.
    ConversationReset(ConversationResetMessage) = "conversation_reset",
    /// What the session is working towards.
    ActiveGoal(ActiveGoalMessage) = "active_goal",
    /// What was written to a transcript, for a copy of it elsewhere.
    TranscriptMirror(TranscriptMirrorMessage) = "transcript_mirror",
}

impl<'a> Message<'a> {
    /// The session that the line belongs to, if it says so.
    pub fn session_id(&self) -> Option<IdRef<'a, CliSessionId>> {
        match self {
            Self::System(message) => message.session_id(),
            Self::Result(message) => message.session_id,
            Self::Assistant(message) => message.session_id,
            Self::User(message) => message.session_id,
            Self::StreamEvent(message) => message.session_id,
            Self::CommandLifecycle(message) => message.session_id,
            Self::RateLimit(message) => message.session_id,
            Self::ToolProgress(message) => message.session_id,
            Self::ToolUseSummary(message) => message.session_id,
            Self::AuthStatus(message) => message.session_id,
            Self::KeepAlive(message) => message.session_id,
            Self::PromptSuggestion(message) => message.session_id,
            Self::ConversationReset(message) => message.session_id,
            Self::ActiveGoal(message) => message.session_id,
            Self::ControlRequest(_)
            | Self::ControlResponse(_)
            | Self::ControlCancel(_)
            | Self::TranscriptMirror(_) => None,
        }
    }
}

/// Writes the line as received, unknown members included.
impl serde::Serialize for Message<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json().serialize(serializer)
    }
}
