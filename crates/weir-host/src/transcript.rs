//! Pages of a transcript: the newest from memory, older ones from the log.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use weir_store::ConversationId;
use weir_transcript::{Change, Entry, EntryId, View};

use crate::book::Book;
use crate::core::Core;
use crate::error::HostError;
use crate::load::walk;
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

/// A page from the log. Blocks. No more of the conversation is in memory than the page and what the fold keeps.
pub(crate) fn from_log(
    core: &Core,
    id: &ConversationId,
    before: Option<u64>,
    limit: usize,
) -> Result<TranscriptPage, HostError> {
    let mut book = Book::new(core.options.keep_entries.max(limit));
    let Some(before) = before else {
        return newest(core, id, book, limit);
    };
    let window = window(before, limit);
    let mut found: BTreeMap<u64, Arc<Entry>> = BTreeMap::new();
    walk(&*core.options.store, id, 0, |event| {
        book.replay_with(event, &mut |view, change| {
            if let Some(entry) = changed_entry(change)
                && window.contains(&entry.0)
                && let Some(entry) = shared(view, entry)
            {
                found.insert(entry.id.0, entry);
            }
        });
        // What was dropped from the view does not change any more.
        let first = book.view().entries.first().map_or(0, |entry| entry.id.0);
        Ok(first < window.end)
    })?;
    let seq = book.newest();
    let end = found.last_key_value().map_or(1, |(last, _)| last + 1);
    let window = window.start.min(end)..window.end;
    Ok(page(found.into_values(), &window, seq))
}

fn newest(
    core: &Core,
    id: &ConversationId,
    mut book: Book,
    limit: usize,
) -> Result<TranscriptPage, HostError> {
    walk(&*core.options.store, id, 0, |event| {
        book.replay_with(event, &mut |_, _| {});
        Ok(true)
    })?;
    let view = book.view();
    let end = view.entries.last().map_or(1, |entry| entry.id.0 + 1);
    let window = window(end, limit);
    let entries = view.entries.iter().filter(|entry| window.contains(&entry.id.0)).cloned();
    Ok(page(entries, &window, book.newest()))
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
