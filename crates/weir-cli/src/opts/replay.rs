//! Options of `weir replay`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{FormatOpt, values};

/// Reads a recorded stream and shows what happened in it
///
/// The stream is NDJSON, as `claude --output-format stream-json` writes it. No process is started.
///
/// Exit codes: 0 success, 1 the last result is an error (or the recording cannot be read), 2 wrong usage,
/// 5 no result, 6 a tool was not allowed, 8 a money limit ended it, 9 a rate limit ended it.
#[derive(Debug, Args)]
pub(crate) struct ReplayOpts {
    /// The file to read; the standard input if it is `-` or missing
    pub(crate) file: Option<PathBuf>,

    /// What to print
    #[arg(short, long, value_enum, default_value_t = OutputOpt::Json)]
    pub(crate) output: OutputOpt,

    /// The vocabulary of `-o events`
    #[arg(long, value_enum, default_value_t = FormatOpt::Agent)]
    pub(crate) format: FormatOpt,

    /// Replay at this speed: 1 for the recorded pace, 2 for twice as fast; by default as fast as possible
    ///
    /// The pace follows the lines' own timestamps, with pauses of at most ten seconds. Pieces of a message have no
    /// timestamps and come 30 ms apart; recordings of CLI versions that write no timestamps have no other pauses.
    #[arg(long, value_name = "N", value_parser = values::speed)]
    pub(crate) speed: Option<f64>,

    /// Maximum length of a line, in bytes; a longer line is counted and skipped
    #[arg(long, value_name = "BYTES", default_value_t = weir_wire::Framer::DEFAULT_LIMIT)]
    pub(crate) line_limit: usize,

    /// Print no summary on the standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum OutputOpt {
    /// One object: the answer, its cost and any anomalies
    Json,
    /// Normalised events, one JSON object per line
    Events,
    /// The whole session as one JSON object
    View,
    /// The lines, unchanged
    Raw,
}
