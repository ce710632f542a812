//! `weir run` as it is typed.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{FormatOpt, SessionOpts, values};

/// Asks the CLI one thing and prints its answer
///
/// The answer comes on the standard output while it is written, what is done on the standard error. Permissions
/// and questions are asked on the terminal, if there is one. Ctrl-C interrupts, a second one quits at once.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct RunOpts {
    /// What to ask; `-` or nothing for the standard input
    pub(crate) prompt: Option<String>,

    /// Flags that are passed on to the CLI
    #[arg(last = true, value_name = "CLI FLAGS")]
    pub(crate) cli_flags: Vec<OsString>,

    /// What to print
    #[arg(short, long, value_enum, default_value_t = RunOutputOpt::Text)]
    pub(crate) output: RunOutputOpt,

    /// The vocabulary of `-o events`
    #[arg(long, value_enum, default_value_t = FormatOpt::Agent)]
    pub(crate) format: FormatOpt,

    /// Print nothing but the answer and errors
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// End with the answer, also if something still runs in the background
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
    5  no result ever came, or the output was unusable
    6  a tool was not allowed
    7  timeout
    8  a money limit was reached
    9  a rate limit was reached
  130  interrupted";

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum RunOutputOpt {
    /// The answer as it comes
    Text,
    /// One object: the answer, its cost and what was odd
    Json,
    /// Normalised events, one JSON object a line
    Events,
    /// The lines of the CLI untouched
    Raw,
}
