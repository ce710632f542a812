//! Options of `weir store`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::DataOpts;

/// Maintains the file with all sessions: checks, backs up, restores and compacts it
///
/// `check` and `backup` work while a server runs; `compact` and `restore` do not.
#[derive(Debug, Args)]
pub(crate) struct StoreOpts {
    #[command(subcommand)]
    pub(crate) command: StoreCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Reads the whole file and checks its integrity; exit code 1 if it is damaged
    Check(StorePlaceOpts),
    /// Makes the file as small as possible; needs about as much free space as its size, or does what it can
    Compact(StorePlaceOpts),
    /// Copies the file in its current state
    Backup {
        /// The file to write, which must not exist
        #[arg(value_name = "FILE")]
        file: PathBuf,

        #[command(flatten)]
        place: StorePlaceOpts,
    },
    /// Replaces the file with a backup; the old file is kept under another name
    Restore {
        /// The backup
        #[arg(value_name = "FILE")]
        file: PathBuf,

        #[command(flatten)]
        place: StorePlaceOpts,
    },
}

#[derive(Debug, Args)]
pub(crate) struct StorePlaceOpts {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) data: DataOpts,
}
