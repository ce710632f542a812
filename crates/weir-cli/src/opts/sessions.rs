//! `weir sessions` as it is typed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::values;

/// Lists, shows and exports conversations: what is live and what was
///
/// What is live is known from Weir's own locks, what was from the transcripts that the CLI keeps in its folder
/// (CLAUDE_CONFIG_DIR, or ~/.claude). Nothing in there is changed.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SessionsOpts {
    #[command(subcommand)]
    pub(crate) command: Option<SessionsCommand>,

    /// Only those that worked in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,

    /// Only those that are live
    #[arg(long)]
    pub(crate) live: bool,

    /// Most conversations to list, the newest; 0 for all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 30)]
    pub(crate) limit: usize,

    /// Print JSON, one object a line
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) places: PlacesOpts,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// Shows one conversation
    Show {
        /// Its id, or the beginning of it
        #[arg(value_parser = values::session)]
        id: String,

        /// Print the whole conversation as one JSON object
        #[arg(long)]
        json: bool,

        #[command(flatten)]
        places: PlacesOpts,
    },
    /// Writes one conversation for keeping
    Export {
        /// Its id, or the beginning of it
        #[arg(value_parser = values::session)]
        id: String,

        /// The form
        #[arg(short, long, value_enum, default_value_t = ExportFormatOpt::Md)]
        format: ExportFormatOpt,

        /// The file to write, which must not exist; the standard output where none is given
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,

        #[command(flatten)]
        places: PlacesOpts,
    },
}

/// Where conversations are looked for.
#[derive(Debug, Args)]
pub(crate) struct PlacesOpts {
    /// The CLI's own folder
    #[arg(long, value_name = "DIR", env = "CLAUDE_CONFIG_DIR", hide_env_values = true)]
    pub(crate) config_dir: Option<PathBuf>,

    /// Where locks and the list of live processes are
    #[arg(long, value_name = "DIR", env = "WEIR_STATE_DIR", hide_env_values = true)]
    pub(crate) state_dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ExportFormatOpt {
    /// Markdown
    Md,
    /// One web page that needs nothing but itself
    Html,
    /// The lines as the CLI would have streamed them
    Ndjson,
}
