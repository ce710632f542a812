//! `weir bridge`: agents in chats.

mod channels;
mod engine;
mod health;
mod init;
mod pair;
mod running;
mod status;
mod trying;
mod working;

pub(crate) use running::{Locked, Prepared, RunningBridge};

use crate::exit::Exit;
use crate::opts::{BridgeCommand, BridgeOpts};

/// Runs the command.
pub(crate) fn run(opts: BridgeOpts) -> anyhow::Result<Exit> {
    match opts.command {
        BridgeCommand::Init(opts) => init::init(&opts.file),
        BridgeCommand::Check(opts) => crate::runtime::block_on(working::check(opts)),
        BridgeCommand::Run(opts) => crate::runtime::block_on(working::work(opts)),
        BridgeCommand::Try(opts) => crate::runtime::block_on(trying::try_out(opts)),
        BridgeCommand::Pair(opts) => pair::pair(&opts),
        BridgeCommand::Status(opts) => status::status(&opts),
    }
}
