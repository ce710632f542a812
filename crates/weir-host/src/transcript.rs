//! Pages of a transcript: the newest from memory, older ones from the log.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use weir_store::{CheckpointQuery, SessionId};
use weir_transcript::{
    Change, Entry, EntryBody, EntryId, MessageState, ToolCall, ToolState, TurnState, View,
};
use weir_wire::TurnId;

use crate::checkpoint;
use crate::core::Core;
use crate::error::HostError;
use crate::live_session::State;
use crate::load::{load, walk};
use crate::pages::TranscriptPage;

/// A page of what is in memory; none where that does not reach back far enough.
pub(crate) fn from_memory(state: &State, before: Option<u64>, limit: usize) -> Option<TranscriptPage> {
    let view = &state.view;
    let first = view.entries.first().map_or(1, |entry| entry.id.0);
    let end = view.entries.last().map_or(1, |entry| entry.id.0 + 1);
    let window = window(before.unwrap_or(end).min(end), limit);
    if window.start < first {
        return None;
    }
    let entries = view.entries.iter().filter(|entry| window.contains(&entry.id.0)).cloned();
    Some(page(entries, &window, state.log.newest()))
}

fn window(before: u64, limit: usize) -> Range<u64> {
    before.saturating_sub(limit as u64).max(1)..before
}

fn page(
    entries: impl DoubleEndedIterator<Item = Arc<Entry>>,
    window: &Range<u64>,
    seq: u64,
) -> TranscriptPage {
    let next_before = Some(window.start).filter(|start| *start > 1);
    TranscriptPage { entries: entries.rev().collect(), next_before, seq }
}

/// A page from the log, beginning at the newest checkpoint that has its first entry or comes before it. Blocks. No more
/// of the session is in memory than the page and what the fold keeps.
pub(crate) fn from_log(
    core: &Core,
    id: &SessionId,
    before: Option<u64>,
    limit: usize,
) -> Result<TranscriptPage, HostError> {
    let (store, keep) = (&*core.options.store, core.options.keep_entries);
    let window = match before {
        Some(before) => window(before, limit),
        None => {
            let history = load(core.source(), id, keep, core.options.checkpoint_every)?.history;
            let newest = history.view().entries.last();
            window(newest.map_or(history.first_entry(), |entry| entry.id.0 + 1), limit)
        }
    };
    if window.is_empty() {
        return Ok(page(std::iter::empty(), &window, 0));
    }
    let query = CheckpointQuery { mark_at_most: window.start, ..checkpoint::query(id, keep) };
    let mut history = checkpoint::restore(store, query, keep)?;
    let mut found = Found::new(window.clone(), history.view());
    walk(core.source(), id, history.newest(), |event| {
        history.replay_with(event, &mut |view, change| found.take(view, change));
        // What was dropped from the view does not change any more, unless it was open.
        Ok(history.first_entry() < window.end || found.is_any_open())
    })?;
    let seq = history.newest();
    let entries = found.entries;
    let end = entries.last_key_value().map_or(1, |(last, _)| last + 1);
    let window = window.start.min(end)..window.end;
    Ok(page(entries.into_values(), &window, seq))
}

/// The entries of a page while the log is folded over them.
struct Found {
    window: Range<u64>,
    entries: BTreeMap<u64, Arc<Entry>>,
}

impl Found {
    fn new(window: Range<u64>, view: &View) -> Self {
        let known = view.entries.iter().filter(|entry| window.contains(&entry.id.0));
        let entries = known.map(|entry| (entry.id.0, Arc::clone(entry))).collect();
        Self { window, entries }
    }

    fn take(&mut self, view: &View, change: &Change<'_>) {
        if let Change::TurnReplaced(turn) = change
            && turn.state != TurnState::Running
        {
            self.turn_ended(view, turn.id);
        }
        let Some(id) = changed_entry(change) else { return };
        // An entry that the view has dropped is told whole, if at all.
        let whole = match change {
            Change::EntryAdded(entry) | Change::EntryReplaced(entry) => Some(Arc::clone(entry)),
            _ => shared(view, id),
        };
        let Some(entry) = whole else { return };
        if self.window.contains(&id.0) {
            self.entries.insert(id.0, entry);
        } else if let EntryBody::Tool(tool) = &entry.body {
            self.came_back(tool);
        }
    }

    /// A call that was dropped while it ran comes back as another entry when it ends. The first one ends with it.
    fn came_back(&mut self, tool: &ToolCall) {
        for entry in self.entries.values_mut() {
            if let EntryBody::Tool(first) = &entry.body
                && first.id == tool.id
                && !first.state.is_settled()
                && tool.state.is_settled()
            {
                let input = (first.input.clone(), first.input_text.clone());
                let mut ended = ToolCall::clone(tool);
                (ended.input, ended.input_text) = input;
                *entry = Arc::new(Entry { body: EntryBody::Tool(Box::new(ended)), ..Entry::clone(entry) });
            }
        }
    }

    /// What was dropped of a turn and has not ended with it will not be heard of again.
    fn turn_ended(&mut self, view: &View, turn: TurnId) {
        for entry in self.entries.values_mut().filter(|entry| entry.turn == Some(turn)) {
            if let EntryBody::Tool(tool) = &entry.body
                && !tool.state.is_settled()
                && shared(view, entry.id).is_none()
            {
                let interrupted = ToolCall { state: ToolState::Interrupted, ..ToolCall::clone(tool) };
                let body = EntryBody::Tool(Box::new(interrupted));
                *entry = Arc::new(Entry { body, ..Entry::clone(entry) });
            }
        }
    }

    fn is_any_open(&self) -> bool {
        self.entries.values().any(|entry| match &entry.body {
            EntryBody::User(user) => {
                let is_open = matches!(
                    user.delivery,
                    MessageState::Queued | MessageState::Sent | MessageState::Started
                );
                is_open && user.message.is_some()
            }
            EntryBody::Tool(tool) => !tool.state.is_settled(),
            _ => false,
        })
    }
}

/// The entry that a change is about.
fn changed_entry(change: &Change<'_>) -> Option<EntryId> {
    match change {
        Change::EntryAdded(entry) | Change::EntryReplaced(entry) => Some(entry.id),
        Change::TextAppended { entry, .. }
        | Change::TextReplaced { entry, .. }
        | Change::BlockEnded { entry, .. }
        | Change::InputAppended { entry, .. }
        | Change::ToolState { entry, .. }
        | Change::ToolEnded { entry, .. } => Some(*entry),
        _ => None,
    }
}

fn shared(view: &View, entry: EntryId) -> Option<Arc<Entry>> {
    let first = view.entries.first()?.id.0;
    view.entries.get(usize::try_from(entry.0.checked_sub(first)?).ok()?).cloned()
}
