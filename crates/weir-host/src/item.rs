//! What happens to a session, as it goes into the log and comes out of it.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use weir_store::{Event, NewEvent};
use weir_transcript::{Failure, HostEvent};
use weir_wire::MessageId;

use crate::labels;
use crate::message::StoredMessage;

const LINE: &str = "line";
const OVERSIZE: &str = "oversize";
const HOST: &str = "host";
const MESSAGE: &str = "message";
const NOTE: &str = "note";

/// Something that happens to a session.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    /// A line of the CLI.
    Line(Bytes),
    /// A line that the log can leave out. It is shown and not logged.
    Preview(Bytes),
    /// The beginning of a line that is too long.
    Oversize(Oversize),
    /// What was done on our side of the pipe.
    Host(HostEvent),
    /// A message to the agent was accepted. The fold knows of it when it is queued, which follows.
    Message(Arc<StoredMessage>),
    /// A message was accepted and queued in one step, as older versions did it.
    OldMessage(Arc<StoredMessage>),
    /// Something about the session that the agent has no part in.
    Note(Note),
    /// What the CLI printed on its standard error. It is shown and not logged; the raw logs have it.
    Stderr(String),
}

/// The beginning of a line that is too long to be kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Oversize {
    /// How long the line was.
    pub(crate) length: u64,
    pub(crate) head: String,
}

/// A message in the log.
#[derive(Debug, Serialize, Deserialize)]
struct LoggedMessage<M> {
    /// Whether it is queued by an event of its own. Older versions did not write that event.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_queued_next: bool,
    #[serde(flatten)]
    message: M,
}

/// Something about a session that the agent has no part in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub(crate) enum Note {
    /// A message is about to be given to the CLI. Whatever happens after this, it is not given again.
    HandedOver { message_id: MessageId },
    /// A message that waits was given another text or another place in the queue.
    MessageChanged {
        message_id: MessageId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        position: Option<u32>,
        by: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        account: Option<String>,
    },
    /// The host was restarted.
    Restarted {
        /// Whether a turn was running.
        turn: bool,
    },
    /// The session was resumed.
    Resumed { by: String },
    /// Something went wrong that the CLI could not tell of.
    Failed {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<MessageId>,
        failure: Failure,
    },
    /// The session was interrupted or stopped, or its settings were changed.
    Control { action: String, by: String },
}

impl Item {
    /// Whether it is written also when the disk is full: what ends or denies something, and not what begins something.
    pub(crate) fn is_essential(&self) -> bool {
        match self {
            Self::Host(_) => true,
            Self::Note(note) => {
                !matches!(note, Note::HandedOver { .. } | Note::Resumed { .. } | Note::MessageChanged { .. })
            }
            Self::Line(_)
            | Self::Preview(_)
            | Self::Oversize(_)
            | Self::Message(_)
            | Self::OldMessage(_)
            | Self::Stderr(_) => false,
        }
    }

    /// How much memory it takes while it waits.
    pub(crate) fn size(&self) -> usize {
        let more = match self {
            Self::Line(bytes) | Self::Preview(bytes) => bytes.len(),
            Self::Oversize(line) => line.head.len(),
            Self::Message(message) | Self::OldMessage(message) => message.size(),
            Self::Stderr(text) => text.len(),
            Self::Note(Note::MessageChanged { text: Some(text), .. }) => text.len(),
            Self::Host(_) | Self::Note(_) => 0,
        };
        size_of::<Self>() + more
    }

    /// The item as an event of the log; none where it is only shown.
    pub(crate) fn to_event(&self, at: i64, search_text: Option<String>) -> Option<NewEvent> {
        let event = |kind: &str, payload| NewEvent::new(at, kind, payload);
        // Values of this crate always can be written as JSON.
        let json = |value: serde_json::Result<Vec<u8>>| value.unwrap_or_default();
        Some(match self {
            Self::Line(bytes) => NewEvent { search_text, ..event(LINE, bytes.to_vec()) },
            Self::Oversize(line) => event(OVERSIZE, json(serde_json::to_vec(line))),
            Self::Host(host) => event(HOST, json(serde_json::to_vec(host))),
            Self::Message(message) | Self::OldMessage(message) => {
                let is_queued_next = matches!(self, Self::Message(_));
                let logged = LoggedMessage { is_queued_next, message: &**message };
                NewEvent {
                    client_id: message.client_id.clone(),
                    search_text: Some(message.text.clone()),
                    labels: message_labels(message),
                    ..event(MESSAGE, json(serde_json::to_vec(&logged)))
                }
            }
            Self::Note(note) => {
                let search_text = match note {
                    Note::MessageChanged { text, .. } => text.clone(),
                    _ => None,
                };
                NewEvent { search_text, ..event(NOTE, json(serde_json::to_vec(note))) }
            }
            Self::Preview(_) | Self::Stderr(_) => return None,
        })
    }

    /// A line as an event of the log.
    pub(crate) fn line_event(line: &[u8]) -> NewEvent {
        NewEvent::new(0, LINE, line.to_vec())
    }

    /// An event of the log as an item; none where a newer version wrote something that this one does not know.
    pub(crate) fn of(event: Event) -> Option<Self> {
        Self::read(&event.kind, event.payload)
    }

    pub(crate) fn read(kind: &str, payload: Vec<u8>) -> Option<Self> {
        match kind {
            LINE => Some(Self::Line(payload.into())),
            OVERSIZE => serde_json::from_slice(&payload).ok().map(Self::Oversize),
            HOST => serde_json::from_slice(&payload).ok().map(Self::Host),
            MESSAGE => {
                let logged: LoggedMessage<StoredMessage> = serde_json::from_slice(&payload).ok()?;
                let message = Arc::new(logged.message);
                Some(if logged.is_queued_next { Self::Message(message) } else { Self::OldMessage(message) })
            }
            NOTE => serde_json::from_slice(&payload).ok().map(Self::Note),
            _ => None,
        }
    }
}

/// The labels of a message: its pictures and documents are the only things that are looked for in the log.
pub(crate) fn message_labels(message: &StoredMessage) -> Vec<String> {
    let has_files = !message.images.is_empty() || !message.documents.is_empty();
    if has_files { vec![labels::pictures_of(&message.message_id)] } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_transcript::FailureKind;

    use crate::message::{Document, Image, MessageMode};

    #[test]
    fn what_is_logged_comes_back_as_it_was() {
        let message = StoredMessage {
            message_id: MessageId::from("m"),
            client_id: Some("c".into()),
            by: "alice".into(),
            account: None,
            mode: MessageMode::Steer,
            goes_first: true,
            text: "hello".into(),
            images: vec![Image { media_type: "image/png".into(), data: vec![0, 255, 7] }],
            documents: vec![Document {
                media_type: "application/pdf".into(),
                data: b"%PDF-\xff".to_vec(),
                title: None,
            }],
            links: vec!["https://example.org/a.png".into()],
            files: Vec::new(),
            command: Some(crate::SlashCommand { name: "compact".into(), arguments: String::new() }),
        };
        let failure = Failure { kind: FailureKind::Died, message: "it died".into() };
        let items = [
            Item::Line(Bytes::from_static(b"{\"type\":\"system\"}")),
            Item::Line(Bytes::from_static(b"\xff not text")),
            Item::Oversize(Oversize { length: 99, head: "{".into() }),
            Item::Host(HostEvent::Interrupted),
            Item::Message(Arc::new(message.clone())),
            Item::OldMessage(Arc::new(message)),
            Item::Note(Note::HandedOver { message_id: MessageId::from("m") }),
            Item::Note(Note::MessageChanged {
                message_id: MessageId::from("m"),
                text: Some("other".into()),
                position: Some(2),
                by: "bob".into(),
                account: None,
            }),
            Item::Note(Note::Restarted { turn: true }),
            Item::Note(Note::Failed { message_id: None, failure }),
        ];
        for item in items {
            let event = item.to_event(5, None).unwrap();
            assert_eq!(Item::read(&event.kind, event.payload).as_ref(), Some(&item));
        }
        assert_eq!(Item::Preview(Bytes::new()).to_event(5, None), None);
        assert_eq!(Item::read("unheard of", Vec::new()), None);
    }
}
