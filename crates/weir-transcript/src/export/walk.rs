//! The order of an export: what is said, and between it where turns begin by themselves and end.

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

/// All that is shown, in order.
pub(super) fn walk(view: &View) -> Vec<Passage<'_>> {
    let mut passages = Vec::new();
    let mut turn = None;
    for item in outline(view) {
        if item.entry.turn.is_some() && item.entry.turn != turn {
            passages.extend(end_of(view, turn));
            turn = item.entry.turn;
            let begun = turn.and_then(|id| view.turn(id)).and_then(words::unasked);
            passages.extend(begun.map(Passage::BeginsByItself));
        }
        passages.push(Passage::Item(item));
    }
    passages.extend(end_of(view, turn));
    passages
}

fn end_of(view: &View, turn: Option<weir_wire::TurnId>) -> Option<Passage<'_>> {
    let turn = turn.and_then(|id| view.turn(id))?;
    Some(Passage::TurnEnd(turn, words::turn_end(turn)?))
}
