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

/// What a run has spent, as other runs count it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Spent {
    /// The run.
    pub run_id: String,
    /// When it was last at work, in milliseconds since 1970.
    pub until: i64,
    /// How long it has worked.
    pub active_ms: u64,
    /// Its sessions.
    pub sessions: Vec<SpentSession>,
}

/// What a session has spent.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct SpentSession {
    /// When it ended.
    pub at: i64,
    /// The cost; `None` if it is unknown.
    pub cost_usd: Option<f64>,
    /// Tokens.
    pub tokens: u64,
    /// Whether it counts as an iteration.
    pub is_iteration: bool,
}

impl Spent {
    /// What a run has spent, session by session.
    pub fn of(run: &RunState) -> Self {
        let planning = run.planning.iter().map(|planned| SpentSession {
            at: run.started_at,
            cost_usd: planned.cost_usd,
            tokens: planned.tokens,
            is_iteration: false,
        });
        let attempts = run.tasks.iter().flat_map(|task| &task.attempts).map(|attempt| SpentSession {
            at: attempt.ended_at,
            cost_usd: attempt.cost_usd,
            tokens: attempt.tokens,
            is_iteration: attempt.counted || attempt.cut_off || attempt.is_review,
        });
        Self {
            run_id: run.run_id.clone(),
            until: run.updated_at,
            active_ms: run.active_ms,
            sessions: planning.chain(attempts).collect(),
        }
    }

    /// Adds what was spent since a time. It can have worked no longer than since then.
    fn add_to(&self, budget: &mut Budget, since: i64) {
        budget.active_ms += self.active_ms.min(u64::try_from(self.until - since).unwrap_or(0));
        for session in self.sessions.iter().filter(|session| session.at > since) {
            match session.cost_usd {
                Some(usd) => budget.cost_usd += usd,
                None => budget.unknown_costs += 1,
            }
            budget.iterations += u32::from(session.is_iteration);
            budget.tokens += session.tokens;
        }
    }
}

impl RunState {
    /// What was spent.
    pub fn budget(&self) -> Budget {
        Budget::of(self)
    }

    /// What counts for the limits of the run: what it has spent, or what all runs have spent in the last period.
    pub fn counted_budget(&self) -> Budget {
        let Some(period) = self.limits.period else { return self.budget() };
        let since = self.updated_at.saturating_sub(i64::try_from(period.as_millis()).unwrap_or(i64::MAX));
        let mut budget = Budget::default();
        self.earlier.iter().for_each(|run| run.add_to(&mut budget, since));
        Spent::of(self).add_to(&mut budget, since);
        budget
    }

    /// The limit that keeps another iteration from starting, if any.
    pub fn limit_reached(&self) -> Option<LimitReached> {
        LimitReached::before_next(&self.limits, &self.counted_budget())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Time};

    const HOUR: i64 = 3_600_000;

    fn session(at: i64, cost_usd: f64) -> SpentSession {
        SpentSession { at, cost_usd: Some(cost_usd), tokens: 10, is_iteration: true }
    }

    #[test]
    fn without_a_period_a_run_counts_by_itself() {
        let mut run = RunState::new("r".into(), 0, Vec::new(), &Config::default());
        run.earlier = vec![Spent { sessions: vec![session(1, 100.0)], ..Spent::default() }];
        assert_eq!(run.counted_budget(), Budget::default());
        assert!(run.limit_reached().is_none());
    }

    #[test]
    fn over_a_period_all_runs_count_and_what_is_older_does_not() {
        let mut run = RunState::new("r".into(), 0, Vec::new(), &Config::default());
        run.limits.period = Some(Time::hours(24));
        run.updated_at = 100 * HOUR;
        run.active_ms = 30 * HOUR as u64;
        run.earlier = vec![
            // The first of its sessions is too old, and so is most of its work.
            Spent {
                run_id: "a".into(),
                until: 78 * HOUR,
                active_ms: 5 * HOUR as u64,
                sessions: vec![session(75 * HOUR, 50.0), session(77 * HOUR, 4.0)],
            },
            Spent {
                until: 70 * HOUR,
                active_ms: 9,
                sessions: vec![session(70 * HOUR, 50.0)],
                ..Spent::default()
            },
        ];
        let counted = run.counted_budget();
        assert_eq!((counted.cost_usd, counted.iterations, counted.tokens), (4.0, 1, 10));
        assert_eq!(counted.active_ms, (2 + 24) * HOUR as u64, "no run has worked for longer than the period");
        run.limits.wall_time = Time::hours(100);
        assert!(run.limit_reached().is_none());
        run.limits.cost_usd = 4.0;
        assert_eq!(run.limit_reached().unwrap().key, "cost_usd");
        run.updated_at += 2 * HOUR;
        assert!(run.limit_reached().is_none(), "some time later there is room again");
    }
}
