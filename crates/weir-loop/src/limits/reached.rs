//! A limit of the run that was reached, as it is saved.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Number;

use super::{Amount, Limit, LimitTable, Limits, Unit};
use crate::state::Budget;

/// A limit of the run that was reached.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitReached {
    /// Its key in the configuration.
    pub key: &'static str,
    /// How much was used; absent in states of older versions.
    pub used: Option<f64>,
    /// The limit at that time.
    pub max: f64,
}

/// The saved form. `of` is the key without its unit; times are in milliseconds.
#[derive(Serialize, Deserialize)]
struct Saved {
    of: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spent: Option<Number>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<Number>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spent_ms: Option<Number>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit_ms: Option<Number>,
}

impl LimitReached {
    /// The limit that keeps another iteration from starting, if any. Checked after the last one was judged.
    pub fn before_next(limits: &Limits, budget: &Budget) -> Option<Self> {
        let (limit, used, max) = limits.reached(budget).next()?;
        Some(Self { key: limit.key, used: Some(used.value), max: max.value })
    }

    fn row(&self) -> Option<&'static Limit<Limits>> {
        Limits::ROWS.iter().find(|limit| limit.key == self.key)
    }
}

impl fmt::Display for LimitReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(row) = self.row() else { return f.write_str(self.key) };
        let amount = |value| Amount { value, unit: row.unit };
        f.write_str(&row.reached_words(amount(self.used.unwrap_or(self.max)), amount(self.max)))
    }
}

/// The name of a limit in saved states.
fn name(limit: &Limit<Limits>) -> &'static str {
    limit.key.trim_end_matches("_usd")
}

impl Serialize for LimitReached {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Saved::from(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for LimitReached {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Saved::deserialize(deserializer)?.try_into().map_err(serde::de::Error::custom)
    }
}

impl From<&LimitReached> for Saved {
    fn from(reached: &LimitReached) -> Self {
        let unit = reached.row().map(|row| row.unit);
        let number = |value: f64| match unit {
            Some(Unit::Count(_) | Unit::Time) => Some(Number::from(value as u64)),
            _ => Number::from_f64(value),
        };
        let (spent, limit) = (reached.used.and_then(number), number(reached.max));
        let of = reached.row().map_or(reached.key, name).to_owned();
        match unit {
            Some(Unit::Time) => Self { of, spent: None, limit: None, spent_ms: spent, limit_ms: limit },
            _ => Self { of, spent, limit, spent_ms: None, limit_ms: None },
        }
    }
}

impl TryFrom<Saved> for LimitReached {
    type Error = String;

    fn try_from(saved: Saved) -> Result<Self, String> {
        let row = Limits::ROWS.iter().find(|limit| name(limit) == saved.of);
        let row = row.ok_or_else(|| format!("unknown limit {:?}", saved.of))?;
        let used = saved.spent.or(saved.spent_ms).and_then(|number| number.as_f64());
        let max = saved.limit.or(saved.limit_ms).and_then(|number| number.as_f64());
        Ok(Self {
            key: row.key,
            used,
            max: max.ok_or_else(|| format!("limit {:?} without a value", saved.of))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn states_of_older_versions_are_read() {
        for (text, words) in [
            (
                json!({"of": "cost", "spent": 10.2, "limit": 10.0}),
                "the run has cost $10.20 of $10.00 (limits.cost_usd)",
            ),
            (
                json!({"of": "iterations", "limit": 50}),
                "the run has used 50 of 50 iterations (limits.iterations)",
            ),
            (
                json!({"of": "tokens", "spent": 7, "limit": 5}),
                "the run has used 7 of 5 tokens (limits.tokens)",
            ),
            (
                json!({"of": "wall_time", "limit_ms": 60_000}),
                "the run has used 1 min 00 s of 1 min 00 s working time (limits.wall_time)",
            ),
        ] {
            let reached: LimitReached = serde_json::from_value(text.clone()).unwrap();
            assert_eq!(reached.to_string(), words);
            let saved = serde_json::to_value(&reached).unwrap();
            assert_eq!(saved["of"], text["of"]);
            assert_eq!(serde_json::from_value::<LimitReached>(saved).unwrap(), reached);
        }
        assert!(serde_json::from_value::<LimitReached>(json!({"of": "luck", "limit": 1})).is_err());
    }
}
