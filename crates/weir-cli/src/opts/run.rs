//! Options of `weir run`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{FormatOpt, SessionOpts, values};

/// Sends one prompt to the CLI and prints the answer
///
/// The answer is streamed to the standard output, progress goes to the standard error. Permissions and questions are
/// asked on the terminal, if there is one. Ctrl-C interrupts; a second Ctrl-C quits immediately.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct RunOpts {
    /// The prompt; read from the standard input if it is `-` or missing
    pub(crate) prompt: Option<String>,

    /// Send this picture or PDF with the prompt: a file or a web address; may be repeated
    #[arg(long, visible_alias = "image", value_name = "FILE|URL")]
    pub(crate) attach: Vec<String>,

    /// Flags to pass to the CLI
    #[arg(last = true, value_name = "CLI FLAGS")]
    pub(crate) cli_flags: Vec<OsString>,

    /// What to print
    #[arg(short, long, value_enum, default_value_t = RunOutputOpt::Text)]
    pub(crate) output: RunOutputOpt,

    /// The vocabulary of `-o events`
    #[arg(long, value_enum, default_value_t = FormatOpt::Agent)]
    pub(crate) format: FormatOpt,

    /// Print only the answer and errors
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// JSON file with the schema that the answer must match; the answer is then a JSON value
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,

    /// Exit after the answer, even if background tasks are still running
    #[arg(long)]
    pub(crate) no_wait: bool,

    #[command(flatten)]
    pub(crate) session: SessionOpts,

    /// Give up after this long, such as 90s, 5m or 1h30m
    #[arg(long, value_name = "TIME", value_parser = values::time, help_heading = "Limits")]
    pub(crate) timeout: Option<Duration>,
}

const EXIT_CODES: &str = "\
Exit codes:
    0  success
    1  the run ended in an error result
    2  wrong usage
    3  the CLI could not be started
    4  the CLI died or was killed
    5  no result, or unusable output
    6  a tool was not allowed
    7  timeout
    8  a money limit was reached
    9  a rate limit was reached
  130  interrupted";

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum RunOutputOpt {
    /// The answer, streamed
    Text,
    /// One object: the answer, its cost and any anomalies
    Json,
    /// Normalised events, one JSON object per line
    Events,
    /// The CLI's lines, unchanged
    Raw,
}
