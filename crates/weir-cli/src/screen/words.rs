//! Formats times, amounts and paths for people.

use std::path::Path;
use std::time::Duration;

use weir_base::money;
use weir_base::time::{Utc, duration_text};

/// A duration for people.
pub(crate) fn seconds(time: Duration) -> String {
    duration_text(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

/// An amount, or that it is unknown.
pub(crate) fn dollars(usd: Option<f64>) -> String {
    usd.map_or_else(|| "cost unknown".to_owned(), money::dollars)
}

/// The cost of a turn. For a turn that was cut short the CLI reports zero, whatever it cost; that counts as unknown.
pub(crate) fn cost_of(usd: Option<f64>, is_cut_short: bool) -> String {
    dollars(usd.filter(|usd| !is_cut_short || *usd > 0.0))
}

/// How long ago something happened, in one unit.
pub(crate) fn ago(seconds: u64) -> String {
    match seconds {
        0..60 => "now".to_owned(),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..86400 => format!("{} h ago", seconds / 3600),
        _ => format!("{} d ago", seconds / 86400),
    }
}

/// A point in time, given in seconds since 1970, as `2026-01-31 12:00` in UTC.
pub(crate) fn date(seconds: u64) -> String {
    let utc = Utc::from_ms(i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1000));
    format!("{} {}", utc.date(), utc.clock())
}

/// A path with the home folder as `~`.
pub(crate) fn short_path(path: &str) -> String {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    match home.and_then(|home| Path::new(path).strip_prefix(home).ok().map(|rest| rest.display().to_string()))
    {
        Some(rest) if rest.is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{rest}"),
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_for_people() {
        assert_eq!(seconds(Duration::from_millis(12)), "12 ms");
        assert_eq!(seconds(Duration::from_millis(1_250)), "1.2 s");
        assert_eq!(seconds(Duration::from_secs(125)), "2 min 05 s");
        assert_eq!((ago(5), ago(90), ago(7300), ago(200_000)).3, "2 d ago");
        assert_eq!(ago(90), "1 min ago");
    }

    #[test]
    fn dates() {
        assert_eq!(date(0), "1970-01-01 00:00");
        assert_eq!(date(951_782_400), "2000-02-29 00:00");
        assert_eq!(date(1_767_182_399), "2025-12-31 11:59");
        assert_eq!(date(4_107_542_400), "2100-03-01 00:00");
    }

    #[test]
    fn amounts() {
        assert_eq!((dollars(Some(0.5)), dollars(None)), ("$0.50".to_owned(), "cost unknown".to_owned()));
    }
}
