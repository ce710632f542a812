//! Keeps the view bounded: the history is in the log, not in memory.

use weir_wire::{OwnedJson, ToolUseId, TurnId};

use super::{Fold, Sink};
use crate::view::{AgentState, Change, EntryBody, EntryId};

/// Maximum number of running calls that are remembered after their entries were dropped.
const MAX_DROPPED_CALLS: usize = 1000;

/// A view that keeps few entries still keeps this many agents, requests and files.
const MIN_OTHERS: usize = 64;

/// A bounded view holds no more than the contents of this many bytes of lines, and the current line.
const MAX_BYTES: usize = 32 << 20;

impl Fold {
    pub(super) fn drop_old_entries(&mut self, sink: &mut Sink<'_>) {
        let Some(keep) = self.options.keep_entries else { return };
        // In batches, so that the cost per entry is negligible.
        let view = &self.view;
        let full = keep + keep / 2 + 16;
        let most = keep.max(MIN_OTHERS);
        let others = view.agents.len().max(view.requests.len()).max(view.files.len()).max(view.usages.len());
        // A few entries can be large: the bytes since the last time bound their size.
        let is_heavy = self.bytes > MAX_BYTES;
        if view.entries.len() <= full && view.turns.len() <= full && others <= 2 * most && !is_heavy {
            return;
        }
        let (keep, most) = if is_heavy { (keep.min(16), most.min(16)) } else { (keep, most) };
        let kept = view.entries.len().saturating_sub(keep);
        let first_entry = view.entries.get(kept).map_or(EntryId(self.next_entry), |entry| entry.id);
        let running = view.agents.iter().rev().filter(|agent| agent.state == AgentState::Running);
        let keep_agents: Vec<ToolUseId> = running.take(most).map(|agent| agent.id.clone()).collect();
        let newest = view.turns.iter().nth_back(keep.max(1) - 1).map(|turn| turn.id);
        let first_turn = newest.unwrap_or(TurnId(0));
        let keep_turns = self.older_turns_to_keep(kept, first_turn);
        self.keep_streamed_before(first_entry);
        self.remember_open_calls(first_entry);
        self.remember_open_messages(first_entry);
        self.remember_open_texts(first_entry);
        self.emit(Change::Dropped { first_entry, first_turn, keep_turns, keep_agents, most }, sink);
        self.forget_before(first_entry);
        self.bytes = 0;
    }

    /// What is being written when its entry is dropped is not completed any more.
    fn keep_streamed_before(&mut self, first: EntryId) {
        let gone = self.view.entries.iter().take_while(|entry| entry.id < first);
        let streamed: Vec<EntryId> =
            gone.filter(|entry| entry.streamed_text().is_some()).map(|entry| entry.id).collect();
        for entry in streamed {
            self.keep_streamed(entry);
        }
    }

    /// Turns before the newest ones that are still open or that a kept entry belongs to.
    fn older_turns_to_keep(&self, kept: usize, first_turn: TurnId) -> Vec<TurnId> {
        let of_entries = self.view.entries.iter().skip(kept).filter_map(|entry| entry.turn);
        let mut older: Vec<TurnId> =
            of_entries.chain(self.turns.all_open()).filter(|turn| *turn < first_turn).collect();
        older.sort_unstable();
        older.dedup();
        older
    }

    /// Calls that are still running will get a result, which must find them.
    fn remember_open_calls(&mut self, first: EntryId) {
        let gone = self.open_tools.iter().filter(|entry| **entry < first);
        for entry in gone {
            if let Some((_, tool)) = self.view.tool(*entry)
                && self.dropped_calls.len() < MAX_DROPPED_CALLS
            {
                let mut tool = tool.clone();
                if tool.input.as_raw().bytes().len() + tool.input_text.len() > self.options.output_limit {
                    tool.input = OwnedJson::default();
                    tool.input_text = String::new();
                }
                self.dropped_calls.insert(tool.id.clone(), tool);
            }
        }
    }

    /// The text of a turn that is still running may become its answer.
    fn remember_open_texts(&mut self, first: EntryId) {
        let gone = self.view.entries.iter().take_while(|entry| entry.id < first);
        for entry in gone.filter(|entry| entry.parent.is_none()) {
            if let (EntryBody::Text(text), Some(turn)) = (&entry.body, entry.turn) {
                self.turns.remember_text(turn, text);
            }
        }
    }

    fn forget_before(&mut self, first: EntryId) {
        self.tools.retain(|_, entry| *entry >= first);
        self.hooks.retain(|_, entry| *entry >= first);
        self.messages.entries.retain(|_, entry| *entry >= first);
        self.open_tools.retain(|entry| *entry >= first);
        self.todos_before.retain(|entry, _| *entry >= first);
        self.turns.failed.retain(|entry| *entry >= first);
        self.streams.forget_before(first);
        let view = &self.view;
        self.open_requests.retain(|id| view.request(id).is_some());
        self.agents.by_task.retain(|_, tool| view.agent(tool).is_some());
    }
}
