//! Pages of a transcript: the newest from memory, older ones from the log.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use weir_store::{CheckpointQuery, ConversationId};
use weir_transcript::{Change, Entry, EntryId, View};

use crate::checkpoint;
use crate::core::Core;
use crate::error::HostError;
use crate::load::{load, walk};
use crate::pages::TranscriptPage;
use crate::room::State;

/// A page of what is in memory; none where that does not reach back far enough.
pub(crate) fn from_memory(state: &State, before: Option<u64>, limit: usize) -> Option<TranscriptPage> {
    let view = state.book.view();
    let first = view.entries.first().map_or(1, |entry| entry.id.0);
    let end = view.entries.last().map_or(1, |entry| entry.id.0 + 1);
    let window = window(before.unwrap_or(end).min(end), limit);
    if window.start < first {
        return None;
    }
    let entries = view.entries.iter().filter(|entry| window.contains(&entry.id.0)).cloned();
    Some(page(entries, &window, state.book.newest()))
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
/// of the conversation is in memory than the page and what the fold keeps.
pub(crate) fn from_log(
    core: &Core,
    id: &ConversationId,
    before: Option<u64>,
    limit: usize,
) -> Result<TranscriptPage, HostError> {
    let (store, keep) = (&*core.options.store, core.options.keep_entries);
    let window = match before {
        Some(before) => window(before, limit),
        None => {
            let book = load(store, id, keep, core.options.checkpoint_every)?.book;
            window(book.view().entries.last().map_or(book.first_entry(), |entry| entry.id.0 + 1), limit)
        }
    };
    if window.is_empty() {
        return Ok(page(std::iter::empty(), &window, 0));
    }
    let query = CheckpointQuery { mark_at_most: window.start, ..checkpoint::query(id, keep) };
    let mut book = checkpoint::restore(store, query, keep)?;
    let known = book.view().entries.iter().filter(|entry| window.contains(&entry.id.0));
    let mut found: BTreeMap<u64, Arc<Entry>> = known.map(|entry| (entry.id.0, Arc::clone(entry))).collect();
    walk(store, id, book.newest(), |event| {
        book.replay_with(event, &mut |view, change| {
            if let Some(entry) = changed_entry(change)
                && window.contains(&entry.0)
                && let Some(entry) = shared(view, entry)
            {
                found.insert(entry.id.0, entry);
            }
        });
        // What was dropped from the view does not change any more.
        Ok(book.first_entry() < window.end)
    })?;
    let seq = book.newest();
    let end = found.last_key_value().map_or(1, |(last, _)| last + 1);
    let window = window.start.min(end)..window.end;
    Ok(page(found.into_values(), &window, seq))
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
