//! Reads a log from its beginning to its end. Blocks, so it runs in a thread of its own.
//!
//! The end is where it was when reading began: a log that grows faster than it is folded is not followed for ever. And
//! reading ends when the host is closed, so that no end of a program waits for it.

use std::sync::atomic::{AtomicBool, Ordering};

use weir_store::{Event, EventRange, Lookup, ReadQuery, SessionId, Store, StoredSession};

use crate::checkpoint;
use crate::error::HostError;
use crate::frame_builder::FrameBuilder;
use crate::history::History;

/// Amount read at a time: few round trips, and little memory.
const PAGE_EVENTS: usize = 2048;
const PAGE_BYTES: usize = 2 << 20;

/// A store to read from, until the reader is no longer needed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) store: &'a dyn Store,
    /// Reading ends with [`HostError::ShuttingDown`] when this is set.
    pub(crate) is_over: &'a AtomicBool,
}

/// A session as its log has it.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) row: StoredSession,
    pub(crate) history: History,
    /// The newest event that a checkpoint has.
    pub(crate) checkpoint: u64,
}

/// A session from its log, beginning at the newest checkpoint. Keeps checkpoints on the way.
pub(crate) fn load(
    source: Source<'_>,
    id: &SessionId,
    keep_entries: usize,
    checkpoint_every: u64,
) -> Result<Loaded, HostError> {
    let store = source.store;
    let row = store.find(Lookup::Id(id.clone())).wait()?;
    let row = row.ok_or_else(|| HostError::NotFound(id.clone()))?;
    let mut history = checkpoint::restore(store, checkpoint::query(id, keep_entries), keep_entries)?;
    let mut keeper = checkpoint::Keeper::new(checkpoint_every, history.newest());
    let mut frames = FrameBuilder::default();
    walk(source, id, history.newest(), |event| {
        let size = event.payload.len();
        history.replay(event, &mut frames);
        keeper.passed(store, id, &history, keep_entries, size);
        Ok(true)
    })?;
    Ok(Loaded { row, history, checkpoint: keeper.last })
}

/// Hands every event after `after` to `take`, in order, until it has enough.
pub(crate) fn walk(
    source: Source<'_>,
    id: &SessionId,
    after: u64,
    take: impl FnMut(Event) -> Result<bool, HostError>,
) -> Result<(), HostError> {
    walk_with(source, id, after, None, take)
}

/// The same for the events with a label; see [`ReadQuery::label`].
pub(crate) fn walk_labelled(
    source: Source<'_>,
    id: &SessionId,
    label: &str,
    take: impl FnMut(Event) -> Result<bool, HostError>,
) -> Result<(), HostError> {
    walk_with(source, id, 0, Some(label), take)
}

fn walk_with(
    source: Source<'_>,
    id: &SessionId,
    after: u64,
    label: Option<&str>,
    mut take: impl FnMut(Event) -> Result<bool, HostError>,
) -> Result<(), HostError> {
    let read = |after| {
        source.store.read(ReadQuery {
            session: id.clone(),
            range: EventRange::After(after),
            max_events: PAGE_EVENTS,
            max_bytes: PAGE_BYTES,
            label: label.map(str::to_owned),
        })
    };
    let mut next = read(after);
    let mut end = None;
    loop {
        let page = next.wait()?;
        let end = *end.get_or_insert(page.newest);
        // The next page is read while this one is worked on.
        let following = match page.events.last() {
            Some(last) if page.more && last.seq < end => Some(read(last.seq)),
            _ => None,
        };
        for event in page.events {
            if source.is_over.load(Ordering::Relaxed) {
                return Err(HostError::ShuttingDown);
            }
            if event.seq > end || !take(event)? {
                return Ok(());
            }
        }
        match following {
            Some(reply) => next = reply,
            None => return Ok(()),
        }
    }
}
