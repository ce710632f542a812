//! One validating pass over a line that records where the values of its upper levels are.
//!
//! Typed decoding then reads fields in any order without scanning the line again. The index is a few levels
//! deep and holds a bounded number of values. A container that is deeper, has too many values, or belongs to a
//! key whose value is kept as raw JSON anyway is validated and recorded as one opaque span.

use super::raw::{JsonKind, RawJson};
use super::syntax::{
    Key, Scanned, byte_at, fault, member_value, scalar_end, skip_space, string_end, value_end,
};
use super::text::Text;

/// Deepest level whose values are indexed: the source of an image inside a tool result is at level six, its
/// members at level seven.
const MAX_DEPTH: usize = 7;

/// Maximum number of values recorded for one line; bounds the memory that a hostile line can take.
const MAX_VALUES: usize = 1 << 17;

/// Values under these keys are handed out as raw JSON, so an index of them would never be read.
fn is_opaque(key: &[u8]) -> bool {
    matches!(key, b"input" | b"tool_input" | b"updatedInput" | b"structured_output")
}

#[derive(Clone, Copy)]
struct Record {
    key_start: u32,
    key_end: u32,
    start: u32,
    end: u32,
    /// Position in the index of the next value on the same level.
    after: u32,
    kind: RecordKind,
    key_escaped: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RecordKind {
    Null,
    False,
    True,
    Number,
    PlainString,
    EscapedString,
    Array,
    Object,
    OpaqueArray,
    OpaqueObject,
}

impl RecordKind {
    fn opaque(self) -> Self {
        if self == Self::Object { Self::OpaqueObject } else { Self::OpaqueArray }
    }

    fn closer(self) -> u8 {
        if self == Self::Object { b'}' } else { b']' }
    }
}

/// Scratch memory of the walk, kept between lines so that indexing a line does not allocate.
#[derive(Default)]
pub(crate) struct Index {
    records: Vec<Record>,
}

impl Index {
    /// Walks `json`, which must hold exactly one value.
    pub(crate) fn build<'a, 'i>(&'i mut self, json: &'a [u8]) -> Result<Node<'a, 'i>, super::JsonFault> {
        self.records.clear();
        if u32::try_from(json.len()).is_err() {
            return fault(0, "a line of four gigabytes or more");
        }
        let end = self.walk(json)?;
        let rest = skip_space(json, end);
        if rest != json.len() {
            return fault(rest, "more text after the JSON value");
        }
        Ok(Node { json, records: &self.records, at: 0 })
    }

    fn push(&mut self, key: Key, start: usize, end: usize, kind: RecordKind) {
        let after = self.records.len() as u32 + 1;
        self.records.push(Record {
            key_start: key.start as u32,
            key_end: key.end as u32,
            start: start as u32,
            end: end as u32,
            after,
            kind,
            key_escaped: key.escaped,
        });
    }

    /// One loop instead of recursion: the state stays in registers, and most of a line is short values.
    fn walk(&mut self, json: &[u8]) -> Scanned<usize> {
        let mut open = Open::default();
        let mut key = Key::default();
        let mut at = 0;
        // The kind of the innermost open container.
        let mut around = RecordKind::Null;
        'value: loop {
            // Here `at` is the first byte of a value.
            match byte_at(json, at) {
                Some(b'"') => {
                    let (quote, escaped) = string_end(json, at + 1)?;
                    let kind = if escaped { RecordKind::EscapedString } else { RecordKind::PlainString };
                    self.push(key, at, quote + 1, kind);
                    at = quote + 1;
                }
                Some(bracket @ (b'{' | b'[')) => {
                    let kind = if bracket == b'{' { RecordKind::Object } else { RecordKind::Array };
                    if open.is_full() || json.get(key.start..key.end).is_some_and(is_opaque) {
                        let end = value_end(json, at)?;
                        self.push(key, at, end, kind.opaque());
                        at = end;
                    } else {
                        open.push(self.records.len() as u32);
                        self.push(key, at, at, kind);
                        at = skip_space(json, at + 1);
                        if byte_at(json, at) != Some(kind.closer()) {
                            around = kind;
                            (key, at) = child(json, at, kind)?;
                            continue 'value;
                        }
                        at += 1;
                        self.close(open.pop(), at);
                    }
                }
                first => {
                    let end = scalar_end(json, at)?;
                    let kind = match first {
                        Some(b't') => RecordKind::True,
                        Some(b'f') => RecordKind::False,
                        Some(b'n') => RecordKind::Null,
                        _ => RecordKind::Number,
                    };
                    self.push(key, at, end, kind);
                    at = end;
                }
            }
            // A value has ended: a comma starts the next one, a closer ends the container.
            loop {
                if open.is_empty() {
                    return Ok(at);
                }
                at = skip_space(json, at);
                match byte_at(json, at) {
                    Some(b',') if self.records.len() < MAX_VALUES => {
                        (key, at) = child(json, skip_space(json, at + 1), around)?;
                        continue 'value;
                    }
                    Some(b',') => {
                        at = self.make_opaque(json, open.pop())?;
                        around = self.kind(open.innermost());
                    }
                    Some(byte) if byte == around.closer() => {
                        at += 1;
                        self.close(open.pop(), at);
                        around = self.kind(open.innermost());
                    }
                    Some(_) => return fault(at, "expected a comma or the end of the container"),
                    None => return fault(at, "the line ends inside an object or array"),
                }
            }
        }
    }

    fn kind(&self, at: u32) -> RecordKind {
        self.records.get(at as usize).map_or(RecordKind::Null, |record| record.kind)
    }

    fn close(&mut self, at: u32, end: usize) {
        let after = self.records.len() as u32;
        if let Some(record) = self.records.get_mut(at as usize) {
            record.end = end as u32;
            record.after = after;
        }
    }

    /// Called when there are too many values: drops those of this container, records it as one span and returns
    /// its end.
    #[cold]
    fn make_opaque(&mut self, json: &[u8], at: u32) -> Scanned<usize> {
        self.records.truncate(at as usize + 1);
        let Some(record) = self.records.last_mut() else {
            return fault(0, "the line holds too many values");
        };
        let end = value_end(json, record.start as usize)?;
        record.kind = record.kind.opaque();
        self.close(at, end);
        Ok(end)
    }
}

/// The key and the first byte of a child of a container.
#[inline(always)]
fn child(json: &[u8], at: usize, container: RecordKind) -> Scanned<(Key, usize)> {
    if container == RecordKind::Object { member_value(json, at) } else { Ok((Key::default(), at)) }
}

/// The containers around the walk's position, by their position in the index.
#[derive(Default)]
struct Open {
    places: [u32; MAX_DEPTH],
    depth: usize,
}

impl Open {
    fn is_empty(&self) -> bool {
        self.depth == 0
    }

    fn is_full(&self) -> bool {
        self.depth == MAX_DEPTH
    }

    fn push(&mut self, place: u32) {
        if let Some(free) = self.places.get_mut(self.depth) {
            *free = place;
            self.depth += 1;
        }
    }

    fn innermost(&self) -> u32 {
        self.places.get(self.depth.wrapping_sub(1)).copied().unwrap_or_default()
    }

    fn pop(&mut self) -> u32 {
        let place = self.innermost();
        self.depth = self.depth.saturating_sub(1);
        place
    }
}

/// A value in the index.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a, 'i> {
    json: &'a [u8],
    records: &'i [Record],
    at: u32,
}

impl<'a, 'i> Node<'a, 'i> {
    fn record(&self) -> Record {
        // A node is only made from positions inside the index; the fallback is never taken.
        self.records.get(self.at as usize).copied().unwrap_or(Record {
            key_start: 0,
            key_end: 0,
            start: 0,
            end: 0,
            after: 0,
            kind: RecordKind::Null,
            key_escaped: false,
        })
    }

    pub(crate) fn kind(&self) -> JsonKind {
        match self.record().kind {
            RecordKind::Null => JsonKind::Null,
            RecordKind::False | RecordKind::True => JsonKind::Bool,
            RecordKind::Number => JsonKind::Number,
            RecordKind::PlainString | RecordKind::EscapedString => JsonKind::String,
            RecordKind::Array | RecordKind::OpaqueArray => JsonKind::Array,
            RecordKind::Object | RecordKind::OpaqueObject => JsonKind::Object,
        }
    }

    /// Whether this is a container whose members are not in the index.
    pub(crate) fn is_opaque(&self) -> bool {
        matches!(self.record().kind, RecordKind::OpaqueArray | RecordKind::OpaqueObject)
    }

    pub(crate) fn raw(&self) -> RawJson<'a> {
        let record = self.record();
        RawJson::trusted(self.json.get(record.start as usize..record.end as usize).unwrap_or_default())
    }

    pub(crate) fn key(&self) -> Text<'a> {
        let record = self.record();
        let raw = self.json.get(record.key_start as usize..record.key_end as usize).unwrap_or_default();
        Text::new(raw, record.key_escaped)
    }

    pub(crate) fn text(&self) -> Option<Text<'a>> {
        let record = self.record();
        let escaped = match record.kind {
            RecordKind::PlainString => false,
            RecordKind::EscapedString => true,
            _ => return None,
        };
        let raw = self.json.get(record.start as usize + 1..record.end as usize - 1)?;
        Some(Text::new(raw, escaped))
    }

    pub(crate) fn bool(&self) -> Option<bool> {
        match self.record().kind {
            RecordKind::True => Some(true),
            RecordKind::False => Some(false),
            _ => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        self.record().kind == RecordKind::Null
    }

    /// The values inside this container, in order.
    pub(crate) fn children(&self) -> impl Iterator<Item = Node<'a, 'i>> + use<'a, 'i> {
        let record = self.record();
        let (json, records) = (self.json, self.records);
        let mut at = self.at + 1;
        std::iter::from_fn(move || {
            if at >= record.after {
                return None;
            }
            let node = Node { json, records, at };
            at = node.record().after;
            Some(node)
        })
    }

    /// The member with this key; the last one if the key is repeated, as in JavaScript.
    pub(crate) fn get(&self, key: &str) -> Option<Node<'a, 'i>> {
        let end = self.record().after;
        let mut at = self.at + 1;
        let mut found = None;
        // Comparing the recorded lengths skips most members without reading their bytes.
        while let Some(record) = self.records.get(at as usize).filter(|_| at < end) {
            let length = record.key_end.wrapping_sub(record.key_start) as usize;
            if length == key.len() || record.key_escaped {
                let child = Node { at, ..*self };
                if child.key().is(key) {
                    found = Some(child);
                }
            }
            at = record.after;
        }
        found
    }
}
