//! `weir replay` as it is typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{FormatOpt, values};

/// Reads a recorded stream and tells what happened in it
///
/// The stream is NDJSON, as `claude --output-format stream-json` writes it. No process is started.
///
/// Exit codes: 0 success, 1 the last result is an error (or the recording cannot be read), 2 wrong usage,
/// 5 there is no result, 6 a tool was not allowed, 8 a money limit ended it, 9 a rate limit ended it.
#[derive(Debug, Args)]
pub(crate) struct ReplayOpts {
    /// The file to read; `-` or nothing for the standard input
    pub(crate) file: Option<PathBuf>,

    /// What to print
    #[arg(short, long, value_enum, default_value_t = OutputOpt::Json)]
    pub(crate) output: OutputOpt,

    /// The vocabulary of `-o events`
    #[arg(long, value_enum, default_value_t = FormatOpt::Agent)]
    pub(crate) format: FormatOpt,

    /// Replay in time: 1 at the recorded pace, 2 twice as fast. Without it, as fast as possible.
    ///
    /// The pace is that of the lines' own time stamps, with pauses of ten seconds at the most. Pieces of a message
    /// carry no time and come 30 ms apart; recordings of CLI versions that write no times have no pauses else.
    #[arg(long, value_name = "N", value_parser = values::speed)]
    pub(crate) speed: Option<f64>,

    /// Longest line that is decoded, in bytes; a longer one is counted and skipped
    #[arg(long, value_name = "BYTES", default_value_t = weir_wire::Framer::DEFAULT_LIMIT)]
    pub(crate) line_limit: usize,

    /// Print no summary on the standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum OutputOpt {
    /// One object: the answer, its cost and what was odd
    Json,
    /// Normalised events, one JSON object a line
    Events,
    /// The whole conversation as one JSON object
    View,
    /// The lines untouched
    Raw,
}
