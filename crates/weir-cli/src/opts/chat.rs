//! `weir chat` as it is typed.

use std::ffi::OsString;

use clap::Args;

use super::SessionOpts;

/// Talks with the CLI: a conversation of many turns
///
/// On a terminal with line editing, history and light styling; `/help` lists the commands. Ctrl-C interrupts the
/// turn and a second one leaves; Ctrl-D leaves. Over a pipe each line of the standard input is a message, the
/// answers come as plain text, and the exit code is that of the last turn, as `weir run` has it.
#[derive(Debug, Args)]
pub(crate) struct ChatOpts {
    /// Flags that are passed on to the CLI
    #[arg(last = true, value_name = "CLI FLAGS")]
    pub(crate) cli_flags: Vec<OsString>,

    /// Print nothing but the answers and errors
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) session: SessionOpts,
}
