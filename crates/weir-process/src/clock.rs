//! Times as text, and a clock that cannot be set.

use std::time::{Duration, SystemTime};

use weir_base::time::{Utc, now_ms, unix_ms};

/// Time elapsed since some moment before this process started, including time the machine was asleep. Unlike
/// the time of day it cannot be set.
#[cfg(unix)]
pub fn time_passed() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    // Elsewhere the monotonic clock keeps running while the machine sleeps; on Linux it stops.
    #[cfg(target_os = "linux")]
    const CLOCK: ClockId = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    const CLOCK: ClockId = ClockId::Monotonic;
    let time = clock_gettime(CLOCK);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Time elapsed since some moment in this process. Unlike the time of day it cannot be set.
#[cfg(not(unix))]
pub fn time_passed() -> Duration {
    static BEGAN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    BEGAN.get_or_init(std::time::Instant::now).elapsed()
}

/// For file names: sorts by time and needs no escaping, e.g. `20260102T030405.678Z`.
pub(crate) fn file_stamp(time: SystemTime) -> String {
    let Utc { year, month, day, hour, minute, second, millisecond } = Utc::from_ms(unix_ms(time));
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}.{millisecond:03}Z")
}

/// For people: `2026-01-02 03:04:05 UTC`.
pub(crate) fn readable(seconds: u64) -> String {
    let utc = Utc::from_ms(i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1000));
    format!("{} {}:{:02} UTC", utc.date(), utc.clock(), utc.second)
}

/// Seconds since 1970.
pub(crate) fn seconds_now() -> u64 {
    u64::try_from(now_ms() / 1000).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

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
