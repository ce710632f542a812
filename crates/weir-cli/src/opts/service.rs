//! Options of `weir service`.

use clap::{Args, Subcommand};

/// Runs `weir serve` in the background, now and after each login
///
/// On Linux this is a systemd unit of the user, on macOS a launchd agent. Neither needs root.
#[derive(Debug, Args)]
pub(crate) struct ServiceOpts {
    #[command(subcommand)]
    pub(crate) command: ServiceCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServiceCommand {
    Install(ServiceInstallOpts),
    /// Show whether the service is installed and running; exit code 1 if it is not running
    Status,
    /// Stop the service and remove it; sessions and settings stay
    Uninstall,
}

/// Install the service and start it; installing again replaces it
#[derive(Debug, Args)]
#[command(after_help = "Example: weir service install -- --root ~/src --listen 127.0.0.1:4747")]
pub(crate) struct ServiceInstallOpts {
    /// Print the unit and change nothing
    #[arg(long)]
    pub(crate) print: bool,

    /// Write the unit and don't start it
    #[arg(long, conflicts_with = "print")]
    pub(crate) no_start: bool,

    /// Options for `weir serve`
    #[arg(value_name = "SERVE OPTIONS", last = true)]
    pub(crate) serve: Vec<String>,
}
