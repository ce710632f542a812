//! The `weir` command.

mod acp;
mod ask;
mod bridge;
mod chat;
mod completions;
mod conversation;
mod demo;
mod doctor;
mod engine;
mod events;
mod exit;
mod explain;
mod fence;
mod folders;
mod loop_command;
mod machine;
mod man;
mod opts;
mod replay;
mod review;
mod run;
mod runtime;
mod screen;
mod serve;
mod service;
mod sessions;
mod signals;
mod store;
mod token;
mod trust;
mod version;
mod worktree;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser as _;

/// Called with this subcommand or under this name, `weir` acts as a simulated CLI: for the demo, the self-test and tests.
const SIMULATED: &str = "simulated-claude";

/// The arguments for the simulated CLI, if `weir` was called as one.
fn simulated_arguments() -> Option<Vec<String>> {
    let mut arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    let name = PathBuf::from(arguments.next().unwrap_or_default());
    if name.file_stem().is_some_and(|stem| stem == SIMULATED) {
        return Some(arguments.collect());
    }
    (arguments.next()? == SIMULATED).then(|| arguments.collect())
}

fn main() -> ExitCode {
    if let Some(arguments) = simulated_arguments() {
        return weir_simulator::play(&arguments);
    }
    let opts = opts::Opts::parse();
    let done = match opts.command {
        opts::Command::Replay(opts) => replay::run(&replay::Settings::from(opts)),
        opts::Command::Run(opts) => run::Settings::resolve(*opts).and_then(run::run),
        opts::Command::Chat(opts) => chat::Settings::resolve(*opts).and_then(chat::run),
        opts::Command::Sessions(opts) => {
            sessions::Settings::resolve(opts).and_then(|settings| sessions::run(&settings))
        }
        opts::Command::Bridge(opts) => bridge::run(*opts),
        opts::Command::Serve(opts) => serve::Settings::resolve(*opts).and_then(serve::run),
        opts::Command::Acp(opts) => acp::run(*opts),
        opts::Command::Demo(opts) => demo::run(*opts),
        opts::Command::Service(opts) => runtime::block_on(service::run(&opts.command)),
        opts::Command::Token(opts) => token::run(opts),
        opts::Command::Trust(opts) => trust::run(opts),
        opts::Command::Worktree(opts) => runtime::block_on(worktree::run(opts)),
        opts::Command::Review(opts) => runtime::block_on(review::run(opts)),
        opts::Command::Store(opts) => store::run(opts),
        opts::Command::Loop(opts) => loop_command::run(opts.command),
        opts::Command::Doctor(opts) => doctor::run(opts.into()),
        opts::Command::Completions(opts) => completions::run(opts.shell),
        opts::Command::Man(opts) => man::run(&opts),
    };
    exit::report(done)
}
