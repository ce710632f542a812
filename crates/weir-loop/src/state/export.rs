//! The small files for other readers, derived from the state of the run. Nothing reads them back.

use std::path::Path;

use serde::{Deserialize, Serialize};
use weir_base::file::Replace;
use weir_base::time::{Utc, now_ms};

use super::{RunState, Step, TaskRecord};

/// `budget.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BudgetFile {
    /// The run.
    pub run_id: String,
    /// Dollars, as far as known.
    pub total_cost_usd: f64,
    /// The limit.
    pub max_cost_usd: f64,
    /// Number of sessions with unknown cost.
    pub unknown_costs: u32,
    /// Number of sessions that count as iterations.
    pub iterations: u32,
    /// The limit.
    pub max_iterations: u32,
    /// Tokens.
    pub tokens: u64,
    /// The limit.
    pub max_tokens: u64,
    /// Time at work, in milliseconds.
    pub wall_time_ms: u64,
    /// The limit.
    pub max_wall_time_ms: u64,
}

/// `claude-session.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFile {
    /// The planner's last session.
    pub planner_session_id: Option<String>,
    /// The coder's last session.
    pub coder_session_id: Option<String>,
    /// When it was written.
    pub updated_at: String,
}

/// The content of `budget.json`.
pub fn budget_file(run: &RunState) -> BudgetFile {
    let budget = run.budget();
    BudgetFile {
        run_id: run.run_id.clone(),
        total_cost_usd: budget.cost_usd,
        max_cost_usd: run.limits.cost_usd,
        unknown_costs: budget.unknown_costs,
        iterations: budget.iterations,
        max_iterations: run.limits.iterations,
        tokens: budget.tokens,
        max_tokens: run.limits.tokens,
        wall_time_ms: budget.active_ms,
        max_wall_time_ms: run.limits.wall_time.as_millis(),
    }
}

/// The content of `claude-session.json` for a task with its own worktree.
pub fn worker_file(run: &RunState, task: &TaskRecord) -> SessionFile {
    let live = match &task.step {
        Some(Step::Agent { session_id, .. }) => Some(session_id.clone()),
        _ => None,
    };
    let last = || task.attempts.last().and_then(|attempt| attempt.session_id.clone());
    SessionFile {
        planner_session_id: None,
        coder_session_id: live.or_else(last),
        updated_at: Utc::from_ms(run.updated_at).rfc3339(),
    }
}

/// The content of `claude-session.json`.
pub fn session_file(run: &RunState) -> SessionFile {
    let live = run.tasks.iter().find_map(|task| match &task.step {
        Some(Step::Agent { session_id, .. }) => Some(session_id.clone()),
        _ => None,
    });
    let attempts = run.tasks.iter().flat_map(|task| &task.attempts);
    let last = attempts.max_by_key(|attempt| attempt.ended_at).and_then(|attempt| attempt.session_id.clone());
    SessionFile {
        planner_session_id: run.planner_session.clone(),
        coder_session_id: live.or(last),
        updated_at: Utc::from_ms(run.updated_at).rfc3339(),
    }
}

/// Writes `claude-session.json` after a session of the planner, which belongs to no run yet.
///
/// # Errors
/// If the file cannot be written.
pub fn export_planner_session(
    state: &Path,
    run: Option<&RunState>,
    session_id: Option<String>,
) -> std::io::Result<()> {
    let file = SessionFile {
        planner_session_id: session_id,
        coder_session_id: run.and_then(|run| session_file(run).coder_session_id),
        updated_at: Utc::from_ms(now_ms()).rfc3339(),
    };
    // A running loop may write the file as well.
    let replace = Replace::new().quick().contended();
    replace.bytes(&state.join("claude-session.json"), &serde_json::to_vec_pretty(&file)?)
}
