//! Without `/proc` there is no process table to scan: only the process group is ended.
//!
//! Not run by the project's tests.

use super::members::Target;
use super::{ProcessId, Scan, Signal};
use crate::mark::LimitMark;

/// Start times are not known here. Only called for live processes.
pub(super) fn find(pid: u32) -> Option<ProcessId> {
    Some(ProcessId { pid, start: 0 })
}

pub(super) fn resident_memory(_id: ProcessId) -> Option<u64> {
    None
}

pub(super) fn descends_from(_id: ProcessId, _other: ProcessId) -> Option<bool> {
    None
}

pub(super) fn scan(targets: &mut [&mut Target]) -> Vec<Scan> {
    vec![Scan::default(); targets.len()]
}

pub(super) fn set_mark(_id: ProcessId, _mark: LimitMark) {}

pub(super) fn adopt_orphans() -> std::io::Result<()> {
    Ok(())
}

pub(super) fn is_adopting() -> bool {
    false
}

#[cfg(unix)]
pub(super) fn is_alive(id: ProcessId) -> bool {
    raw(id).is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

#[cfg(unix)]
pub(super) fn send(id: ProcessId, signal: Signal) -> bool {
    crate::unix::signal(id.pid, signal)
}

#[cfg(unix)]
fn raw(id: ProcessId) -> Option<rustix::process::Pid> {
    i32::try_from(id.pid).ok().and_then(rustix::process::Pid::from_raw)
}

#[cfg(not(unix))]
pub(super) fn is_alive(_id: ProcessId) -> bool {
    false
}

#[cfg(not(unix))]
pub(super) fn send(_id: ProcessId, _signal: Signal) -> bool {
    // Windows has no signals; the job object ends everything, see `windows.rs`.
    false
}
