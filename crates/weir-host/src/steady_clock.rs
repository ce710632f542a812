//! A wall clock that is not affected by changes of the system clock.

use std::time::Duration;

use weir_base::time::now_ms;

/// The time of day when the host started, plus the time since. If the system clock is set ahead by a year, sessions do
/// not become a year older.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SteadyClock {
    /// In milliseconds since 1970.
    began: i64,
    passed: Duration,
}

impl SteadyClock {
    /// Begins now.
    pub(crate) fn start() -> Self {
        Self { began: now_ms(), passed: weir_process::time_passed() }
    }

    /// In milliseconds since 1970.
    pub(crate) fn now(self) -> i64 {
        self.at(weir_process::time_passed())
    }

    fn at(self, passed: Duration) -> i64 {
        let since = passed.saturating_sub(self.passed).as_millis();
        self.began.saturating_add(i64::try_from(since).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_only_advances_with_elapsed_time() {
        let clock = SteadyClock { began: 1_000, passed: Duration::from_secs(50) };
        assert_eq!(clock.at(Duration::from_secs(50)), 1_000);
        assert_eq!(clock.at(Duration::from_secs(53)), 4_000);
        assert_eq!(clock.at(Duration::ZERO), 1_000);
        let (clock, wall) = (SteadyClock::start(), now_ms());
        assert!((clock.now() - wall).abs() < 60_000, "it is the time of day unless the system clock is set");
    }
}
