//! What a viewer gets before what is live: a greeting, and what the log has after its cursor.

use std::collections::VecDeque;
use std::sync::Arc;

use weir_store::{CheckpointQuery, ConversationId, Cursor, EventRange, ReadQuery, Store};

use crate::book::Book;
use crate::checkpoint;
use crate::error::HostError;
use crate::frame_builder::{FrameBuilder, Watched};
use crate::watch::Format;
use crate::watch_event::Frame;

/// What a viewer gets before what is live.
#[derive(Debug)]
pub(crate) struct Opening {
    ready: VecDeque<Frame>,
    replay: Option<Box<Replay>>,
    /// Comes after the replay: previews of what is being written at the moment.
    previews: Vec<Frame>,
}

impl Opening {
    pub(crate) fn new(ready: impl IntoIterator<Item = Frame>) -> Self {
        Self { ready: ready.into_iter().collect(), replay: None, previews: Vec::new() }
    }

    pub(crate) fn with_replay(mut self, replay: Replay, previews: Vec<Frame>) -> Self {
        self.replay = Some(Box::new(replay));
        self.previews = previews;
        self
    }

    /// The next frame; nothing when what is live follows. Cancel safe.
    pub(crate) async fn next(&mut self) -> Result<Option<Frame>, HostError> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Ok(Some(frame));
            }
            let Some(replay) = &mut self.replay else { return Ok(None) };
            if !replay.read(&mut self.ready).await? {
                self.replay = None;
                self.ready.extend(std::mem::take(&mut self.previews));
            }
        }
    }
}

/// The part of a log that a viewer has not seen, in the form that it wants, page by page.
#[derive(Debug)]
pub(crate) struct Replay {
    store: Arc<dyn Store>,
    id: ConversationId,
    format: Format,
    /// The newest event that the viewer has seen.
    seen: u64,
    /// The newest event that was read.
    read: u64,
    /// The newest event that is not live.
    until: u64,
    keep_entries: usize,
    /// What came before decides what is said of an event, except that lines are lines. None before it is needed.
    book: Option<Book>,
}

impl Replay {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        id: ConversationId,
        format: Format,
        (seen, until): (u64, u64),
        keep_entries: usize,
    ) -> Self {
        // If nothing is missing, nothing has to be read; and lines need nothing of what came before.
        let read = if seen >= until || format == Format::Raw { seen } else { 0 };
        Self { store, id, format, seen, read, until, keep_entries, book: None }
    }

    /// Loads the book to continue from.
    async fn prepare(&mut self) -> Result<(), HostError> {
        if self.format == Format::Raw || self.book.is_some() {
            return Ok(());
        }
        let query =
            CheckpointQuery { seq_at_most: self.seen, ..checkpoint::query(&self.id, self.keep_entries) };
        let book = checkpoint::book(self.store.checkpoint(query).await?, self.keep_entries);
        self.read = book.newest();
        self.book = Some(book);
        Ok(())
    }

    /// Reads the next page. Returns whether there may be more.
    async fn read(&mut self, ready: &mut VecDeque<Frame>) -> Result<bool, HostError> {
        if self.read >= self.until {
            return Ok(false);
        }
        self.prepare().await?;
        let query = ReadQuery {
            conversation: self.id.clone(),
            range: EventRange::After(self.read),
            max_events: 1024,
            max_bytes: 1 << 20,
            label: None,
        };
        let page = self.store.read(query).await?;
        if page.events.is_empty() {
            return Ok(false);
        }
        for event in page.events {
            if event.seq > self.until {
                return Ok(false);
            }
            self.read = event.seq;
            let place = Cursor::new(self.store.epoch(), event.seq, event.check);
            let mut watched = Watched::default();
            if event.seq > self.seen {
                watched.add(self.format);
            }
            let mut frames = FrameBuilder::new(watched);
            match &mut self.book {
                Some(book) => book.replay(event, &mut frames),
                None => {
                    let seq = event.seq;
                    if let Some(crate::item::Item::Line(raw)) = crate::item::Item::of(event) {
                        frames.line(&raw, Some(seq));
                    }
                }
            }
            ready.extend(frames.frames(self.format, &place));
        }
        Ok(true)
    }
}
