//! The server's own counters.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::{Method, StatusCode};

use super::text::Exposition;
use crate::serve::ConnectionCounts;

/// Upper bounds of the request duration buckets, in seconds.
const BOUNDS: [f64; 9] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// The server's own counters.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    answers: Mutex<Answers>,
    refused_logins: AtomicU64,
    lagged: AtomicU64,
    events: AtomicU64,
    event_bytes: AtomicU64,
    connections: Arc<ConnectionCounts>,
}

#[derive(Debug, Default)]
struct Answers {
    by_route: BTreeMap<(String, String, u16), u64>,
    below: [u64; BOUNDS.len()],
    count: u64,
    seconds: f64,
}

impl Metrics {
    /// Counts an answered request. Routes are those of the router, so that clients cannot create new labels.
    pub(crate) fn answered(&self, method: &Method, route: Option<&str>, status: StatusCode, took: Duration) {
        let method = match *method {
            Method::GET | Method::HEAD | Method::POST | Method::PUT | Method::PATCH | Method::DELETE => {
                method.as_str()
            }
            _ => "other",
        };
        let key = (method.to_owned(), route.unwrap_or("other").to_owned(), status.as_u16());
        let seconds = took.as_secs_f64();
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        *answers.by_route.entry(key).or_default() += 1;
        for (count, bound) in answers.below.iter_mut().zip(BOUNDS) {
            *count += u64::from(seconds <= bound);
        }
        answers.count += 1;
        answers.seconds += seconds;
    }

    /// Counts a wrong token.
    pub(crate) fn refused_login(&self) {
        self.refused_logins.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a stream that was closed because its reader was too slow.
    pub(crate) fn lagged(&self) {
        self.lagged.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an event sent on a stream.
    pub(crate) fn sent(&self, bytes: usize) {
        self.events.fetch_add(1, Ordering::Relaxed);
        self.event_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// The connection counters.
    pub(crate) fn connections(&self) -> Arc<ConnectionCounts> {
        Arc::clone(&self.connections)
    }

    /// Writes all samples.
    pub(crate) fn write(&self, text: &mut Exposition) {
        let name = "weir_http_requests_total";
        text.about(name, "counter", "Answered requests.");
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        for ((method, route, status), count) in &answers.by_route {
            let status = status.to_string();
            text.sample(name, &[("method", method), ("route", route), ("status", &status)], count);
        }
        let buckets: Vec<(f64, u64)> = BOUNDS.into_iter().zip(answers.below).collect();
        text.histogram(
            "weir_http_request_seconds",
            "Time until the response began.",
            &buckets,
            answers.count,
            answers.seconds,
        );
        drop(answers);
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        text.counter("weir_http_wrong_tokens_total", "Wrong tokens.", of(&self.refused_logins));
        text.counter("weir_sse_events_total", "Events sent on streams.", of(&self.events));
        text.counter("weir_sse_bytes_total", "Bytes sent on streams.", of(&self.event_bytes));
        text.counter(
            "weir_sse_lagged_total",
            "Streams closed because their reader was too slow.",
            of(&self.lagged),
        );
        let ConnectionCounts { open, evicted, timed_out, refused } = &*self.connections;
        text.gauge("weir_connections", "Open connections.", of(open));
        let name = "weir_connections_closed_total";
        text.about(name, "counter", "Connections that the server closed or refused, by reason.");
        text.sample(name, &[("why", "room")], of(evicted));
        text.sample(name, &[("why", "time")], of(timed_out));
        text.sample(name, &[("why", "refused")], of(refused));
    }
}
