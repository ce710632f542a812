//! The async runtime for commands that talk to a CLI.

use std::future::Future;

use anyhow::Context as _;

use crate::exit::Exit;

/// Runs a command to completion.
pub(crate) fn block_on(command: impl Future<Output = anyhow::Result<Exit>>) -> anyhow::Result<Exit> {
    start()?.block_on(command)
}

/// Runs a command that reads the standard input by the runtime. A read that is under way cannot be given up, so its
/// thread is left behind.
pub(crate) fn block_on_with_input(
    command: impl Future<Output = anyhow::Result<Exit>>,
) -> anyhow::Result<Exit> {
    let runtime = start()?;
    let done = runtime.block_on(command);
    runtime.shutdown_background();
    done
}

fn start() -> anyhow::Result<tokio::runtime::Runtime> {
    // Tool processes that outlive the CLI become our children, so that they can be cleaned up.
    // Where that is not possible, init adopts them.
    let _ = weir_process::adopt_orphans();
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the runtime")
}
