//! Options of `weir sessions`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{DataOpts, values};

/// Lists, shows, exports, renames and deletes live and past sessions
///
/// Live sessions are found by Weir's own locks, past ones by the transcripts that the CLI keeps in its folder
/// (CLAUDE_CONFIG_DIR, or ~/.claude). Nothing in that folder is changed, except by `rename`, `tag` and `delete`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SessionsOpts {
    #[command(subcommand)]
    pub(crate) command: Option<SessionsCommand>,

    /// List only sessions of this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,

    /// List only live sessions
    #[arg(long)]
    pub(crate) live: bool,

    /// List at most this many sessions, newest first; 0 for all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 30)]
    pub(crate) limit: usize,

    /// Print JSON, one object per line
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) places: PlacesOpts,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// Shows a session
    Show {
        /// The session's id, or the beginning of it
        #[arg(value_parser = values::session)]
        id: String,

        /// Print the whole session as one JSON object
        #[arg(long)]
        json: bool,

        #[command(flatten)]
        places: PlacesOpts,
    },
    /// Continues a session of the CLI under Weir: brings it into the log of a server that does not run now
    ///
    /// It keeps its id, so it is refused while another program runs it, such as one in a terminal.
    Adopt {
        /// The session's id, or the beginning of it
        #[arg(value_parser = values::session)]
        id: String,

        /// Continue a copy, and leave the session itself as it is
        #[arg(long)]
        copy: bool,

        #[command(flatten)]
        data: DataOpts,

        #[command(flatten)]
        places: PlacesOpts,
    },
    /// Writes a session to a file
    Export {
        /// The session's id, or the beginning of it
        #[arg(value_parser = values::session)]
        id: String,

        /// The file format
        #[arg(short, long, value_enum, default_value_t = ExportFormatOpt::Md)]
        format: ExportFormatOpt,

        /// The file to write, which must not exist; standard output by default
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,

        #[command(flatten)]
        places: PlacesOpts,
    },
    /// Gives a session a title, which the CLI shows too
    Rename {
        #[command(flatten)]
        session: ChangedOpts,

        /// The title
        title: String,
    },
    /// Gives a session a tag, or takes it away
    Tag {
        #[command(flatten)]
        session: ChangedOpts,

        /// The tag; without one, the session has none afterwards
        tag: Option<String>,
    },
    /// Deletes a session with the transcripts of its sub-agents; it cannot be resumed afterwards
    Delete {
        #[command(flatten)]
        session: ChangedOpts,
    },
}

/// A session that is changed.
#[derive(Debug, Args)]
pub(crate) struct ChangedOpts {
    /// The session's id, or the beginning of it
    #[arg(value_parser = values::session)]
    pub(crate) id: String,

    #[command(flatten)]
    pub(crate) places: PlacesOpts,
}

/// Where sessions are looked for.
#[derive(Debug, Args)]
pub(crate) struct PlacesOpts {
    /// The CLI's own folder
    #[arg(long, value_name = "DIR", env = "CLAUDE_CONFIG_DIR", hide_env_values = true)]
    pub(crate) config_dir: Option<PathBuf>,

    /// The folder with locks and the list of live processes
    #[arg(long, value_name = "DIR", env = "WEIR_STATE_DIR", hide_env_values = true)]
    pub(crate) state_dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ExportFormatOpt {
    /// Markdown
    Md,
    /// One self-contained web page
    Html,
    /// The lines as the CLI would have streamed them
    Ndjson,
}
