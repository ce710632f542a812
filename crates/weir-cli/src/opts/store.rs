//! `weir store` as it is typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::DataOpts;

/// Looks after the file with all sessions: checks it, copies it, puts a copy back, makes it smaller
///
/// `check` and `backup` may be used while a server runs; `compact` and `restore` refuse then.
#[derive(Debug, Args)]
pub(crate) struct StoreOpts {
    #[command(subcommand)]
    pub(crate) command: StoreCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Reads all of it and tells whether it is sound; exit code 1 if not
    Check(StorePlaceOpts),
    /// Makes it as small as it can be; needs about as much free space as it takes, or does what it can
    Compact(StorePlaceOpts),
    /// Copies it as it is at this moment
    Backup {
        /// The file to write; it must not exist
        #[arg(value_name = "FILE")]
        file: PathBuf,

        #[command(flatten)]
        place: StorePlaceOpts,
    },
    /// Puts a backup in its place; what was there is kept under another name
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
