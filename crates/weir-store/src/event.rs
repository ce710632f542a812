//! Events, before and after they are stored.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::cursor::Check;
use crate::error::StoreError;
use crate::session::{SessionId, SessionUpdate};

/// The largest event payload. A CLI line has at most 64 MiB.
pub(crate) const MAX_PAYLOAD: usize = 256 << 20;
/// The longest text that is indexed for search; the payload has all of it.
const MAX_SEARCH_TEXT: usize = 256 << 10;

/// An event in a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Its number: counted from one in each session, without gaps.
    pub seq: u64,
    /// When it happened, in milliseconds since 1970.
    pub at: i64,
    /// The kind of event, in the caller's terms.
    pub kind: String,
    /// The sender's own id for it.
    pub client_id: Option<String>,
    /// The event itself, exactly as given.
    pub payload: Vec<u8>,
    /// Who wrote it; `None` if an older version did.
    #[serde(skip)]
    pub check: Option<Check>,
}

/// An event to append.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewEvent {
    /// When it happened, in milliseconds since 1970.
    pub at: i64,
    /// The kind of event, in the caller's terms.
    pub kind: String,
    /// The sender's own id for it. A second event with the same client id in the session is not stored.
    pub client_id: Option<String>,
    /// The event itself: a CLI line, or JSON from the host.
    pub payload: Vec<u8>,
    /// The text that a search finds it by.
    pub search_text: Option<String>,
    /// Labels under which it can be read without the rest of the log: [`crate::ReadQuery::label`].
    pub labels: Vec<String>,
}

impl NewEvent {
    /// An event without a client id, labels or text to search.
    pub fn new(at: i64, kind: impl Into<String>, payload: Vec<u8>) -> Self {
        Self { at, kind: kind.into(), client_id: None, payload, search_text: None, labels: Vec::new() }
    }

    /// The text as it is indexed: bounded, and without the characters that mark a hit.
    pub(crate) fn indexed_text(&self) -> Option<Cow<'_, str>> {
        let text = self.search_text.as_deref()?;
        let text = weir_base::text::head(text, MAX_SEARCH_TEXT);
        // Most texts have none. 0xC2 begins the control characters that are not ASCII, among others.
        let may_be_control = |byte: u8| byte < b' ' && byte != b'\n' || byte == 0x7f || byte == 0xc2;
        let clean = if text.bytes().any(may_be_control) {
            let clean = text.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c });
            Cow::Owned(clean.collect())
        } else {
            Cow::Borrowed(text)
        };
        (!clean.trim().is_empty()).then_some(clean)
    }
}

/// Events to append to one session, all or none.
#[derive(Debug, Clone, PartialEq)]
pub struct Append {
    /// The session.
    pub session: SessionId,
    /// The events, in order.
    pub events: Vec<NewEvent>,
    /// Refuse unless this is the number of the newest event. Keeps out a second writer, and anything sent after a
    /// write that failed.
    pub expected_newest: Option<u64>,
    /// Refuse if an append with a higher generation was stored before, and otherwise from now on those with a lower one.
    /// Zero on a single machine.
    pub generation: u64,
    /// Changes to the session's facts, in the same transaction.
    pub update: SessionUpdate,
    /// Whether to write it even if the disk is full, using the reserve. For small events that end something; see
    /// [`crate::SqliteOptions::reserve`].
    pub essential: bool,
}

impl Append {
    /// Only events.
    pub fn new(session: SessionId, events: Vec<NewEvent>) -> Self {
        Self {
            session,
            events,
            expected_newest: None,
            generation: 0,
            update: SessionUpdate::default(),
            essential: false,
        }
    }

    /// Approximate memory it takes while it waits.
    pub fn size(&self) -> usize {
        let size = |event: &NewEvent| {
            let labels: usize = event.labels.iter().map(String::len).sum();
            let text = event.search_text.as_ref().map_or(0, String::len);
            size_of::<NewEvent>() + event.payload.len() + text + labels
        };
        self.events.iter().map(size).sum()
    }

    /// Checks what is to be appended.
    ///
    /// # Errors
    /// If an event is too long.
    pub fn check(&self) -> Result<(), StoreError> {
        match self.events.iter().find(|event| event.payload.len() > MAX_PAYLOAD) {
            Some(event) => Err(StoreError::Invalid(format!(
                "an event of {} bytes is too long: the limit is {MAX_PAYLOAD}",
                event.payload.len()
            ))),
            None => Ok(()),
        }
    }
}

/// The result of an append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// The position of each event, in the order given.
    pub placed: Vec<Placed>,
    /// The number of the newest event now.
    pub newest: u64,
    /// The writer of the new ones.
    pub check: Check,
}

/// The position of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// Its number.
    pub seq: u64,
    /// Whether it was stored now. If not, an earlier event with the same client id has this number and was kept
    /// unchanged.
    pub new: bool,
}

#[cfg(test)]
mod tests {
    use super::NewEvent;

    #[test]
    fn indexed_text_is_bounded_and_has_no_marks() {
        let event = |text: &str| NewEvent { search_text: Some(text.to_owned()), ..NewEvent::default() };
        assert_eq!(event("a\u{2}b\nc").indexed_text().as_deref(), Some("a b\nc"));
        assert_eq!(event("a\u{85}b\u{7f}é").indexed_text().as_deref(), Some("a b é"));
        assert_eq!(event(" \u{2} ").indexed_text(), None);
        let long = event(&"é".repeat(200_000));
        let long = long.indexed_text().unwrap();
        assert!(long.len() <= 256 << 10 && long.chars().all(|c| c == 'é'));
    }
}
