//! Numbers for Prometheus: what the server counts itself, and how numbers are written.

mod counts;
mod text;

pub(crate) use counts::Metrics;
pub(crate) use text::Exposition;
