//! Options of `weir trust` and of the sandbox.

use std::path::PathBuf;

use clap::Args;

use super::DataOpts;

/// Shows what a folder would run automatically, and trusts the folder
///
/// Settings, hooks, MCP servers, commands and instructions in a folder apply only after a person has trusted it, because
/// they run before anyone is asked. When those files change, the folder has to be trusted again.
#[derive(Debug, Args)]
pub(crate) struct TrustOpts {
    /// The folder; the current one by default
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,

    /// Trust it without asking
    #[arg(long, conflicts_with_all = ["show", "forget", "list"])]
    pub(crate) yes: bool,

    /// Show what it would run, without asking to trust it
    #[arg(long, conflicts_with_all = ["forget", "list"])]
    pub(crate) show: bool,

    /// Stop trusting it
    #[arg(long, conflicts_with = "list")]
    pub(crate) forget: bool,

    /// List the trusted folders
    #[arg(long, conflicts_with = "folder")]
    pub(crate) list: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) data: DataOpts,
}

/// Sandbox options.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Sandbox")]
pub(crate) struct SandboxOpts {
    /// Run the CLI in a sandbox (bubblewrap): it sees only its folder, a home of its own and the system's programs
    #[arg(long)]
    pub(crate) sandbox: bool,

    /// Let the sandbox read this, such as a tool chain in your home; may be repeated
    #[arg(long, value_name = "PATH", requires = "sandbox")]
    pub(crate) sandbox_read: Vec<PathBuf>,

    /// Let the sandbox read and write this; may be repeated
    #[arg(long, value_name = "DIR", requires = "sandbox")]
    pub(crate) sandbox_write: Vec<PathBuf>,
}
