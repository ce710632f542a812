//! Options of `weir acp`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{DataOpts, SandboxOpts, values};

/// Lets an editor work with sessions: speaks the Agent Client Protocol on standard input and output
///
/// An editor starts it. It uses the sessions of a `weir serve` or another `weir acp` that runs on the same data folder, or
/// else hosts them itself, and then shares them with editors that start later. With --server it uses those of a server
/// elsewhere. Nothing but the protocol is written to the standard output.
#[derive(Debug, Args)]
pub(crate) struct AcpOpts {
    #[command(flatten)]
    pub(crate) data: DataOpts,

    /// Use the sessions of the `weir serve` at this address; all other options are then without effect
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,

    /// The file with the token for --server; without it, the environment variable WEIR_TOKEN has the token
    #[arg(long, value_name = "FILE", requires = "server")]
    pub(crate) token_file: Option<PathBuf>,

    /// A folder in which sessions may work; may be repeated; your home folder by default
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,

    /// The claude CLI; by default WEIR_CLAUDE, or else the first one found
    #[arg(long, value_name = "PATH")]
    pub(crate) claude: Option<PathBuf>,

    /// Set a variable in the CLI's environment; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = values::variable)]
    pub(crate) env: Vec<(String, String)>,

    /// Log the CLI's input and output, verbatim, to files in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) log_dir: Option<PathBuf>,

    /// A model that the editor offers; may be repeated
    #[arg(long, value_name = "MODEL")]
    pub(crate) offer_model: Vec<String>,

    /// A slash command that the editor may run in addition to the usual ones; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) slash_command: Vec<String>,

    /// Offer the mode that runs every tool without asking
    #[arg(long)]
    pub(crate) allow_bypass_permissions: bool,

    #[command(flatten)]
    pub(crate) sandbox: SandboxOpts,

    /// Maximum number of working CLI processes; those that wait for a person are not counted
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..), help_heading = "Limits")]
    pub(crate) max_processes: u16,

    /// How many started CLIs wait for new sessions, so that these answer sooner; each takes about 160 MB. By default one, or
    /// two with 16 GB of memory, and none with less than 8 GB or two cores
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(..=16), help_heading = "Limits")]
    pub(crate) spares: Option<u16>,

    /// How long an idle process is kept
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = values::time, help_heading = "Limits")]
    pub(crate) idle: Duration,

    /// How long a person may take to answer before a request is denied; no limit by default
    #[arg(long, value_name = "TIME", value_parser = values::time, help_heading = "Limits")]
    pub(crate) ask_timeout: Option<Duration>,
}
