//! The text of an agent, joined from its blocks.

use serde::{Deserialize, Serialize};
use weir_wire::{ApiMessageId, TurnId};

use super::{EntryBody, TextEntry, View};

/// Joined text: the blocks of one message directly after each other, and an empty line between messages.
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
    /// The message that the last block belongs to, if known.
    message: Option<ApiMessageId>,
}

impl Said {
    /// Begins a block of this message and returns where its text starts.
    pub fn begin(&mut self, message: Option<&ApiMessageId>) -> usize {
        if !self.text.is_empty() && !is_same_message(self.message.as_ref(), message) {
            self.text.push_str("\n\n");
        }
        self.message = message.cloned();
        self.text.len()
    }

    /// Appends to the current block.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds a whole block unless it is empty.
    pub fn add(&mut self, block: &TextEntry) {
        if !block.text.is_empty() {
            self.begin(block.message.as_ref());
            self.push(&block.text);
        }
    }

    /// Removes everything after this length.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.text.truncate(length);
    }

    /// Removes the beginning, so that at most `max` bytes are left.
    pub(crate) fn keep_last(&mut self, max: usize) {
        let cut = self.text.len() - weir_base::text::tail(&self.text, max).len();
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

/// Whether two blocks are parts of one message. Blocks without a message id are not.
pub fn is_same_message(one: Option<&ApiMessageId>, other: Option<&ApiMessageId>) -> bool {
    one.is_some() && one == other
}

impl View {
    /// The text blocks of the main agent in a turn, as far as the view has them.
    pub fn texts_of(&self, turn: TurnId) -> impl Iterator<Item = &TextEntry> {
        let of_turn =
            move |entry: &&std::sync::Arc<super::Entry>| entry.turn == Some(turn) && entry.parent.is_none();
        self.entries.iter().filter(of_turn).filter_map(|entry| match &entry.body {
            EntryBody::Text(text) => Some(text),
            _ => None,
        })
    }
}
