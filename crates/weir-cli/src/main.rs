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
mod simulated;
mod store;
mod token;
mod trust;
mod version;
mod worktree;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    if let Some(arguments) = simulated::arguments() {
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
