//! Times as text, without a calendar library: all we need is UTC. And a clock that nobody can set.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time that has passed since some moment before this process began, also while the machine slept. Unlike the time of
/// day it cannot be set.
#[cfg(unix)]
pub fn time_passed() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    // Elsewhere the monotonic clock goes on while the machine sleeps; on Linux it stops.
    #[cfg(target_os = "linux")]
    const CLOCK: ClockId = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    const CLOCK: ClockId = ClockId::Monotonic;
    let time = clock_gettime(CLOCK);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Time that has passed since some moment in this process. Unlike the time of day it cannot be set.
#[cfg(not(unix))]
pub fn time_passed() -> Duration {
    static BEGAN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    BEGAN.get_or_init(std::time::Instant::now).elapsed()
}

/// Date and time of day in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Utc {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
    millisecond: u64,
}

impl Utc {
    fn from_millis(millis: u64) -> Self {
        let seconds = millis / 1000;
        let (days, time) = (seconds / 86_400, seconds % 86_400);
        // Howard Hinnant's civil_from_days, for days since 1970-01-01 that are never negative: years begin in
        // March, so that the leap day is the last day of a year.
        let shifted = days + 719_468;
        let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        Self {
            year: year_of_era + era * 400 + u64::from(month <= 2),
            month,
            day: day_of_year - (153 * shifted_month + 2) / 5 + 1,
            hour: time / 3600,
            minute: time / 60 % 60,
            second: time % 60,
            millisecond: millis % 1000,
        }
    }
}

fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// For file names: sorts by time and needs no escaping, for instance `20260102T030405.678Z`.
pub(crate) fn file_stamp(time: SystemTime) -> String {
    let Utc { year, month, day, hour, minute, second, millisecond } = Utc::from_millis(millis(time));
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}.{millisecond:03}Z")
}

/// For people: `2026-01-02 03:04:05 UTC`.
pub(crate) fn readable(seconds: u64) -> String {
    let Utc { year, month, day, hour, minute, second, .. } = Utc::from_millis(seconds.saturating_mul(1000));
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Seconds since 1970.
pub(crate) fn seconds_now() -> u64 {
    millis(SystemTime::now()) / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(millis: u64) -> String {
        file_stamp(UNIX_EPOCH + Duration::from_millis(millis))
    }

    #[test]
    fn known_times() {
        assert_eq!(stamp(0), "19700101T000000.000Z");
        assert_eq!(stamp(951_782_399_999), "20000228T235959.999Z");
        assert_eq!(stamp(951_782_400_000), "20000229T000000.000Z");
        assert_eq!(stamp(1_767_323_045_678), "20260102T030405.678Z");
        assert_eq!(stamp(4_107_542_400_000), "21000301T000000.000Z");
        assert_eq!(readable(1_767_323_045), "2026-01-02 03:04:05 UTC");
    }

    #[test]
    fn later_is_greater() {
        let stamps: Vec<String> = (0..2000).map(|i| stamp(i * 40_000_000_001)).collect();
        assert!(stamps.is_sorted());
    }
}
