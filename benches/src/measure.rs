//! The reader: the cost of reading a stream in this process.

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::allocations;
use crate::methods::{self, Method};
use crate::workload::Workload;

/// The measured values.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
    pub(crate) cpu_seconds: f64,
    pub(crate) allocations: u64,
    /// Peak memory of the process, in kilobytes.
    pub(crate) peak_rss_kb: u64,
}

/// Reads the standard input with this method.
pub(crate) fn measure(method: Method, _workload: Workload) -> anyhow::Result<Measured> {
    let mut input = std::io::stdin().lock();
    let (cpu, allocations) = (cpu_seconds(), allocations::count());
    // Directly from the pipe: the standard library's buffer would add a copy.
    let counts = methods::run(
        method,
        &mut std::fs::File::from(std::os::fd::AsFd::as_fd(&input).try_clone_to_owned()?),
    )?;
    let measured = Measured {
        lines: counts.lines,
        bytes: counts.bytes,
        cpu_seconds: cpu_seconds() - cpu,
        allocations: allocations::count() - allocations,
        peak_rss_kb: peak_rss_kb(),
    };
    std::io::copy(&mut input, &mut std::io::sink())?;
    Ok(measured)
}

pub(crate) fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Zero if the system does not report it.
pub(crate) fn peak_rss_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
