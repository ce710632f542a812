//! What an unattended run waits for: space on a full disk, and the end of a sleep of the machine.

use std::io;
use std::time::{Duration, Instant};

/// How long a run waits for space, all in all.
const MAX_FULL_TIME: Duration = Duration::from_secs(6 * 3600);

/// How often it tries again.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// Less than this between two clocks is imprecision, or a correction of the time.
const MIN_SLEEP_MS: u64 = 10_000;

/// Whether an error says that a disk has no space left. Programs such as git say so in words.
pub(super) fn is_full(text: &str) -> bool {
    [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded]
        .iter()
        .any(|kind| text.contains(&kind.to_string()))
        || text.contains("No space left on device")
        || text.contains("Disk quota exceeded")
        // Git, about its indexes.
        || text.contains("Out of diskspace")
}

/// Waits while a disk is full.
#[derive(Debug, Default)]
pub(super) struct FullDisk {
    since: Option<Instant>,
}

impl FullDisk {
    /// How long to wait before the next try. `None` if the disk is not full, or if it has been full for too long. The second
    /// value is what to tell people, once.
    pub(super) fn wait(&mut self, error: &str) -> Option<(Duration, Option<String>)> {
        if !is_full(error) {
            return None;
        }
        let is_new = self.since.is_none();
        let since = *self.since.get_or_insert_with(Instant::now);
        let text = format!("the disk is full ({error}); the run waits for space");
        (since.elapsed() < MAX_FULL_TIME).then_some((RETRY_INTERVAL, is_new.then_some(text)))
    }

    /// Something was written. Returns what to tell people, if the disk was full before.
    pub(super) fn is_over(&mut self) -> Option<String> {
        self.since.take().map(|_| "the disk has space again; the run continues".to_owned())
    }
}

/// Finds out whether the machine was asleep: the wall clock advances during sleep, and the monotonic one does not.
#[derive(Debug)]
pub(super) struct SleepWatch {
    wall_ms: i64,
    awake: Instant,
}

impl SleepWatch {
    pub(super) fn new(now_ms: i64) -> Self {
        Self { wall_ms: now_ms, awake: Instant::now() }
    }

    /// For how long the machine was asleep since the last call, if it was.
    pub(super) fn slept(&mut self, now_ms: i64) -> Option<u64> {
        let awake = Instant::now();
        let slept = asleep(now_ms - self.wall_ms, awake - self.awake);
        (self.wall_ms, self.awake) = (now_ms, awake);
        slept
    }
}

fn asleep(wall_ms: i64, awake: Duration) -> Option<u64> {
    let awake_ms = u64::try_from(awake.as_millis()).unwrap_or(u64::MAX);
    let slept = u64::try_from(wall_ms).unwrap_or(0).saturating_sub(awake_ms);
    (slept >= MIN_SLEEP_MS).then_some(slept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_waited_for_and_told_once() {
        let error = io::Error::from(io::ErrorKind::StorageFull).to_string();
        let mut disk = FullDisk::default();
        assert!(disk.wait("exit code 1").is_none() && disk.is_over().is_none());
        assert!(disk.wait(&error).unwrap().1.is_some_and(|text| text.contains("full")));
        let git = "git read-tree failed: fatal: cannot create file: No space left on device";
        assert_eq!(disk.wait(git).unwrap(), (RETRY_INTERVAL, None));
        assert!(disk.is_over().is_some() && disk.is_over().is_none());
        disk.since = Instant::now().checked_sub(MAX_FULL_TIME);
        assert!(disk.since.is_none() || disk.wait(git).is_none());
    }

    #[test]
    fn only_a_sleep_is_a_sleep() {
        assert_eq!(asleep(60_000, Duration::from_secs(60)), None);
        assert_eq!(asleep(3_660_000, Duration::from_secs(60)), Some(3_600_000));
        assert_eq!(asleep(-5000, Duration::from_secs(60)), None, "the clock was set back");
        assert_eq!(asleep(61_000, Duration::from_secs(60)), None);
    }
}
