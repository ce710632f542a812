//! Options of `weir chat`.

use std::ffi::OsString;

use clap::Args;

use super::SessionOpts;

/// Chats with the CLI: a session of many turns
///
/// On a terminal it has line editing, history and light styling; `/help` lists the commands. Ctrl-C interrupts the
/// turn and a second Ctrl-C quits; Ctrl-D quits. Over a pipe, each line of the standard input is a message, the
/// answers are plain text, and the exit code is that of the last turn, with the codes of `weir run`.
#[derive(Debug, Args)]
pub(crate) struct ChatOpts {
    /// Send this picture or PDF with the first message: a file or a web address; may be repeated
    #[arg(long, visible_alias = "image", value_name = "FILE|URL")]
    pub(crate) attach: Vec<String>,

    /// Flags to pass to the CLI
    #[arg(last = true, value_name = "CLI FLAGS")]
    pub(crate) cli_flags: Vec<OsString>,

    /// Print only answers and errors
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) session: SessionOpts,
}
