//! Options of `weir review`.

use clap::{Args, Subcommand};

use super::RepositoryOpts;

/// Shows what a folder has and a base has not, and takes changes back
///
/// Everything that git sees counts, no matter who or which program changed it; new files are included and ignored ones are
/// not. No filter, hook or other program of the repository runs.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ReviewOpts {
    #[command(subcommand)]
    pub(crate) command: Option<ReviewCommand>,

    /// Show only this file
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<String>,

    /// List the files without their lines
    #[arg(long)]
    pub(crate) stat: bool,

    /// Print one JSON object, as the API answers it
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) base: BaseOpts,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ReviewCommand {
    /// Takes back the change of a file; all files as they are now are kept under a reference
    Revert {
        /// The file, as `weir review` names it
        #[arg(value_name = "FILE")]
        file: String,

        /// Take back only this hunk, counted from 1
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        hunk: Option<u32>,

        #[command(flatten)]
        base: BaseOpts,
    },
}

/// What the files are compared with.
#[derive(Debug, Args)]
pub(crate) struct BaseOpts {
    /// Compare with where the branch and this revision part; with what is checked out by default
    #[arg(long, value_name = "REVISION")]
    pub(crate) against: Option<String>,

    /// Compare with the revision of --against itself
    #[arg(long, requires = "against")]
    pub(crate) exact: bool,

    #[command(flatten)]
    pub(crate) place: RepositoryOpts,
}
