//! What a session is started with.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use weir_process::{Environment, LogOptions, ProbeCache, Sandbox, Secrets, StopOptions, Transport};
use weir_transcript::{Fold, FoldOptions};
use weir_wire::{HookRegistration, InitializeRequest, SessionId};

use crate::folder::{FolderPolicy, FolderTrust};
use crate::handler::Handler;
use crate::machine::{Greeting, Limits, MachineSettings, session_fold};
use crate::observer::Observer;

/// What a session is started with.
///
/// ```
/// use weir_session::SessionOptions;
///
/// let options = SessionOptions::new()
///     .cwd("/workspace/demo")
///     .model("opus")
///     .allowed_tools(["Read", "Bash(git:*)"]);
/// assert_eq!(options.model.as_deref(), Some("opus"));
/// ```
#[non_exhaustive]
pub struct SessionOptions {
    /// The CLI; looked for where none is given.
    pub program: Option<PathBuf>,
    /// What is known of CLIs, shared between sessions and kept over starts.
    pub probe_cache: Option<Arc<ProbeCache>>,
    /// Where it works; our own folder where none is given.
    pub cwd: Option<PathBuf>,
    /// Where that may lie, and whether the settings that lie there count. Looked at before each start of a process.
    pub folder: FolderPolicy,
    /// A fence around the CLI and everything that it runs, if there is to be one.
    pub sandbox: Option<Sandbox>,
    /// Which conversation.
    pub conversation: Conversation,
    /// The model.
    pub model: Option<String>,
    /// The model to use when that one is overloaded.
    pub fallback_model: Option<String>,
    /// Replaces the CLI's own system prompt.
    pub system_prompt: Option<String>,
    /// Is added to the system prompt.
    pub append_system_prompt: Option<String>,
    /// The tools that there are; all of the CLI's where nothing is said. A version that cannot be told gets the others as
    /// forbidden ones. Those of an MCP server count by their full name or by `mcp__SERVER`: where none is named, the CLI
    /// starts no servers of its settings. See [`crate::tools_of_rules`].
    pub tools: Option<Vec<String>>,
    /// Tools, or rules such as `Bash(git:*)`, that need no permission. This restricts nothing: see `tools`.
    pub allowed_tools: Vec<String>,
    /// Tools that must not be used.
    pub disallowed_tools: Vec<String>,
    /// What is allowed without asking: `default`, `acceptEdits`, `plan`, …; `default` where nothing is said, whatever the
    /// user's settings say.
    pub permission_mode: Option<String>,
    /// The JSON Schema that answers must fit. The CLI gets it on its standard input; a version that cannot do this is
    /// refused when its process is started.
    pub output_schema: Option<serde_json::Value>,
    /// More folders that it may work in.
    pub add_dirs: Vec<PathBuf>,
    /// Most rounds with the model in a turn.
    pub max_turns: Option<u32>,
    /// What the conversation may cost, in dollars.
    pub max_cost_usd: Option<f64>,
    /// Whether the CLI keeps the conversation on disk. If it does not, what was said is gone with its process: the
    /// next one starts over, and the view says that the conversation was forked.
    pub persistence: bool,
    /// Whether text is wanted while it is written.
    pub partial_messages: bool,
    /// Whether the text of sub-agents is wanted.
    pub subagent_text: bool,
    /// Hooks that the handler runs.
    pub hooks: Vec<HookRegistration>,
    /// MCP servers that the handler plays.
    pub mcp_servers: Vec<String>,
    /// What starts the MCP servers that live in our own process.
    #[cfg(feature = "mcp")]
    pub(crate) served: Vec<(String, crate::mcp::Factory)>,
    /// Arguments that come before all others, where the program is not the CLI itself but knows how to be one.
    pub leading_args: Vec<OsString>,
    /// More arguments for the CLI, after ours.
    pub extra_args: Vec<OsString>,
    /// What the CLI finds in its environment.
    pub environment: Environment,
    /// What its output is connected to.
    pub transport: Transport,
    /// Longest line that is kept whole.
    pub line_limit: Option<usize>,
    /// Where raw logs go.
    pub log: Option<LogOptions>,
    /// What is masked in logs.
    pub secrets: Secrets,
    /// A folder for locks and for the list of live processes.
    pub state_directory: Option<PathBuf>,
    /// Whether nobody else may work in the same folder. Needs a state folder.
    pub lock_workspace: bool,
    /// Who decides what the CLI asks; without one, the CLI denies by itself.
    pub handler: Option<Arc<dyn Handler>>,
    /// Who sees everything.
    pub observer: Option<Box<dyn Observer>>,
    /// Whether a process stays after its turn. Otherwise every message gets a process of its own.
    pub keep_process: bool,
    /// Whether the CLI is asked if it is ready. Off for one that is too old to answer: it is taken for ready when it
    /// runs, and there are no hooks and no MCP servers of ours.
    pub handshake: bool,
    /// How long things may take.
    pub limits: Limits,
    /// How patient we are with a process that should end.
    pub stop: StopOptions,
    /// How much of the conversation is kept in memory: the last 512 entries, and 512 bytes of a tool's output. A
    /// program that shows more of it raises `output_limit`.
    pub fold: FoldOptions,
    /// The conversation so far, folded from a log of it. The view goes on from there: numbers of entries and turns,
    /// costs, deliveries. What was left open in it ends, because its process is gone; a message that was never
    /// written stays queued in the view until it is sent again under its id. Where `conversation` does not name a
    /// session, it goes on with the one of the history.
    pub history: Option<Box<Fold>>,
}

/// Which conversation to have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Conversation {
    /// A new one.
    #[default]
    New,
    /// A new one of this name, which must be a UUID.
    Named(SessionId),
    /// Go on with this one.
    Resume(SessionId),
    /// Go on with a copy of this one.
    Fork(SessionId),
    /// Go on with a copy of the part of this one that ends with a line of it.
    ForkAt {
        /// The conversation.
        session: SessionId,
        /// The uuid of the last line that belongs to the copy.
        line: String,
    },
    /// Go on with the newest one of the folder, whosever it is, or begin one.
    Continue,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            program: None,
            probe_cache: None,
            cwd: None,
            folder: FolderPolicy::default(),
            sandbox: None,
            conversation: Conversation::New,
            model: None,
            fallback_model: None,
            system_prompt: None,
            append_system_prompt: None,
            tools: None,
            allowed_tools: Vec::new(),
            disallowed_tools: Vec::new(),
            permission_mode: None,
            output_schema: None,
            add_dirs: Vec::new(),
            max_turns: None,
            max_cost_usd: None,
            persistence: true,
            partial_messages: true,
            subagent_text: false,
            hooks: Vec::new(),
            mcp_servers: Vec::new(),
            #[cfg(feature = "mcp")]
            served: Vec::new(),
            leading_args: Vec::new(),
            extra_args: Vec::new(),
            environment: Environment::inherit(),
            transport: Transport::Pipe,
            line_limit: None,
            log: None,
            secrets: Secrets::new(),
            state_directory: None,
            lock_workspace: false,
            handler: None,
            observer: None,
            keep_process: true,
            handshake: true,
            limits: Limits::default(),
            stop: StopOptions::default(),
            fold: session_fold(),
            history: None,
        }
    }
}

macro_rules! setters {
    ($( $(#[$doc:meta])* $name:ident: $type:ty = $value:expr; )*) => {
        $(
            $(#[$doc])*
            #[must_use]
            pub fn $name(mut self, $name: impl Into<$type>) -> Self {
                self.$name = $value($name.into());
                self
            }
        )*
    };
}

impl SessionOptions {
    /// A new conversation in our own folder, with the CLI that is found.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Uses this CLI.
        program: PathBuf = Some;
        /// Works in this folder.
        cwd: PathBuf = Some;
        /// Uses this model.
        model: String = Some;
        /// Replaces the CLI's own system prompt.
        system_prompt: String = Some;
        /// Adds to the system prompt.
        append_system_prompt: String = Some;
        /// Allows things without asking.
        permission_mode: String = Some;
        /// Limits the cost of the conversation, in dollars.
        max_cost_usd: f64 = Some;
        /// Keeps locks and the list of live processes here.
        state_directory: PathBuf = Some;
        /// Finds this in the CLI's environment.
        environment: Environment = std::convert::identity;
        /// Has this conversation.
        conversation: Conversation = std::convert::identity;
        /// Limits how long things may take.
        limits: Limits = std::convert::identity;
    }

    /// Goes on with this conversation.
    #[must_use]
    pub fn resume(self, id: impl Into<SessionId>) -> Self {
        self.conversation(Conversation::Resume(id.into()))
    }

    /// Goes on with a copy of this conversation.
    #[must_use]
    pub fn fork(self, id: impl Into<SessionId>) -> Self {
        self.conversation(Conversation::Fork(id.into()))
    }

    /// Gives it these tools and no others.
    #[must_use]
    pub fn tools<T: Into<String>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.tools = Some(tools.into_iter().map(Into::into).collect());
        self
    }

    /// Allows these tools, or rules such as `Bash(git:*)`, without asking.
    #[must_use]
    pub fn allowed_tools<T: Into<String>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.allowed_tools.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Forbids these tools.
    #[must_use]
    pub fn disallowed_tools<T: Into<String>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.disallowed_tools.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Lets the settings, hooks, MCP servers and instructions count that lie in the folder. They run before anyone is asked,
    /// so this is for a folder whose files a person knows.
    #[must_use]
    pub fn load_project_settings(mut self) -> Self {
        self.folder.trust = FolderTrust::Load;
        self
    }

    /// Lets this handler decide what the CLI asks.
    #[must_use]
    pub fn handler(mut self, handler: impl Handler) -> Self {
        self.handler = Some(Arc::new(handler));
        self
    }

    /// Gives the model the tools of an MCP server that lives in our own process. The model knows them as
    /// `mcp__NAME__TOOL`; like any other tool they need a permission, for example by
    /// `.allowed_tools(["mcp__NAME"])`.
    ///
    /// `make` makes the server anew for every process of the CLI, so a server has one client and need not tell
    /// clients apart. What is to outlive a process belongs into something that `make` clones. The server ends with
    /// the session.
    ///
    /// Calls run in tasks of their own. One that panics becomes an error that the model sees; one that the CLI takes
    /// back is told so by the token in its context. What the server sends by itself (progress, log messages, changes
    /// of its lists, requests) reaches the CLI.
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

    /// Lets this observer see everything.
    #[must_use]
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.observer = Some(Box::new(observer));
        self
    }

    /// Goes on from this history.
    #[must_use]
    pub fn history(mut self, history: Fold) -> Self {
        self.history = Some(Box::new(history));
        self
    }

    /// Starts a process for each message and lets it end afterwards.
    #[must_use]
    pub fn process_per_message(mut self) -> Self {
        self.keep_process = false;
        self
    }
}

impl SessionOptions {
    /// What the machine has to know of them.
    pub(crate) fn machine_settings(&self) -> MachineSettings {
        let (resume, fork, fork_at) = match &self.conversation {
            Conversation::Resume(id) => (Some(id.clone()), false, None),
            Conversation::Fork(id) => (Some(id.clone()), true, None),
            Conversation::ForkAt { session, line } => (Some(session.clone()), true, Some(line.clone())),
            _ => (None, false, None),
        };
        let wants_nothing =
            self.hooks.is_empty() && self.mcp_servers.is_empty() && self.output_schema.is_none();
        let greeting = if !self.handshake {
            Greeting::None
        } else if wants_nothing {
            Greeting::Plain
        } else {
            let schema = self.output_schema.iter().map(|schema| ("jsonSchema".to_owned(), schema.clone()));
            Greeting::With(Box::new(InitializeRequest {
                hooks: self.hooks.clone(),
                sdk_mcp_servers: self.mcp_servers.clone(),
                extra: schema.collect(),
            }))
        };
        MachineSettings {
            resume,
            fork,
            fork_at,
            cwd: self.cwd.as_deref().and_then(resolved),
            greeting,
            keep_process: self.keep_process,
            persistence: self.persistence,
            limits: self.limits.clone(),
            max_cost_usd: self.max_cost_usd,
            fold: self.fold.clone(),
        }
    }
}

/// A folder as the CLI names it.
fn resolved(folder: &std::path::Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?.to_string_lossy().into_owned();
    Some(folder.strip_prefix(r"\\?\").map(str::to_owned).unwrap_or(folder))
}

impl std::fmt::Debug for SessionOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Prompts and environments do not belong into logs.
        f.debug_struct("SessionOptions")
            .field("program", &self.program)
            .field("cwd", &self.cwd)
            .field("conversation", &self.conversation)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}
