//! Options of a session.

mod setters;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use weir_process::{Environment, LogOptions, OsUser, ProbeCache, Sandbox, Secrets, StopOptions, Transport};
use weir_transcript::{Fold, FoldOptions};
use weir_wire::{CliSessionId, HookRegistration, McpServerConfig};

use crate::folder::FolderPolicy;
use crate::handler::Handler;
use crate::hooks::HookFunction;
use crate::introduction::introduction;
use crate::machine::{Greeting, Limits, MachineSettings, session_fold};
use crate::observer::Observer;
use crate::shared_fold::SharedFold;
use crate::spares::Spares;
use crate::spec::SessionSpec;

/// Options of a session.
///
/// ```
/// use weir_session::SessionOptions;
///
/// let options = SessionOptions::new()
///     .cwd("/workspace/demo")
///     .model("opus")
///     .allowed_tools(["Read", "Bash(git:*)"]);
/// assert_eq!(options.spec.model.as_deref(), Some("opus"));
/// ```
#[non_exhaustive]
pub struct SessionOptions {
    /// The CLI; searched for if not given.
    pub program: Option<PathBuf>,
    /// Known capabilities of CLIs, shared between sessions and kept across restarts.
    pub probe_cache: Option<Arc<ProbeCache>>,
    /// Working directory; our own if not given.
    pub cwd: Option<PathBuf>,
    /// Which folders are allowed, and whether their own settings are loaded. Checked before each start of a
    /// process.
    pub folder: FolderPolicy,
    /// The user of the system that the CLI runs as, if not ours: only root can start it as another one. Cannot be combined
    /// with a sandbox.
    pub user: Option<OsUser>,
    /// Sandbox around the CLI and everything it runs, if any.
    pub sandbox: Option<Sandbox>,
    /// Which session to start or resume.
    pub origin: Origin,
    /// What it is to be like.
    pub spec: SessionSpec,
    /// Text in front of the spec's `append_system_prompt`, for rules of the program that are not part of what the
    /// session is to be like.
    pub rules: Option<String>,
    /// More folders that it may work in.
    pub add_dirs: Vec<PathBuf>,
    /// Whether to receive text while it is being written.
    pub partial_messages: bool,
    /// Whether to receive the text of sub-agents, from versions that can tell it (since 2.1.197).
    pub subagent_text: bool,
    /// Title of a new session; by default the CLI makes one up.
    pub title: Option<String>,
    /// Other names for tools: a call of the first name is a call of the second.
    pub tool_aliases: BTreeMap<String, String>,
    /// MCP servers that the CLI starts or connects to, by name.
    pub mcp_config: BTreeMap<String, McpServerConfig>,
    /// Whether only these servers, those that the handler implements and those in our own process exist, and none from
    /// settings or plugins.
    pub strict_mcp: bool,
    /// Folders with plugins.
    pub plugin_dirs: Vec<PathBuf>,
    /// Settings that come before those of the user and the folder, in the form of the CLI's settings files.
    pub settings: Option<Map<String, Value>>,
    /// Which settings files are loaded; those that [`SessionOptions::folder`] allows by default, and never others.
    pub setting_sources: Option<Vec<SettingSource>>,
    /// File for the CLI's own debug log.
    pub debug_file: Option<PathBuf>,
    /// Kinds of dialogs that the handler shows and answers, such as `refusal_fallback_prompt`. Without the kind, the CLI
    /// does what it does without a dialog.
    pub dialogs: Vec<String>,
    /// The format of previews in the choices of a question; without it there are none.
    pub question_previews: Option<PreviewFormat>,
    /// Restrictions that no settings file can loosen, in the form of the CLI's settings files. Other users of the machine
    /// can read them.
    pub managed_settings: Option<Map<String, Value>>,
    /// The checkout of which the working directory is a worktree: settings, hooks, MCP servers and the folder `.claude`
    /// come from there. Only with [`SessionOptions::load_project_settings`].
    pub project_config_root: Option<PathBuf>,
    /// For [`Origin::ForkAt`]: the message whose turn is dropped. The CLI refuses the fork if it would drop more.
    pub resume_drops_turn: Option<String>,
    /// Hooks that the handler runs; for functions see [`SessionOptions::hook`].
    pub hooks: Vec<HookRegistration>,
    /// Functions that answer hooks, by the id that the CLI calls back with.
    pub(crate) hook_functions: Vec<(String, HookFunction)>,
    /// MCP servers that the handler implements.
    pub mcp_servers: Vec<String>,
    /// How long a call of an MCP server that the handler implements or that runs in our own process may take, by name; at
    /// least a second. Since 2.1.325.
    pub mcp_server_timeouts: BTreeMap<String, Duration>,
    /// Factories of the MCP servers that run in our own process.
    #[cfg(feature = "mcp")]
    pub(crate) served: Vec<(String, crate::mcp::Factory)>,
    /// Arguments before all others, for a program that is not the CLI itself but can act as one.
    pub leading_args: Vec<OsString>,
    /// More arguments for the CLI, after ours.
    pub extra_args: Vec<OsString>,
    /// Environment of the CLI.
    pub environment: Environment,
    /// What its output is connected to.
    pub transport: Transport,
    /// Maximum length of a line that is kept whole.
    pub line_limit: Option<usize>,
    /// Raw log settings.
    pub log: Option<LogOptions>,
    /// Values masked in logs.
    pub secrets: Secrets,
    /// Started CLIs of which a new session takes one, so that its first content comes sooner.
    pub spares: Option<Spares>,
    /// Folder for locks and the list of live processes.
    pub state_directory: Option<PathBuf>,
    /// Whether to keep other sessions out of the same folder. Needs a state directory.
    pub lock_workspace: bool,
    /// Decides requests of the CLI; without a handler, the CLI denies them by itself.
    pub handler: Option<Arc<dyn Handler>>,
    /// Sees everything that happens.
    pub observer: Option<Box<dyn Observer>>,
    /// Whether a process stays after its turn. Otherwise every message gets its own process.
    pub keep_process: bool,
    /// Whether the CLI is asked if it is ready. Off for a version too old to answer: it counts as ready once it
    /// runs, and hooks and MCP servers of ours are not available.
    pub handshake: bool,
    /// Time limits.
    pub limits: Limits,
    /// How long each step of stopping a process may take.
    pub stop: StopOptions,
    /// How much of the session is kept in memory: the last 512 entries, and 512 bytes of a tool's output. A
    /// program that shows more raises `output_limit`.
    pub fold: FoldOptions,
    /// The session so far, folded from its log. The view continues from there: numbers of entries and turns,
    /// costs, deliveries. Anything left open in it ends, because its process is gone; a message that was never
    /// written stays queued in the view until it is sent again with the same id. If `origin` does not
    /// name a session, the one in the history is resumed.
    pub history: Option<Box<Fold>>,
    /// Takes the place of `history`, and stays with the caller: see [`SharedFold`]. Its own options apply, and not
    /// `fold`.
    pub shared_fold: Option<SharedFold>,
}

/// Whose settings files are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum SettingSource {
    /// Those of the user.
    User,
    /// Those of the folder that are shared with others.
    Project,
    /// Those of the folder that are not.
    Local,
}

impl SettingSource {
    /// Its name for the CLI.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
        }
    }
}

/// The format of previews in the choices of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PreviewFormat {
    /// Markdown.
    Markdown,
    /// HTML.
    Html,
}

impl PreviewFormat {
    /// Its name for the CLI.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Html => "html",
        }
    }
}

/// A line that separates the part of a system prompt that is the same for many sessions, and can be cached for all of
/// them, from the rest.
pub const SYSTEM_PROMPT_BOUNDARY: &str = "__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__";

/// Which session to start or resume.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Origin {
    /// A new session.
    #[default]
    New,
    /// A new session with this id, which must be a UUID.
    Named(CliSessionId),
    /// Resumes this session.
    Resume(CliSessionId),
    /// Resumes a copy of this session.
    Fork(CliSessionId),
    /// Resumes a copy of this session up to one of its lines.
    ForkAt {
        /// The session to copy.
        session: CliSessionId,
        /// The uuid of the last line that belongs to the copy.
        line: String,
    },
    /// Resumes the newest session in the folder, regardless of its creator, or starts one.
    Continue,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            program: None,
            probe_cache: None,
            cwd: None,
            folder: FolderPolicy::default(),
            user: None,
            sandbox: None,
            origin: Origin::New,
            spec: SessionSpec::default(),
            rules: None,
            add_dirs: Vec::new(),
            partial_messages: true,
            subagent_text: false,
            title: None,
            tool_aliases: BTreeMap::new(),
            mcp_config: BTreeMap::new(),
            strict_mcp: false,
            plugin_dirs: Vec::new(),
            settings: None,
            setting_sources: None,
            debug_file: None,
            dialogs: Vec::new(),
            question_previews: None,
            managed_settings: None,
            project_config_root: None,
            resume_drops_turn: None,
            hooks: Vec::new(),
            hook_functions: Vec::new(),
            mcp_servers: Vec::new(),
            mcp_server_timeouts: BTreeMap::new(),
            #[cfg(feature = "mcp")]
            served: Vec::new(),
            leading_args: Vec::new(),
            extra_args: Vec::new(),
            environment: Environment::inherit(),
            transport: Transport::Pipe,
            line_limit: None,
            log: None,
            secrets: Secrets::new(),
            spares: None,
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
            shared_fold: None,
        }
    }
}

impl SessionOptions {
    /// A new session in our own folder, with the CLI that is found.
    pub fn new() -> Self {
        Self::default()
    }

    /// The environment of the CLI, which is its user's.
    pub(crate) fn environment_of_user(&self) -> Environment {
        let given = self.environment.clone();
        match &self.user {
            Some(user) => user.environment(given),
            None => given,
        }
    }

    /// All that is appended to the system prompt.
    pub(crate) fn appended_prompt(&self) -> Option<String> {
        let parts: Vec<&str> = [&self.rules, &self.spec.append_system_prompt]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }

    /// The settings that the machine needs.
    pub(crate) fn machine_settings(&self) -> MachineSettings {
        let (resume, fork, fork_at) = match &self.origin {
            Origin::Resume(id) => (Some(id.clone()), false, None),
            Origin::Fork(id) => (Some(id.clone()), true, None),
            Origin::ForkAt { session, line } => (Some(session.clone()), true, Some(line.clone())),
            _ => (None, false, None),
        };
        let greeting = match introduction(self) {
            _ if !self.handshake => Greeting::None,
            None => Greeting::Plain,
            Some(request) => Greeting::With(Box::new(request)),
        };
        MachineSettings {
            resume,
            fork,
            fork_at,
            cwd: self.cwd.as_deref().and_then(resolved),
            greeting,
            keep_process: self.keep_process,
            persistence: !self.spec.no_session_persistence,
            limits: self.limits.clone(),
            max_cost_usd: self.spec.max_cost_usd,
            fold: self.fold.clone(),
        }
    }
}

/// The path of a folder as the CLI writes it.
fn resolved(folder: &std::path::Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?.to_string_lossy().into_owned();
    Some(folder.strip_prefix(r"\\?\").map(str::to_owned).unwrap_or(folder))
}

impl std::fmt::Debug for SessionOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Prompts and environments do not belong in logs.
        f.debug_struct("SessionOptions")
            .field("program", &self.program)
            .field("cwd", &self.cwd)
            .field("origin", &self.origin)
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}
