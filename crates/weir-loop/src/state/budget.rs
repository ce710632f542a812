//! What was spent. Pure.

use serde::{Deserialize, Serialize};

use super::RunState;
use crate::limits::LimitReached;

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
            budget.iterations += u32::from(attempt.counted || attempt.cut_off || attempt.is_review);
            budget.tokens += attempt.tokens;
        }
        budget
    }
}

impl RunState {
    /// What was spent.
    pub fn budget(&self) -> Budget {
        Budget::of(self)
    }

    /// The limit that keeps another iteration from starting, if any.
    pub fn limit_reached(&self) -> Option<LimitReached> {
        LimitReached::before_next(&self.limits, &self.budget())
    }
}
