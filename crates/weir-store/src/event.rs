//! Events, on their way into the log and out of it.

use serde::{Deserialize, Serialize};

use crate::conversation::{ConversationId, ConversationUpdate};
use crate::cursor::Check;
use crate::error::StoreError;

/// The longest event. A line of the CLI has at most 64 MiB.
pub(crate) const MAX_PAYLOAD: usize = 256 << 20;
/// The longest text that is searched; the payload has the whole.
const MAX_SEARCH_TEXT: usize = 256 << 10;

/// An event of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Its number: counted from one in each conversation, without gaps.
    pub seq: u64,
    /// When it happened, in milliseconds since 1970.
    pub at: i64,
    /// What sort of event it is, in the caller's words.
    pub kind: String,
    /// The sender's own name for it.
    pub client_id: Option<String>,
    /// The event itself, as it was given.
    pub payload: Vec<u8>,
    /// Who wrote it; none where an older version did.
    #[serde(skip)]
    pub check: Option<Check>,
}

/// An event to append.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewEvent {
    /// When it happened, in milliseconds since 1970.
    pub at: i64,
    /// What sort of event it is: a word of the caller's.
    pub kind: String,
    /// The sender's own name for it. A second event with that name in the same conversation is not stored.
    pub client_id: Option<String>,
    /// The event itself: a line of the CLI, or JSON of the host.
    pub payload: Vec<u8>,
    /// What it can be found by.
    pub search_text: Option<String>,
    /// Names under which it can be read again without the rest of the log: [`crate::ReadQuery::label`].
    pub labels: Vec<String>,
}

impl NewEvent {
    /// An event that has no name and cannot be searched for.
    pub fn new(at: i64, kind: impl Into<String>, payload: Vec<u8>) -> Self {
        Self { at, kind: kind.into(), client_id: None, payload, search_text: None, labels: Vec::new() }
    }

    /// The text as it goes into the index: bounded, and without the characters that mark a hit.
    pub(crate) fn indexed_text(&self) -> Option<String> {
        let text = self.search_text.as_deref()?;
        let text = text.get(..text.floor_char_boundary(MAX_SEARCH_TEXT)).unwrap_or(text);
        let clean: String = text.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect();
        (!clean.trim().is_empty()).then_some(clean)
    }
}

/// Events to append to one conversation, all of them or none.
#[derive(Debug, Clone, PartialEq)]
pub struct Append {
    /// The conversation.
    pub conversation: ConversationId,
    /// The events, in order.
    pub events: Vec<NewEvent>,
    /// Refuse unless this is the number of the newest event. It keeps a second writer out, and what was sent after
    /// a write that failed.
    pub expected_newest: Option<u64>,
    /// Facts about the conversation that change with them, in the same transaction.
    pub update: ConversationUpdate,
    /// Whether it is written also when the disk is full, out of the reserve. For what is small and ends something; see
    /// [`crate::SqliteOptions::reserve`].
    pub essential: bool,
}

impl Append {
    /// Events, and nothing else.
    pub fn new(conversation: ConversationId, events: Vec<NewEvent>) -> Self {
        Self {
            conversation,
            events,
            expected_newest: None,
            update: ConversationUpdate::default(),
            essential: false,
        }
    }

    /// About how much memory it takes while it waits.
    pub(crate) fn size(&self) -> usize {
        let size = |event: &NewEvent| {
            let labels: usize = event.labels.iter().map(String::len).sum();
            let text = event.search_text.as_ref().map_or(0, String::len);
            size_of::<NewEvent>() + event.payload.len() + text + labels
        };
        self.events.iter().map(size).sum()
    }

    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match self.events.iter().find(|event| event.payload.len() > MAX_PAYLOAD) {
            Some(event) => Err(StoreError::Invalid(format!(
                "an event of {} bytes is too long: the limit is {MAX_PAYLOAD}",
                event.payload.len()
            ))),
            None => Ok(()),
        }
    }
}

/// What became of events that were appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// The place of each, in the order in which they were given.
    pub placed: Vec<Placed>,
    /// The number of the newest event now.
    pub newest: u64,
    /// Who wrote those that are new.
    pub check: Check,
}

/// Where an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// Its number.
    pub seq: u64,
    /// Whether it was stored now; otherwise an earlier one with the same client id stands there, which is kept as it was.
    pub new: bool,
}

#[cfg(test)]
mod tests {
    use super::NewEvent;

    #[test]
    fn indexed_text_is_bounded_and_has_no_marks() {
        let event = |text: &str| NewEvent { search_text: Some(text.to_owned()), ..NewEvent::default() };
        assert_eq!(event("a\u{2}b\nc").indexed_text().as_deref(), Some("a b\nc"));
        assert_eq!(event(" \u{2} ").indexed_text(), None);
        let long = event(&"é".repeat(200_000)).indexed_text().unwrap();
        assert!(long.len() <= 256 << 10 && long.chars().all(|c| c == 'é'));
    }
}
