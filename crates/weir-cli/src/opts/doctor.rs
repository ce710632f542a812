//! `weir doctor` as it is typed.

use std::path::PathBuf;

use clap::Args;

/// Says what was found, what works, and what to do about what does not
///
/// Starts the CLI once to ask who is logged in, which costs nothing, and tries Weir itself on a simulated CLI.
///
/// Exit codes: 0 all is well (there may be warnings), 1 something is wrong, 2 wrong usage.
#[derive(Debug, Args)]
pub(crate) struct DoctorOpts {
    /// The claude CLI; WEIR_CLAUDE names it, too, and else it is looked for
    #[arg(long, value_name = "PATH")]
    pub(crate) claude: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// End what killed runs have left behind
    #[arg(long)]
    pub(crate) clean: bool,

    /// Do not start the CLI
    #[arg(long)]
    pub(crate) offline: bool,

    /// Where locks and the list of live processes are
    #[arg(long, value_name = "DIR", env = "WEIR_STATE_DIR", hide_env_values = true)]
    pub(crate) state_dir: Option<PathBuf>,
}
