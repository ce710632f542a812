//! How times, amounts and places are said.

use std::path::Path;
use std::time::Duration;

/// `1 tool call`, `2 tool calls`.
pub(crate) fn plural(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A duration for people.
pub(crate) fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match time.as_secs() {
        0 => format!("{} ms", time.as_millis()),
        1..60 => format!("{seconds:.1} s"),
        whole => format!("{} min {:02} s", whole / 60, whole % 60),
    }
}

/// An amount, or that it is not known.
pub(crate) fn dollars(usd: Option<f64>) -> String {
    usd.map_or_else(|| "cost unknown".to_owned(), |usd| format!("${usd:.4}"))
}

/// What a turn cost. The CLI says zero for one that was cut short, whatever was spent on it: that is not known.
pub(crate) fn cost_of(usd: Option<f64>, is_cut_short: bool) -> String {
    dollars(usd.filter(|usd| !is_cut_short || *usd > 0.0))
}

/// How long ago something was, in one unit.
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
    let (days, rest) = (seconds / 86400, seconds % 86400);
    let (year, month, day) = civil(i64::try_from(days).unwrap_or(i64::MAX / 2));
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", rest / 3600, rest / 60 % 60)
}

/// Days since 1970 to a date, by Howard Hinnant's algorithm.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
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
    fn counts_and_amounts() {
        assert_eq!((plural(1, "turn"), plural(0, "turn")), ("1 turn".to_owned(), "0 turns".to_owned()));
        assert_eq!((dollars(Some(0.5)), dollars(None)), ("$0.5000".to_owned(), "cost unknown".to_owned()));
    }
}
