//! Metrics of the host, as plain data. Presenting them is left to the caller.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::info::SessionStatus;

/// Metrics of a host. Counters start at zero when it opens.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct HostMetrics {
    /// Sessions in memory by what they are doing.
    pub sessions: Vec<(SessionStatus, u64)>,
    /// Running processes.
    pub processes: u64,
    /// Maximum number of processes at a time.
    pub max_processes: u64,
    /// Processes kept ready for new sessions.
    pub spare_processes: u64,
    /// How many new sessions got a process that was waiting.
    pub sessions_from_spares: u64,
    /// Sessions that wait for a process.
    pub waiting_for_process: u64,
    /// Sessions that have a process and wait for a person.
    pub awaiting_person: u64,
    /// Maximum number of these that do not count towards the process limit.
    pub max_awaiting_person: u64,
    /// How often a session's requests were denied because it waited too long while others needed its process.
    pub crowded_out: u64,
    /// Events written to logs.
    pub events: u64,
    /// Bytes of events written to logs.
    pub event_bytes: u64,
    /// Pieces of text that were streamed to viewers and not logged.
    pub previews: u64,
    /// Lines of a type that Weir does not know.
    pub unknown_lines: u64,
    /// Lines that do not fit their type, are not JSON or are too long.
    pub malformed_lines: u64,
    /// Messages that were accepted.
    pub messages: u64,
    /// Turns that ended well.
    pub turns_succeeded: u64,
    /// Turns that ended otherwise.
    pub turns_failed: u64,
    /// What turns cost, in dollars.
    pub cost_usd: f64,
    /// How long turns took, in seconds.
    pub turn_seconds: Histogram,
    /// How long the first text took, in seconds.
    pub first_text_seconds: Histogram,
    /// How long writes to the log took, in seconds.
    pub append_seconds: Histogram,
    /// Checkpoints that are being made.
    pub checkpoints_running: u64,
    /// Checkpoints that were made in the background.
    pub checkpoints: u64,
    /// Viewers of sessions.
    pub viewers: u64,
    /// Viewers of the list of sessions.
    pub list_viewers: u64,
    /// Viewers that were closed because they were too slow.
    pub lagged: u64,
}

/// A cumulative histogram.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Histogram {
    /// Upper bounds, each with how many values were at most that; the last bound is infinite.
    pub buckets: Vec<(f64, u64)>,
    /// The sum of all values.
    pub sum: f64,
    /// How many values there were.
    pub count: u64,
}

/// Upper bounds in seconds, from a tenth of a millisecond to an hour.
const BOUNDS: [f64; 16] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 600.0, 3600.0,
];

#[derive(Debug, Default)]
pub(crate) struct Timer {
    counts: [AtomicU64; BOUNDS.len() + 1],
    microseconds: AtomicU64,
}

impl Timer {
    pub(crate) fn record(&self, seconds: f64) {
        let seconds = seconds.max(0.0);
        let place = BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len());
        if let Some(count) = self.counts.get(place) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.microseconds.fetch_add((seconds * 1e6) as u64, Ordering::Relaxed);
    }

    fn histogram(&self) -> Histogram {
        let mut count = 0;
        let bounds = BOUNDS.into_iter().chain([f64::INFINITY]);
        let buckets = bounds.zip(&self.counts).map(|(bound, new)| {
            count += new.load(Ordering::Relaxed);
            (bound, count)
        });
        let buckets: Vec<(f64, u64)> = buckets.collect();
        Histogram { buckets, sum: self.microseconds.load(Ordering::Relaxed) as f64 / 1e6, count }
    }
}

/// The counters behind the metrics. Any thread may add to them.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) events: AtomicU64,
    pub(crate) event_bytes: AtomicU64,
    pub(crate) previews: AtomicU64,
    pub(crate) unknown_lines: AtomicU64,
    pub(crate) malformed_lines: AtomicU64,
    pub(crate) messages: AtomicU64,
    pub(crate) turns_succeeded: AtomicU64,
    pub(crate) turns_failed: AtomicU64,
    pub(crate) lagged: AtomicU64,
    pub(crate) waiting_for_process: AtomicU64,
    pub(crate) crowded_out: AtomicU64,
    pub(crate) turns: Timer,
    pub(crate) first_texts: Timer,
    pub(crate) appends: Timer,
    cost_usd: Mutex<f64>,
}

impl Counters {
    pub(crate) fn add_cost(&self, usd: f64) {
        *self.cost_usd.lock().unwrap_or_else(PoisonError::into_inner) += usd;
    }

    /// The counters as plain numbers; the host adds the live values.
    pub(crate) fn numbers(&self) -> HostMetrics {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        HostMetrics {
            waiting_for_process: get(&self.waiting_for_process),
            crowded_out: get(&self.crowded_out),
            events: get(&self.events),
            event_bytes: get(&self.event_bytes),
            previews: get(&self.previews),
            unknown_lines: get(&self.unknown_lines),
            malformed_lines: get(&self.malformed_lines),
            messages: get(&self.messages),
            turns_succeeded: get(&self.turns_succeeded),
            turns_failed: get(&self.turns_failed),
            lagged: get(&self.lagged),
            cost_usd: *self.cost_usd.lock().unwrap_or_else(PoisonError::into_inner),
            turn_seconds: self.turns.histogram(),
            first_text_seconds: self.first_texts.histogram(),
            append_seconds: self.appends.histogram(),
            ..HostMetrics::default()
        }
    }
}

/// Adds to a counter.
pub(crate) fn count(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::Timer;

    #[test]
    fn a_histogram_counts_upwards() {
        let timer = Timer::default();
        for seconds in [0.00005, 0.3, 0.4, 100_000.0, -1.0] {
            timer.record(seconds);
        }
        let histogram = timer.histogram();
        assert_eq!(histogram.count, 5);
        assert_eq!(histogram.buckets.first(), Some(&(0.0001, 2)));
        assert_eq!(histogram.buckets.last(), Some(&(f64::INFINITY, 5)));
        assert!(histogram.buckets.contains(&(0.5, 4)));
    }
}
