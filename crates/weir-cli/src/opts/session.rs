//! How a conversation is had: what `weir run` and `weir chat` share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{SandboxOpts, values};

/// How a conversation is had.
#[derive(Debug, Args)]
pub(crate) struct SessionOpts {
    /// The claude CLI; WEIR_CLAUDE names it, too, and else it is looked for
    #[arg(long, value_name = "PATH")]
    pub(crate) claude: Option<PathBuf>,

    /// The folder to work in
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,

    /// The model
    #[arg(long)]
    pub(crate) model: Option<String>,

    /// Replaces the CLI's own system prompt
    #[arg(long, value_name = "TEXT", conflicts_with = "append_system_prompt")]
    pub(crate) system_prompt: Option<String>,

    /// Is added to the system prompt
    #[arg(long, value_name = "TEXT")]
    pub(crate) append_system_prompt: Option<String>,

    #[command(flatten)]
    pub(crate) permissions: PermissionOpts,

    #[command(flatten)]
    pub(crate) conversation: ConversationOpts,

    /// Do not let the CLI keep the conversation on disk
    #[arg(long, help_heading = "Conversation")]
    pub(crate) no_session_persistence: bool,

    /// What the conversation may cost, in dollars
    #[arg(long, value_name = "USD", value_parser = values::cost, help_heading = "Limits")]
    pub(crate) max_cost: Option<f64>,

    /// Most rounds with the model in a turn
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) max_turns: Option<u32>,

    #[command(flatten)]
    pub(crate) process: ProcessOpts,

    #[command(flatten)]
    pub(crate) sandbox: SandboxOpts,
}

/// What may be done.
#[derive(Debug, Args)]
#[command(next_help_heading = "Permissions")]
pub(crate) struct PermissionOpts {
    /// The tools that there are, with commas; without it all that the CLI has
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    pub(crate) tools: Option<Vec<String>>,

    /// Tools that need no permission, with commas; rules such as `Bash(git:*)` too
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    pub(crate) allowed_tools: Vec<String>,

    /// Tools that must not be used, with commas
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    pub(crate) disallowed_tools: Vec<String>,

    /// What is allowed without asking: default, acceptEdits, plan, …
    #[arg(long, value_name = "MODE")]
    pub(crate) permission_mode: Option<String>,

    /// Never ask: what is not allowed is denied
    #[arg(long)]
    pub(crate) no_input: bool,

    /// Let the settings, hooks, MCP servers and instructions of the folder count, whatever they are; see `weir trust`
    #[arg(long)]
    pub(crate) trust_folder: bool,

    /// Let the CLI act on what is sent: `@path` reads that file without asking, a leading `/` runs a command
    ///
    /// What is typed at the prompt of `weir chat` is treated like this. A prompt that is passed as an argument or piped in
    /// often holds text of somebody else, so it is not.
    #[arg(long)]
    pub(crate) interpret: bool,
}

/// Which conversation.
#[derive(Debug, Args)]
#[command(next_help_heading = "Conversation")]
#[group(multiple = false)]
pub(crate) struct ConversationOpts {
    /// Go on with this conversation; the beginning of its id is enough
    #[arg(long, value_name = "ID", value_parser = values::session)]
    pub(crate) resume: Option<String>,

    /// Go on with the newest conversation of the folder, whosever it is
    #[arg(long)]
    pub(crate) r#continue: bool,

    /// Go on with a copy of this conversation; the beginning is enough
    #[arg(long, value_name = "ID", value_parser = values::session)]
    pub(crate) fork: Option<String>,

    /// Begin a conversation of this name
    #[arg(long, value_name = "UUID", value_parser = values::uuid)]
    pub(crate) session_id: Option<String>,
}

/// How the CLI is run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Process")]
pub(crate) struct ProcessOpts {
    /// What the CLI's output is connected to
    #[arg(long, value_enum, default_value_t = TransportOpt::Pipe)]
    pub(crate) transport: TransportOpt,

    /// Set a variable in the CLI's environment; may be repeated
    ///
    /// Values of variables whose names look like those of secrets are masked in logs and messages. Other users
    /// of the machine can read arguments: a secret is better set in the environment of Weir, which the CLI
    /// inherits.
    #[arg(long, value_name = "NAME=VALUE", value_parser = values::variable)]
    pub(crate) env: Vec<(String, String)>,

    /// Mask the value of this environment variable in logs and messages; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) secret: Vec<String>,

    /// Keep what the CLI writes and is sent, verbatim, in files in this folder
    ///
    /// Without it they are in `~/.cache/weir/logs`, of which the oldest are deleted.
    #[arg(long, value_name = "DIR")]
    pub(crate) log_dir: Option<PathBuf>,

    /// Do not keep it
    #[arg(long, conflicts_with = "log_dir")]
    pub(crate) no_log: bool,

    /// Stop if that cannot be written
    #[arg(long, requires = "log_dir")]
    pub(crate) require_log: bool,

    /// Where locks and the list of live processes are
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
