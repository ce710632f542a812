//! Options of `weir bridge`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::SandboxOpts;

/// Connects agents to chats: Matrix, Telegram, a webhook, or this terminal
///
/// `init` writes a commented configuration, `check` logs in and reports what works, `run` runs the bridge. `try` needs no
/// account: it is a chat on this terminal.
#[derive(Debug, Args)]
pub(crate) struct BridgeOpts {
    #[command(subcommand)]
    pub(crate) command: BridgeCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BridgeCommand {
    /// Writes a commented configuration
    Init(BridgeInitOpts),
    /// Logs in to each channel and reports what works
    Check(BridgeConfigOpts),
    /// Runs the bridge until it is stopped
    Run(BridgeRunOpts),
    /// Chats with the bridge on this terminal, without any setup
    Try(BridgeTryOpts),
    /// Creates a pairing code that admits one user
    Pair(BridgePairOpts),
    /// Shows whether the bridge is running, and when it last received a message
    Status(BridgeStatusOpts),
}

#[derive(Debug, Args)]
pub(crate) struct BridgeConfigOpts {
    /// The configuration
    #[arg(long, value_name = "FILE", default_value = "weir-bridge.toml")]
    pub(crate) config: PathBuf,

    /// The claude CLI, instead of the configured one
    #[arg(long, value_name = "PATH", env = "WEIR_CLAUDE")]
    pub(crate) claude: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct BridgeRunOpts {
    #[command(flatten)]
    pub(crate) config: BridgeConfigOpts,

    #[command(flatten)]
    pub(crate) sandbox: SandboxOpts,
}

#[derive(Debug, Args)]
pub(crate) struct BridgeInitOpts {
    /// The file to write
    #[arg(value_name = "FILE", default_value = "weir-bridge.toml")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct BridgeTryOpts {
    /// The agent's working folder
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) cwd: PathBuf,

    /// The claude CLI
    #[arg(long, value_name = "PATH", env = "WEIR_CLAUDE")]
    pub(crate) claude: Option<PathBuf>,

    /// Use the simulated CLI, whatever --claude says: no account, no cost
    #[arg(long)]
    pub(crate) simulated: bool,

    /// What happens to messages while a turn runs
    #[arg(long, value_enum, default_value = "collect")]
    pub(crate) queue: QueueOpt,

    /// Show a line with cost, tokens and time below each answer
    #[arg(long)]
    pub(crate) footer: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum QueueOpt {
    /// Queue them and combine them into one prompt
    Collect,
    /// Add them to the running turn
    Steer,
    /// Queue them and send each as its own prompt
    Followup,
    /// Interrupt the turn
    Interrupt,
}

#[derive(Debug, Args)]
pub(crate) struct BridgeStatusOpts {
    /// The configuration
    #[arg(long, value_name = "FILE", default_value = "weir-bridge.toml")]
    pub(crate) config: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BridgePairOpts {
    /// The configuration
    #[arg(long, value_name = "FILE", default_value = "weir-bridge.toml")]
    pub(crate) config: PathBuf,

    /// Make the user an administrator
    #[arg(long)]
    pub(crate) admin: bool,

    /// How long the code is valid, in minutes
    #[arg(long, value_name = "MINUTES", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1440))]
    pub(crate) minutes: u32,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
