//! Our control requests.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::mcp_server::McpServerConfig;
use crate::hook::HookEvent;
use crate::id::{MessageId, TaskId, ToolUseId};

/// A request to the CLI. A version that does not know a request answers with an error, or not at all.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum HostRequest {
    /// Introduces the host. It is answered before any message, so the answer also shows that the CLI is ready.
    Initialize(InitializeRequest),
    /// Ends the running turn, and drops every message that the CLI has received but not answered.
    Interrupt,
    /// Changes the model from the next request on; `None` for the default.
    SetModel {
        /// The model.
        model: Option<String>,
    },
    /// Changes the permission mode.
    SetPermissionMode {
        /// The mode.
        mode: String,
    },
    /// Asks for the status of the MCP servers.
    McpStatus,
    /// Asks for the available models.
    ListModels,
    /// Asks what fills the context.
    GetContextUsage,
    /// Asks what the session has cost.
    GetSessionCost,
    /// Asks how much of the account's rate limits is used.
    GetUsage,
    /// Gives the session a title.
    RenameSession {
        /// The title.
        title: String,
    },
    /// Restores files to their state at a message of ours.
    RewindFiles {
        /// The message.
        user_message_id: MessageId,
        /// Whether to only report what would change.
        dry_run: bool,
    },
    /// Ends a task that runs in the background.
    StopTask {
        /// The task.
        task_id: TaskId,
    },
    /// Replaces the MCP servers that were set in this way before.
    McpSetServers {
        /// The servers, by name.
        servers: BTreeMap<String, McpServerConfig>,
        /// Those in our process, which the CLI would drop if they were not named.
        own: Vec<String>,
    },
    /// Switches an MCP server on or off.
    McpToggle {
        /// The server.
        server: String,
        /// Whether it is on.
        enabled: bool,
    },
    /// Connects to an MCP server again.
    McpReconnect {
        /// The server.
        server: String,
    },
    /// Begins the login to an MCP server that asks for one.
    McpAuthenticate {
        /// The server.
        server: String,
    },
    /// Ends the login to an MCP server: with the address that the browser was sent back to.
    McpOauthCallback {
        /// The server.
        server: String,
        /// The address, with everything in it.
        url: String,
    },
    /// Calls a tool of an MCP server, without the model and without asking for permission.
    McpCall {
        /// Its full name, such as `mcp__db__query`.
        tool: String,
        /// The arguments.
        arguments: Map<String, Value>,
    },
    /// Reads a resource of an MCP server that is made to be shown: its address begins with `ui://`.
    McpReadResource {
        /// The server.
        server: String,
        /// The address.
        uri: String,
    },
    /// Limits the tokens for thinking; `None` for the default.
    SetMaxThinkingTokens {
        /// The limit; zero switches thinking off.
        tokens: Option<u32>,
    },
    /// Changes settings of the session, in the form of a settings file. `null` resets one.
    ApplyFlagSettings {
        /// The settings.
        settings: Map<String, Value>,
    },
    /// Changes a settings file.
    UpdateSettings {
        /// Whether it is the user's own file; otherwise the local one of the folder.
        user: bool,
        /// The settings.
        settings: Map<String, Value>,
    },
    /// Asks for the settings that apply.
    GetSettings,
    /// Asks for the permission rules that apply.
    ListPermissionRules,
    /// Asks for the hooks that apply.
    GetHooksListing,
    /// Asks for a file.
    ReadFile {
        /// Its path, relative to the session's folder.
        path: String,
        /// Maximum number of bytes.
        max_bytes: Option<u64>,
    },
    /// Sends tool calls that are running to the background.
    BackgroundTasks {
        /// Only this one.
        tool_use_id: Option<ToolUseId>,
    },
    /// Asks for the output of a background task.
    GetTaskOutput {
        /// The task.
        task_id: TaskId,
    },
    /// Takes the newest message of the user out of the conversation, and everything after it.
    RewindConversation {
        /// The message.
        message: MessageId,
    },
    /// Asks for the current plan.
    GetPlan,
    /// Asks something that does not become part of the conversation.
    SideQuestion {
        /// The question.
        question: String,
    },
    /// Asks what changed in the session's folder since the last commit.
    GetWorkspaceDiff,
    /// Makes up a title for the session.
    GenerateSessionTitle {
        /// What it is about.
        description: String,
        /// Whether the session gets it.
        persist: bool,
    },
    /// Asks for the conversation as text.
    ExportConversation,
    /// Moves the session to another folder.
    SetCwd {
        /// The folder.
        path: String,
    },
    /// Asks for the version of the CLI.
    GetBinaryVersion,
    /// Reads the skills again.
    ReloadSkills,
    /// Reads the plugins again.
    ReloadPlugins,
    /// Reads the output styles again.
    ReloadOutputStyles,
    /// Makes calls of an MCP server's tools stricter than the permission mode.
    SetMcpPermissionMode {
        /// The server.
        server: String,
        /// `default` or `auto`; `None` removes it.
        mode: Option<String>,
    },
    /// Says that the model knows a file, so that it can be edited without being read first.
    SeedReadState {
        /// Its path.
        path: String,
        /// When it was changed last, in milliseconds since 1970.
        mtime: u64,
    },
    /// Cancels a message that is still waiting.
    CancelMessage {
        /// The message.
        message: MessageId,
    },
    /// Ends the process.
    EndSession,
    /// Something that Weir has no type for.
    Other {
        /// Its subtype.
        subtype: String,
        /// Its other members.
        fields: Map<String, Value>,
    },
}

/// The first request to the CLI.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct InitializeRequest {
    /// Hooks that we run.
    pub hooks: Vec<HookRegistration>,
    /// MCP servers in our process.
    pub sdk_mcp_servers: Vec<String>,
    /// Members that have no field here.
    pub extra: Map<String, Value>,
}

/// A hook that we run when the CLI calls it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookRegistration {
    /// The event.
    pub event: HookEvent,
    /// Which tools; `None` for all.
    pub matcher: Option<String>,
    /// The ids that the CLI calls back with.
    pub callback_ids: Vec<String>,
    /// How long the CLI waits for our answer, in seconds; a minute if `None`. Up to 2.1.61 a tool call then goes ahead,
    /// since 2.1.197 it is refused.
    pub timeout_s: Option<u32>,
    /// Whether what the hook guards is refused if our answer is an error or invalid. Otherwise it goes ahead.
    pub blocks_on_failure: bool,
}

impl HookRegistration {
    /// A hook with one callback, for all tools and with the CLI's own time limit.
    pub fn new(event: impl Into<HookEvent>, callback_id: impl Into<String>) -> Self {
        Self {
            event: event.into(),
            matcher: None,
            callback_ids: vec![callback_id.into()],
            timeout_s: None,
            blocks_on_failure: false,
        }
    }
}

impl HostRequest {
    /// Its name in the protocol.
    pub fn subtype(&self) -> &str {
        match self {
            Self::Initialize(_) => "initialize",
            Self::Interrupt => "interrupt",
            Self::SetModel { .. } => "set_model",
            Self::SetPermissionMode { .. } => "set_permission_mode",
            Self::McpStatus => "mcp_status",
            Self::ListModels => "list_models",
            Self::GetContextUsage => "get_context_usage",
            Self::GetSessionCost => "get_session_cost",
            Self::GetUsage => "get_usage",
            Self::RenameSession { .. } => "rename_session",
            Self::RewindFiles { .. } => "rewind_files",
            Self::StopTask { .. } => "stop_task",
            Self::McpSetServers { .. } => "mcp_set_servers",
            Self::McpToggle { .. } => "mcp_toggle",
            Self::McpReconnect { .. } => "mcp_reconnect",
            Self::McpAuthenticate { .. } => "mcp_authenticate",
            Self::McpOauthCallback { .. } => "mcp_oauth_callback_url",
            Self::McpCall { .. } => "mcp_call",
            Self::McpReadResource { .. } => "mcp_read_resource",
            Self::SetMaxThinkingTokens { .. } => "set_max_thinking_tokens",
            Self::ApplyFlagSettings { .. } => "apply_flag_settings",
            Self::UpdateSettings { .. } => "update_settings",
            Self::GetSettings => "get_settings",
            Self::ListPermissionRules => "list_permission_rules",
            Self::GetHooksListing => "get_hooks_listing",
            Self::ReadFile { .. } => "read_file",
            Self::BackgroundTasks { .. } => "background_tasks",
            Self::GetTaskOutput { .. } => "get_task_output",
            Self::RewindConversation { .. } => "rewind_conversation",
            Self::GetPlan => "get_plan",
            Self::SideQuestion { .. } => "side_question",
            Self::GetWorkspaceDiff => "get_workspace_diff",
            Self::GenerateSessionTitle { .. } => "generate_session_title",
            Self::ExportConversation => "export_conversation",
            Self::SetCwd { .. } => "set_cwd",
            Self::GetBinaryVersion => "get_binary_version",
            Self::ReloadSkills => "reload_skills",
            Self::ReloadPlugins => "reload_plugins",
            Self::ReloadOutputStyles => "reload_output_styles",
            Self::SetMcpPermissionMode { .. } => "set_mcp_permission_mode_override",
            Self::SeedReadState { .. } => "seed_read_state",
            Self::CancelMessage { .. } => "cancel_async_message",
            Self::EndSession => "end_session",
            Self::Other { subtype, .. } => subtype,
        }
    }

    pub(super) fn to_value(&self) -> Value {
        let mut request = match self.members() {
            Value::Object(members) => members,
            _ => Map::new(),
        };
        request.insert("subtype".to_owned(), json!(self.subtype()));
        Value::Object(request)
    }

    /// Its members apart from the subtype.
    fn members(&self) -> Value {
        match self {
            Self::Initialize(request) => request.to_value(),
            // Without `cancel_queued`, newer versions put the turn's messages back into the queue and run them
            // afterwards.
            Self::Interrupt => json!({"cancel_queued": true}),
            Self::SetModel { model } => json!({"model": model}),
            Self::SetPermissionMode { mode } => json!({"mode": mode}),
            Self::RenameSession { title } => json!({"title": title}),
            Self::RewindFiles { user_message_id, dry_run } => {
                json!({"user_message_id": user_message_id, "dry_run": dry_run})
            }
            Self::StopTask { task_id } | Self::GetTaskOutput { task_id } => json!({"task_id": task_id}),
            Self::CancelMessage { message } => json!({"message_uuid": message}),
            // Otherwise the CLI reads the transcripts of a week first.
            Self::GetUsage => json!({"skip_behaviors": true}),
            Self::McpSetServers { servers, own } => {
                let own = own.iter().map(|name| (name, json!({"type": "sdk", "name": name})));
                let all: Map<String, Value> = servers
                    .iter()
                    .map(|(name, server)| (name, json!(server)))
                    .chain(own)
                    .map(named)
                    .collect();
                json!({"servers": all})
            }
            Self::McpToggle { server, enabled } => json!({"serverName": server, "enabled": enabled}),
            Self::McpReconnect { server } | Self::McpAuthenticate { server } => {
                json!({"serverName": server})
            }
            Self::McpOauthCallback { server, url } => json!({"serverName": server, "callbackUrl": url}),
            Self::McpCall { tool, arguments } => json!({"tool": tool, "arguments": arguments}),
            Self::McpReadResource { server, uri } => json!({"serverName": server, "uri": uri}),
            Self::SetMaxThinkingTokens { tokens } => json!({"max_thinking_tokens": tokens}),
            Self::ApplyFlagSettings { settings } => json!({"settings": settings}),
            Self::UpdateSettings { user, settings } => {
                let source = if *user { "userSettings" } else { "localSettings" };
                json!({"source": source, "settings": settings})
            }
            Self::ReadFile { path, max_bytes: None } => json!({"path": path}),
            Self::ReadFile { path, max_bytes } => json!({"path": path, "max_bytes": max_bytes}),
            Self::BackgroundTasks { tool_use_id: None } => json!({}),
            Self::BackgroundTasks { tool_use_id } => json!({"tool_use_id": tool_use_id}),
            Self::RewindConversation { message } => json!({"target_message_uuid": message}),
            Self::SideQuestion { question } => json!({"question": question}),
            Self::GenerateSessionTitle { description, persist } => {
                json!({"description": description, "persist": persist})
            }
            Self::SetMcpPermissionMode { server, mode } => json!({"serverName": server, "mode": mode}),
            Self::SetCwd { path } => json!({"path": path}),
            Self::SeedReadState { path, mtime } => json!({"path": path, "mtime": mtime}),
            Self::McpStatus
            | Self::ListModels
            | Self::GetContextUsage
            | Self::GetSessionCost
            | Self::GetSettings
            | Self::ListPermissionRules
            | Self::GetHooksListing
            | Self::GetPlan
            | Self::GetWorkspaceDiff
            | Self::ExportConversation
            | Self::GetBinaryVersion
            | Self::ReloadSkills
            | Self::ReloadPlugins
            | Self::ReloadOutputStyles
            | Self::EndSession => json!({}),
            Self::Other { fields, .. } => Value::Object(fields.clone()),
        }
    }
}

fn named((name, value): (&String, Value)) -> (String, Value) {
    (name.clone(), value)
}

impl InitializeRequest {
    fn to_value(&self) -> Value {
        let mut hooks: Map<String, Value> = Map::new();
        for hook in &self.hooks {
            let mut matcher = json!({"hookCallbackIds": hook.callback_ids});
            let more = [
                ("matcher", hook.matcher.as_ref().map(|pattern| json!(pattern))),
                ("timeout", hook.timeout_s.map(|seconds| json!(seconds))),
                ("onFailure", hook.blocks_on_failure.then_some(json!("block"))),
            ];
            if let Some(matcher) = matcher.as_object_mut() {
                matcher.extend(more.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
            }
            if let Some(list) = hooks.entry(hook.event.as_str()).or_insert_with(|| json!([])).as_array_mut() {
                list.push(matcher);
            }
        }
        let mut request = self.extra.clone();
        // We can stop each task separately, so an interrupt need not stop them all.
        request.insert("perTaskStopAffordance".into(), json!(true));
        request.insert("hooks".into(), if hooks.is_empty() { Value::Null } else { Value::Object(hooks) });
        if !self.sdk_mcp_servers.is_empty() {
            request.insert("sdkMcpServers".into(), json!(self.sdk_mcp_servers));
        }
        Value::Object(request)
    }
}
