//! `weir bridge` as it is typed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::SandboxOpts;

/// Talks to the same agent from a chat: Matrix, Telegram, a webhook, this terminal
///
/// `init` writes a commented configuration, `check` logs in and says what works, `run` does the work. `try` needs no
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
    /// Logs in to each channel and says what works
    Check(BridgeConfigOpts),
    /// Carries messages until it is told to end
    Run(BridgeRunOpts),
    /// Talks to the bridge on this terminal, with nothing to set up
    Try(BridgeTryOpts),
    /// Makes a code with which somebody can be let in, once
    Pair(BridgePairOpts),
    /// Says whether a bridge works, and when something came in last
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
    /// Where to write it
    #[arg(value_name = "FILE", default_value = "weir-bridge.toml")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct BridgeTryOpts {
    /// The folder in which the agent works
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

    /// A line with cost, tokens and time below each answer
    #[arg(long)]
    pub(crate) footer: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum QueueOpt {
    /// They wait and become one prompt
    Collect,
    /// They go into the turn
    Steer,
    /// They wait and each becomes a prompt
    Followup,
    /// They end the turn
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

    /// The code makes an administrator
    #[arg(long)]
    pub(crate) admin: bool,

    /// How long it works, in minutes
    #[arg(long, value_name = "MINUTES", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1440))]
    pub(crate) minutes: u32,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
