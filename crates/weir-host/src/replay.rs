//! What a viewer gets before what is live: a greeting, and what the log has after its cursor.

use std::collections::VecDeque;
use std::sync::Arc;

use weir_store::{CheckpointQuery, Cursor, EventRange, ReadQuery, SessionId, Store};
use weir_transcript::{Change, Entry, View, Vocabularies};

use crate::checkpoint;
use crate::error::HostError;
use crate::frame_builder::{FrameBuilder, Watched};
use crate::history::History;
use crate::watch::Format;
use crate::watch_event::Frame;

/// What a viewer gets before what is live.
#[derive(Debug)]
pub(crate) struct Opening {
    ready: VecDeque<Frame>,
    replay: Option<Box<Replay>>,
    /// What is being written at the moment. Comes after the replay, because the log does not have its text yet.
    being_written: View,
}

impl Opening {
    pub(crate) fn new(ready: impl IntoIterator<Item = Frame>) -> Self {
        Self { ready: ready.into_iter().collect(), replay: None, being_written: View::default() }
    }

    pub(crate) fn with_replay(mut self, replay: Replay, being_written: View) -> Self {
        self.replay = Some(Box::new(replay));
        self.being_written = being_written;
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
                let being_written = std::mem::take(&mut self.being_written);
                self.ready.extend(replay.texts(&being_written));
                self.replay = None;
            }
        }
    }
}

/// The part of a log that a viewer has not seen, in the form that it wants, page by page.
#[derive(Debug)]
pub(crate) struct Replay {
    store: Arc<dyn Store>,
    id: SessionId,
    format: Format,
    /// The newest event that the viewer has seen.
    seen: u64,
    /// The newest event that was read.
    read: u64,
    /// The newest event that is not live.
    until: u64,
    keep_entries: usize,
    /// What came before decides what is said of an event, except that lines are lines. None before it is needed.
    history: Option<History>,
}

impl Replay {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        id: SessionId,
        format: Format,
        (seen, until): (u64, u64),
        keep_entries: usize,
    ) -> Self {
        // If nothing is missing, nothing has to be read; and lines need nothing of what came before.
        let read = if seen >= until || format == Format::Raw { seen } else { 0 };
        Self { store, id, format, seen, read, until, keep_entries, history: None }
    }

    /// Loads the history to continue from.
    async fn prepare(&mut self) -> Result<(), HostError> {
        if self.format == Format::Raw || self.history.is_some() {
            return Ok(());
        }
        let query =
            CheckpointQuery { seq_at_most: self.seen, ..checkpoint::query(&self.id, self.keep_entries) };
        let history = checkpoint::history(self.store.checkpoint(query).await?, self.keep_entries);
        self.read = history.newest();
        self.history = Some(history);
        Ok(())
    }

    /// Reads the next page. Returns whether there may be more.
    async fn read(&mut self, ready: &mut VecDeque<Frame>) -> Result<bool, HostError> {
        if self.read >= self.until {
            return Ok(false);
        }
        self.prepare().await?;
        let query = ReadQuery {
            session: self.id.clone(),
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
            let mut frames = FrameBuilder::new(watched, 0);
            match &mut self.history {
                Some(history) => history.replay(event, &mut frames),
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

    /// The text of what is being written, as far as the log did not tell it.
    fn texts(&self, being_written: &View) -> Vec<Frame> {
        let mut watched = Watched::default();
        watched.add(self.format);
        let mut frames = FrameBuilder::new(watched, 0);
        for entry in &being_written.entries {
            let told = self.history.as_ref().and_then(|history| history.view().entry(entry.id));
            let told = told.and_then(Entry::streamed_text).unwrap_or_default();
            let text = entry.streamed_text().and_then(|text| text.strip_prefix(told)).unwrap_or_default();
            let change = Change::TextAppended { entry: entry.id, text: text.into() };
            // A view finds its entries by their numbers, and these need not follow each other.
            let session = being_written.session.clone();
            let view = View { session, entries: vec![Arc::clone(entry)], ..View::default() };
            frames.change(&mut Vocabularies::default(), &view, &change, None);
        }
        frames.frames(self.format, &Cursor::new(self.store.epoch(), self.until, None))
    }
}
