//! A length of time, written as `90s`, `15m` or `1h30m`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A length of time above zero, in whole milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// So many seconds.
    pub const fn seconds(count: u64) -> Self {
        Self(count * 1000)
    }

    /// So many minutes.
    pub const fn minutes(count: u64) -> Self {
        Self::seconds(count * 60)
    }

    /// So many hours.
    pub const fn hours(count: u64) -> Self {
        Self::minutes(count * 60)
    }

    /// In milliseconds.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// As the standard library has it.
    pub const fn duration(self) -> Duration {
        Duration::from_millis(self.0)
    }
}

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("\"{text}\" is no length of time: write 90s, 15m, 1h30m or 2d");
        let mut total: u64 = 0;
        let mut number = String::new();
        let mut letters = text.trim().chars().peekable();
        while let Some(letter) = letters.next() {
            if letter.is_ascii_digit() {
                number.push(letter);
                continue;
            }
            let unit = match letter {
                'm' if letters.next_if_eq(&'s').is_some() => 1,
                's' => 1000,
                'm' => 60_000,
                'h' => 3_600_000,
                'd' => 86_400_000,
                _ => return Err(wrong()),
            };
            let count: u64 = number.parse().map_err(|_| wrong())?;
            total = count.checked_mul(unit).and_then(|part| total.checked_add(part)).ok_or_else(wrong)?;
            number.clear();
        }
        if number.is_empty() && total > 0 { Ok(Self(total)) } else { Err(wrong()) }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        for (unit, name) in [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms")] {
            if rest >= unit {
                write!(f, "{}{name}", rest / unit)?;
                rest %= unit;
            }
        }
        Ok(())
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Time {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A length of time, such as 90s, 15m, 1h30m or 2d.",
            "pattern": "^([0-9]+(ms|s|m|h|d))+$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["90s", "15m", "1h30m", "2d", "250ms", "1d1h1m1s1ms"] {
            let time: Time = text.parse().unwrap();
            assert_eq!(time.to_string().parse::<Time>().unwrap(), time, "{text}");
        }
        assert_eq!("90s".parse::<Time>().unwrap().to_string(), "1m30s");
    }

    #[test]
    fn nothing_else_is_a_time() {
        for text in ["", "0s", "5", "m", "-1s", "1.5h", "1y", "99999999999999999999d", "1h30"] {
            assert!(text.parse::<Time>().unwrap_err().contains("1h30m"), "{text}");
        }
    }
}
