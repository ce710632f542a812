//! The order of an export: the entries, with the starts of unasked turns and the ends of turns between them.

use weir_wire::TurnId;

use super::outline::{Item, outline};
use super::words;
use crate::view::{Turn, View};

/// Something that an export shows, in order.
#[derive(Debug)]
pub(super) enum Passage<'v> {
    /// An unasked turn begins, in words.
    UnaskedTurn(String),
    /// An entry with the entries nested inside it.
    Item(Item<'v>),
    /// A turn has ended; says how in words.
    TurnEnd(&'v Turn, String),
}

/// Walks through a session, as a whole or part by part.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// The turn that the last entry belonged to.
    pub(super) turn: Option<TurnId>,
}

impl Walk {
    /// What to show of these entries, in order. The turn of the last one has not ended yet.
    pub(super) fn passages<'v>(&mut self, view: &'v View) -> Vec<Passage<'v>> {
        let mut passages = Vec::new();
        for item in outline(view) {
            if item.entry.turn.is_some() && item.entry.turn != self.turn {
                passages.extend(self.end(view));
                self.turn = item.entry.turn;
                let begun = self.turn.and_then(|id| view.turn(id)).and_then(words::unasked);
                passages.extend(begun.map(Passage::UnaskedTurn));
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

/// Everything to show, in order.
pub(super) fn walk(view: &View) -> Vec<Passage<'_>> {
    let mut walk = Walk::default();
    let mut passages = walk.passages(view);
    passages.extend(walk.end(view));
    passages
}
