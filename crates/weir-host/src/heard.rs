//! What viewers are told of what happened, encoded once for each form, and only for forms that somebody watches.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use weir_store::Cursor;
use weir_transcript::{AgentVocabulary, Change, ClassicVocabulary, HostEvent, View};
use weir_wire::TurnId;

use crate::frame::Frame;
use crate::watch::Format;

/// Which forms are watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Watched {
    pub(crate) view: bool,
    pub(crate) agent: bool,
    pub(crate) classic: bool,
    pub(crate) raw: bool,
}

impl Watched {
    pub(crate) fn add(&mut self, format: Format) {
        match format {
            Format::View => self.view = true,
            Format::Agent => self.agent = true,
            Format::Classic => self.classic = true,
            Format::Raw => self.raw = true,
        }
    }
}

/// The vocabularies, which remember what they have told.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Vocabularies {
    agent: AgentVocabulary,
    classic: ClassicVocabulary,
}

/// What viewers are told of a batch.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    watched: Watched,
    /// The changes of the view, as the inside of a JSON list.
    changes: Vec<u8>,
    agent: Vec<Told>,
    classic: Vec<Told>,
    raw: Vec<Told>,
    /// The view was made again: whoever has the old one needs it as a whole.
    pub(crate) is_replaced: bool,
    /// The newest event of the log in this batch.
    seq: Option<u64>,
}

#[derive(Debug)]
struct Told {
    event: &'static str,
    data: Bytes,
    /// The event of the log that it comes from; none for previews.
    seq: Option<u64>,
    /// The turn that it belongs to.
    turn: Option<TurnId>,
}

impl Heard {
    pub(crate) fn new(watched: Watched) -> Self {
        Self { watched, ..Self::default() }
    }

    /// An event of the log was handled.
    pub(crate) fn logged(&mut self, seq: u64) {
        self.seq = Some(seq);
    }

    /// The view has changed.
    pub(crate) fn change(
        &mut self,
        vocabularies: &mut Vocabularies,
        view: &View,
        change: &Change<'_>,
        seq: Option<u64>,
    ) {
        if self.watched.view {
            if !self.changes.is_empty() {
                self.changes.push(b',');
            }
            // Writing into memory does not fail, and a change always can be written as JSON.
            let _ = serde_json::to_writer(&mut self.changes, change);
        }
        let (agent, classic) = (&mut self.agent, &mut self.classic);
        let is_watched = self.watched.agent;
        vocabularies.agent.translate(view, change, &mut |event| {
            if is_watched {
                agent.push(Told { event: event.name(), data: json(&event), seq, turn: event.turn_id });
            }
        });
        let is_watched = self.watched.classic;
        vocabularies.classic.translate(view, change, &mut |event| {
            if is_watched {
                classic.push(Told { event: event.event, data: json(&event.data), seq, turn: event.turn_id });
            }
        });
    }

    /// The host did something, whose changes were told before.
    pub(crate) fn host(
        &mut self,
        vocabularies: &mut Vocabularies,
        view: &View,
        event: &HostEvent,
        seq: Option<u64>,
    ) {
        let (watched, agent, classic) = (self.watched, &mut self.agent, &mut self.classic);
        vocabularies.agent.host(view, event, &mut |event| {
            if watched.agent {
                agent.push(Told { event: event.name(), data: json(&event), seq, turn: event.turn_id });
            }
        });
        vocabularies.classic.host(view, event, &mut |event| {
            if watched.classic {
                classic.push(Told { event: event.event, data: json(&event.data), seq, turn: event.turn_id });
            }
        });
    }

    /// The CLI wrote a line.
    pub(crate) fn line(&mut self, raw: &Bytes, seq: Option<u64>) {
        if self.watched.raw {
            self.raw.push(Told { event: "line", data: raw.clone(), seq, turn: None });
        }
    }

    /// The CLI printed something on its standard error.
    pub(crate) fn stderr(&mut self, text: &str) {
        if self.watched.classic {
            let event = ClassicVocabulary::stderr(text);
            self.classic.push(Told { event: event.event, data: json(&event.data), seq: None, turn: None });
        }
    }

    /// The frames for viewers of this form. `newest` is the place of the newest event that the view has; whoever wrote
    /// that one wrote all events of this batch.
    pub(crate) fn frames(&mut self, format: Format, newest: &Cursor) -> Vec<Frame> {
        let cursor = |seq: u64| Cursor { seq, ..newest.clone() };
        let told = match format {
            Format::View if self.changes.is_empty() => return Vec::new(),
            Format::View => {
                let mut data = format!("{{\"seq\":{},\"changes\":[", newest.seq).into_bytes();
                data.append(&mut self.changes);
                data.extend_from_slice(b"]}");
                return vec![Frame::new("changes", self.seq.map(cursor), data)];
            }
            Format::Agent => std::mem::take(&mut self.agent),
            Format::Classic => std::mem::take(&mut self.classic),
            Format::Raw => std::mem::take(&mut self.raw),
        };
        frames(told, cursor)
    }
}

/// An event of the log can be several frames. Only the last of them says that it was seen, so that whoever is cut off
/// in between gets all of them again.
fn frames(told: Vec<Told>, cursor: impl Fn(u64) -> Cursor) -> Vec<Frame> {
    let mut frames = Vec::with_capacity(told.len());
    let mut told = told.into_iter().peekable();
    while let Some(Told { event, data, seq, turn }) = told.next() {
        let goes_on = told.peek().is_some_and(|next| next.seq == seq);
        let id = seq.filter(|_| !goes_on).map(&cursor);
        frames.push(Frame::new(event, id, data).of_turn(turn));
    }
    frames
}

/// Values of this crate always can be written as JSON.
fn json(value: &impl Serialize) -> Bytes {
    serde_json::to_vec(value).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(seq: Option<u64>) -> Told {
        Told { event: "e", data: Bytes::new(), seq, turn: None }
    }

    #[test]
    fn only_the_last_frame_of_an_event_moves_the_cursor() {
        let all = vec![told(None), told(Some(3)), told(Some(3)), told(None), told(Some(4)), told(Some(5))];
        let ids: Vec<Option<u64>> = frames(all, |seq| Cursor::new("x", seq, None))
            .iter()
            .map(|frame| frame.id().map(|cursor| cursor.seq))
            .collect();
        assert_eq!(ids, [None, None, Some(3), None, Some(4), Some(5)]);
    }
}
