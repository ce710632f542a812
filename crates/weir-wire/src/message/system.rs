//! `system` lines: events of the session other than its messages.

use crate::decode::object::{Field, Problems, open_enum, wire_struct};
use crate::id::{CliSessionId, IdRef, MessageId, RequestId, TaskId, ToolUseId};
use crate::json::{Node, RawJson, Text};

use super::code::{CodeChangePublishedMessage, VcsStateChangedMessage};
use super::trouble::{
    ElicitationCompleteMessage, MirrorErrorMessage, ModelRefusalNoFallbackMessage, SessionWritesLostMessage,
    WorkerShuttingDownMessage,
};

/// Declares the enum of system messages together with the list of its subtypes.
macro_rules! system_messages {
    ($( $(#[$doc:meta])* $variant:ident($type:ident) = $subtype:literal, )*) => {
        /// A `system` line, by its subtype.
        #[derive(Debug, Clone)]
        #[non_exhaustive]
        pub enum SystemMessage<'a> {
            $( $(#[$doc])* $variant(Box<$type<'a>>), )*
        }

        impl<'a> SystemMessage<'a> {
            /// Every subtype that has its own type.
            pub const SUBTYPES: &'static [&'static str] = &[$($subtype),*];

            /// `None` if the subtype is unknown or the line does not match it at all.
            pub(crate) fn read(subtype: &str, node: Node<'a, '_>, problems: &mut Problems) -> Option<Self> {
                match subtype {
                    $( $subtype => Field::decode(node, problems).map(Self::$variant), )*
                    _ => None,
                }
            }

            /// The subtype as it appears in the line.
            pub fn subtype(&self) -> &'static str {
                match self {
                    $( Self::$variant(_) => $subtype, )*
                }
            }

            /// The session that the line belongs to.
            pub fn session_id(&self) -> Option<IdRef<'a, CliSessionId>> {
                match self {
                    $( Self::$variant(message) => message.session_id, )*
                }
            }

            /// The line as received.
            pub fn json(&self) -> RawJson<'a> {
                match self {
                    $( Self::$variant(message) => message.source.json(), )*
                }
            }
        }
    };
}

system_messages! {
    /// A turn begins.
    Init(InitMessage) = "init",
    /// What the CLI is doing, or a change of mode.
    Status(StatusMessage) = "status",
    /// A hook begins.
    HookStarted(HookMessage) = "hook_started",
    /// A hook has printed something.
    HookProgress(HookMessage) = "hook_progress",
    /// A hook has ended.
    HookResponse(HookMessage) = "hook_response",
    /// A sub-agent or a background command begins.
    TaskStarted(TaskStartedMessage) = "task_started",
    /// A task makes progress.
    TaskProgress(TaskProgressMessage) = "task_progress",
    /// The state of a task changes.
    TaskUpdated(TaskUpdatedMessage) = "task_updated",
    /// A task has ended.
    TaskNotification(TaskNotificationMessage) = "task_notification",
    /// The list of background tasks has changed.
    BackgroundTasksChanged(BackgroundTasksChangedMessage) = "background_tasks_changed",
    /// A tool was denied without asking.
    PermissionDenied(PermissionDeniedMessage) = "permission_denied",
    /// The API failed and the request will be retried.
    ApiRetry(ApiRetryMessage) = "api_retry",
    /// How long the model has been thinking, in tokens.
    ThinkingTokens(ThinkingTokensMessage) = "thinking_tokens",
    /// The session has a new title.
    SessionTitleChanged(SessionTitleChangedMessage) = "session_title_changed",
    /// The history was replaced by a summary.
    CompactBoundary(CompactBoundaryMessage) = "compact_boundary",
    /// What a slash command printed.
    LocalCommandOutput(LocalCommandOutputMessage) = "local_command_output",
    /// Information for the user.
    Informational(InformationalMessage) = "informational",
    /// A notification to show to the user for a while.
    Notification(NotificationMessage) = "notification",
    /// The session is now idle, running, or waiting for a person.
    SessionStateChanged(SessionStateChangedMessage) = "session_state_changed",
    /// Files were stored.
    FilesPersisted(FilesPersistedMessage) = "files_persisted",
    /// Memories were read.
    MemoryRecall(MemoryRecallMessage) = "memory_recall",
    /// The list of slash commands has changed.
    CommandsChanged(CommandsChangedMessage) = "commands_changed",
    /// A plugin is being installed.
    PluginInstall(PluginInstallMessage) = "plugin_install",
    /// A control request of ours is taking long.
    ControlRequestProgress(ControlRequestProgressMessage) = "control_request_progress",
    /// The model refused, and another one takes over.
    ModelRefusalFallback(ModelRefusalFallbackMessage) = "model_refusal_fallback",
    /// The model refused, and no other one takes over.
    ModelRefusalNoFallback(ModelRefusalNoFallbackMessage) = "model_refusal_no_fallback",
    /// The CLI could not store something.
    SessionWritesLost(SessionWritesLostMessage) = "session_writes_lost",
    /// A copy of the transcript could not be written.
    MirrorError(MirrorErrorMessage) = "mirror_error",
    /// The CLI is about to end.
    WorkerShuttingDown(WorkerShuttingDownMessage) = "worker_shutting_down",
    /// What an MCP server asked for by an address has been done there.
    ElicitationComplete(ElicitationCompleteMessage) = "elicitation_complete",
    /// The state of a repository has changed.
    VcsStateChanged(VcsStateChangedMessage) = "vcs_state_changed",
    /// A change of code was published for review.
    CodeChangePublished(CodeChangePublishedMessage) = "code_change_published",
}

wire_struct! {
    /// A turn begins. The id in this message is authoritative for which session this is.
    InitMessage {
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
        /// The CLI's working directory.
        optional cwd: Text<'a> = "cwd",
        /// The model.
        optional model: Text<'a> = "model",
        /// The CLI's version.
        optional claude_code_version: Text<'a> = "claude_code_version",
        /// Where the API key comes from, which tells who pays.
        optional api_key_source: Text<'a> = "apiKeySource",
        /// The permission mode: what is allowed without asking.
        optional permission_mode: Text<'a> = "permissionMode",
        /// The tools that the model has.
        list tools: Vec<Text<'a>> = "tools",
        /// The MCP servers and their status.
        list mcp_servers: Vec<McpServer<'a>> = "mcp_servers",
        /// The available slash commands.
        list slash_commands: Vec<Text<'a>> = "slash_commands",
        /// The sub-agents that can be started.
        list agents: Vec<Text<'a>> = "agents",
        /// The skills that can be used.
        list skills: Vec<Text<'a>> = "skills",
        /// The plugins that are loaded.
        list plugins: Vec<RawJson<'a>> = "plugins",
        /// Plugins, or parts of one, that were not loaded.
        list plugin_errors: Vec<PluginError<'a>> = "plugin_errors",
        /// How thoroughly the model works: a level, or a number.
        optional effort: RawJson<'a> = "effort",
        /// Features of this version that hosts can check for.
        list capabilities: Vec<Text<'a>> = "capabilities",
        /// How answers are written.
        optional output_style: Text<'a> = "output_style",
        /// The messages that this turn answers.
        list user_message_uuids: Vec<IdRef<'a, MessageId>> = "user_message_uuids",
        /// This line's own id.
        optional uuid: Text<'a> = "uuid",
    }
}

wire_struct! {
    /// A plugin, or a part of one, that was not loaded.
    PluginError {
        /// The plugin.
        optional plugin: Text<'a> = "plugin",
        /// The kind of error, such as `path-not-found`.
        optional kind: Text<'a> = "type",
        /// What went wrong.
        required message: Text<'a> = "message",
        /// The folder that was to be loaded, if none of it was.
        optional path: Text<'a> = "path",
    }
}

wire_struct! {
    /// An MCP server and its status.
    McpServer {
        /// Its name.
        required name: Text<'a> = "name",
        /// `connected`, `failed`, `needs-auth`, `pending` and the like.
        required status: Text<'a> = "status",
        /// Where it comes from: `sdk`, `plugin`, or whose settings.
        optional configured_in: Text<'a> = "source",
    }
}

wire_struct! {
    /// What the CLI is doing, or a change of mode.
    StatusMessage {
        /// `requesting`, `compacting`, or null for nothing special.
        optional status: Text<'a> = "status",
        /// The permission mode from now on.
        optional permission_mode: Text<'a> = "permissionMode",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// A hook begins, prints, or ends.
    HookMessage {
        /// Id of this run of the hook.
        required hook_id: Text<'a> = "hook_id",
        /// The hook, such as `PreToolUse:Bash`.
        optional hook_name: Text<'a> = "hook_name",
        /// The event, such as `PreToolUse`.
        optional hook_event: Text<'a> = "hook_event",
        /// Everything it printed.
        optional output: Text<'a> = "output",
        /// What it printed on its standard output.
        optional stdout: Text<'a> = "stdout",
        /// What it printed on its standard error.
        optional stderr: Text<'a> = "stderr",
        /// Its exit code.
        optional exit_code: i64 = "exit_code",
        /// `success`, `error` or `cancelled`.
        optional outcome: Text<'a> = "outcome",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// A sub-agent or a background command begins.
    TaskStartedMessage {
        /// The task.
        required task_id: IdRef<'a, TaskId> = "task_id",
        /// The tool call that started it.
        optional tool_use_id: IdRef<'a, ToolUseId> = "tool_use_id",
        /// What it is for.
        optional description: Text<'a> = "description",
        /// The kind of sub-agent.
        optional subagent_type: Text<'a> = "subagent_type",
        /// Whether the session continues while it runs.
        optional is_backgrounded: bool = "is_backgrounded",
        /// One for a sub-agent of the main agent, two for a sub-agent of that one.
        optional spawn_depth: u64 = "spawn_depth",
        /// `local_agent`, `local_bash` and the like.
        optional task_type: Text<'a> = "task_type",
        /// The prompt of the sub-agent.
        optional prompt: Text<'a> = "prompt",
        /// One run of the task: a task that is resumed gets another one.
        optional run_id: Text<'a> = "run_id",
        /// The sub-agent that started it; absent if the main agent did.
        optional parent_task_id: IdRef<'a, TaskId> = "parent_task_id",
        /// Whether it is not activity, such as a watcher of files: nothing waits for it.
        optional ambient: bool = "ambient",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// The progress of a task.
    TaskProgressMessage {
        /// The task.
        required task_id: IdRef<'a, TaskId> = "task_id",
        /// The tool call that started it.
        optional tool_use_id: IdRef<'a, ToolUseId> = "tool_use_id",
        /// What it is doing now.
        optional description: Text<'a> = "description",
        /// What it has used.
        optional usage: TaskUsage<'a> = "usage",
        /// The tool that it used last.
        optional last_tool_name: Text<'a> = "last_tool_name",
        /// What it has found out so far.
        optional summary: Text<'a> = "summary",
        /// The kind of sub-agent.
        optional subagent_type: Text<'a> = "subagent_type",
        /// One run of the task: a task that is resumed gets another one.
        optional run_id: Text<'a> = "run_id",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// What a task has used.
    TaskUsage {
        /// Tokens of all kinds.
        optional total_tokens: u64 = "total_tokens",
        /// Number of tool calls.
        optional tool_uses: u64 = "tool_uses",
        /// Run time in milliseconds.
        optional duration_ms: u64 = "duration_ms",
    }
}

wire_struct! {
    /// A task's state changes.
    TaskUpdatedMessage {
        /// The task.
        required task_id: IdRef<'a, TaskId> = "task_id",
        /// What changes.
        required patch: TaskPatch<'a> = "patch",
        /// One run of the task: a task that is resumed gets another one.
        optional run_id: Text<'a> = "run_id",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// What changes about a task.
    TaskPatch {
        /// Its state.
        optional status: TaskStatus<'a> = "status",
        /// What it is for.
        optional description: Text<'a> = "description",
        /// When it ended, in milliseconds since 1970.
        optional end_time: u64 = "end_time",
        /// Why it failed.
        optional error: Text<'a> = "error",
        /// Whether the session continues while it runs.
        optional is_backgrounded: bool = "is_backgrounded",
    }
}

open_enum! {
    /// The state of a task.
    TaskStatus {
        /// Not started.
        Pending = "pending",
        /// Running.
        Running = "running",
        /// Done.
        Completed = "completed",
        /// Failed.
        Failed = "failed",
        /// Ended from outside.
        Killed = "killed",
        /// Ended from outside, in notifications.
        Stopped = "stopped",
        /// Paused.
        Paused = "paused",
    }
}

wire_struct! {
    /// A task has ended.
    TaskNotificationMessage {
        /// The task.
        required task_id: IdRef<'a, TaskId> = "task_id",
        /// The tool call that started it.
        optional tool_use_id: IdRef<'a, ToolUseId> = "tool_use_id",
        /// How it ended.
        required status: TaskStatus<'a> = "status",
        /// A summary of the outcome.
        optional summary: Text<'a> = "summary",
        /// Path of its full output.
        optional output_file: Text<'a> = "output_file",
        /// What it has used.
        optional usage: TaskUsage<'a> = "usage",
        /// One run of the task: a task that is resumed gets another one.
        optional run_id: Text<'a> = "run_id",
        /// Whether it is not activity, such as a watcher of files: nothing waits for it.
        optional ambient: bool = "ambient",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// The list of background tasks has changed. While it is not empty, the session is not finished.
    BackgroundTasksChangedMessage {
        /// The tasks.
        required tasks: Vec<BackgroundTask<'a>> = "tasks",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// A task in the background.
    BackgroundTask {
        /// The task.
        required task_id: IdRef<'a, TaskId> = "task_id",
        /// `local_agent`, `local_bash` and the like.
        optional task_type: Text<'a> = "task_type",
        /// The kind of sub-agent.
        optional subagent_type: Text<'a> = "subagent_type",
        /// What it is for.
        optional description: Text<'a> = "description",
        /// One run of the task: a task that is resumed gets another one.
        optional run_id: Text<'a> = "run_id",
        /// The sub-agent that started it; absent if the main agent did.
        optional parent_task_id: IdRef<'a, TaskId> = "parent_task_id",
        /// Whether it is not activity, such as a watcher of files: nothing waits for it.
        optional ambient: bool = "ambient",
    }
}

wire_struct! {
    /// A tool was denied without asking.
    PermissionDeniedMessage {
        /// The tool.
        required tool_name: Text<'a> = "tool_name",
        /// The call.
        optional tool_use_id: IdRef<'a, ToolUseId> = "tool_use_id",
        /// Message for the model.
        optional message: Text<'a> = "message",
        /// Why it was denied.
        optional decision_reason: Text<'a> = "decision_reason",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// The API failed and the request will be retried.
    ApiRetryMessage {
        /// Number of the next attempt, from one.
        required attempt: u64 = "attempt",
        /// Maximum number of attempts.
        optional max_retries: u64 = "max_retries",
        /// The delay before the attempt.
        optional retry_delay_ms: u64 = "retry_delay_ms",
        /// The HTTP status; null without a response.
        optional error_status: u64 = "error_status",
        /// The error in a word, such as `overloaded`.
        optional error: Text<'a> = "error",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// How long the model has been thinking.
    ThinkingTokensMessage {
        /// Tokens so far.
        optional estimated_tokens: u64 = "estimated_tokens",
        /// Tokens since the previous such line.
        optional estimated_tokens_delta: u64 = "estimated_tokens_delta",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// The session has a new title.
    SessionTitleChangedMessage {
        /// The title.
        optional title: Text<'a> = "title",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// The history was replaced by a summary.
    CompactBoundaryMessage {
        /// Details of the compaction.
        optional compact_metadata: CompactMetadata<'a> = "compact_metadata",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// Details of a compaction.
    CompactMetadata {
        /// `manual` or `auto`.
        optional trigger: Text<'a> = "trigger",
        /// Tokens before.
        optional pre_tokens: u64 = "pre_tokens",
        /// Tokens after.
        optional post_tokens: u64 = "post_tokens",
        /// How long it took.
        optional duration_ms: u64 = "duration_ms",
    }
}

wire_struct! {
    /// What a slash command printed.
    LocalCommandOutputMessage {
        /// The text.
        required content: Text<'a> = "content",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// Information for the user.
    InformationalMessage {
        /// The text.
        required content: Text<'a> = "content",
        /// `info`, `notice`, `suggestion` or `warning`.
        optional level: Text<'a> = "level",
        /// The tool call that it is about.
        optional tool_use_id: IdRef<'a, ToolUseId> = "tool_use_id",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// A notification to show to the user for a while.
    NotificationMessage {
        /// Key of the notification, so that it can be replaced.
        optional key: Text<'a> = "key",
        /// The text.
        required text: Text<'a> = "text",
        /// `low`, `medium`, `high` or `immediate`.
        optional priority: Text<'a> = "priority",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// The session is now idle, running, or waiting for a person.
    SessionStateChangedMessage {
        /// `idle`, `running` or `requires_action`.
        required state: Text<'a> = "state",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// Files were stored.
    FilesPersistedMessage {
        /// The files.
        list files: Vec<RawJson<'a>> = "files",
        /// Those that could not be stored.
        list failed: Vec<RawJson<'a>> = "failed",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// Memories were read.
    MemoryRecallMessage {
        /// `select` or `synthesize`.
        optional mode: Text<'a> = "mode",
        /// The memories.
        list memories: Vec<RawJson<'a>> = "memories",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// The list of slash commands has changed.
    CommandsChangedMessage {
        /// The commands.
        list commands: Vec<RawJson<'a>> = "commands",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// A plugin is being installed.
    PluginInstallMessage {
        /// `started`, `installed`, `failed` or `completed`.
        required status: Text<'a> = "status",
        /// The plugin.
        optional name: Text<'a> = "name",
        /// Why it failed.
        optional error: Text<'a> = "error",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// A control request of ours is taking long.
    ControlRequestProgressMessage {
        /// The request.
        required request_id: IdRef<'a, RequestId> = "request_id",
        /// `started` or `api_retry`.
        optional status: Text<'a> = "status",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}

wire_struct! {
    /// The model refused, and another one takes over.
    ModelRefusalFallbackMessage {
        /// The model that refused.
        optional original_model: Text<'a> = "original_model",
        /// The model that takes over.
        optional fallback_model: Text<'a> = "fallback_model",
        /// What to tell the user.
        optional content: Text<'a> = "content",
        /// The session.
        optional session_id: IdRef<'a, CliSessionId> = "session_id",
    }
}
