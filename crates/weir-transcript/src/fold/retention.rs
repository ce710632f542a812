//! Keeps the view bounded: history lives in the log, not in memory.

use weir_wire::ToolUseId;

use super::{Fold, Sink};
use crate::view::{AgentState, Change, EntryId};

impl Fold {
    pub(super) fn drop_old_entries(&mut self, sink: &mut Sink<'_>) {
        let Some(keep) = self.options.keep_entries else {
            return;
        };
        // In batches, so that it costs next to nothing for each entry.
        if self.view.entries.len() <= keep + keep / 2 + 16 {
            return;
        }
        let Some(first) = self
            .view
            .entries
            .len()
            .checked_sub(keep.max(1))
            .and_then(|at| self.view.entries.get(at))
        else {
            return;
        };
        let first_entry = first.id;
        let open_turn = self.turns.first_open();
        let first_turn = first
            .turn
            .into_iter()
            .chain(open_turn)
            .min()
            .unwrap_or(weir_wire::TurnId(self.next_turn));
        let running = self
            .view
            .agents
            .iter()
            .filter(|agent| agent.state == AgentState::Running);
        let keep_agents: Vec<ToolUseId> = running.map(|agent| agent.id.clone()).collect();
        self.emit(
            Change::Dropped {
                first_entry,
                first_turn,
                keep_agents,
            },
            sink,
        );
        self.forget_before(first_entry);
    }

    fn forget_before(&mut self, first: EntryId) {
        self.tools.retain(|_, entry| *entry >= first);
        self.hooks.retain(|_, entry| *entry >= first);
        self.messages.entries.retain(|_, entry| *entry >= first);
        self.open_tools.retain(|entry| *entry >= first);
        let agents = &self.view.agents;
        self.agents
            .by_task
            .retain(|_, tool| agents.iter().any(|agent| agent.id == *tool));
    }
}
