//! Builds the frames of a batch, and only in the formats that someone watches.

use bytes::Bytes;
use weir_store::Cursor;
use weir_transcript::{Change, ClassicVocabulary, HostEvent, View, Vocabularies, VocabularySinks};

use crate::watch::Format;
use crate::watch_event::{ChangesEvent, Frame, WatchEvent};

/// The formats that are watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Watched {
    pub(crate) view: bool,
    pub(crate) agent: bool,
    pub(crate) classic: bool,
    pub(crate) raw: bool,
}

impl Watched {
    pub(crate) fn add(&mut self, format: Format) {
        match format {
            Format::View => self.view = true,
            Format::Agent => self.agent = true,
            Format::Classic => self.classic = true,
            Format::Raw => self.raw = true,
        }
    }
}

/// Collects what viewers are told of a batch.
#[derive(Debug, Default)]
pub(crate) struct FrameBuilder {
    watched: Watched,
    changes: Vec<Change<'static>>,
    agent: Vec<Pending>,
    classic: Vec<Pending>,
    raw: Vec<Pending>,
    /// The newest event of the log in this batch.
    seq: Option<u64>,
    /// Size of the item at hand. What is built from an item holds about as much.
    item_size: usize,
    batch_size: usize,
}

#[derive(Debug)]
struct Pending {
    event: WatchEvent,
    /// The event of the log that it comes from; none for previews.
    seq: Option<u64>,
    size: usize,
}

impl FrameBuilder {
    /// For a batch with this many changes.
    pub(crate) fn new(watched: Watched, changes: usize) -> Self {
        let changes = Vec::with_capacity(if watched.view { changes } else { 0 });
        Self { watched, changes, ..Self::default() }
    }

    /// Begins with the next item of the batch; `seq` is its number in the log.
    pub(crate) fn begin(&mut self, size: usize, seq: Option<u64>) {
        self.item_size = size;
        self.batch_size += size;
        if seq.is_some() {
            self.seq = seq;
        }
    }

    /// Adds a change, for viewers of the view. The change is built only if there are any.
    pub(crate) fn view_change(&mut self, change: impl FnOnce() -> Change<'static>) {
        if self.watched.view {
            self.changes.push(change());
        }
    }

    /// Adds what a change of the view means in the vocabularies.
    pub(crate) fn change(
        &mut self,
        vocabularies: &mut Vocabularies,
        view: &View,
        change: &Change<'_>,
        seq: Option<u64>,
    ) {
        self.with_sinks(seq, |sinks| vocabularies.change(view, change, sinks));
    }

    /// Adds something that the host did, after the changes that it made.
    pub(crate) fn host(
        &mut self,
        vocabularies: &mut Vocabularies,
        view: &View,
        event: &HostEvent,
        seq: Option<u64>,
    ) {
        self.with_sinks(seq, |sinks| vocabularies.host(view, event, sinks));
    }

    /// Collects what a vocabulary tells, in the formats that are watched.
    fn with_sinks(&mut self, seq: Option<u64>, translate: impl FnOnce(&mut VocabularySinks<'_>)) {
        let Self { watched, agent, classic, item_size: size, .. } = self;
        let mut agent =
            |event| agent.push(Pending { event: WatchEvent::Agent(Box::new(event)), seq, size: *size });
        let mut classic =
            |event| classic.push(Pending { event: WatchEvent::Classic(Box::new(event)), seq, size: *size });
        let mut sinks = VocabularySinks::default();
        if watched.agent {
            sinks.agent = Some(&mut agent);
        }
        if watched.classic {
            sinks.classic = Some(&mut classic);
        }
        translate(&mut sinks);
    }

    /// Adds a line of the CLI.
    pub(crate) fn line(&mut self, raw: &Bytes, seq: Option<u64>) {
        if self.watched.raw {
            self.raw.push(Pending { event: WatchEvent::Line(raw.clone()), seq, size: raw.len() });
        }
    }

    /// Adds what the CLI printed on its standard error.
    pub(crate) fn stderr(&mut self, text: &str) {
        if self.watched.classic {
            let event = WatchEvent::Classic(Box::new(ClassicVocabulary::stderr(text)));
            self.classic.push(Pending { event, seq: None, size: text.len() });
        }
    }

    /// Takes the frames for viewers of this format. `newest` is the newest event that the view has; all events of the
    /// batch come from the same writer.
    pub(crate) fn frames(&mut self, format: Format, newest: &Cursor) -> Vec<Frame> {
        let cursor = |seq: u64| Cursor { seq, ..newest.clone() };
        let pending = match format {
            Format::View if self.changes.is_empty() => return Vec::new(),
            Format::View => {
                let changes = ChangesEvent { seq: newest.seq, changes: std::mem::take(&mut self.changes) };
                let size = self.batch_size + changes.changes.len() * size_of::<Change<'_>>();
                return vec![Frame::new(self.seq.map(cursor), WatchEvent::Changes(changes), size)];
            }
            Format::Agent => std::mem::take(&mut self.agent),
            Format::Classic => std::mem::take(&mut self.classic),
            Format::Raw => std::mem::take(&mut self.raw),
        };
        frames(pending, cursor)
    }
}

/// An event of the log can give several frames. Only the last one has a cursor, so that a viewer that is cut off in
/// between gets all of them again.
fn frames(pending: Vec<Pending>, cursor: impl Fn(u64) -> Cursor) -> Vec<Frame> {
    let mut frames = Vec::with_capacity(pending.len());
    let mut pending = pending.into_iter().peekable();
    while let Some(Pending { event, seq, size }) = pending.next() {
        let continues = pending.peek().is_some_and(|next| next.seq == seq);
        frames.push(Frame::new(seq.filter(|_| !continues).map(&cursor), event, size));
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_frame_of_an_event_moves_the_cursor() {
        let pending = |seq| Pending { event: WatchEvent::Line(Bytes::new()), seq, size: 0 };
        let all =
            [None, Some(3), Some(3), None, Some(4), Some(5)].into_iter().map(pending).collect::<Vec<_>>();
        let ids: Vec<Option<u64>> = frames(all, |seq| Cursor::new("x", seq, None))
            .iter()
            .map(|frame| frame.id().map(|cursor| cursor.seq))
            .collect();
        assert_eq!(ids, [None, None, Some(3), None, Some(4), Some(5)]);
    }
}
