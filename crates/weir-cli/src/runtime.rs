//! The runtime of the commands that talk to a CLI.

use std::future::Future;

use anyhow::Context as _;

use crate::exit::Exit;

/// Runs a command.
pub(crate) fn block_on(command: impl Future<Output = anyhow::Result<Exit>>) -> anyhow::Result<Exit> {
    // Tools that outlive the CLI come to us, so that nothing is left of them.
    // Where that is not possible, init gets them.
    let _ = weir_process::adopt_orphans();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("the runtime cannot be started")?;
    runtime.block_on(command)
}
