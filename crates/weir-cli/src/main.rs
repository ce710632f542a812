//! The `weir` command.

mod exit;
mod opts;
mod replay;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let opts = opts::Opts::parse();
    let done = match opts.command {
        opts::Command::Replay(opts) => replay::run(&replay::Settings::from(opts)),
    };
    exit::report(done)
}
