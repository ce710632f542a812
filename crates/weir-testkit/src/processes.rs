//! Processes that a CLI has started or left behind, found by their environment.
//!
//! Tools run in their own process sessions, so neither the process group nor the parent shows that they belong to a
//! test. Their `HOME` does: every test has its own. Works if there is a `/proc`; on other systems nothing is found.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// A process that outlived its CLI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Its id.
    pub process: u32,
    /// Its command line.
    pub command: String,
}

/// How long processes may outlive their CLI.
const GRACE: Duration = Duration::from_secs(3);
/// How often to check.
const POLL: Duration = Duration::from_millis(20);

/// Finds the processes with this home folder that do not end soon, and kills them. They are not our children, so
/// another process reaps them.
pub fn end_leftovers(home: &Path) -> Vec<Leftover> {
    let end = Instant::now() + GRACE;
    let mut found = leftovers(home);
    while !found.is_empty() && Instant::now() < end {
        std::thread::park_timeout(POLL);
        found = leftovers(home);
    }
    for leftover in &found {
        if let Some(id) = i32::try_from(leftover.process).ok().and_then(Pid::from_raw) {
            let _has_just_ended = kill_process(id, Signal::KILL);
        }
    }
    found
}

/// The processes with this home folder.
pub(crate) fn leftovers(home: &Path) -> Vec<Leftover> {
    let wanted = format!("HOME={}", home.display());
    processes_where(|environment| {
        environment.split(|&byte| byte == 0).any(|variable| variable == wanted.as_bytes())
    })
}

/// The processes whose environment, with a zero byte after each variable, fits.
pub fn processes_where(fits: impl Fn(&[u8]) -> bool) -> Vec<Leftover> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // Those of other users cannot be read; those that have just ended are empty.
        let Ok(environment) = std::fs::read(entry.path().join("environ")) else { continue };
        if fits(&environment) {
            let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).replace('\0', " ").trim_end().to_owned();
            found.push(Leftover { process, command });
        }
    }
    found
}
