//! Measures the host and the server: how soon a viewer sees what the CLI wrote, and how long a session takes to open.

mod cost;
mod latency;
mod opening;
mod relay;
mod served;
mod sse;

use std::path::Path;
use std::sync::Arc;

use weir_host::{Actor, Host, HostOptions, NewSession, SessionId};
use weir_store::{Durability, SqliteOptions, SqliteStore};

use crate::report::print_line;
use crate::workload::Size;

/// All measurements of the host.
pub(crate) fn table(size: Size) -> anyhow::Result<()> {
    print_line("\nhost")?;
    print_line("| what | bare | host | ratio |\n|---|---:|---:|---:|")?;
    latency::rows(size)?;
    cost::rows(size)?;
    served::rows(size)?;
    opening::rows(size)
}

/// Only what an event of a hosted session costs.
pub(crate) fn cost() -> anyhow::Result<()> {
    print_line("| what | session | host | ratio |\n|---|---:|---:|---:|")?;
    cost::rows(Size::Full)
}

/// Hosts one session that plays this, for a tool that counts instructions.
pub(crate) fn play(prompt: &str) -> anyhow::Result<()> {
    cost::play(prompt)
}

/// Only how late a client of the server gets what the CLI wrote.
pub(crate) fn delays() -> anyhow::Result<()> {
    print_line("| what | relay | server | ratio |\n|---|---:|---:|---:|")?;
    served::delays(1000)
}

fn me() -> Actor {
    Actor::new("bench")
}

/// A host in a folder, with the stand-in CLI.
pub(crate) async fn host(folder: &Path) -> anyhow::Result<Host> {
    host_with(folder, 8).await
}

/// The same with this many processes.
async fn host_with(folder: &Path, processes: usize) -> anyhow::Result<Host> {
    let sqlite = SqliteOptions { durability: Durability::Process, ..SqliteOptions::default() };
    let store = SqliteStore::open(folder.join("weir.db"), &sqlite)?;
    crate::live::options()?;
    let mut options = HostOptions::new(Arc::new(store), |_| crate::live::options().unwrap_or_default());
    options.pool.max_processes = processes;
    options.max_waiting = processes;
    Ok(Host::open(options.root(folder)).await?)
}

async fn session(host: &Host, folder: &Path) -> anyhow::Result<SessionId> {
    let new = NewSession::new(folder.to_string_lossy());
    Ok(host.create(new, &me()).await?.session.id.parse()?)
}
