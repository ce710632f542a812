//! Asks the CLI of a session about itself, and changes what belongs to the session alone. Most of it needs a running
//! process.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use weir_session::{Pooled, SessionError};
use weir_store::SessionId;
use weir_wire::{HostRequest, McpServerConfig, TaskId};

use super::Host;
use crate::error::HostError;
use crate::info::SessionInfo;
use crate::panels::{
    AccountUsage, ContextReport, ExtensionList, McpLogin, McpServers, OF_PROCESS, OF_START, RemoveRule,
    RuleInfo, RuleList, TaskOutputTail,
};
use crate::settings::{Actor, check_word};

impl Host {
    /// The MCP servers of a session.
    ///
    /// # Errors
    /// If no process runs for it.
    pub async fn mcp_servers(&self, id: &SessionId) -> Result<McpServers, HostError> {
        let status = self.running(id).await?.session().mcp_status().await?;
        Ok(McpServers { servers: status.servers.into_iter().map(Into::into).collect() })
    }

    /// Connects to an MCP server again.
    ///
    /// # Errors
    /// If no process runs, there is no such server, or it cannot be reached.
    pub async fn reconnect_mcp_server(
        &self,
        id: &SessionId,
        server: &str,
        by: &Actor,
    ) -> Result<McpServers, HostError> {
        check_word("MCP server", Some(server))?;
        self.running(id).await?.session().reconnect_mcp_server(server).await?;
        self.noted(id, "mcp reconnect", by);
        self.mcp_servers(id).await
    }

    /// Switches an MCP server on or off, until the process ends.
    ///
    /// # Errors
    /// If no process runs, or there is no such server.
    pub async fn toggle_mcp_server(
        &self,
        id: &SessionId,
        server: &str,
        enabled: bool,
        by: &Actor,
    ) -> Result<McpServers, HostError> {
        check_word("MCP server", Some(server))?;
        self.running(id).await?.session().toggle_mcp_server(server, enabled).await?;
        self.noted(id, if enabled { "mcp on" } else { "mcp off" }, by);
        self.mcp_servers(id).await
    }

    /// Replaces the MCP servers that were added for the running process before. A server may be any program, so this is
    /// for the owner.
    ///
    /// # Errors
    /// If no process runs, or the CLI refuses.
    pub async fn set_mcp_servers(
        &self,
        id: &SessionId,
        servers: BTreeMap<String, McpServerConfig>,
        by: &Actor,
    ) -> Result<McpServers, HostError> {
        for name in servers.keys() {
            check_word("MCP server", Some(name))?;
        }
        let set = self.running(id).await?.session().set_mcp_servers(servers).await?;
        self.noted(id, "mcp servers", by);
        let mut all = self.mcp_servers(id).await?;
        for server in &mut all.servers {
            server.error = server.error.take().or_else(|| set.errors.get(&server.name).cloned());
        }
        Ok(all)
    }

    /// Begins the login to an MCP server.
    ///
    /// # Errors
    /// If no process runs, or the server takes no login.
    pub async fn log_in_to_mcp_server(
        &self,
        id: &SessionId,
        server: &str,
        by: &Actor,
    ) -> Result<McpLogin, HostError> {
        check_word("MCP server", Some(server))?;
        let fields: Map<String, Value> = [("serverName".to_owned(), json!(server))].into_iter().collect();
        let request = HostRequest::Other { subtype: "mcp_authenticate".to_owned(), fields };
        let answer = self.running(id).await?.session().request(request).await?;
        self.noted(id, "mcp login", by);
        let url = answer.get("authUrl").and_then(Value::as_str);
        // It is opened by a click, so it must be a page.
        let url = url.filter(|url| url.starts_with("https://") || url.starts_with("http://"));
        Ok(McpLogin { url: url.map(str::to_owned) })
    }

    /// The end of the output of a background task.
    ///
    /// # Errors
    /// If no process runs, or it knows no such task.
    pub async fn task_output(&self, id: &SessionId, task: &TaskId) -> Result<TaskOutputTail, HostError> {
        Ok(self.running(id).await?.session().task_output(task).await?.into())
    }

    /// What fills the context window.
    ///
    /// # Errors
    /// If no process runs, or it is too old to say.
    pub async fn context(&self, id: &SessionId) -> Result<ContextReport, HostError> {
        Ok(self.running(id).await?.session().context_usage().await?.into())
    }

    /// How much of the account's limits is used.
    ///
    /// # Errors
    /// If no process runs, or it is too old to say.
    pub async fn account_usage(&self, id: &SessionId) -> Result<AccountUsage, HostError> {
        Ok(self.running(id).await?.session().usage().await?.into())
    }

    /// The hooks, skills and plugins that are on.
    ///
    /// # Errors
    /// If no process runs.
    pub async fn extensions(&self, id: &SessionId) -> Result<ExtensionList, HostError> {
        let hooks = match self.running(id).await?.session().hooks().await {
            Ok(list) => Some(list.hooks.into_iter().map(Into::into).collect()),
            Err(SessionError::NotSupported { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let session = self.view(id).await?.session;
        let plugins = session.plugins.into_iter().map(|plugin| plugin.name).collect();
        Ok(ExtensionList { hooks, skills: session.skills, plugins })
    }

    /// The permission rules that apply.
    ///
    /// # Errors
    /// If no process runs, or it is too old to say.
    pub async fn rules(&self, id: &SessionId) -> Result<RuleList, HostError> {
        let found = self.running(id).await?.session().permission_rules().await?;
        let live = self.live(id).await?;
        let own = live.lock().kept.spec.clone();
        let mut rules: Vec<RuleInfo> = found.rules.into_iter().map(Into::into).collect();
        for rule in &mut rules {
            rule.removable = match (rule.source.as_str(), rule.behavior.as_str()) {
                (OF_PROCESS, _) => true,
                (OF_START, "allow") => own.allowed_tools.contains(&rule.rule),
                (OF_START, "deny") => own.disallowed_tools.contains(&rule.rule),
                _ => false,
            };
        }
        Ok(RuleList { rules, managed_only: found.managed_only })
    }

    /// Removes a permission rule that was made for this session. The process is replaced as soon as nothing runs in it,
    /// because it keeps its rules; all rules that were allowed with "for this session" end with it.
    ///
    /// # Errors
    /// If there is no such rule, or it comes from a file or from the owner's configuration.
    pub async fn remove_rule(
        &self,
        id: &SessionId,
        remove: &RemoveRule,
        by: &Actor,
    ) -> Result<SessionInfo, HostError> {
        let live = self.live(id).await?;
        let listed = self.rules(id).await?;
        let is_it = |rule: &&RuleInfo| {
            rule.rule == remove.rule && rule.behavior == remove.behavior && rule.source == remove.source
        };
        let rule = listed.rules.iter().find(is_it);
        let rule =
            rule.ok_or_else(|| HostError::Invalid("no such rule applies to this session".to_owned()))?;
        if !rule.removable {
            return Err(HostError::Invalid(format!(
                "the rule comes from {}, which is not part of this session; change it there",
                rule.source
            )));
        }
        {
            let mut state = live.lock();
            // Only a rule that allows is removed by a driver; one that denies protects something.
            if remove.behavior != "allow" {
                return Err(HostError::Invalid("only a rule that allows can be removed here".to_owned()));
            }
            if state.kept.spec.no_session_persistence && !state.view.turns.is_empty() {
                return Err(HostError::NotKept);
            }
            state.kept.spec.allowed_tools.retain(|own| *own != remove.rule);
            state.needs_other_process = true;
        }
        live.note("rule removed", by);
        live.refresh();
        live.kick();
        Ok(SessionInfo::clone(&live.info()))
    }

    fn noted(&self, id: &SessionId, action: &str, by: &Actor) {
        if let Some(live) = self.core.present(id) {
            live.note(action, by);
        }
    }

    /// The process of a session.
    async fn running(&self, id: &SessionId) -> Result<Pooled, HostError> {
        let session = match self.core.present(id) {
            Some(live) => live.lock().session.clone(),
            None => self.row(id).await.map(|_| None)?,
        };
        Ok(session.ok_or(SessionError::NotRunning)?)
    }
}
