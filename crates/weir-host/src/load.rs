//! Reads a log from its beginning to its end. Blocks, so it runs in a thread of its own.

use weir_store::{Conversation, ConversationId, Event, EventRange, Lookup, ReadQuery, Store};

use crate::book::Book;
use crate::checkpoint;
use crate::error::HostError;
use crate::heard::Heard;

/// So much is read at a time: few round trips, and little memory.
const PAGE_EVENTS: usize = 2048;
const PAGE_BYTES: usize = 2 << 20;

/// A session as its log has it.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) row: Conversation,
    pub(crate) book: Book,
    /// The newest event that a checkpoint has.
    pub(crate) checkpoint: u64,
}

/// A session from its log, beginning at the newest checkpoint. Keeps checkpoints on the way.
pub(crate) fn load(
    store: &dyn Store,
    id: &ConversationId,
    keep_entries: usize,
    checkpoint_every: u64,
) -> Result<Loaded, HostError> {
    let row = store.find(Lookup::Id(id.clone())).wait()?;
    let row = row.ok_or_else(|| HostError::NotFound(id.clone()))?;
    let mut book = checkpoint::restore(store, checkpoint::query(id, keep_entries), keep_entries)?;
    let mut keeper = checkpoint::Keeper::new(checkpoint_every, book.newest());
    let mut heard = Heard::default();
    walk(store, id, book.newest(), |event| {
        let size = event.payload.len();
        book.replay(event, &mut heard);
        keeper.passed(store, id, &book, keep_entries, size);
        Ok(true)
    })?;
    Ok(Loaded { row, book, checkpoint: keeper.last })
}

/// Hands every event after `after` to `take`, in order, until it has enough.
pub(crate) fn walk(
    store: &dyn Store,
    id: &ConversationId,
    after: u64,
    take: impl FnMut(Event) -> Result<bool, HostError>,
) -> Result<(), HostError> {
    walk_with(store, id, after, None, take)
}

/// The same for the events with a label; see [`ReadQuery::label`].
pub(crate) fn walk_labelled(
    store: &dyn Store,
    id: &ConversationId,
    label: &str,
    take: impl FnMut(Event) -> Result<bool, HostError>,
) -> Result<(), HostError> {
    walk_with(store, id, 0, Some(label), take)
}

fn walk_with(
    store: &dyn Store,
    id: &ConversationId,
    after: u64,
    label: Option<&str>,
    mut take: impl FnMut(Event) -> Result<bool, HostError>,
) -> Result<(), HostError> {
    let read = |after| {
        store.read(ReadQuery {
            conversation: id.clone(),
            range: EventRange::After(after),
            max_events: PAGE_EVENTS,
            max_bytes: PAGE_BYTES,
            label: label.map(str::to_owned),
        })
    };
    let mut next = read(after);
    loop {
        let page = next.wait()?;
        // The next page is read while this one is worked on.
        let following = match page.events.last() {
            Some(last) if page.more => Some(read(last.seq)),
            _ => None,
        };
        for event in page.events {
            if !take(event)? {
                return Ok(());
            }
        }
        match following {
            Some(reply) => next = reply,
            None => return Ok(()),
        }
    }
}
