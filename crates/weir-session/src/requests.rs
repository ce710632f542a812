//! The control requests of a session, with typed answers.
//!
//! They need a running process: [`Session::start`] starts one. A version that does not know a request is refused
//! with [`SessionError::NotSupported`].

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use weir_wire::answer::{
    ContextUsage, ConversationRewound, CostText, CwdChange, ExportedConversation, FileContents,
    GeneratedTitle, HookList, McpCallResult, McpLogin, McpResource, McpServersSet, McpStatus, ModelList,
    PermissionRules, Plan, RewindReport, SettingsReport, SideAnswer, TaskOutput, UsageReport, WorkspaceDiff,
};
use weir_wire::{HostRequest, McpServerConfig, MessageId, TaskId, ToolUseId};

use crate::error::SessionError;
use crate::session::Session;

/// Whose settings file is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsFile {
    /// The user's own.
    User,
    /// The one of the folder that is not shared with others.
    Local,
}

/// The model and what it may do.
impl Session {
    /// Uses another model from the next request on; the default one if `None`.
    pub async fn set_model(&self, model: Option<String>) -> Result<(), SessionError> {
        self.request(HostRequest::SetModel { model }).await.map(drop)
    }

    /// The models that the account may use. Since 2.1.325.
    pub async fn models(&self) -> Result<ModelList, SessionError> {
        self.typed(HostRequest::ListModels).await
    }

    /// Limits the tokens for thinking; zero switches it off, `None` resets the limit. Since 2.0.72.
    pub async fn set_max_thinking_tokens(&self, tokens: Option<u32>) -> Result<(), SessionError> {
        self.request(HostRequest::SetMaxThinkingTokens { tokens }).await.map(drop)
    }

    /// Uses another permission mode from now on.
    pub async fn set_permission_mode(&self, mode: impl Into<String>) -> Result<(), SessionError> {
        self.request(HostRequest::SetPermissionMode { mode: mode.into() }).await.map(drop)
    }

    /// The permission rules that apply. Since 2.1.325.
    pub async fn permission_rules(&self) -> Result<PermissionRules, SessionError> {
        let answer = self.request(HostRequest::ListPermissionRules).await?;
        read(answer.get("state").cloned().unwrap_or_default())
    }

    /// The settings that apply, and where they come from. Since 2.1.197.
    pub async fn settings(&self) -> Result<SettingsReport, SessionError> {
        self.typed(HostRequest::GetSettings).await
    }

    /// Changes settings of the session until its process ends, in the form of the CLI's settings files; null resets
    /// one. Since 2.1.61.
    pub async fn apply_settings(&self, settings: Map<String, Value>) -> Result<(), SessionError> {
        self.request(HostRequest::ApplyFlagSettings { settings }).await.map(drop)
    }

    /// Changes a settings file. The CLI refuses most settings. Since 2.1.325.
    pub async fn update_settings(
        &self,
        file: SettingsFile,
        settings: Map<String, Value>,
    ) -> Result<(), SessionError> {
        let user = file == SettingsFile::User;
        self.request(HostRequest::UpdateSettings { user, settings }).await.map(drop)
    }

    /// The hooks of the settings that apply; those of the handler are not among them. Since 2.1.325.
    pub async fn hooks(&self) -> Result<HookList, SessionError> {
        self.typed(HostRequest::GetHooksListing).await
    }

    /// Reads the skills again. Since 2.1.197.
    pub async fn reload_skills(&self) -> Result<(), SessionError> {
        self.request(HostRequest::ReloadSkills).await.map(drop)
    }

    /// Reads the plugins again. Since 2.1.197.
    pub async fn reload_plugins(&self) -> Result<(), SessionError> {
        self.request(HostRequest::ReloadPlugins).await.map(drop)
    }

    /// Reads the output styles again. Since 2.1.325.
    pub async fn reload_output_styles(&self) -> Result<(), SessionError> {
        self.request(HostRequest::ReloadOutputStyles).await.map(drop)
    }
}

/// MCP servers.
impl Session {
    /// Status of the MCP servers.
    pub async fn mcp_status(&self) -> Result<McpStatus, SessionError> {
        self.typed(HostRequest::McpStatus).await
    }

    /// Replaces the MCP servers that were set in this way before, until the process ends. Servers of the options, of
    /// the handler and in our own process stay. Since 2.0.72.
    pub async fn set_mcp_servers(
        &self,
        servers: BTreeMap<String, McpServerConfig>,
    ) -> Result<McpServersSet, SessionError> {
        self.typed(HostRequest::McpSetServers { servers, own: Vec::new() }).await
    }

    /// Switches an MCP server on or off. Since 2.1.61.
    pub async fn toggle_mcp_server(
        &self,
        server: impl Into<String>,
        enabled: bool,
    ) -> Result<(), SessionError> {
        self.request(HostRequest::McpToggle { server: server.into(), enabled }).await.map(drop)
    }

    /// Asks before each call of this MCP server's tools (`default`), or lets the CLI's classifier decide (`auto`), where the
    /// permission mode would allow them; `None` removes that. It never allows more. Since 2.1.197.
    pub async fn set_mcp_permission_mode(
        &self,
        server: impl Into<String>,
        mode: Option<String>,
    ) -> Result<(), SessionError> {
        self.request(HostRequest::SetMcpPermissionMode { server: server.into(), mode }).await.map(drop)
    }

    /// Connects to an MCP server again. Since 2.1.61.
    pub async fn reconnect_mcp_server(&self, server: impl Into<String>) -> Result<(), SessionError> {
        self.request(HostRequest::McpReconnect { server: server.into() }).await.map(drop)
    }

    /// Begins the login to an MCP server whose status is `needs-auth`. A person opens the address in a browser; if the browser
    /// runs on the same machine, the CLI sees the end of the login by itself. Since 2.1.61.
    pub async fn log_in_to_mcp_server(&self, server: impl Into<String>) -> Result<McpLogin, SessionError> {
        self.typed(HostRequest::McpAuthenticate { server: server.into() }).await
    }

    /// Ends that login with the address that the browser was sent back to, where it runs on another machine.
    pub async fn finish_mcp_login(
        &self,
        server: impl Into<String>,
        url: impl Into<String>,
    ) -> Result<(), SessionError> {
        let request = HostRequest::McpOauthCallback { server: server.into(), url: url.into() };
        self.request(request).await.map(drop)
    }

    /// Calls a tool of an MCP server, such as `mcp__db__query`, without the model and **without asking for
    /// permission**. Since 2.1.197.
    pub async fn call_mcp_tool(
        &self,
        tool: impl Into<String>,
        arguments: Map<String, Value>,
    ) -> Result<McpCallResult, SessionError> {
        self.typed(HostRequest::McpCall { tool: tool.into(), arguments }).await
    }

    /// Reads a resource of an MCP server that is made to be shown: its address begins with `ui://`. Its content comes
    /// from the server and must not be trusted. Since 2.1.325.
    pub async fn read_mcp_resource(
        &self,
        server: impl Into<String>,
        uri: impl Into<String>,
    ) -> Result<McpResource, SessionError> {
        self.typed(HostRequest::McpReadResource { server: server.into(), uri: uri.into() }).await
    }
}

/// Tasks, files and the conversation.
impl Session {
    /// What the context window is filled with. Since 2.1.197.
    pub async fn context_usage(&self) -> Result<ContextUsage, SessionError> {
        self.typed(HostRequest::GetContextUsage).await
    }

    /// How much of the account's limits is used. Since 2.1.197.
    pub async fn usage(&self) -> Result<UsageReport, SessionError> {
        self.typed(HostRequest::GetUsage).await
    }

    /// What the session has cost, as a text for people. Since 2.1.197.
    pub async fn cost_text(&self) -> Result<String, SessionError> {
        Ok(self.typed::<CostText>(HostRequest::GetSessionCost).await?.text)
    }

    /// Sends a running tool call to the background, or all of them. Since 2.1.197.
    pub async fn send_to_background(&self, call: Option<ToolUseId>) -> Result<(), SessionError> {
        self.request(HostRequest::BackgroundTasks { tool_use_id: call }).await.map(drop)
    }

    /// The end of the output of a background command. Since 2.1.325.
    pub async fn task_output(&self, task: &TaskId) -> Result<TaskOutput, SessionError> {
        self.typed(HostRequest::GetTaskOutput { task_id: task.clone() }).await
    }

    /// Stops a background task, by its id in the view. Since 2.1.61.
    pub async fn stop_task(&self, task: &TaskId) -> Result<(), SessionError> {
        self.request(HostRequest::StopTask { task_id: task.clone() }).await.map(drop)
    }

    /// Restores files to their state at a message, or reports what that would change. Needs
    /// `file_checkpointing`. Since 2.0.72.
    pub async fn rewind_files(
        &self,
        message: &MessageId,
        dry_run: bool,
    ) -> Result<RewindReport, SessionError> {
        self.typed(HostRequest::RewindFiles { user_message_id: message.clone(), dry_run }).await
    }

    /// Takes the newest message out of the conversation, with everything after it, and returns its text. The model
    /// forgets it; the view keeps it. For any other message, fork the session: [`crate::Origin::ForkAt`]. Since
    /// 2.1.197, where the first message cannot be taken out.
    ///
    /// # Errors
    /// [`SessionError::Refused`] if the message is not the newest one.
    pub async fn rewind_conversation(&self, message: &MessageId) -> Result<Option<String>, SessionError> {
        let request = HostRequest::RewindConversation { message: message.clone() };
        let answer: ConversationRewound = self.typed(request).await?;
        if answer.rewound {
            return Ok(answer.prefill_text);
        }
        let message = answer.error.unwrap_or_else(|| "the message cannot be taken out".to_owned());
        Err(SessionError::Refused { message })
    }

    /// The current plan, if there is one. Since 2.1.325.
    pub async fn plan(&self) -> Result<Plan, SessionError> {
        self.typed(HostRequest::GetPlan).await
    }

    /// Asks the model something that does not become part of the conversation. `None` if it has no answer. It costs
    /// like any other request. Since 2.1.197.
    pub async fn side_question(&self, question: impl Into<String>) -> Result<Option<String>, SessionError> {
        let answer: SideAnswer = self.typed(HostRequest::SideQuestion { question: question.into() }).await?;
        Ok(answer.response)
    }

    /// What changed in the folder since the last commit. Since 2.1.325.
    pub async fn workspace_diff(&self) -> Result<WorkspaceDiff, SessionError> {
        let answer = self.request(HostRequest::GetWorkspaceDiff).await?;
        read(answer.get("diff").cloned().unwrap_or_default())
    }

    /// Text of a file, by its path relative to the session's folder. Since 2.1.197.
    pub async fn read_file(
        &self,
        path: impl Into<String>,
        max_bytes: Option<u64>,
    ) -> Result<FileContents, SessionError> {
        self.typed(HostRequest::ReadFile { path: path.into(), max_bytes }).await
    }

    /// Lets the model edit a file without reading it first. `mtime` is when the file was changed last, in
    /// milliseconds since 1970. Since 2.1.197.
    pub async fn mark_as_read(&self, path: impl Into<String>, mtime: u64) -> Result<(), SessionError> {
        self.request(HostRequest::SeedReadState { path: path.into(), mtime }).await.map(drop)
    }

    /// Moves the session to another folder, until its process ends. Only while no turn runs. Since 2.1.325.
    ///
    /// # Errors
    /// [`SessionError::Refused`] if the CLI does not move.
    pub async fn set_cwd(&self, folder: impl Into<String>) -> Result<(), SessionError> {
        let answer: CwdChange = self.typed(HostRequest::SetCwd { path: folder.into() }).await?;
        match answer.status.as_str() {
            "rejected" => Err(SessionError::Refused { message: answer.message.unwrap_or_default() }),
            _ => Ok(()),
        }
    }

    /// Sets the title of the session. Since 2.1.197.
    pub async fn rename(&self, title: impl Into<String>) -> Result<(), SessionError> {
        self.request(HostRequest::RenameSession { title: title.into() }).await.map(drop)
    }

    /// Makes up a title for a description, and gives it to the session if `keep`. Since 2.1.197.
    pub async fn generate_title(
        &self,
        description: impl Into<String>,
        keep: bool,
    ) -> Result<Option<String>, SessionError> {
        let request = HostRequest::GenerateSessionTitle { description: description.into(), persist: keep };
        Ok(self.typed::<GeneratedTitle>(request).await?.title)
    }

    /// The conversation as plain text. Since 2.1.325.
    pub async fn export(&self) -> Result<ExportedConversation, SessionError> {
        self.typed(HostRequest::ExportConversation).await
    }

    async fn typed<T: DeserializeOwned>(&self, request: HostRequest) -> Result<T, SessionError> {
        read(self.request(request).await?)
    }
}

fn read<T: DeserializeOwned>(answer: Value) -> Result<T, SessionError> {
    // An answer without content is an empty object.
    let answer = if answer.is_null() { Value::Object(Map::new()) } else { answer };
    serde_json::from_value(answer)
        .map_err(|error| SessionError::UnreadableAnswer { reason: error.to_string() })
}
