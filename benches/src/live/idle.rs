//! The cost of an idle session.

use serde::{Deserialize, Serialize};
use weir_session::Session;

use super::{ask, options, runtime};
use crate::allocations;
use crate::report::{print_line, run_part};
use crate::workload::Size;

#[derive(Debug, Serialize, Deserialize)]
struct Measured {
    heap_kib: f64,
    rss_kib: f64,
    threads: u64,
}

pub(super) fn rows(size: Size) -> anyhow::Result<()> {
    let count = if size == Size::Full { "1000" } else { "50" };
    for (line, name) in [("0", "a session at rest"), ("5000000", "the same after a line of 5 MB")] {
        let measured: Measured = run_part(&["idle", count, line])?;
        print_line(&format!(
            "| memory of {name}, {count} of them | | {:.1} KiB heap, {:.1} KiB resident | |",
            measured.heap_kib, measured.rss_kib
        ))?;
        print_line(&format!("| threads in that | | {} | |", measured.threads))?;
    }
    Ok(())
}

/// Every session has a live process that has answered once.
pub(super) fn measure(count: usize, line: usize) -> anyhow::Result<()> {
    let runtime = runtime()?;
    let prompt = if line > 0 { format!("line {line}") } else { "nothing".to_owned() };
    let measured = runtime.block_on(async {
        // One-time costs are paid by the first session.
        let first = Session::new(options()?);
        ask(&first, &prompt).await?;
        at_rest(&first).await?;
        let (heap, rss) = (allocations::live_bytes(), resident_kib());
        let mut sessions = vec![first];
        for _ in 0..count {
            let session = Session::new(options()?);
            ask(&session, &prompt).await?;
            at_rest(&session).await?;
            sessions.push(session);
        }
        let each = |bytes: f64| bytes / count as f64;
        let measured = Measured {
            heap_kib: each((allocations::live_bytes() - heap) as f64 / 1024.0),
            rss_kib: each(resident_kib() - rss),
            threads: threads(),
        };
        let mut ends = tokio::task::JoinSet::new();
        for session in sessions {
            ends.spawn(async move { session.stop().await });
        }
        while ends.join_next().await.is_some() {}
        anyhow::Ok(measured)
    })?;
    print_line(&serde_json::to_string(&measured)?)
}

/// The result comes before the session has released everything, so a few more requests are sent.
async fn at_rest(session: &Session) -> anyhow::Result<()> {
    for _ in 0..8 {
        session.facts().await?;
        tokio::task::yield_now().await;
    }
    Ok(())
}

fn status(name: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

fn resident_kib() -> f64 {
    status("VmRSS").unwrap_or(0.0)
}

fn threads() -> u64 {
    status("Threads").unwrap_or(0.0) as u64
}
