//! Changes the limits of a session that exists.

use std::num::NonZeroU32;

use weir_store::{SessionId, SessionUpdate};

use super::Host;
use crate::error::HostError;
use crate::info::SessionInfo;
use crate::settings::{KeptSettings, check_max_cost};

/// New limits of a session. A limit that is left out stays as it is; zero removes it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ChangeLimits {
    /// What the session may cost, in dollars.
    pub max_cost_usd: Option<f64>,
    /// How many calls of the model a turn may take.
    pub max_turns: Option<u32>,
    /// How many seconds a person may take to answer a request.
    pub ask_timeout_s: Option<u32>,
    /// How many tokens the model should use for a task.
    pub task_budget_tokens: Option<u32>,
}

impl ChangeLimits {
    /// The settings with these limits.
    fn applied(self, kept: &KeptSettings) -> KeptSettings {
        let mut kept = kept.clone();
        if let Some(cost) = self.max_cost_usd {
            kept.spec.max_cost_usd = (cost != 0.0).then_some(cost);
        }
        if let Some(turns) = self.max_turns {
            kept.spec.max_turns = (turns > 0).then_some(turns);
        }
        if let Some(seconds) = self.ask_timeout_s {
            kept.ask_timeout_s = (seconds > 0).then_some(seconds);
        }
        if let Some(tokens) = self.task_budget_tokens {
            kept.spec.task_budget_tokens = NonZeroU32::new(tokens);
        }
        kept
    }
}

impl Host {
    /// Changes the limits of a session. They apply from the next turn on, also to what the CLI itself counts: its process
    /// is replaced as soon as nothing runs in it.
    ///
    /// # Errors
    /// If there is no such session, a limit is not above zero, or another process would know nothing of what was said.
    pub async fn set_limits(&self, id: &SessionId, change: ChangeLimits) -> Result<SessionInfo, HostError> {
        check_max_cost(change.max_cost_usd.filter(|cost| *cost != 0.0))?;
        let live = self.live(id).await?;
        let kept = {
            let state = live.lock();
            let kept = change.applied(&state.kept);
            let is_kept_nowhere = state.kept.spec.no_session_persistence && !state.view.turns.is_empty();
            if is_kept_nowhere && kept != state.kept {
                return Err(HostError::NotKept);
            }
            kept
        };
        let settings = serde_json::to_value(&kept).unwrap_or_default();
        let update = SessionUpdate { settings: Some(settings), ..SessionUpdate::default() };
        live.recorder.recorded(Vec::new(), update).await?;
        {
            // What was changed in between is written once more, with this.
            let mut state = live.lock();
            let kept = change.applied(&state.kept);
            state.needs_other_process |= kept != state.kept;
            state.kept = kept;
        }
        live.refresh();
        live.kick();
        Ok(SessionInfo::clone(&live.info()))
    }
}
