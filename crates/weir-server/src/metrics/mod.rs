//! Prometheus metrics: the server's own counters, and the text format.

mod counts;
mod text;

pub(crate) use counts::Metrics;
pub(crate) use text::Exposition;
