//! What a task sets for its own sessions: model, effort and limits. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_session::Effort;

use crate::limits::{LimitTable as _, TaskLimits};

/// What a task sets for its own sessions.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskOptions {
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How much the model thinks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Limits, by their keys in `task_limits`, as they are written there.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, String>,
}

impl TaskOptions {
    /// Whether it sets nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Takes an option. `None` if this is not one, but ordinary text: `tokens: see below`.
    pub(super) fn take(&mut self, key: &str, value: &str) -> Option<Result<(), String>> {
        let (key, value) = (key.trim().to_lowercase(), value.trim().trim_matches('`'));
        if value.is_empty() || value.contains(char::is_whitespace) {
            return None;
        }
        match key.as_str() {
            "model" => self.model = Some(value.to_owned()),
            "effort" => match serde_json::from_value(value.to_lowercase().into()) {
                Ok(effort) => self.effort = Some(effort),
                Err(error) => return Some(Err(format!("effort: {error}"))),
            },
            _ => {
                let row = TaskLimits::ROWS.iter().find(|row| row.key == key)?;
                if !value.trim_start_matches('$').starts_with(|letter: char| letter.is_ascii_digit()) {
                    return None;
                }
                if let Err(error) = row.unit.parse(value) {
                    return Some(Err(format!("{key}: {error}")));
                }
                self.limits.insert(key, value.to_owned());
            }
        }
        Some(Ok(()))
    }

    /// With what a group sets, where the task sets nothing itself.
    pub(super) fn with_defaults(&mut self, group: &Self) {
        self.model = self.model.take().or_else(|| group.model.clone());
        self.effort = self.effort.or(group.effort);
        for (key, value) in &group.limits {
            self.limits.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }

    /// The limits of the task.
    #[must_use]
    pub fn limits(&self, of_all: &TaskLimits) -> TaskLimits {
        let mut limits = of_all.clone();
        for (key, value) in &self.limits {
            let row = TaskLimits::ROWS.iter().find(|row| row.key == key);
            // It was checked when the list was read.
            if let Some((row, value)) = row.and_then(|row| Some((row, row.unit.parse(value).ok()?))) {
                row.set(&mut limits, value);
            }
        }
        limits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_taken_and_text_is_not() {
        let mut options = TaskOptions::default();
        for (key, value) in
            [("model", "opus"), ("effort", "High"), ("cost_usd", "$1.50"), ("wall_time", "20m")]
        {
            assert_eq!(options.take(key, value), Some(Ok(())), "{key}");
        }
        for (key, value) in [("model", "the user model"), ("tokens", "below"), ("note", "x"), ("model", "")] {
            assert_eq!(options.take(key, value), None, "{key}: {value}");
        }
        assert!(matches!(options.take("effort", "enormous"), Some(Err(_))));
        assert!(matches!(options.take("attempts", "0"), Some(Err(_))));
        let limits = options.limits(&TaskLimits::default());
        assert_eq!((limits.cost_usd, limits.wall_time.as_millis(), limits.attempts), (1.5, 1_200_000, 3));
        let mut own = TaskOptions { model: Some("haiku".into()), ..TaskOptions::default() };
        own.with_defaults(&options);
        assert_eq!((own.model.as_deref(), own.limits.len()), (Some("haiku"), 2));
    }
}
