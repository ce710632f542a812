//! Points in time and durations, as numbers and as text. All dates are in UTC.

use std::time::{Duration, SystemTime};

/// Milliseconds since 1970, now.
pub fn now_ms() -> i64 {
    unix_ms(SystemTime::now())
}

/// Milliseconds since 1970. Earlier times are 1970.
pub fn unix_ms(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Date and time of day in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Utc {
    /// The year.
    pub year: i64,
    /// The month, from 1.
    pub month: i64,
    /// The day of the month, from 1.
    pub day: i64,
    /// The hour.
    pub hour: i64,
    /// The minute.
    pub minute: i64,
    /// The second.
    pub second: i64,
    /// The millisecond.
    pub millisecond: i64,
}

impl Utc {
    /// The date of a time in milliseconds since 1970.
    pub fn from_ms(unix_ms: i64) -> Self {
        let (seconds, millisecond) = (unix_ms.div_euclid(1000), unix_ms.rem_euclid(1000));
        let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        // Howard Hinnant's civil_from_days: years begin in March, so that the leap day is the last day of a year.
        let shifted = days + 719_468;
        let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let march_month = (5 * day_of_year + 2) / 153;
        let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
        Self {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month,
            day: day_of_year - (153 * march_month + 2) / 5 + 1,
            hour: of_day / 3600,
            minute: of_day / 60 % 60,
            second: of_day % 60,
            millisecond,
        }
    }

    /// Milliseconds since 1970. The fields are not checked.
    pub fn to_ms(self) -> i64 {
        let year = if self.month <= 2 { self.year - 1 } else { self.year };
        let day_of_year = (153 * ((self.month + 9) % 12) + 2) / 5 + self.day - 1;
        let days =
            365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year
                - 719_468;
        let seconds = (days * 24 + self.hour) * 3600 + self.minute * 60 + self.second;
        seconds * 1000 + self.millisecond
    }

    /// `2026-01-02`.
    pub fn date(self) -> String {
        format!("{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }

    /// `03:04`.
    pub fn clock(self) -> String {
        format!("{:02}:{:02}", self.hour, self.minute)
    }

    /// `2026-01-02T03:04:05Z`.
    pub fn rfc3339(self) -> String {
        format!("{}T{}:{:02}Z", self.date(), self.clock(), self.second)
    }

    /// `2026-01-02T03:04:05.678Z`.
    pub fn rfc3339_ms(self) -> String {
        format!("{}T{}:{:02}.{:03}Z", self.date(), self.clock(), self.second, self.millisecond)
    }
}

/// A duration for people: `850 ms`, `12.5 s`, `3 min 05 s`, `2 h 14 min`.
pub fn duration_text(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match seconds {
        0 => format!("{milliseconds} ms"),
        1..60 => format!("{seconds}.{} s", milliseconds % 1000 / 100),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// Parses a duration such as `90s`, `15m`, `1h30m`, `1.5h`, `2d` or `250ms`. `None` if it is not one, or is zero.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = rest.find(|character: char| !character.is_ascii_digit() && character != '.')?;
        let (number, after) = rest.split_at(end);
        let (milliseconds, after) = UNITS.iter().find_map(|(name, milliseconds)| {
            let after = after.strip_prefix(name)?;
            Some((*milliseconds, after))
        })?;
        let count: f64 = number.parse().ok()?;
        total = total.checked_add(Duration::try_from_secs_f64(count * milliseconds / 1000.0).ok()?)?;
        rest = after;
    }
    (!total.is_zero()).then_some(total)
}

/// Parses a point in time: `2026-01-02T03:04Z`, `2026-01-02T03:04:05+01:00`, or a duration from now such as `8h`. In
/// milliseconds since 1970.
pub fn parse_time(text: &str, now_ms: i64) -> Option<i64> {
    if let Some(duration) = parse_duration(text) {
        return now_ms.checked_add(i64::try_from(duration.as_millis()).ok()?);
    }
    let (date, rest) = text.trim().split_once(['T', 't', ' '])?;
    let numbers = |text: &str, sign: char| -> Option<Vec<i64>> {
        let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|letter| letter.is_ascii_digit());
        text.split(sign).map(|part| Some(part).filter(is_number)?.parse().ok()).collect()
    };
    let zone = rest.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = rest.split_at(zone);
    let offset = match zone.strip_prefix(['Z', 'z']) {
        Some("") => 0,
        Some(_) => return None,
        None => match *numbers(zone.get(1..)?, ':')?.as_slice() {
            [hours @ 0..=23, minutes @ 0..=59] if zone.starts_with('-') => -(hours * 60 + minutes),
            [hours @ 0..=23, minutes @ 0..=59] => hours * 60 + minutes,
            _ => return None,
        },
    };
    let &[year @ 1970..=9999, month @ 1..=12, day @ 1..=31] = numbers(date, '-')?.as_slice() else {
        return None;
    };
    let (hour, minute, second) = match *numbers(clock, ':')?.as_slice() {
        [hour @ 0..=23, minute @ 0..=59] => (hour, minute, 0),
        [hour @ 0..=23, minute @ 0..=59, second @ 0..=60] => (hour, minute, second),
        _ => return None,
    };
    let utc = Utc { year, month, day, hour, minute, second, millisecond: 0 };
    // The thirty-first of a short month is not a date.
    (Utc::from_ms(utc.to_ms()).date() == utc.date()).then(|| utc.to_ms() - offset * 60_000)
}

/// Units of durations, in milliseconds. `ms` stands before `m`, which it begins with.
const UNITS: [(&str, f64); 5] = [("ms", 1.0), ("s", 1e3), ("m", 60e3), ("h", 3_600e3), ("d", 86_400e3)];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn points_in_time() {
        let time = |text: &str| parse_time(text, 1000).map(|ms| Utc::from_ms(ms).rfc3339());
        assert_eq!(parse_time("1m30s", 1000), Some(91_000));
        assert_eq!(time("2026-01-02T03:04Z").as_deref(), Some("2026-01-02T03:04:00Z"));
        assert_eq!(time("2026-01-02T03:04:05+01:30").as_deref(), Some("2026-01-02T01:34:05Z"));
        assert_eq!(time("2026-01-01 23:00-02:00").as_deref(), Some("2026-01-02T01:00:00Z"));
        for text in [
            "",
            "06:00",
            "2026-01-02",
            "2026-01-02T03:04",
            "2026-02-31T00:00Z",
            "2026-01-02T25:00Z",
            "2026-01-02T03:04Zx",
        ] {
            assert_eq!(time(text), None, "{text}");
        }
    }

    #[test]
    fn known_dates() {
        let text = |ms| Utc::from_ms(ms).rfc3339_ms();
        assert_eq!(text(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(text(951_782_399_999), "2000-02-28T23:59:59.999Z");
        assert_eq!(text(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(text(1_794_726_184_346), "2026-11-15T07:03:04.346Z");
        assert_eq!(text(4_107_542_400_000), "2100-03-01T00:00:00.000Z");
        assert_eq!(text(-1), "1969-12-31T23:59:59.999Z");
        assert_eq!(Utc::from_ms(1_767_323_045_678).rfc3339(), "2026-01-02T03:04:05Z");
    }

    #[test]
    fn durations_for_people() {
        let shown = [850, 1_250, 12_500, 185_000, 8_040_000].map(duration_text);
        assert_eq!(shown, ["850 ms", "1.2 s", "12.5 s", "3 min 05 s", "2 h 14 min"]);
    }

    #[test]
    fn durations_as_people_write_them() {
        let ms = |text| parse_duration(text).map(|duration| duration.as_millis());
        assert_eq!(ms("90s"), Some(90_000));
        assert_eq!(ms(" 1h30m "), Some(5_400_000));
        assert_eq!(ms("1.5h"), Some(5_400_000));
        assert_eq!(ms("1d1h1m1s1ms"), Some(90_061_001));
        for text in
            ["", "0s", "5", "m", "-1s", "1y", "1h30", "1..5s", "1e3s", "99999999999999999999999d", "ms"]
        {
            assert_eq!(ms(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_date_gives_its_time_back(ms in -60_000_000_000_000_i64..200_000_000_000_000) {
            prop_assert_eq!(Utc::from_ms(ms).to_ms(), ms);
        }
    }
}
