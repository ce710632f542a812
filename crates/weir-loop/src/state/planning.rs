//! The cost of planning: `weir loop plan` records it, and the next start of the run counts it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{RunState, StateError, write_atomically};
use crate::agent::AgentRun;

/// A session of the planner.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Planned {
    /// Unique id: a session that was continued has several entries.
    pub id: String,
    /// The session.
    pub session_id: Option<String>,
    /// When it ended, in milliseconds since 1970.
    pub ended_at: i64,
    /// How long it took.
    pub duration_ms: u64,
    /// The cost; `None` if it is unknown.
    pub cost_usd: Option<f64>,
    /// Tokens, caches and sub-agents included.
    pub tokens: u64,
}

impl Planned {
    /// The entry for a session of the planner.
    pub fn of(run: &AgentRun, now: i64) -> Self {
        Self {
            id: uuid::Uuid::new_v4().to_string(),
            session_id: run.session_id.clone(),
            ended_at: now,
            duration_ms: run.duration_ms,
            cost_usd: run.cost_usd,
            tokens: run.tokens,
        }
    }
}

fn file(state: &Path) -> PathBuf {
    state.join("planning.json")
}

/// The sessions of the planner that are not in a run yet. A file that cannot be read counts as empty.
pub fn planned(state: &Path) -> Vec<Planned> {
    let text = std::fs::read(file(state)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Records the cost of a session of the planner.
///
/// # Errors
/// If the file cannot be written.
pub fn note_planned(state: &Path, new: Planned) -> std::io::Result<()> {
    let mut all = planned(state);
    all.push(new);
    write_atomically(&file(state), &serde_json::to_vec_pretty(&all)?)
}

/// Adds the sessions of the planner to a run, unless they are already in it or in the previous one. Repeating it does
/// nothing.
pub fn absorb(run: &mut RunState, before: Option<&RunState>, state: &Path) {
    let earlier = before.map(|run| run.planning.as_slice()).unwrap_or_default();
    let known: Vec<String> = run.planning.iter().chain(earlier).map(|planned| planned.id.clone()).collect();
    run.planning.extend(planned(state).into_iter().filter(|planned| !known.contains(&planned.id)));
    let last = run.planning.iter().rev().find_map(|planned| planned.session_id.clone());
    run.planner_session = last.or(run.planner_session.take());
}

/// Removes the file, once its sessions are in a saved run.
///
/// # Errors
/// If the file cannot be removed.
pub fn forget_absorbed(state: &Path) -> Result<(), StateError> {
    match std::fs::remove_file(file(state)) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(StateError::System { path: file(state), source })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn planning_counts_once_whenever_the_loop_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path();
        let run = AgentRun { cost_usd: Some(0.5), tokens: 100, ..AgentRun::default() };
        note_planned(state, Planned::of(&run, 1)).unwrap();
        note_planned(state, Planned::of(&AgentRun { cost_usd: None, ..run }, 2)).unwrap();
        let new = || RunState::new("r".into(), 0, Vec::new(), &Config::default());
        let mut first = new();
        absorb(&mut first, None, state);
        absorb(&mut first, None, state);
        let budget = first.budget();
        assert_eq!(
            (budget.cost_usd, budget.unknown_costs, budget.tokens, budget.iterations),
            (0.5, 1, 200, 0)
        );
        // A kill before the file was removed, and then a new run.
        let mut second = new();
        absorb(&mut second, Some(&first), state);
        assert_eq!(second.planning, []);
        forget_absorbed(state).unwrap();
        forget_absorbed(state).unwrap();
        assert_eq!(planned(state), []);
    }
}
