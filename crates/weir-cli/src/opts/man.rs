//! Options of `weir man`.

use std::path::PathBuf;

use clap::Args;

/// Writes the manual pages, one for each command
#[derive(Debug, Args)]
#[command(after_help = "Example: weir man ~/.local/share/man/man1 && man weir-run")]
pub(crate) struct ManOpts {
    /// The folder to write them to; created if it does not exist
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}
