//! The cost of a live session beyond decoding and folding.

use serde::{Deserialize, Serialize};
use weir_session::Session;

use super::{ask, options, runtime};
use crate::measure::{cpu_seconds, peak_rss_kb};
use crate::report::{print_line, run_part, run_read};
use crate::workload::{Size, Workload};

#[derive(Debug, Serialize, Deserialize)]
struct Measured {
    cpu_seconds: f64,
    peak_rss_kb: u64,
}

pub(super) fn rows(size: Size) -> anyhow::Result<()> {
    for workload in [Workload::Deltas, Workload::Mixed] {
        let rounds = if size == Size::Full { 5 } else { 1 };
        let (mut bare, mut ours) = (f64::INFINITY, f64::INFINITY);
        let mut peak = 0;
        for _ in 0..rounds {
            bare = bare.min(run_read("weir-fold", workload, size)?.cpu_seconds);
            let measured: Measured = run_part(&["stream", workload.name(), size.name()])?;
            ours = ours.min(measured.cpu_seconds);
            peak = peak.max(measured.peak_rss_kb);
        }
        let name = workload.name();
        let ratio = ours / bare;
        print_line(&format!(
            "| CPU time of the {name} stream, compared with decoding and folding alone | {bare:.3} s | {ours:.3} s | {ratio:.2} |"
        ))?;
        print_line(&format!("| peak memory in that | | {:.1} MB | |", peak as f64 / 1024.0))?;
    }
    Ok(())
}

pub(super) fn measure(workload: &str, size: &str) -> anyhow::Result<()> {
    let runtime = runtime()?;
    let cpu = runtime.block_on(async {
        let session = Session::new(options()?);
        session.start().await?;
        let before = cpu_seconds();
        ask(&session, &format!("stream {workload} {size}")).await?;
        let cpu = cpu_seconds() - before;
        session.stop().await;
        anyhow::Ok(cpu)
    })?;
    let measured = Measured { cpu_seconds: cpu, peak_rss_kb: peak_rss_kb() };
    print_line(&serde_json::to_string(&measured)?)
}
