//! The process table and signals on Linux, using `/proc` and pidfds.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, WaitOptions};

use super::members::{self, Entry, Marked, Target};
use super::{ProcessId, Scan, Signal};
use crate::mark::LimitMark;

/// The process that currently has this pid.
pub(super) fn find(pid: u32) -> Option<ProcessId> {
    read_entry(pid).map(|entry| entry.id)
}

pub(super) fn is_alive(id: ProcessId) -> bool {
    read_entry(id.pid).is_some_and(|entry| entry.id == id && !entry.is_zombie)
}

pub(super) fn resident_memory(id: ProcessId) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", id.pid)).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    is_alive(id).then_some(kibibytes * 1024)
}

/// More generations than this are not looked at.
const MAX_GENERATIONS: usize = 1024;

pub(super) fn descends_from(id: ProcessId, other: ProcessId) -> Option<bool> {
    let mut entry = read_entry(id.pid).filter(|entry| entry.id == id)?;
    for _ in 0..MAX_GENERATIONS {
        if entry.id == other {
            return Some(true);
        }
        if entry.parent == 0 {
            return Some(false);
        }
        entry = read_entry(entry.parent)?;
    }
    None
}

/// Scans the system once for any number of targets.
pub(super) fn scan(targets: &mut [&mut Target]) -> Vec<Scan> {
    let table = table();
    let ourselves = std::process::id();
    let mut marks = Marks::default();
    targets
        .iter_mut()
        .map(|target| {
            let (mark, limit) = (target.mark.clone(), target.limit);
            let finder = memchr::memmem::Finder::new(mark.as_str());
            let scan = members::find(&table, target, ourselves, |id| marks.look(id, &finder, limit));
            scan.adopted_zombies.iter().for_each(|zombie| reap(*zombie));
            scan
        })
        .collect()
}

/// Environments and limits read in this scan, so that each is read only once for all targets.
#[derive(Default)]
struct Marks {
    /// The part of each environment that can hold marks.
    environments: HashMap<ProcessId, Option<Vec<u8>>>,
    limits: HashMap<ProcessId, Option<u64>>,
}

impl Marks {
    fn look(&mut self, id: ProcessId, mark: &memchr::memmem::Finder<'_>, limit: Option<LimitMark>) -> Marked {
        let marks = self.environments.entry(id).or_insert_with(|| read_marks(id.pid));
        if marks.as_ref().is_some_and(|marks| mark.find(marks).is_some()) {
            return Marked::Yes;
        }
        let is_unknown = marks.is_none();
        if let Some(limit) = limit {
            let found = self.limits.entry(id).or_insert_with(|| read_limit(id.pid));
            if *found == Some(limit.value()) {
                return Marked::Yes;
            }
        }
        if is_unknown { Marked::Unknown } else { Marked::No }
    }
}

/// The limit of a process that can hold our mark; `None` if it is not set or the process is gone.
fn read_limit(pid: u32) -> Option<u64> {
    parse_limit(&fs::read_to_string(format!("/proc/{pid}/limits")).ok()?)
}

/// Reads the soft limit from `Max realtime timeout  SOFT  HARD  us`.
fn parse_limit(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max realtime timeout"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Sets the limit that holds our mark. The hard limit is kept; if it is lower than the mark, there is no room
/// for one.
pub(super) fn set_mark(id: ProcessId, mark: LimitMark) {
    let Some(pid) = i32::try_from(id.pid).ok().and_then(Pid::from_raw) else { return };
    let ours = rustix::process::getrlimit(Resource::Rttime);
    if ours.maximum.is_none_or(|maximum| mark.value() < maximum) {
        let limit = Rlimit { current: Some(mark.value()), maximum: ours.maximum };
        // This may be forbidden; the environment has the mark too.
        let _ = rustix::process::prlimit(Some(pid), Resource::Rttime, limit);
    }
}

/// The value of our variable in the environment of a process; empty if it is not set or the process belongs to
/// another user. `None` if its environment is empty, as it is for an instant during `exec`.
fn read_marks(pid: u32) -> Option<Vec<u8>> {
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else {
        // Gone, or not readable for us.
        return Some(Vec::new());
    };
    if environment.is_empty() {
        // Kernel threads have no environment, and no program either.
        let has_program = fs::read_link(format!("/proc/{pid}/exe")).is_ok();
        return if has_program { None } else { Some(Vec::new()) };
    }
    let prefix = format!("{}=", crate::mark::VARIABLE);
    let value = environment.split(|&byte| byte == 0).find_map(|entry| entry.strip_prefix(prefix.as_bytes()));
    Some(value.unwrap_or_default().to_vec())
}

fn table() -> Vec<Entry> {
    let Ok(directory) = fs::read_dir("/proc") else { return Vec::new() };
    directory
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(read_entry)
        .collect()
}

fn read_entry(pid: u32) -> Option<Entry> {
    parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Parses a line of `/proc/PID/stat`. The program name is in parentheses and may contain anything, including
/// parentheses and line feeds, so fields are counted from the last parenthesis.
fn parse_stat(stat: &[u8]) -> Option<Entry> {
    let pid_end = memchr::memchr(b' ', stat)?;
    let name_end = memchr::memrchr(b')', stat)?;
    let pid = std::str::from_utf8(stat.get(..pid_end)?).ok()?.parse().ok()?;
    let rest = std::str::from_utf8(stat.get(name_end + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    // State is field 3, the number of threads is field 20, start time is field 22.
    let threads: u32 = fields.nth(14)?.parse().ok()?;
    let start = fields.nth(1)?.parse().ok()?;
    // The first thread can end before the others, and then looks like this although the program still runs.
    let is_zombie = matches!(state, "Z" | "X" | "x") && threads <= 1;
    Some(Entry { id: ProcessId { pid, start }, parent, group, is_zombie })
}

/// Reaps a child that has ended. It is our zombie, so its pid cannot have been reused.
fn reap(zombie: ProcessId) {
    if let Some(pid) = i32::try_from(zombie.pid).ok().and_then(Pid::from_raw) {
        let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
    }
}

static ADOPTING: AtomicBool = AtomicBool::new(false);

pub(super) fn adopt_orphans() -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    ADOPTING.store(true, Ordering::Relaxed);
    Ok(())
}

pub(super) fn is_adopting() -> bool {
    ADOPTING.load(Ordering::Relaxed)
}

/// Sends a signal if the pid still belongs to this process.
pub(super) fn send(id: ProcessId, signal: Signal) -> bool {
    let Some(pid) = i32::try_from(id.pid).ok().and_then(Pid::from_raw) else { return false };
    let signal = crate::unix::native(signal);
    match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
        // The pidfd refers to the process that has the pid now; if that is the one we mean, its pid cannot be
        // reused in between.
        Ok(fd) => find(id.pid) == Some(id) && rustix::process::pidfd_send_signal(fd, signal).is_ok(),
        Err(error) if io::Error::from(error).kind() == io::ErrorKind::Unsupported => {
            find(id.pid) == Some(id) && rustix::process::kill_process(pid, signal).is_ok()
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_name_can_hold_anything() {
        let stat = b"42 (a) R 1 (b)\n c) S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1000 200";
        let entry = parse_stat(stat).unwrap();
        let expected =
            Entry { id: ProcessId { pid: 42, start: 98_765 }, parent: 7, group: 8, is_zombie: false };
        assert_eq!(entry, expected);
        let ended = b"42 (a) Z 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1000 200";
        assert!(parse_stat(ended).unwrap().is_zombie);
        let only_its_first_thread = b"42 (a) Z 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 2 0 98765 1000 200";
        assert!(!parse_stat(only_its_first_thread).unwrap().is_zombie);
        assert!(parse_stat(b"42 (a) S 7").is_none());
        assert!(parse_stat(b"").is_none());
    }

    #[test]
    fn a_limit_is_read_if_present() {
        let limits = "Limit  Soft Limit  Hard Limit  Units\n\
            Max realtime priority     0                    0                    \n\
            Max realtime timeout      123456789012345678   unlimited            us        \n";
        assert_eq!(parse_limit(limits), Some(123_456_789_012_345_678));
        assert_eq!(
            parse_limit("Max realtime timeout      unlimited            unlimited            us\n"),
            None
        );
        assert_eq!(parse_limit(""), None);
    }

    #[test]
    fn we_find_ourselves() {
        let ourselves = ProcessId::current();
        assert!(ourselves.start > 0);
        assert!(ourselves.is_alive());
        let another = ProcessId { start: ourselves.start + 1, ..ourselves };
        assert!(!another.is_alive());
        assert!(ourselves.resident_memory().is_some_and(|bytes| bytes > 1 << 20));
        assert_eq!(another.resident_memory(), None);
        assert!(table().iter().any(|entry| entry.id == ourselves));
    }
}
