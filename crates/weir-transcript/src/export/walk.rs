//! The order of an export: what is said, and between it where turns begin by themselves and end.

use weir_wire::TurnId;

use super::outline::{Item, outline};
use super::words;
use crate::view::{Turn, View};

/// Something that an export shows, in order.
#[derive(Debug)]
pub(super) enum Passage<'v> {
    /// A turn that nobody asked for begins, in words.
    BeginsByItself(String),
    /// An entry with what stands inside it.
    Item(Item<'v>),
    /// A turn has ended, and how, in words.
    TurnEnd(&'v Turn, String),
}

/// Goes through a conversation, as a whole or part by part.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// The turn that the last entry belonged to.
    pub(super) turn: Option<TurnId>,
}

impl Walk {
    /// What is shown of these entries, in order. The turn of the last one has not ended yet.
    pub(super) fn passages<'v>(&mut self, view: &'v View) -> Vec<Passage<'v>> {
        let mut passages = Vec::new();
        for item in outline(view) {
            if item.entry.turn.is_some() && item.entry.turn != self.turn {
                passages.extend(self.end(view));
                self.turn = item.entry.turn;
                let begun = self.turn.and_then(|id| view.turn(id)).and_then(words::unasked);
                passages.extend(begun.map(Passage::BeginsByItself));
            }
            passages.push(Passage::Item(item));
        }
        passages
    }

    /// How the last turn ended.
    pub(super) fn end<'v>(&self, view: &'v View) -> Option<Passage<'v>> {
        let turn = self.turn.and_then(|id| view.turn(id))?;
        Some(Passage::TurnEnd(turn, words::turn_end(turn)?))
    }
}

/// All that is shown, in order.
pub(super) fn walk(view: &View) -> Vec<Passage<'_>> {
    let mut walk = Walk::default();
    let mut passages = walk.passages(view);
    passages.extend(walk.end(view));
    passages
}
