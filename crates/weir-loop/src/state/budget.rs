//! What was spent, and whether another iteration may start. Pure.

use serde::{Deserialize, Serialize};
use weir_base::money::dollars;

use super::RunState;
use crate::config::Limits;

/// What was spent in a run. Computed from the attempts, so nothing is counted twice.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Budget {
    /// Dollars, as far as known.
    pub cost_usd: f64,
    /// Number of sessions with unknown cost.
    pub unknown_costs: u32,
    /// Number of sessions that count as iterations.
    pub iterations: u32,
    /// Tokens.
    pub tokens: u64,
    /// Time at work, in milliseconds.
    pub active_ms: u64,
}

/// A limit that was reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum LimitReached {
    /// Dollars.
    Cost {
        /// What was spent.
        spent: f64,
        /// The limit.
        limit: f64,
    },
    /// Iterations.
    Iterations {
        /// The limit.
        limit: u32,
    },
    /// Tokens.
    Tokens {
        /// What was spent.
        spent: u64,
        /// The limit.
        limit: u64,
    },
    /// Time at work.
    WallTime {
        /// The limit, in milliseconds.
        limit_ms: u64,
    },
}

impl std::fmt::Display for LimitReached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cost { spent, limit } => {
                write!(f, "the run has cost {} of {} (limits.cost_usd)", dollars(*spent), dollars(*limit))
            }
            Self::Iterations { limit } => {
                write!(f, "the run has used its {limit} iterations (limits.iterations)")
            }
            Self::Tokens { spent, limit } => {
                write!(f, "the run has used {spent} of {limit} tokens (limits.tokens)")
            }
            Self::WallTime { limit_ms } => {
                write!(
                    f,
                    "the run has used its working time of {} minutes (limits.wall_time)",
                    limit_ms / 60_000
                )
            }
        }
    }
}

impl Budget {
    /// What a run has spent.
    pub fn of(run: &RunState) -> Self {
        let mut budget = Self { active_ms: run.active_ms, ..Self::default() };
        for planned in &run.planning {
            match planned.cost_usd {
                Some(usd) => budget.cost_usd += usd,
                None => budget.unknown_costs += 1,
            }
            budget.tokens += planned.tokens;
        }
        for attempt in run.tasks.iter().flat_map(|task| &task.attempts) {
            match attempt.cost_usd {
                Some(usd) => budget.cost_usd += usd,
                None => budget.unknown_costs += 1,
            }
            budget.iterations += u32::from(attempt.counted);
            budget.tokens += attempt.tokens;
        }
        budget
    }

    /// The limit that keeps another iteration from starting, if any. Checked after the last one was judged.
    pub fn limit_for_next(&self, limits: &Limits) -> Option<LimitReached> {
        if self.cost_usd >= limits.cost_usd {
            return Some(LimitReached::Cost { spent: self.cost_usd, limit: limits.cost_usd });
        }
        if self.iterations >= limits.iterations {
            return Some(LimitReached::Iterations { limit: limits.iterations });
        }
        if self.tokens >= limits.tokens {
            return Some(LimitReached::Tokens { spent: self.tokens, limit: limits.tokens });
        }
        let limit_ms = limits.wall_time.as_millis();
        (self.active_ms >= limit_ms).then_some(LimitReached::WallTime { limit_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_holds_by_itself() {
        let limits = Limits::default();
        let below = Budget { cost_usd: 9.99, iterations: 49, tokens: 1, active_ms: 1, unknown_costs: 0 };
        assert_eq!(below.limit_for_next(&limits), None);
        assert!(matches!(
            Budget { cost_usd: 10.0, ..below }.limit_for_next(&limits),
            Some(LimitReached::Cost { .. })
        ));
        assert!(matches!(
            Budget { iterations: 50, ..below }.limit_for_next(&limits),
            Some(LimitReached::Iterations { .. })
        ));
        assert!(matches!(
            Budget { tokens: limits.tokens, ..below }.limit_for_next(&limits),
            Some(LimitReached::Tokens { .. })
        ));
        // Unknown costs never stop a run; time does.
        let unknown =
            Budget { cost_usd: 0.0, unknown_costs: 40, active_ms: limits.wall_time.as_millis(), ..below };
        assert!(matches!(unknown.limit_for_next(&limits), Some(LimitReached::WallTime { .. })));
    }
}
