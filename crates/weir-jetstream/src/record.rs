//! What is stored: one record for one write, or for several that waited together.
//!
//! A record is a message on its session's subject. What a writer or a reader must know without the events is in its
//! headers ([`Head`]); the body has the events. A large body is stored in parts before the record, which then names them.

use serde::{Deserialize, Serialize};
use weir_store::{Check, Event, NewEvent, NewStoredSession, SessionUpdate, StoreError};

/// The format of bodies.
const FORMAT: u8 = 1;

/// Identifies a record, also if it is sent several times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct RecordId(pub(crate) uuid::Uuid);

impl RecordId {
    pub(crate) fn random() -> Self {
        Self(uuid::Uuid::new_v4())
    }
}

impl From<RecordId> for String {
    fn from(id: RecordId) -> Self {
        id.0.simple().to_string()
    }
}

impl TryFrom<String> for RecordId {
    type Error = uuid::Error;

    fn try_from(text: String) -> Result<Self, uuid::Error> {
        uuid::Uuid::try_parse(&text).map(Self)
    }
}

/// What a record does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It begins a session. The body is a [`NewStoredSession`].
    Created,
    /// It continues the log.
    Events,
    /// It ends the session. Nothing else is left on the subject.
    Deleted,
}

/// What the headers of a record say: the state of the log after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) id: RecordId,
    pub(crate) kind: Kind,
    /// The highest generation that has written.
    pub(crate) generation: u64,
    /// Who wrote it.
    pub(crate) check: Check,
    /// The number of the newest event after it.
    pub(crate) newest: u64,
    /// How many events it has.
    pub(crate) count: u64,
    /// The record that created the session.
    pub(crate) born: RecordId,
    /// Where the record before this one on the same subject is; zero for none.
    pub(crate) previous: u64,
    /// Where the last record before this one is that has events with client ids; zero for none.
    pub(crate) named_before: u64,
    /// Whether this one has any.
    pub(crate) is_named: bool,
}

/// A stored record: its head, and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placed {
    /// Its number in the stream, which all sessions share.
    pub(crate) position: u64,
    pub(crate) head: Head,
}

/// A record to store.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    pub(crate) head: Head,
    pub(crate) body: Vec<u8>,
}

impl Kind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Events => "events",
            Self::Deleted => "deleted",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Created, Self::Events, Self::Deleted].into_iter().find(|kind| kind.as_str() == text)
    }
}

impl Placed {
    /// Where the last record is that has events with client ids; zero for none.
    pub(crate) fn last_named(&self) -> u64 {
        if self.head.is_named { self.position } else { self.head.named_before }
    }

    /// The number of the first event, if it has any.
    pub(crate) fn first(&self) -> u64 {
        self.head.newest.saturating_sub(self.head.count) + 1
    }
}

/// What a body says of an event apart from its payload.
#[derive(Debug, Serialize, Deserialize)]
struct Meta {
    at: i64,
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    labels: Vec<String>,
    bytes: u32,
}

/// What a body says at its beginning.
#[derive(Debug, Serialize, Deserialize)]
struct Preface {
    /// Changes to the facts about the session, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    updates: Vec<SessionUpdate>,
    events: Vec<Meta>,
}

/// A body that cannot be read: another version wrote it, or it is damaged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a record cannot be read: {0}")]
pub(crate) struct Unreadable(pub(crate) String);

impl From<Unreadable> for StoreError {
    fn from(error: Unreadable) -> Self {
        Self::Unavailable { detail: error.to_string() }
    }
}

/// The body of a record that continues a log: the format, the length of the preface, the preface, the payloads.
pub(crate) fn encode(updates: Vec<SessionUpdate>, events: &[NewEvent]) -> Result<Vec<u8>, Unreadable> {
    let too_long = |_| Unreadable("an event is too long".to_owned());
    let metas = events.iter().map(|event| {
        Ok(Meta {
            at: event.at,
            kind: event.kind.clone(),
            client: event.client_id.clone(),
            text: event.search_text.clone(),
            labels: event.labels.clone(),
            bytes: u32::try_from(event.payload.len()).map_err(too_long)?,
        })
    });
    let preface = Preface { updates, events: metas.collect::<Result<_, Unreadable>>()? };
    let preface = serde_json::to_vec(&preface).map_err(|error| Unreadable(error.to_string()))?;
    let length = u32::try_from(preface.len()).map_err(too_long)?;
    let payloads: usize = events.iter().map(|event| event.payload.len()).sum();
    let mut body = Vec::with_capacity(5 + preface.len() + payloads);
    body.push(FORMAT);
    body.extend_from_slice(&length.to_le_bytes());
    body.extend_from_slice(&preface);
    events.iter().for_each(|event| body.extend_from_slice(&event.payload));
    Ok(body)
}

/// What a record has: the changes to the facts, and the events with their labels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Contents {
    pub(crate) updates: Vec<SessionUpdate>,
    pub(crate) events: Vec<NewEvent>,
}

pub(crate) fn decode(body: &[u8]) -> Result<Contents, Unreadable> {
    let cut = || Unreadable("it is cut off".to_owned());
    let (&format, rest) = body.split_first().ok_or_else(cut)?;
    if format != FORMAT {
        return Err(Unreadable(format!("it has format {format}, and this version knows {FORMAT}")));
    }
    let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
    let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| cut())?;
    let (preface, mut rest) = rest.split_at_checked(length).ok_or_else(cut)?;
    let preface: Preface = serde_json::from_slice(preface).map_err(|error| Unreadable(error.to_string()))?;
    let mut events = Vec::with_capacity(preface.events.len());
    for meta in preface.events {
        let bytes = usize::try_from(meta.bytes).map_err(|_| cut())?;
        let (payload, after) = rest.split_at_checked(bytes).ok_or_else(cut)?;
        rest = after;
        events.push(NewEvent {
            at: meta.at,
            kind: meta.kind,
            client_id: meta.client,
            payload: payload.to_vec(),
            search_text: meta.text,
            labels: meta.labels,
        });
    }
    if rest.is_empty() {
        Ok(Contents { updates: preface.updates, events })
    } else {
        Err(Unreadable(format!("{} bytes are left over", rest.len())))
    }
}

/// An event as readers get it, and its labels.
pub(crate) fn stored(event: NewEvent, seq: u64, check: Check) -> (Event, Vec<String>) {
    let NewEvent { at, kind, client_id, payload, search_text: _, labels } = event;
    (Event { seq, at, kind, client_id, payload, check: Some(check) }, labels)
}

/// The body of the record that begins a session.
pub(crate) fn encode_new(new: &NewStoredSession) -> Result<Vec<u8>, Unreadable> {
    serde_json::to_vec(new).map_err(|error| Unreadable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn events() -> impl Strategy<Value = NewEvent> {
        let payload = prop::collection::vec(any::<u8>(), 0..40);
        let labels = prop::collection::vec("[a-z]{0,3}", 0..3);
        (
            any::<i64>(),
            any::<String>(),
            prop::option::of(any::<String>()),
            payload,
            prop::option::of(".*"),
            labels,
        )
            .prop_map(|(at, kind, client_id, payload, search_text, labels)| NewEvent {
                at,
                kind,
                client_id,
                payload,
                search_text,
                labels,
            })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(events in prop::collection::vec(events(), 0..6), archived in any::<bool>()) {
            let updates = vec![SessionUpdate { archived: Some(archived), ..Default::default() }];
            let body = encode(updates.clone(), &events).unwrap();
            prop_assert_eq!(decode(&body).unwrap(), Contents { updates, events });
        }

        #[test]
        fn anything_else_is_refused(body in prop::collection::vec(any::<u8>(), 0..60), cut in any::<prop::sample::Index>()) {
            // It may be readable, but never panics.
            let _ = decode(&body);
            let whole = encode(Vec::new(), &[NewEvent::new(1, "line", vec![7; 9])]).unwrap();
            prop_assert!(decode(&whole[..cut.index(whole.len())]).is_err());
            let longer = [whole, vec![0]].concat();
            prop_assert!(decode(&longer).is_err());
        }
    }
}
