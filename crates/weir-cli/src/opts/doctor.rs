//! Options of `weir doctor`.

use std::path::PathBuf;

use clap::Args;

/// Checks the installation and says how to fix problems
///
/// Starts the CLI once to see who is logged in, which costs nothing, and tests Weir itself on a simulated CLI.
///
/// Exit codes: 0 no problems (there may be warnings), 1 problems found, 2 wrong usage.
#[derive(Debug, Args)]
pub(crate) struct DoctorOpts {
    /// The claude CLI; by default WEIR_CLAUDE, or else the first one found
    #[arg(long, value_name = "PATH")]
    pub(crate) claude: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// End processes left behind by killed runs
    #[arg(long)]
    pub(crate) clean: bool,

    /// Do not start the CLI
    #[arg(long)]
    pub(crate) offline: bool,

    /// The folder with locks and the list of live processes
    #[arg(long, value_name = "DIR", env = "WEIR_STATE_DIR", hide_env_values = true)]
    pub(crate) state_dir: Option<PathBuf>,
}
