//! A log that is read again: it is folded into a view, and what it says beyond that is kept.

use serde::{Deserialize, Serialize};
use weir_store::Event;
use weir_transcript::{Fold, FoldOptions, Sink, View};
use weir_wire::{Body, Decoder, Line};

use crate::frame_builder::FrameBuilder;
use crate::item::Item;
use crate::log_state::{LogState, Place};
use crate::message::queued;

/// A session as its log has it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct History {
    fold: Fold,
    pub(crate) log: LogState,
    #[serde(skip)]
    decoder: Decoder,
}

impl History {
    /// An empty history that keeps this many entries; the rest is in the log.
    pub(crate) fn new(keep_entries: usize) -> Self {
        Self { fold: Fold::new(bounded(keep_entries)), log: LogState::default(), decoder: Decoder::new() }
    }

    /// Reads what [`History::to_json`] wrote; none if it cannot be read.
    pub(crate) fn from_json(data: &[u8], keep_entries: usize) -> Option<Self> {
        let mut history: Self = serde_json::from_slice(data).ok()?;
        history.fold.set_options(bounded(keep_entries));
        Some(history)
    }

    pub(crate) fn to_json(&self) -> Option<Vec<u8>> {
        serde_json::to_vec(self).ok()
    }

    /// The fold to continue with, and what the log says beyond the view.
    pub(crate) fn into_parts(self) -> (Fold, LogState) {
        (self.fold, self.log)
    }

    pub(crate) fn view(&self) -> &View {
        self.fold.view()
    }

    pub(crate) fn newest(&self) -> u64 {
        self.log.newest()
    }

    /// The first entry that is not dropped; the next one where there is none.
    pub(crate) fn first_entry(&self) -> u64 {
        self.view().dropped_entries + 1
    }

    /// The items that must be recorded when no process can be left.
    pub(crate) fn closing(&self) -> Vec<Item> {
        self.log.closing(self.view())
    }

    /// Takes an event of the log.
    pub(crate) fn replay(&mut self, event: Event, frames: &mut FrameBuilder) {
        let (seq, at) = (event.seq, event.at);
        self.log.set_check(event.check);
        match Item::of(event) {
            Some(item) => self.apply(at, seq, &item, frames),
            None => self.log.set_newest(seq),
        }
    }

    /// Takes an item that is in the log under this number.
    pub(crate) fn apply(&mut self, at: i64, seq: u64, item: &Item, frames: &mut FrameBuilder) {
        let place = Place { at, seq: Some(seq), size: item.size() };
        let Self { fold, log, decoder } = self;
        log.begin(place, Some(item), frames);
        fold_item(fold, decoder, at, item, &mut |view, change| {
            log.change(place, view, change, frames);
            frames.view_change(|| change.clone().into_owned());
        });
        log.end(place, fold.view(), Some(item), frames);
    }

    /// Takes an event of the log, for a caller that wants the changes themselves and nothing else.
    pub(crate) fn replay_with(&mut self, event: Event, sink: &mut Sink<'_>) {
        let Event { seq, at, check, .. } = event;
        self.log.set_newest(seq);
        self.log.set_check(check);
        if let Some(item) = Item::of(event) {
            fold_item(&mut self.fold, &mut self.decoder, at, &item, sink);
        }
    }
}

/// Folds an item of a log. Notes are not about the view, and a message is in it once it is queued.
fn fold_item(fold: &mut Fold, decoder: &mut Decoder, at: i64, item: &Item, sink: &mut Sink<'_>) {
    fold.set_time(at);
    match item {
        Item::Line(raw) => fold.line(&decoder.decode(raw), sink),
        Item::Oversize(line) => {
            let body = Body::Oversize { length: line.length };
            fold.line(&Line { raw: line.head.as_bytes(), body }, sink);
        }
        Item::Host(event) => fold.host(event, sink),
        Item::OldMessage(message) => fold.host(&queued(message), sink),
        Item::Preview(_) | Item::Message(_) | Item::Note(_) | Item::Stderr(_) => {}
    }
}

fn bounded(keep_entries: usize) -> FoldOptions {
    FoldOptions { keep_entries: Some(keep_entries), ..FoldOptions::default() }
}
