//! What an agent said, as one text.

use serde::{Deserialize, Serialize};
use weir_wire::{ApiMessageId, TurnId};

use super::{EntryBody, TextEntry, View};

/// What was said: the pieces of one message as they follow each other, and an empty line between messages.
///
/// ```
/// use weir_transcript::Said;
/// use weir_wire::ApiMessageId;
///
/// let (first, second) = (ApiMessageId::new("m1"), ApiMessageId::new("m2"));
/// let mut said = Said::default();
/// for (message, text) in [(&first, "Let me "), (&first, "look."), (&second, "Done.")] {
///     said.begin(Some(message));
///     said.push(text);
/// }
/// assert_eq!(said.as_str(), "Let me look.\n\nDone.");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Said {
    text: String,
    /// The message that the last piece belongs to, if that is known.
    message: Option<ApiMessageId>,
}

impl Said {
    /// A block of this message begins. Gives where its text begins.
    pub fn begin(&mut self, message: Option<&ApiMessageId>) -> usize {
        if !self.text.is_empty() && !is_same_message(self.message.as_ref(), message) {
            self.text.push_str("\n\n");
        }
        self.message = message.cloned();
        self.text.len()
    }

    /// More of the block.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// A block, if there is something in it.
    pub fn add(&mut self, block: &TextEntry) {
        if !block.text.is_empty() {
            self.begin(block.message.as_ref());
            self.push(&block.text);
        }
    }

    /// Forgets what comes from here on.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.text.truncate(length);
    }

    /// Forgets the beginning, so that no more than this many bytes are left.
    pub(crate) fn keep_last(&mut self, most: usize) {
        let mut cut = self.text.len().saturating_sub(most);
        while !self.text.is_char_boundary(cut) {
            cut += 1;
        }
        self.text.drain(..cut);
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text.
    pub fn into_text(self) -> String {
        self.text
    }
}

impl<'t> FromIterator<&'t TextEntry> for Said {
    fn from_iter<T: IntoIterator<Item = &'t TextEntry>>(blocks: T) -> Self {
        let mut said = Self::default();
        blocks.into_iter().for_each(|block| said.add(block));
        said
    }
}

/// Whether two blocks are parts of one message. Those of which nobody says so are not.
pub fn is_same_message(one: Option<&ApiMessageId>, other: Option<&ApiMessageId>) -> bool {
    one.is_some() && one == other
}

impl View {
    /// What the main agent said in a turn, block by block, as far as the view has it.
    pub fn texts_of(&self, turn: TurnId) -> impl Iterator<Item = &TextEntry> {
        let of_turn =
            move |entry: &&std::sync::Arc<super::Entry>| entry.turn == Some(turn) && entry.parent.is_none();
        self.entries.iter().filter(of_turn).filter_map(|entry| match &entry.body {
            EntryBody::Text(text) => Some(text),
            _ => None,
        })
    }
}
