//! The time, formatted as the CLI does.

use weir_base::time::{Utc, now_ms};

/// Milliseconds since 1970.
pub(crate) fn milliseconds() -> u64 {
    u64::try_from(now_ms()).unwrap_or_default()
}

/// The current time, such as `2026-11-15T07:03:04.346Z`.
pub(crate) fn timestamp() -> String {
    Utc::from_ms(now_ms()).rfc3339_ms()
}
