//! Keeps the view bounded: history lives in the log, not in memory.

use weir_wire::{ToolUseId, TurnId};

use super::{Fold, Sink};
use crate::view::{AgentState, Change, EntryId};

/// Most calls that are remembered after their entries were dropped while they ran.
const DROPPED_CALLS: usize = 1000;

impl Fold {
    pub(super) fn drop_old_entries(&mut self, sink: &mut Sink<'_>) {
        let Some(keep) = self.options.keep_entries else { return };
        // In batches, so that it costs next to nothing for each entry.
        let most = keep + keep / 2 + 16;
        if self.view.entries.len() <= most && self.view.turns.len() <= most {
            return;
        }
        let kept = self.view.entries.len().saturating_sub(keep);
        let first_entry = self.view.entries.get(kept).map_or(EntryId(self.next_entry), |entry| entry.id);
        let running = self.view.agents.iter().filter(|agent| agent.state == AgentState::Running);
        let keep_agents: Vec<ToolUseId> = running.map(|agent| agent.id.clone()).collect();
        let first_turn = self.first_turn_to_keep(kept, keep, &keep_agents);
        self.remember_open_calls(first_entry);
        self.emit(Change::Dropped { first_entry, first_turn, keep_agents }, sink);
        self.forget_before(first_entry);
    }

    /// The oldest turn that something which is kept belongs to. The newest turns stay in any case.
    fn first_turn_to_keep(&self, kept: usize, keep: usize, agents: &[ToolUseId]) -> TurnId {
        let of_entries = self.view.entries.iter().skip(kept).filter_map(|entry| entry.turn);
        let of_agents = agents.iter().filter_map(|id| self.view.agent(id)?.turn);
        let newest = self.view.turns.iter().nth_back(keep.max(1) - 1).map(|turn| turn.id);
        let oldest = of_entries.chain(of_agents).chain(self.turns.first_open()).chain(newest).min();
        oldest.unwrap_or(TurnId(self.next_turn))
    }

    /// Calls that still run will have a result, which should find them.
    fn remember_open_calls(&mut self, first: EntryId) {
        let gone = self.open_tools.iter().filter(|entry| **entry < first);
        for entry in gone {
            if let Some((_, tool)) = self.view.tool(*entry)
                && self.dropped_calls.len() < DROPPED_CALLS
            {
                self.dropped_calls.insert(tool.id.clone(), tool.clone());
            }
        }
    }

    fn forget_before(&mut self, first: EntryId) {
        self.tools.retain(|_, entry| *entry >= first);
        self.hooks.retain(|_, entry| *entry >= first);
        self.messages.entries.retain(|_, entry| *entry >= first);
        self.open_tools.retain(|entry| *entry >= first);
        let view = &self.view;
        self.agents.by_task.retain(|_, tool| view.agent(tool).is_some());
    }
}
