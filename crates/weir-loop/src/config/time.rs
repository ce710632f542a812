//! A duration, written as `90s`, `15m` or `1h30m`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use weir_base::time::parse_duration;

/// A duration above zero, in whole milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// This many milliseconds.
    pub const fn millis(count: u64) -> Self {
        Self(count)
    }

    /// This many seconds.
    pub const fn seconds(count: u64) -> Self {
        Self(count * 1000)
    }

    /// This many minutes.
    pub const fn minutes(count: u64) -> Self {
        Self::seconds(count * 60)
    }

    /// This many hours.
    pub const fn hours(count: u64) -> Self {
        Self::minutes(count * 60)
    }

    /// In milliseconds.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// As a [`Duration`].
    pub const fn duration(self) -> Duration {
        Duration::from_millis(self.0)
    }
}

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse_duration(text)
            .and_then(|duration| u64::try_from(duration.as_millis()).ok())
            .filter(|milliseconds| *milliseconds > 0)
            .map(Self)
            .ok_or_else(|| format!("\"{text}\" is not a valid duration: write 90s, 15m, 1h30m or 2d"))
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
            "description": "A duration, such as 90s, 15m, 1h30m or 2d.",
            "pattern": "^([0-9]+([.][0-9]+)?(ms|s|m|h|d))+$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_and_parse_round_trip() {
        for text in ["90s", "15m", "1h30m", "2d", "250ms", "1d1h1m1s1ms"] {
            let time: Time = text.parse().unwrap();
            assert_eq!(time.to_string().parse::<Time>().unwrap(), time, "{text}");
        }
        assert_eq!("90s".parse::<Time>().unwrap().to_string(), "1m30s");
    }

    #[test]
    fn other_texts_are_rejected() {
        for text in ["", "0s", "5", "m", "-1s", "1y", "99999999999999999999d", "1h30"] {
            assert!(text.parse::<Time>().unwrap_err().contains("1h30m"), "{text}");
        }
    }
}
