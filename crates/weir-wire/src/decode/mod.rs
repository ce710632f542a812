//! Decodes lines into messages. Decoding never fails and never drops anything.
//!
//! Two steps: the envelope (`type` and `subtype`, wherever they are in the object), then the body. A type that
//! Weir does not know becomes [`Body::UnknownType`]; a known type in a new shape becomes [`Body::Mismatch`]
//! with the reason; the two are never confused.

pub(crate) mod object;
mod shape;

use std::borrow::Cow;

use crate::frame::Frame;
use crate::json::{Index, JsonFault, JsonKind, Node, RawJson, Text, trim};
use crate::message::Message;
use object::Problems;
pub use object::Source;
use shape::Shapes;

/// A line, decoded as far as it can be, with its bytes.
#[derive(Debug, Clone)]
pub struct Line<'a> {
    /// The line as received, without its line feed. For an oversize line, its first bytes.
    pub raw: &'a [u8],
    /// The decoded content.
    pub body: Body<'a>,
}

/// The decoded content of a line.
#[derive(Debug, Clone)]
pub enum Body<'a> {
    /// A line of the protocol.
    Known(Message<'a>),
    /// A JSON object whose `type` or `subtype` this version of Weir does not know.
    UnknownType {
        /// Its `type`, if it has one.
        type_name: Option<Text<'a>>,
        /// Its `subtype`, if it has one.
        subtype: Option<Text<'a>>,
        /// The object.
        json: RawJson<'a>,
    },
    /// A line of a known type with fields that do not match the type.
    Mismatch {
        /// Its `type`, if that could be read.
        type_name: Option<Text<'a>>,
        /// Its `subtype`, if it has one.
        subtype: Option<Text<'a>>,
        /// What does not match, such as `num_turns: expected a whole number, found a string`.
        reason: String,
        /// What could be decoded nevertheless; fields that do not match have their default values.
        partial: Option<Message<'a>>,
        /// The object.
        json: RawJson<'a>,
    },
    /// Not a JSON object: free text, a cut-off line, an array, a bare string.
    NotJson {
        /// What is wrong, and where.
        fault: JsonFault,
    },
    /// Longer than the framer's limit.
    Oversize {
        /// Length of the line.
        length: u64,
    },
    /// Nothing but whitespace or terminal escape sequences. It can be ignored without losing anything.
    Blank,
}

impl<'a> Body<'a> {
    /// The message, even if parts of it did not match.
    pub fn message(&self) -> Option<&Message<'a>> {
        match self {
            Self::Known(message) | Self::Mismatch { partial: Some(message), .. } => Some(message),
            _ => None,
        }
    }
}

/// Decodes lines. Keeps scratch memory and the shape of recent lines between calls, and nothing else: the
/// result for a line never depends on the lines before it.
///
/// ```
/// use weir_wire::{Body, Decoder, Message};
///
/// let mut decoder = Decoder::new();
/// let line = br#"{"duration_ms":5,"type":"result","subtype":"success","is_error":false,"result":"Hi"}"#;
/// let Body::Known(Message::Result(result)) = decoder.decode(line).body else { panic!("a known line") };
/// assert_eq!(result.result.map(|text| text.to_text()).as_deref(), Some("Hi"));
///
/// let line = br#"{"type":"next_year","x":1}"#;
/// assert!(matches!(decoder.decode(line).body, Body::UnknownType { .. }));
/// ```
#[derive(Default)]
pub struct Decoder {
    index: Index,
    shapes: Shapes,
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder").finish_non_exhaustive()
    }
}

impl Decoder {
    /// A new decoder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Releases the memory that it keeps between lines. The next line then costs slightly more.
    pub fn release_memory(&mut self) {
        *self = Self::default();
    }

    /// Decodes a frame from the framer.
    pub fn decode_frame<'a>(&mut self, frame: Frame<'a>) -> Line<'a> {
        match frame {
            Frame::Line(line) => self.decode(line),
            Frame::Oversize { head, length } => Line { raw: head, body: Body::Oversize { length } },
        }
    }

    /// Decodes one line.
    pub fn decode<'a>(&mut self, raw: &'a [u8]) -> Line<'a> {
        let json = trim(raw);
        if let Some(message) = self.shapes.recognise(json) {
            return Line { raw, body: Body::Known(Message::StreamEvent(message)) };
        }
        let body = self.decode_any(json);
        if let Body::Known(Message::StreamEvent(message)) = &body {
            self.shapes.learn(json, message);
        }
        Line { raw, body }
    }

    fn decode_any<'a>(&mut self, json: &'a [u8]) -> Body<'a> {
        if json.is_empty() {
            return Body::Blank;
        }
        match self.index.build(json) {
            Err(fault) => Body::NotJson { fault },
            Ok(node) if node.kind() != JsonKind::Object => {
                Body::NotJson { fault: JsonFault { at: 0, what: "a JSON value that is not an object" } }
            }
            Ok(node) => decode_object(node),
        }
    }
}

fn decode_object<'a>(node: Node<'a, '_>) -> Body<'a> {
    let json = node.raw();
    let mismatch = |type_name, subtype, problems: Problems, partial| Body::Mismatch {
        type_name,
        subtype,
        reason: problems.into_reason(),
        partial,
        json,
    };
    let mut problems = Problems::default();
    if node.is_opaque() {
        problems.report("the line holds too many values to be decoded");
        return mismatch(None, None, problems, None);
    }
    let type_node = node.get("type");
    let type_name = type_node.and_then(|value| value.text());
    let subtype = node.get("subtype").and_then(|value| value.text());
    if let Some(value) = type_node.filter(|_| type_name.is_none()) {
        problems.in_field("type", |problems| problems.expected("a string", value));
        return mismatch(None, subtype, problems, None);
    }
    let Some(name) = type_name else {
        return Body::UnknownType { type_name, subtype, json };
    };
    let subtype_name = subtype.map(|subtype| subtype.to_str());
    let message = Message::read(&name.to_str(), subtype_name.as_deref(), node, &mut problems);
    match message {
        Some(message) if problems.is_empty() => Body::Known(message),
        None if problems.is_empty() => Body::UnknownType { type_name, subtype, json },
        partial => mismatch(type_name, subtype, problems, partial),
    }
}

/// The type of a line as a short name for logs: `result/success`, `stream_event`.
pub fn describe<'a>(type_name: Option<Text<'a>>, subtype: Option<Text<'a>>) -> Cow<'a, str> {
    match (type_name, subtype) {
        (None, _) => Cow::Borrowed("(no type)"),
        (Some(name), None) => name.to_str(),
        (Some(name), Some(subtype)) => Cow::Owned(format!("{name}/{subtype}")),
    }
}
