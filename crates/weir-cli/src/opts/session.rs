//! Session options that `weir run` and `weir chat` share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use weir_session::{SessionSpec, SettingSource};

use super::{SandboxOpts, values};

/// Session options.
#[derive(Debug, Args)]
pub(crate) struct SessionOpts {
    /// The claude CLI; by default WEIR_CLAUDE, or else the first one found
    #[arg(long, value_name = "PATH")]
    pub(crate) claude: Option<PathBuf>,

    /// The folder to work in
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) spec: SessionSpec,

    #[command(flatten)]
    pub(crate) permissions: PermissionOpts,

    #[command(flatten)]
    pub(crate) files: FileOpts,

    #[command(flatten)]
    pub(crate) conversation: ConversationOpts,

    #[command(flatten)]
    pub(crate) fork: ForkOpts,

    #[command(flatten)]
    pub(crate) title: TitleOpts,

    #[command(flatten)]
    pub(crate) process: ProcessOpts,

    #[command(flatten)]
    pub(crate) sandbox: SandboxOpts,
}

/// Permission options.
#[derive(Debug, Args)]
#[command(next_help_heading = "Permissions")]
pub(crate) struct PermissionOpts {
    /// Never ask: deny what is not allowed
    #[arg(long)]
    pub(crate) no_input: bool,

    /// Apply the folder's settings, hooks, MCP servers and instructions, whatever they are; see `weir trust`
    #[arg(long)]
    pub(crate) trust_folder: bool,

    /// Let the CLI interpret messages: `@path` reads that file without asking, a leading `/` runs a command
    ///
    /// What is typed at the prompt of `weir chat` is always interpreted. A prompt that is passed as an argument or piped in
    /// often contains text from other sources, so by default it is not.
    #[arg(long)]
    pub(crate) interpret: bool,
}

/// Options that are files or come from files. Only for the command line: the person who types it may read and run them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Agents and settings")]
pub(crate) struct FileOpts {
    /// JSON file with agents that the model can start: `{NAME: {"description", "prompt", "tools", …}}`
    #[arg(long, value_name = "FILE")]
    pub(crate) agents: Option<PathBuf>,

    /// Work in this folder as well; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) add_dir: Vec<PathBuf>,

    /// JSON file with MCP servers, as the CLI reads it: `{"mcpServers": {…}}`; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) mcp_config: Vec<PathBuf>,

    /// Use only the MCP servers of --mcp-config, and none from settings or plugins
    #[arg(long)]
    pub(crate) strict_mcp_config: bool,

    /// Load the plugins in this folder; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) plugin_dir: Vec<PathBuf>,

    /// JSON file with settings that come before those of the user and the folder
    #[arg(long, value_name = "FILE")]
    pub(crate) settings: Option<PathBuf>,

    /// Load only these settings files: `user`, `project`, `local`, or `none`
    ///
    /// Those of a folder that is not trusted are never loaded.
    #[arg(long, value_name = "SOURCES", value_parser = values::setting_sources)]
    pub(crate) setting_sources: Option<SettingSources>,

    /// JSON file with restrictions that no settings file can loosen
    ///
    /// Its content is passed as an argument, which other users of the machine can read.
    #[arg(long, value_name = "FILE")]
    pub(crate) managed_settings: Option<PathBuf>,

    /// Take settings, hooks and MCP servers from the checkout in this folder, of which the working folder is a worktree
    #[arg(long, value_name = "DIR", requires = "trust_folder")]
    pub(crate) project_config_root: Option<PathBuf>,

    /// Call a tool by another name; may be repeated
    #[arg(long, value_name = "NAME=TOOL", value_parser = values::variable)]
    pub(crate) tool_alias: Vec<(String, String)>,

    /// Write the CLI's own debug log to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) debug_file: Option<PathBuf>,
}

/// Whose settings files are loaded.
#[derive(Debug, Clone)]
pub(crate) struct SettingSources(pub(crate) Vec<SettingSource>);

/// Selects a session.
#[derive(Debug, Args)]
#[command(next_help_heading = "Session")]
#[group(multiple = false)]
pub(crate) struct ConversationOpts {
    /// Resume this session; the beginning of its id is enough
    #[arg(long, value_name = "ID", value_parser = values::session)]
    pub(crate) resume: Option<String>,

    /// Resume the newest session of the folder, no matter who started it
    #[arg(long)]
    pub(crate) r#continue: bool,

    /// Resume a copy of this session; the beginning of its id is enough
    #[arg(long, value_name = "ID", value_parser = values::session)]
    pub(crate) fork: Option<String>,

    /// Start a new session with this id
    #[arg(long, value_name = "UUID", value_parser = values::uuid)]
    pub(crate) session_id: Option<String>,
}

/// Where a copy of a session ends.
#[derive(Debug, Args)]
#[command(next_help_heading = "Session")]
pub(crate) struct ForkOpts {
    /// With --fork: end the copy at the line with this uuid
    #[arg(long, value_name = "UUID", value_parser = values::uuid, requires = "fork")]
    pub(crate) fork_at: Option<String>,

    /// With --fork-at: drop the turn of the message with this uuid; refused if more would be dropped
    #[arg(long, value_name = "UUID", value_parser = values::uuid, requires = "fork_at")]
    pub(crate) drop_turn: Option<String>,
}

/// The name of a session.
#[derive(Debug, Args)]
#[command(next_help_heading = "Session")]
pub(crate) struct TitleOpts {
    /// Title of a new session; by default the CLI makes one up
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
}

/// Process options.
#[derive(Debug, Args)]
#[command(next_help_heading = "Process")]
pub(crate) struct ProcessOpts {
    /// What the CLI's output is connected to
    #[arg(long, value_enum, default_value_t = TransportOpt::Pipe)]
    pub(crate) transport: TransportOpt,

    /// Run the CLI as this user of the system; only root can
    #[arg(long, value_name = "USER", conflicts_with = "sandbox")]
    pub(crate) os_user: Option<String>,

    /// Set a variable in the CLI's environment; may be repeated
    ///
    /// Values of variables with names that suggest a secret are masked in logs and messages. Other users
    /// of the machine can read arguments: a secret is better set in the environment of Weir, which the CLI
    /// inherits.
    #[arg(long, value_name = "NAME=VALUE", value_parser = values::variable)]
    pub(crate) env: Vec<(String, String)>,

    /// Mask the value of this environment variable in logs and messages; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) secret: Vec<String>,

    /// Log the CLI's input and output, verbatim, to files in this folder
    ///
    /// By default they are in `~/.cache/weir/logs`, where the oldest are deleted.
    #[arg(long, value_name = "DIR")]
    pub(crate) log_dir: Option<PathBuf>,

    /// Do not keep logs
    #[arg(long, conflicts_with = "log_dir")]
    pub(crate) no_log: bool,

    /// Stop if the logs cannot be written
    #[arg(long, requires = "log_dir")]
    pub(crate) require_log: bool,

    /// The folder with locks and the list of live processes
    #[arg(long, value_name = "DIR", env = "WEIR_STATE_DIR", hide_env_values = true)]
    pub(crate) state_dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum TransportOpt {
    /// A pipe
    Pipe,
    /// A terminal in raw mode
    Pty,
}

impl From<TransportOpt> for weir_process::Transport {
    fn from(opt: TransportOpt) -> Self {
        match opt {
            TransportOpt::Pipe => Self::Pipe,
            TransportOpt::Pty => Self::Pty,
        }
    }
}
