//! Recognises a line that differs from an earlier one only in two strings.
//!
//! While a message is being written, the CLI sends one short line for each piece of text. These lines are
//! identical to the byte except for the text and the line's own id. Comparing the bytes around those two
//! strings is far cheaper than parsing, and it is exact: if the bytes before, between and after are the same
//! and each of the two is a complete JSON string, then both lines parse to the same message except for those
//! two strings.

use crate::id::IdRef;
use crate::json::{RawJson, Text, string_end};
use crate::message::{BlockDelta, Delta, StreamEvent, StreamEventMessage};

use super::Source;

/// Number of shapes that are remembered, so that interleaved streams (the main agent and its sub-agents) do not
/// evict each other.
const MAX_SHAPES: usize = 4;

/// Longer lines are always parsed, so that the remembered shapes stay small.
const MAX_LINE_LENGTH: usize = 4 << 10;

/// The shapes of the last few kinds of delta lines.
#[derive(Default)]
pub(super) struct Shapes {
    shapes: Vec<Shape>,
    /// Position of the shape that matched last.
    recent: usize,
    /// Position of the shape that is replaced next.
    oldest: usize,
}

/// A range of bytes in a line.
#[derive(Clone, Copy)]
struct Span {
    start: u32,
    end: u32,
}

/// Range of a string in a line and whether it is escaped; `None` if the line does not have it.
type Place = Option<(Span, bool)>;

struct Shape {
    line: Vec<u8>,
    /// The two strings that differ, in the order of the line, without their quotes.
    holes: [Span; 2],
    /// Whether the first hole is the delta (and the second the line's id) or the other way round.
    delta_first: bool,
    delta: DeltaKind,
    index: u64,
    /// Range of the event, whose source is kept like that of the line. The known keys of both follow.
    event: Span,
    keys: &'static [&'static str],
    event_keys: &'static [&'static str],
    session_id: Place,
    parent_tool_use_id: Place,
    api_message_id: Place,
    ttft_ms: Option<u64>,
}

#[derive(Clone, Copy)]
enum DeltaKind {
    Text,
    Thinking,
    InputJson,
}

impl Shapes {
    /// The message, if the line has a known shape.
    pub(super) fn recognise<'a>(&mut self, json: &'a [u8]) -> Option<StreamEventMessage<'a>> {
        if let Some(message) = self.shapes.get(self.recent).and_then(|shape| shape.fit(json)) {
            return Some(message);
        }
        for (at, shape) in self.shapes.iter().enumerate() {
            if at != self.recent
                && let Some(message) = shape.fit(json)
            {
                self.recent = at;
                return Some(message);
            }
        }
        None
    }

    /// Remembers the shape of a line that was parsed.
    pub(super) fn learn(&mut self, json: &[u8], message: &StreamEventMessage<'_>) {
        let Some(shape) = Shape::of(json, message) else {
            return;
        };
        if self.shapes.len() < MAX_SHAPES {
            self.recent = self.shapes.len();
            self.shapes.push(shape);
        } else if let Some(place) = self.shapes.get_mut(self.oldest) {
            *place = shape;
            self.recent = self.oldest;
            self.oldest = (self.oldest + 1) % MAX_SHAPES;
        }
    }
}

/// Range of `part` in `whole`, of which it must be a slice.
fn span_in(whole: &[u8], part: &[u8]) -> Option<Span> {
    let start = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    let end = start + part.len();
    (end <= whole.len()).then_some(Span { start: start as u32, end: end as u32 })
}

impl Shape {
    fn of(json: &[u8], message: &StreamEventMessage<'_>) -> Option<Self> {
        if json.len() > MAX_LINE_LENGTH {
            return None;
        }
        let StreamEvent::BlockDelta(block) = &message.event else {
            return None;
        };
        let (delta, text) = match block.delta {
            Delta::Text(text) => (DeltaKind::Text, text),
            Delta::Thinking(text) => (DeltaKind::Thinking, text),
            Delta::InputJson(text) => (DeltaKind::InputJson, text),
            Delta::Signature(_) | Delta::Other { .. } => return None,
        };
        let delta_hole = span_in(json, text.raw())?;
        let id_hole = span_in(json, message.uuid?.raw())?;
        let place = |text: Option<Text<'_>>| -> Option<Place> {
            Some(match text {
                Some(text) => {
                    let span = span_in(json, text.raw())?;
                    Some((span, json.get(span.start as usize..span.end as usize)?.contains(&b'\\')))
                }
                None => None,
            })
        };
        let delta_first = delta_hole.start < id_hole.start;
        Some(Self {
            line: json.to_vec(),
            holes: if delta_first { [delta_hole, id_hole] } else { [id_hole, delta_hole] },
            delta_first,
            delta,
            index: block.index,
            event: span_in(json, block.source.json().bytes())?,
            keys: message.source.known,
            event_keys: block.source.known,
            session_id: place(message.session_id.map(|id| id.text()))?,
            parent_tool_use_id: place(message.parent_tool_use_id.map(|id| id.text()))?,
            api_message_id: place(message.api_message_id.map(|id| id.text()))?,
            ttft_ms: message.ttft_ms,
        })
    }

    #[inline]
    fn fit<'a>(&self, json: &'a [u8]) -> Option<StreamEventMessage<'a>> {
        let [first, second] = self.holes;
        let part = |from: u32, to: u32| self.line.get(from as usize..to as usize);
        let before = part(0, first.start)?;
        let between = part(first.end, second.start)?;
        let after = part(second.end, self.line.len() as u32)?;

        let rest = json.strip_prefix(before)?;
        // Comparing the end is cheap, so it is done before the strings are searched.
        rest.strip_suffix(after)?;
        let (first_length, first_escaped) = string_end(rest, 0).ok()?;
        let rest_after_first = rest.get(first_length..)?.strip_prefix(between)?;
        let (second_length, second_escaped) = string_end(rest_after_first, 0).ok()?;
        if rest_after_first.get(second_length..)? != after {
            return None;
        }
        let first_text = Text::new(rest.get(..first_length)?, first_escaped);
        let second_text = Text::new(rest_after_first.get(..second_length)?, second_escaped);
        let moved = Moved {
            json,
            holes: self.holes,
            shifts: [
                first_length as i64 - i64::from(first.end - first.start),
                second_length as i64 - i64::from(second.end - second.start),
            ],
        };
        self.message(&moved, first_text, second_text)
    }

    fn message<'a>(
        &self,
        moved: &Moved<'a>,
        first: Text<'a>,
        second: Text<'a>,
    ) -> Option<StreamEventMessage<'a>> {
        let (text, uuid) = if self.delta_first { (first, second) } else { (second, first) };
        let delta = match self.delta {
            DeltaKind::Text => Delta::Text(text),
            DeltaKind::Thinking => Delta::Thinking(text),
            DeltaKind::InputJson => Delta::InputJson(text),
        };
        let event_source = Source { json: RawJson::trusted(moved.part(self.event)?), known: self.event_keys };
        Some(StreamEventMessage {
            event: StreamEvent::BlockDelta(BlockDelta { index: self.index, delta, source: event_source }),
            session_id: moved.text(self.session_id)?.map(IdRef::from),
            parent_tool_use_id: moved.text(self.parent_tool_use_id)?.map(IdRef::from),
            uuid: Some(uuid),
            api_message_id: moved.text(self.api_message_id)?.map(IdRef::from),
            ttft_ms: self.ttft_ms,
            source: Source { json: RawJson::trusted(moved.json), known: self.keys },
        })
    }
}

/// A line of the same shape, whose parts are at other positions because the two strings have other lengths.
struct Moved<'a> {
    json: &'a [u8],
    holes: [Span; 2],
    shifts: [i64; 2],
}

impl<'a> Moved<'a> {
    fn position(&self, at: u32) -> usize {
        let [first, second] = self.holes;
        let [first_shift, second_shift] = self.shifts;
        let mut moved = i64::from(at);
        if at >= first.end {
            moved += first_shift;
        }
        if at >= second.end {
            moved += second_shift;
        }
        moved as usize
    }

    #[inline]
    fn part(&self, span: Span) -> Option<&'a [u8]> {
        self.json.get(self.position(span.start)..self.position(span.end))
    }

    #[inline]
    fn text(&self, place: Place) -> Option<Option<Text<'a>>> {
        match place {
            None => Some(None),
            Some((span, escaped)) => Some(Some(Text::new(self.part(span)?, escaped))),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::decode::{Body, Decoder};
    use proptest::prelude::*;

    fn line(text: &str, uuid: &str, parent: &str) -> Vec<u8> {
        format!(
            r#"{{"type":"stream_event","event":{{"index":0,"delta":{{"type":"text_delta","text":{}}},"type":"content_block_delta"}},"session_id":"s","parent_tool_use_id":{parent},"uuid":"{uuid}","api_message_id":"m","new":[1]}}"#,
            serde_json::to_string(text).unwrap(),
        )
        .into_bytes()
    }

    /// The complete result of decoding, as text.
    fn outcome(decoder: &mut Decoder, line: &[u8]) -> String {
        let decoded = decoder.decode(line);
        let Body::Known(message) = &decoded.body else {
            return format!("{:?}", decoded.body);
        };
        format!("{message:?} {:?}", message.json())
    }

    proptest! {
        #[test]
        fn a_recognised_line_gives_what_parsing_gives(
            lines in proptest::collection::vec((any::<String>(), "[0-9a-f]{0,12}", prop_oneof![Just("null"), Just("\"toolu_1\"")]), 1..12),
            damage in proptest::option::of((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>())),
        ) {
            let mut lines: Vec<Vec<u8>> = lines.iter().map(|(text, uuid, parent)| line(text, uuid, parent)).collect();
            if let Some((which, at, byte)) = damage {
                let line = which.get_mut(&mut lines[..]);
                let at = at.index(line.len());
                line[at] = byte;
            }
            let mut remembering = Decoder::new();
            for line in &lines {
                prop_assert_eq!(outcome(&mut remembering, line), outcome(&mut Decoder::new(), line));
            }
        }
    }
}
