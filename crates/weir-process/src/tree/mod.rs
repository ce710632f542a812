//! Process trees: which processes descend from one that we started, and how all of them are ended.
//!
//! Tools of the CLI run in sessions of their own and may outlive their parents, so neither the process group nor
//! ancestry alone is enough. A process is ours if one of these holds:
//! - it descends from the CLI, or from another process that was found to be ours;
//! - its environment, or one of its resource limits, holds the mark of the launch, which every descendant inherits;
//! - it is in the CLI's process group.
//!
//! Processes are identified by pid *and* start time, and signalled through a pidfd whose identity was checked,
//! so a process that has reused a pid is never hit.

mod end;
#[cfg(target_os = "linux")]
mod linux;
mod members;
#[cfg(not(target_os = "linux"))]
mod other;
mod sweep;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use other as system;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::mark::{LimitMark, Mark};
use members::Target;

/// Identifies a process, distinguishing it from a later one with the same pid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProcessId {
    /// The pid.
    pub pid: u32,
    /// When it started, in the system's own unit: clock ticks since boot on Linux, 0 where it is not known.
    pub start: u64,
}

impl ProcessId {
    /// The process that currently has this pid.
    pub fn of(pid: u32) -> Option<Self> {
        system::find(pid)
    }

    /// This process.
    pub fn current() -> Self {
        let pid = std::process::id();
        Self::of(pid).unwrap_or(Self { pid, start: 0 })
    }

    /// Its resident memory in bytes, without its descendants. `None` if it has ended or the system does not
    /// say.
    pub fn resident_memory(self) -> Option<u64> {
        system::resident_memory(self)
    }

    /// Whether it has not ended. A zombie has ended.
    pub fn is_alive(self) -> bool {
        system::is_alive(self)
    }

    /// Whether it is another process or descends from it. `None` if that is not known: a process in between has ended, or
    /// the system does not say. After [`adopt_orphans`] no descendant can get away by ending its own parent.
    pub fn descends_from(self, other: Self) -> Option<bool> {
        system::descends_from(self, other)
    }
}

/// A signal that Weir sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    Interrupt,
    Terminate,
    Kill,
}

/// How often an uncertain scan is repeated. A foreign process whose environment really is empty never makes it
/// certain.
const UNCERTAIN_SCANS: usize = 3;

/// The processes of one launch.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    target: Target,
}

/// Result of a scan of the system.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Scan {
    /// Live members other than the root, by pid.
    pub(crate) alive: Vec<ProcessId>,
    /// Members that have ended and that we have to reap, because [`adopt_orphans`] made them our children.
    pub(crate) adopted_zombies: Vec<ProcessId>,
    /// Whether a process was seen whose environment could not be read, because it was just being replaced by
    /// `exec`. Then another scan is needed to be certain that nothing is left.
    pub(crate) is_uncertain: bool,
}

impl Tree {
    pub(crate) fn new(root: Option<ProcessId>, mark: Mark) -> Self {
        let limit = Some(LimitMark::of(&mark));
        Self { target: Target { root, mark, limit, known: BTreeSet::new() } }
    }

    /// A tree with this known member but no root, as recorded by a Weir process that is gone.
    pub(crate) fn with_member(member: Option<ProcessId>, mark: Mark, limit: Option<LimitMark>) -> Self {
        Self { target: Target { root: None, mark, limit, known: member.into_iter().collect() } }
    }

    /// Scans the system now, on this thread.
    pub(crate) fn scan_now(&mut self) -> Scan {
        system::scan(&mut [&mut self.target]).pop().unwrap_or_default()
    }

    /// Ends all members with SIGKILL, on this thread and without waiting: a process that was sent SIGKILL no
    /// longer forks, so scanning until no new member appears is enough. Returns the processes it hit.
    pub(crate) fn kill_now(&mut self) -> Vec<ProcessId> {
        /// More rounds than this mean a fork bomb, which further rounds would not end either.
        const ROUNDS: usize = 100;
        let mut hit = BTreeSet::new();
        let mut uncertain = 0;
        for _ in 0..ROUNDS {
            let scan = self.scan_now();
            let fresh: Vec<ProcessId> = scan.alive.into_iter().filter(|id| !hit.contains(id)).collect();
            if fresh.is_empty() {
                if !scan.is_uncertain || uncertain >= UNCERTAIN_SCANS {
                    break;
                }
                uncertain += 1;
            }
            for id in fresh {
                send(id, Signal::Kill);
                hit.insert(id);
            }
        }
        hit.into_iter().collect()
    }
}

/// Makes this process the parent of descendants whose own parent has ended, instead of init. Linux only; elsewhere it
/// does nothing.
///
/// For a binary that is the whole program, especially in a container without an init that reaps. Members of a
/// launch are then reaped by us when the launch is stopped. Other orphans, such as one that ended before it was
/// seen, stay zombies until this process ends: they could be children that another part of the program is still
/// waiting for.
pub fn adopt_orphans() -> std::io::Result<()> {
    system::adopt_orphans()
}

/// Whether [`adopt_orphans`] was called.
pub(crate) fn is_adopting() -> bool {
    system::is_adopting()
}

/// Marks a process that was just started, and thereby everything it will start. Does nothing where that is not
/// possible.
pub(crate) fn set_mark(id: ProcessId, mark: LimitMark) {
    system::set_mark(id, mark);
}

/// Sends a signal if the pid still belongs to this process.
pub(crate) fn send(id: ProcessId, signal: Signal) -> bool {
    system::send(id, signal)
}
