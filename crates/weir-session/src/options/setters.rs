//! Setters of session options: one for every field.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use weir_process::{Environment, LogOptions, OsUser, ProbeCache, Sandbox, Secrets, StopOptions, Transport};
use weir_transcript::{Fold, FoldOptions};
use weir_wire::{CliSessionId, HookEvent, HookInput, HookOutput, HookRegistration, McpServerConfig};

use super::{Origin, PreviewFormat, SessionOptions, SettingSource};
use crate::agents::AgentSpec;
use crate::folder::{FolderPolicy, FolderTrust};
use crate::handler::Handler;
use crate::hooks::function;
use crate::levels::{Effort, Thinking};
use crate::machine::Limits;
use crate::observer::Observer;
use crate::shared_fold::SharedFold;
use crate::spares::Spares;
use crate::spec::SessionSpec;

/// Setters of single values of the spec.
macro_rules! spec_setters {
    ($( $(#[$doc:meta])* $name:ident: $type:ty = $value:expr; )*) => {
        $(
            $(#[$doc])*
            #[must_use]
            pub fn $name(mut self, $name: impl Into<$type>) -> Self {
                self.spec.$name = $value($name.into());
                self
            }
        )*
    };
}

/// Setters that add to a list, of the spec or of the options themselves.
macro_rules! list_setters {
    ($( $(#[$doc:meta])* $name:ident($($path:ident).+): $type:ty; )*) => {
        $(
            $(#[$doc])*
            #[must_use]
            pub fn $name<T: Into<$type>>(mut self, $name: impl IntoIterator<Item = T>) -> Self {
                self.$($path).+.extend($name.into_iter().map(Into::into));
                self
            }
        )*
    };
}

impl SessionOptions {
    spec_setters! {
        /// Uses this model.
        model: String = Some;
        /// Sets how thoroughly the model works.
        effort: Effort = Some;
        /// Sets whether the model thinks before it answers.
        thinking: Thinking = Some;
        /// Limits the tokens for thinking.
        max_thinking_tokens: NonZeroU32 = Some;
        /// Tells the model how many tokens it should use for a task.
        task_budget_tokens: NonZeroU32 = Some;
        /// Works as this agent.
        agent: String = Some;
        /// Has the CLI sum up what a sub-agent is doing, every half minute.
        agent_summaries: bool = std::convert::identity;
        /// Replaces the CLI's own system prompt.
        system_prompt: String = Some;
        /// Appends to the system prompt.
        append_system_prompt: String = Some;
        /// Keeps what differs between machines and folders out of the system prompt.
        exclude_dynamic_sections: bool = std::convert::identity;
        /// Sets whether the system prompt of the first request is used for the whole session.
        system_prompt_snapshot: bool = Some;
        /// Replaces the instructions for a plan.
        plan_mode_instructions: String = Some;
        /// Sets what is allowed without asking.
        permission_mode: String = Some;
        /// Keeps nothing of the session on disk.
        no_session_persistence: bool = std::convert::identity;
        /// Keeps copies of the files that the CLI changes, so that they can be restored.
        file_checkpointing: bool = std::convert::identity;
        /// Has the stream say when each hook starts and ends.
        hook_events: bool = std::convert::identity;
        /// Has the CLI suggest the next message after each turn.
        prompt_suggestions: bool = std::convert::identity;
        /// Limits the cost of the session, in dollars.
        max_cost_usd: f64 = Some;
        /// Limits the model calls in a turn.
        max_turns: u32 = Some;
        /// Sets the JSON Schema that answers must match.
        output_schema: Value = Some;
    }

    list_setters! {
        /// Adds models to use, in this order, while the model is overloaded or not available.
        fallback_models(spec.fallback_models): String;
        /// Switches on beta features of the API.
        betas(spec.betas): String;
        /// Allows these tools, or rules such as `Bash(git:*)`, without asking.
        allowed_tools(spec.allowed_tools): String;
        /// Forbids these tools.
        disallowed_tools(spec.disallowed_tools): String;
        /// Adds kinds of dialogs that the handler shows and answers.
        dialogs(dialogs): String;
        /// Adds arguments before all others, for a program that is not the CLI itself but can act as one.
        leading_args(leading_args): std::ffi::OsString;
        /// Adds arguments for the CLI, after ours.
        extra_args(extra_args): std::ffi::OsString;
    }

    weir_base::setters! {
        /// Uses this CLI.
        program: PathBuf = Some;
        /// Shares what is known of CLIs with other sessions.
        probe_cache: Arc<ProbeCache> = Some;
        /// Sets the working directory.
        cwd: PathBuf = Some;
        /// Sets which folders are allowed, and whether their own settings are loaded.
        folder: FolderPolicy = std::convert::identity;
        /// Runs the CLI as this user of the system.
        user: OsUser = Some;
        /// Runs the CLI and everything it starts in this sandbox.
        sandbox: Sandbox = Some;
        /// Chooses the session to start or resume.
        origin: Origin = std::convert::identity;
        /// Sets all that the session is to be like.
        spec: SessionSpec = std::convert::identity;
        /// Puts rules of the program in front of what the spec appends to the system prompt.
        rules: String = Some;
        /// Sets whether text is received while it is being written.
        partial_messages: bool = std::convert::identity;
        /// Sets whether the text of sub-agents is received.
        subagent_text: bool = std::convert::identity;
        /// Gives a new session this title.
        title: String = Some;
        /// Leaves out MCP servers of settings and plugins.
        strict_mcp: bool = std::convert::identity;
        /// Sets settings that come before those of the user and the folder.
        settings: Map<String, Value> = Some;
        /// Writes the CLI's own debug log to this file.
        debug_file: PathBuf = Some;
        /// Adds previews in this format to the choices of questions.
        question_previews: PreviewFormat = Some;
        /// Sets restrictions that no settings file can loosen. Other users of the machine can read them.
        managed_settings: Map<String, Value> = Some;
        /// Takes settings, hooks and MCP servers from the checkout of which the folder is a worktree.
        project_config_root: PathBuf = Some;
        /// Sets the message whose turn a fork at a line drops.
        resume_drops_turn: String = Some;
        /// Sets the CLI's environment.
        environment: Environment = std::convert::identity;
        /// Sets what the CLI's output is connected to.
        transport: Transport = std::convert::identity;
        /// Limits the length of a line that is kept whole.
        line_limit: usize = Some;
        /// Keeps raw logs.
        log: LogOptions = Some;
        /// Sets the values that are masked in logs.
        secrets: Secrets = std::convert::identity;
        /// Takes a started CLI of these for a new session.
        spares: Spares = Some;
        /// Keeps locks and the list of live processes here.
        state_directory: PathBuf = Some;
        /// Keeps other sessions out of the same folder.
        lock_workspace: bool = std::convert::identity;
        /// Sets whether a process stays after its turn. Otherwise every message gets its own.
        keep_process: bool = std::convert::identity;
        /// Sets whether the CLI is asked if it is ready.
        handshake: bool = std::convert::identity;
        /// Sets the time limits.
        limits: Limits = std::convert::identity;
        /// Sets how long each step of stopping a process may take.
        stop: StopOptions = std::convert::identity;
        /// Sets how much of the session is kept in memory.
        fold: FoldOptions = std::convert::identity;
        /// Continues from this history, which stays with the caller.
        shared_fold: SharedFold = Some;
    }

    /// Resumes this session.
    #[must_use]
    pub fn resume(self, id: impl Into<CliSessionId>) -> Self {
        self.origin(Origin::Resume(id.into()))
    }

    /// Resumes a copy of this session.
    #[must_use]
    pub fn fork(self, id: impl Into<CliSessionId>) -> Self {
        self.origin(Origin::Fork(id.into()))
    }

    /// Starts a new session with this id, which must be a UUID.
    #[must_use]
    pub fn named(self, id: impl Into<CliSessionId>) -> Self {
        self.origin(Origin::Named(id.into()))
    }

    /// Resumes a copy of this session up to one of its lines.
    #[must_use]
    pub fn fork_at(self, session: impl Into<CliSessionId>, line: impl Into<String>) -> Self {
        self.origin(Origin::ForkAt { session: session.into(), line: line.into() })
    }

    /// Resumes the newest session in the folder, or starts one.
    #[must_use]
    pub fn continue_newest(self) -> Self {
        self.origin(Origin::Continue)
    }

    /// Loads these settings files and no others; those of the folder only if it is trusted.
    #[must_use]
    pub fn setting_sources(mut self, sources: impl IntoIterator<Item = SettingSource>) -> Self {
        self.setting_sources = Some(sources.into_iter().collect());
        self
    }

    /// Makes every answer a value of this type: see [`crate::Session::ask_as`].
    #[cfg(feature = "schemars")]
    #[must_use]
    pub fn output_type<T: schemars::JsonSchema>(self) -> Self {
        self.output_schema(Value::from(schemars::schema_for!(T)))
    }

    /// Adds an agent that the model can start.
    #[must_use]
    pub fn define_agent(mut self, name: impl Into<String>, agent: AgentSpec) -> Self {
        self.spec.agents.insert(name.into(), agent);
        self
    }

    /// Limits the skills that the model sees.
    #[must_use]
    pub fn skills<T: Into<String>>(mut self, skills: impl IntoIterator<Item = T>) -> Self {
        self.spec.skills = Some(skills.into_iter().map(Into::into).collect());
        self
    }

    /// Makes a call of the tool `name` a call of `tool`.
    #[must_use]
    pub fn tool_alias(mut self, name: impl Into<String>, tool: impl Into<String>) -> Self {
        self.tool_aliases.insert(name.into(), tool.into());
        self
    }

    /// Adds an MCP server that the CLI starts or connects to.
    #[must_use]
    pub fn external_mcp_server(mut self, name: impl Into<String>, server: McpServerConfig) -> Self {
        self.mcp_config.insert(name.into(), server);
        self
    }

    /// Loads the plugins in this folder.
    #[must_use]
    pub fn plugin_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.plugin_dirs.push(folder.into());
        self
    }

    /// Lets the session work in this folder as well.
    #[must_use]
    pub fn add_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.add_dirs.push(folder.into());
        self
    }

    /// Limits the session to these tools.
    #[must_use]
    pub fn tools<T: Into<String>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.spec.tools = Some(tools.into_iter().map(Into::into).collect());
        self
    }

    /// Loads the settings, hooks, MCP servers and instructions in the folder. They run before any permission is
    /// asked for, so use this only for a folder whose files a person knows.
    #[must_use]
    pub fn load_project_settings(mut self) -> Self {
        self.folder.trust = FolderTrust::Load;
        self
    }

    /// Runs a function when the CLI calls a hook: before a tool runs, when the agent has finished, and so on. `tools` is
    /// a pattern for the names of tools, for events that concern one.
    ///
    /// ```
    /// use weir_session::SessionOptions;
    /// use weir_wire::{HookDetails, HookEvent, HookInput, HookOutput};
    ///
    /// let options = SessionOptions::new().hook(HookEvent::PreToolUse, Some("Bash"), |call: HookInput| async move {
    ///     match call.details {
    ///         HookDetails::PreToolUse { tool_input, .. } if tool_input["command"] == "reboot" => {
    ///             HookOutput::deny("the machine stays on")
    ///         }
    ///         _ => HookOutput::new(),
    ///     }
    /// });
    /// ```
    #[must_use]
    pub fn hook<F, O>(self, event: impl Into<HookEvent>, tools: Option<&str>, run: F) -> Self
    where
        F: Fn(HookInput) -> O + Send + Sync + 'static,
        O: Future<Output = HookOutput> + Send + 'static,
    {
        let matcher = tools.map(str::to_owned);
        self.hook_with(HookRegistration { matcher, ..HookRegistration::new(event, "") }, run)
    }

    /// Like [`SessionOptions::hook`], with a time limit or what becomes of a failure. The ids in `registration` are
    /// replaced.
    #[must_use]
    pub fn hook_with<F, O>(mut self, mut registration: HookRegistration, run: F) -> Self
    where
        F: Fn(HookInput) -> O + Send + Sync + 'static,
        O: Future<Output = HookOutput> + Send + 'static,
    {
        let id = format!("weir-function-{}", self.hook_functions.len());
        registration.callback_ids = vec![id.clone()];
        self.hooks.push(registration);
        self.hook_functions.push((id, function(run)));
        self
    }

    /// Adds a hook that the handler runs, as [`crate::Ask::Hook`] with the id in `registration`.
    #[must_use]
    pub fn handler_hook(mut self, registration: HookRegistration) -> Self {
        self.hooks.push(registration);
        self
    }

    /// Adds an MCP server that the handler implements, as [`crate::Ask::Mcp`].
    #[must_use]
    pub fn handler_mcp_server(mut self, name: impl Into<String>) -> Self {
        self.mcp_servers.push(name.into());
        self
    }

    /// Limits how long a call of this MCP server may take, which the handler implements or which runs in our own process.
    #[must_use]
    pub fn mcp_server_timeout(mut self, name: impl Into<String>, limit: Duration) -> Self {
        self.mcp_server_timeouts.insert(name.into(), limit);
        self
    }

    /// Sets the handler that decides requests of the CLI.
    #[must_use]
    pub fn handler(mut self, handler: impl Handler) -> Self {
        self.handler = Some(Arc::new(handler));
        self
    }

    /// Gives the model the tools of an MCP server that runs in our own process. The model knows them as
    /// `mcp__NAME__TOOL`; like any other tool they need permission, for example through
    /// `.allowed_tools(["mcp__NAME"])`.
    ///
    /// `make` creates a new server for every process of the CLI, so a server has one client and need not
    /// distinguish clients. State that outlives a process belongs in something that `make` clones. The server
    /// ends with the session.
    ///
    /// Each call runs in its own task. A panic becomes an error that the model sees; a call that the CLI
    /// cancels is notified through the token in its context. Messages that the server sends on its own
    /// (progress, log messages, list changes, requests) reach the CLI.
    #[cfg(feature = "mcp")]
    #[must_use]
    pub fn mcp_server<S: rmcp::ServerHandler>(
        mut self,
        name: impl Into<String>,
        make: impl Fn() -> S + Send + Sync + 'static,
    ) -> Self {
        let name = name.into();
        self.served.retain(|(known, _)| *known != name);
        if !self.mcp_servers.contains(&name) {
            self.mcp_servers.push(name.clone());
        }
        self.served.push((name, crate::mcp::factory(make)));
        self
    }

    /// Sets an observer, which sees everything that happens.
    #[must_use]
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.observer = Some(Box::new(observer));
        self
    }

    /// Continues from this history.
    #[must_use]
    pub fn history(mut self, history: Fold) -> Self {
        self.history = Some(Box::new(history));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DenyAll;

    /// Every field is named, so that a new one does not compile before it has a setter.
    #[test]
    fn every_field_has_a_setter() {
        let few = NonZeroU32::MIN;
        let settings = || Map::from_iter([("model".to_owned(), Value::from("opus"))]);
        let options = SessionOptions::new()
            .program("/claude")
            .probe_cache(Arc::new(ProbeCache::in_memory()))
            .cwd("/folder")
            .folder(FolderPolicy { roots: vec!["/folder".into()], ..FolderPolicy::default() })
            .sandbox(Sandbox::new("/home"))
            .continue_newest()
            .spec(SessionSpec { max_turns: Some(2), ..SessionSpec::default() })
            .rules("r")
            .add_dir("/more")
            .partial_messages(false)
            .subagent_text(true)
            .title("t")
            .tool_alias("a", "b")
            .external_mcp_server("m", McpServerConfig::stdio("sh", ["-c", "true"]))
            .strict_mcp(true)
            .plugin_dir("/p")
            .settings(settings())
            .setting_sources([SettingSource::User])
            .debug_file("/d")
            .dialogs(["k"])
            .question_previews(PreviewFormat::Html)
            .managed_settings(settings())
            .project_config_root("/checkout")
            .resume_drops_turn("m")
            .hook(HookEvent::Stop, None, |_| async { HookOutput::new() })
            .handler_hook(HookRegistration::new(HookEvent::Stop, "mine"))
            .handler_mcp_server("s")
            .mcp_server_timeout("s", Duration::from_secs(1))
            .leading_args(["x"])
            .extra_args(["y"])
            .environment(Environment::empty())
            .transport(Transport::Pty)
            .line_limit(1usize)
            .log(LogOptions::new("/logs", "m", "n"))
            .secrets(Secrets::new())
            .spares(Spares::new(0))
            .state_directory("/state")
            .lock_workspace(true)
            .handler(DenyAll)
            .keep_process(false)
            .handshake(false)
            .limits(Limits::default())
            .stop(StopOptions::now())
            .fold(FoldOptions::default())
            .history(Fold::new(FoldOptions::default()))
            .effort(Effort::Low)
            .thinking(Thinking::Disabled)
            .max_thinking_tokens(few)
            .task_budget_tokens(few);
        let SessionOptions {
            program,
            probe_cache,
            cwd,
            folder,
            user: _,
            sandbox,
            origin,
            spec,
            rules,
            add_dirs,
            partial_messages,
            subagent_text,
            title,
            tool_aliases,
            mcp_config,
            strict_mcp,
            plugin_dirs,
            settings,
            setting_sources,
            debug_file,
            dialogs,
            question_previews,
            managed_settings,
            project_config_root,
            resume_drops_turn,
            hooks,
            hook_functions,
            mcp_servers,
            mcp_server_timeouts,
            #[cfg(feature = "mcp")]
                served: _,
            leading_args,
            extra_args,
            environment: _,
            transport,
            line_limit,
            log,
            secrets: _,
            spares,
            state_directory,
            lock_workspace,
            handler,
            observer: _,
            keep_process,
            handshake,
            limits: _,
            stop,
            fold: _,
            history,
            shared_fold: _,
        } = options;
        assert!(program.is_some() && probe_cache.is_some() && cwd.is_some() && sandbox.is_some());
        assert!(rules.is_some() && title.is_some() && settings.is_some() && managed_settings.is_some());
        assert!(setting_sources.is_some() && debug_file.is_some() && question_previews.is_some());
        assert!(project_config_root.is_some() && resume_drops_turn.is_some() && line_limit.is_some());
        assert!(log.is_some() && spares.is_some() && state_directory.is_some() && handler.is_some());
        assert!(history.is_some() && strict_mcp && lock_workspace && subagent_text);
        assert!(!partial_messages && !keep_process && !handshake);
        assert_eq!((folder.roots.len(), origin, stop), (1, Origin::Continue, StopOptions::now()));
        assert_eq!((add_dirs.len(), tool_aliases.len(), mcp_config.len(), plugin_dirs.len()), (1, 1, 1, 1));
        assert_eq!((dialogs.len(), hooks.len(), hook_functions.len(), mcp_servers.len()), (1, 2, 1, 1));
        assert_eq!((mcp_server_timeouts.len(), leading_args.len(), extra_args.len()), (1, 1, 1));
        assert_eq!((transport, spec.max_turns, spec.effort), (Transport::Pty, Some(2), Some(Effort::Low)));
    }

    /// The same for the spec.
    #[test]
    fn every_field_of_the_spec_has_a_setter() {
        let few = NonZeroU32::MIN;
        let set = SessionOptions::new()
            .model("m")
            .fallback_models(["f"])
            .effort(Effort::Low)
            .thinking(Thinking::Disabled)
            .max_thinking_tokens(few)
            .task_budget_tokens(few)
            .betas(["b"])
            .agent("a")
            .define_agent("a", AgentSpec::new("d", "p"))
            .skills(["s"])
            .agent_summaries(true)
            .system_prompt("x")
            .append_system_prompt("y")
            .exclude_dynamic_sections(true)
            .system_prompt_snapshot(false)
            .plan_mode_instructions("i")
            .tools(["Read"])
            .allowed_tools(["Read"])
            .disallowed_tools(["Bash"])
            .permission_mode("plan")
            .no_session_persistence(true)
            .file_checkpointing(true)
            .hook_events(true)
            .prompt_suggestions(true)
            .max_cost_usd(1.0)
            .max_turns(1u32)
            .output_schema(serde_json::json!({"type": "object"}))
            .spec;
        // A field that is not set is not written.
        let written = serde_json::to_value(&set).unwrap();
        let SessionSpec {
            model: _,
            fallback_models: _,
            effort: _,
            thinking: _,
            max_thinking_tokens: _,
            task_budget_tokens: _,
            betas: _,
            agent: _,
            agents: _,
            skills: _,
            agent_summaries: _,
            system_prompt: _,
            append_system_prompt: _,
            exclude_dynamic_sections: _,
            system_prompt_snapshot: _,
            plan_mode_instructions: _,
            tools: _,
            allowed_tools: _,
            disallowed_tools: _,
            permission_mode: _,
            no_session_persistence: _,
            file_checkpointing: _,
            hook_events: _,
            prompt_suggestions: _,
            max_cost_usd: _,
            max_turns: _,
            output_schema: _,
        } = set;
        assert_eq!(written.as_object().unwrap().len(), 27, "{written}");
    }
}
