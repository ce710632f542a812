//! Measures live sessions, compared with a bare loop over lines in the same run.

pub(crate) mod cli;
mod idle;
pub(crate) mod latency;
mod many;
mod prewarm;
mod stream;
mod turns;

use anyhow::bail;
use weir_session::{Session, SessionOptions};

pub(crate) use cli::play;

use crate::report::print_line;
use crate::workload::Size;

/// All measurements of live sessions.
pub(crate) fn table(size: Size) -> anyhow::Result<()> {
    print_line("\nlive sessions")?;
    print_line("| what | bare loop | session | ratio |\n|---|---:|---:|---:|")?;
    latency::rows(size)?;
    turns::rows(size)?;
    stream::rows(size)?;
    many::rows(size)?;
    idle::rows(size)?;
    prewarm::rows(size)
}

/// A part of the table that is measured in a separate process.
pub(crate) fn part(words: &[&str]) -> anyhow::Result<()> {
    match words {
        ["stream", workload, size] => stream::measure(workload, size),
        ["many", count, events] => many::measure(count.parse()?, events.parse()?),
        ["idle", count, line] => idle::measure(count.parse()?, line.parse()?),
        ["prewarm"] => prewarm::rows(Size::Full),
        _ => bail!("unknown part"),
    }
}

pub(crate) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?)
}

/// A session with the stand-in.
pub(crate) fn options() -> anyhow::Result<SessionOptions> {
    let mut options = SessionOptions::new().program(cli_program()?);
    options.stop.grace = std::time::Duration::from_secs(1);
    Ok(options)
}

/// A script that starts the stand-in regardless of its arguments.
pub(crate) fn cli_program() -> anyhow::Result<std::path::PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = std::env::temp_dir().join(format!("weir-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let script = folder.join("cli");
    if !script.exists() {
        let this = std::env::current_exe()?;
        std::fs::write(&script, format!("#!/bin/sh\nexec '{}' cli\n", this.display()))?;
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755))?;
    }
    Ok(script)
}

/// The median and the 99th percentile.
pub(crate) fn percentiles(samples: &mut [u64]) -> (f64, f64) {
    samples.sort_unstable();
    let at = |part: usize| samples.get(samples.len() * part / 100).copied().unwrap_or(0) as f64 / 1000.0;
    (at(50), at(99))
}

async fn ask(session: &Session, what: &str) -> anyhow::Result<()> {
    session.ask(what).await?;
    Ok(())
}
