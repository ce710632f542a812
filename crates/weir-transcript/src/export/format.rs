//! What the formats of an export have in common.

use std::fmt::{self, Write};

use super::outline::Item;
use super::parts::Totals;
use super::walk::{Passage, walk};
use super::{html, markdown};
use crate::view::{Turn, View};

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportForm {
    /// See [`super::markdown()`].
    Markdown,
    /// See [`super::html()`].
    Html,
}

/// Writes a view, or a part of one, in a format.
pub(super) trait Format<'v> {
    /// Everything before the entries.
    fn head(&mut self) -> fmt::Result;
    /// An unasked turn begins.
    fn unasked_turn(&mut self, words: &str) -> fmt::Result;
    /// An entry with the entries nested inside it.
    fn item(&mut self, item: &Item<'v>) -> fmt::Result;
    /// A turn has ended.
    fn turn_end(&mut self, turn: &Turn, words: &str) -> fmt::Result;
    /// Everything after the entries.
    fn foot(&mut self, files: &Totals) -> fmt::Result;

    /// Some of the entries, and what is between them.
    fn passages(&mut self, passages: Vec<Passage<'v>>) -> fmt::Result {
        passages.into_iter().try_for_each(|passage| match passage {
            Passage::UnaskedTurn(words) => self.unasked_turn(&words),
            Passage::Item(item) => self.item(&item),
            Passage::TurnEnd(turn, words) => self.turn_end(turn, &words),
        })
    }
}

impl ExportForm {
    /// Writes this view in this format.
    pub(super) fn writer<'w, 'v: 'w>(
        self,
        view: &'v View,
        output: &'w mut dyn Write,
    ) -> Box<dyn Format<'v> + 'w> {
        match self {
            Self::Markdown => Box::new(markdown::Writer::new(view, output)),
            Self::Html => Box::new(html::Writer::new(view, output)),
        }
    }

    /// Writes the whole view.
    pub(super) fn write(self, view: &View, output: &mut dyn Write) -> fmt::Result {
        let mut writer = self.writer(view, output);
        writer.head()?;
        writer.passages(walk(view))?;
        writer.foot(&Totals::of(&view.files))
    }
}
