//! One validating walk over a line that remembers where its upper values lie.
//!
//! Typed decoding then reads fields wherever they stand without walking the line again. The index goes a few
//! levels deep and holds a bounded number of values: what is deeper, stands under a key whose value is kept as
//! raw JSON anyway, or is too numerous, is checked and remembered as one opaque span.

use super::raw::{JsonKind, RawJson};
use super::syntax::{Scanned, byte_at, fault, member_value, scalar_end, skip_space, string_end, value_end};
use super::text::Text;

/// Deepest level whose values are indexed: the source of a picture inside a tool result is at level six, its
/// members at level seven.
const DEEPEST: u32 = 7;

/// Most values remembered for one line; bounds the memory that a hostile line can take.
const MOST: usize = 1 << 17;

/// Values under these keys are handed out as raw JSON, so nobody would look at an index of them.
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

/// The scratch memory of the walk, kept between lines so that a line costs no allocation.
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
        let end = self.value(json, 0, None, 0)?;
        let rest = skip_space(json, end);
        if rest != json.len() {
            return fault(rest, "more text after the JSON value");
        }
        Ok(Node { json, records: &self.records, at: 0 })
    }

    fn push(&mut self, key: Option<super::syntax::Key>, start: usize, kind: RecordKind) -> usize {
        let at = self.records.len();
        let (key_start, key_end, key_escaped) = key.map_or((0, 0, false), |k| (k.start, k.end, k.escaped));
        self.records.push(Record {
            key_start: key_start as u32,
            key_end: key_end as u32,
            start: start as u32,
            end: 0,
            after: 0,
            kind,
            key_escaped,
        });
        at
    }

    fn close(&mut self, at: usize, end: usize) {
        let after = self.records.len() as u32;
        if let Some(record) = self.records.get_mut(at) {
            record.end = end as u32;
            record.after = after;
        }
    }

    /// Recursion here goes `DEEPEST` levels at most.
    fn value(
        &mut self,
        json: &[u8],
        start: usize,
        key: Option<super::syntax::Key>,
        depth: u32,
    ) -> Scanned<usize> {
        let (kind, end) = match byte_at(json, start) {
            Some(b'"') => {
                let (end, escaped) = string_end(json, start + 1)?;
                let kind = if escaped { RecordKind::EscapedString } else { RecordKind::PlainString };
                (kind, end + 1)
            }
            Some(open @ (b'{' | b'[')) => return self.container(json, start, key, depth, open == b'{'),
            first => {
                let kind = match first {
                    Some(b't') => RecordKind::True,
                    Some(b'f') => RecordKind::False,
                    Some(b'n') => RecordKind::Null,
                    _ => RecordKind::Number,
                };
                (kind, scalar_end(json, start)?)
            }
        };
        let at = self.push(key, start, kind);
        self.close(at, end);
        Ok(end)
    }

    fn container(
        &mut self,
        json: &[u8],
        start: usize,
        key: Option<super::syntax::Key>,
        depth: u32,
        object: bool,
    ) -> Scanned<usize> {
        let (indexed, opaque) = if object {
            (RecordKind::Object, RecordKind::OpaqueObject)
        } else {
            (RecordKind::Array, RecordKind::OpaqueArray)
        };
        let hidden = key.and_then(|key| json.get(key.start..key.end)).is_some_and(is_opaque);
        let at = self.push(key, start, if hidden || depth >= DEEPEST { opaque } else { indexed });
        if hidden || depth >= DEEPEST {
            let end = value_end(json, start)?;
            self.close(at, end);
            return Ok(end);
        }
        match self.children(json, start, depth, object)? {
            Some(end) => {
                self.close(at, end);
                Ok(end)
            }
            None => {
                // Too many values: forget those of this container and remember it as one span.
                self.records.truncate(at + 1);
                if let Some(record) = self.records.get_mut(at) {
                    record.kind = opaque;
                }
                let end = value_end(json, start)?;
                self.close(at, end);
                Ok(end)
            }
        }
    }

    /// The end of the container, or nothing where the index is full.
    fn children(&mut self, json: &[u8], start: usize, depth: u32, object: bool) -> Scanned<Option<usize>> {
        let closer = if object { b'}' } else { b']' };
        let mut at = skip_space(json, start + 1);
        if byte_at(json, at) == Some(closer) {
            return Ok(Some(at + 1));
        }
        loop {
            if self.records.len() >= MOST {
                return Ok(None);
            }
            let mut key = None;
            if object {
                let (found, value) = member_value(json, at)?;
                key = Some(found);
                at = value;
            }
            at = skip_space(json, self.value(json, at, key, depth + 1)?);
            match byte_at(json, at) {
                Some(b',') => at = skip_space(json, at + 1),
                Some(byte) if byte == closer => return Ok(Some(at + 1)),
                Some(_) => return fault(at, "expected a comma or the end of the container"),
                None => return fault(at, "the line ends inside an object or array"),
            }
        }
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

    /// The member with this key; of repeated keys the last, as in JavaScript.
    pub(crate) fn get(&self, key: &str) -> Option<Node<'a, 'i>> {
        self.children().filter(|child| child.key().is(key)).last()
    }
}
