//! Reads a log from its beginning to its end. Blocks, so it runs in a thread of its own.

use weir_store::{Conversation, ConversationId, Event, EventRange, Lookup, ReadQuery, Store};

use crate::book::Book;
use crate::error::HostError;
use crate::heard::Heard;

/// So much is read at a time: few round trips, and little memory.
const PAGE_EVENTS: usize = 2048;
const PAGE_BYTES: usize = 2 << 20;

/// A session from its log.
pub(crate) fn load(
    store: &dyn Store,
    id: &ConversationId,
    keep_entries: usize,
) -> Result<(Conversation, Book), HostError> {
    let row = store.find(Lookup::Id(id.clone())).wait()?;
    let row = row.ok_or_else(|| HostError::NotFound(id.clone()))?;
    let mut book = Book::new(keep_entries);
    let mut heard = Heard::default();
    walk(store, id, 0, |event| {
        book.replay(event, &mut heard);
        Ok(true)
    })?;
    Ok((row, book))
}

/// Hands every event after `after` to `take`, in order, until it has enough.
pub(crate) fn walk(
    store: &dyn Store,
    id: &ConversationId,
    after: u64,
    mut take: impl FnMut(Event) -> Result<bool, HostError>,
) -> Result<(), HostError> {
    let read = |after| {
        store.read(ReadQuery {
            conversation: id.clone(),
            range: EventRange::After(after),
            max_events: PAGE_EVENTS,
            max_bytes: PAGE_BYTES,
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
