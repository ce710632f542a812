//! Decodes the members of a JSON object into the fields of a struct.
//!
//! `wire_struct!` generates the decoder of each message type. Every field is decoded on its own: a field whose
//! shape has changed is reported and left at its default, and the other fields are still decoded.

use std::fmt;

use crate::id::IdRef;
use crate::json::{JsonKind, Node, RawJson, Text};

/// The problems found while decoding one line, in the order of the line.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    /// The path to the value being decoded: only the first `depth` parts count. No message nests deeper than
    /// this.
    path: [PathPart; 12],
    depth: usize,
    found: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default)]
enum PathPart {
    #[default]
    Unknown,
    Field(&'static str),
    Element(usize),
}

impl Problems {
    /// Maximum number of problems to report; further ones say nothing new.
    const MAX_REPORTED: usize = 8;

    pub(crate) fn in_field<T>(&mut self, name: &'static str, decode: impl FnOnce(&mut Self) -> T) -> T {
        self.within(PathPart::Field(name), decode)
    }

    pub(crate) fn in_element<T>(&mut self, position: usize, decode: impl FnOnce(&mut Self) -> T) -> T {
        self.within(PathPart::Element(position), decode)
    }

    fn within<T>(&mut self, part: PathPart, decode: impl FnOnce(&mut Self) -> T) -> T {
        if let Some(place) = self.path.get_mut(self.depth) {
            *place = part;
        }
        self.depth += 1;
        let out = decode(self);
        self.depth -= 1;
        out
    }

    pub(crate) fn report(&mut self, what: impl fmt::Display) {
        if self.found.len() >= Self::MAX_REPORTED {
            return;
        }
        let mut message = String::new();
        for (position, part) in self.path.iter().take(self.depth).enumerate() {
            let written = match part {
                PathPart::Unknown => Ok(()),
                PathPart::Field(name) if position == 0 => fmt::write(&mut message, format_args!("{name}")),
                PathPart::Field(name) => fmt::write(&mut message, format_args!(".{name}")),
                PathPart::Element(at) => fmt::write(&mut message, format_args!("[{at}]")),
            };
            debug_assert!(written.is_ok());
        }
        if !message.is_empty() {
            message.push_str(": ");
        }
        message.push_str(&what.to_string());
        self.found.push(message);
    }

    pub(crate) fn expected(&mut self, wanted: &str, node: Node<'_, '_>) {
        if node.is_opaque() {
            self.report("holds too many values to be decoded");
        } else {
            self.report(format_args!("expected {wanted}, found {}", node.kind().name()));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub(crate) fn into_reason(self) -> String {
        self.found.join("; ")
    }
}

/// Something that can be read from a JSON value. `None` means that a problem was reported.
pub(crate) trait Field<'a>: Sized {
    fn decode(node: Node<'a, '_>, problems: &mut Problems) -> Option<Self>;
}

macro_rules! scalar_field {
    ($type:ty, $wanted:literal, $read:expr) => {
        impl<'a> Field<'a> for $type {
            fn decode(node: Node<'a, '_>, problems: &mut Problems) -> Option<Self> {
                let value: Option<Self> = $read(node);
                if value.is_none() {
                    problems.expected($wanted, node);
                }
                value
            }
        }
    };
}

scalar_field!(Text<'a>, "a string", |node: Node<'a, '_>| node.text());
scalar_field!(bool, "a boolean", |node: Node<'a, '_>| node.bool());
scalar_field!(u64, "a whole number", |node: Node<'a, '_>| node.raw().as_u64());
scalar_field!(i64, "a whole number", |node: Node<'a, '_>| node.raw().as_i64());
scalar_field!(f64, "a number", |node: Node<'a, '_>| node.raw().as_f64());
scalar_field!(RawJson<'a>, "any value", |node: Node<'a, '_>| Some(node.raw()));

impl<'a, T> Field<'a> for IdRef<'a, T> {
    fn decode(node: Node<'a, '_>, problems: &mut Problems) -> Option<Self> {
        Text::decode(node, problems).map(Into::into)
    }
}

impl<'a, T: Field<'a>> Field<'a> for Box<T> {
    fn decode(node: Node<'a, '_>, problems: &mut Problems) -> Option<Self> {
        T::decode(node, problems).map(Box::new)
    }
}

impl<'a, T: Field<'a>> Field<'a> for Vec<T> {
    fn decode(node: Node<'a, '_>, problems: &mut Problems) -> Option<Self> {
        if node.kind() != JsonKind::Array || node.is_opaque() {
            problems.expected("an array", node);
            return None;
        }
        let decode = |(at, child)| problems.in_element(at, |problems| T::decode(child, problems));
        Some(node.children().enumerate().filter_map(decode).collect())
    }
}

/// An object used as a map, in the order of the line.
impl<'a, T: Field<'a>> Field<'a> for Vec<(Text<'a>, T)> {
    fn decode(node: Node<'a, '_>, problems: &mut Problems) -> Option<Self> {
        if node.kind() != JsonKind::Object || node.is_opaque() {
            problems.expected("an object", node);
            return None;
        }
        let decode = |child: Node<'a, '_>| Some((child.key(), T::decode(child, problems)?));
        Some(node.children().filter_map(decode).collect())
    }
}

/// The object that a struct was decoded from, with the members that the struct has no field for.
///
/// Serialising it writes the object as received, unknown members included.
#[derive(Clone, Copy, Default)]
pub struct Source<'a> {
    pub(crate) json: RawJson<'a>,
    pub(crate) known: &'static [&'static str],
}

impl<'a> Source<'a> {
    /// The object, verbatim.
    pub fn json(&self) -> RawJson<'a> {
        self.json
    }

    /// The members that this version of Weir has no field for.
    pub fn unknown_members(&self) -> impl Iterator<Item = (Text<'a>, RawJson<'a>)> + use<'a> {
        let known = self.known;
        self.json.members().filter(move |(key, _)| !known.iter().any(|name| key.is(name)))
    }
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.unknown_members()).finish()
    }
}

/// Declares a struct that is decoded from a JSON object.
///
/// A `required` field must be present; an `optional` one may be absent or null; a `list` is empty when absent.
macro_rules! wire_struct {
    (
        $(#[$doc:meta])*
        $name:ident {
            $( $(#[$field_doc:meta])* $mode:ident $field:ident : $type:ty = $key:literal, )*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default)]
        #[non_exhaustive]
        pub struct $name<'a> {
            $( $(#[$field_doc])* pub $field: $crate::decode::object::wire_field_type!($mode $type), )*
            /// The object itself, including members that have no field here.
            pub source: $crate::decode::object::Source<'a>,
        }

        impl<'a> $name<'a> {
            const KEYS: &'static [&'static str] = &["type", "subtype", $($key),*];
        }

        /// Writes the object as received, unknown members included.
        impl serde::Serialize for $name<'_> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.source.json().serialize(serializer)
            }
        }

        impl<'a> $crate::decode::object::Field<'a> for $name<'a> {
            fn decode(
                node: $crate::json::Node<'a, '_>,
                problems: &mut $crate::decode::object::Problems,
            ) -> Option<Self> {
                if node.kind() != $crate::json::JsonKind::Object || node.is_opaque() {
                    problems.expected("an object", node);
                    return None;
                }
                #[derive(Default)]
                struct Seen {
                    $( $field: bool, )*
                }
                let mut seen = Seen::default();
                let mut out = Self::default();
                out.source = $crate::decode::object::Source { json: node.raw(), known: Self::KEYS };
                for child in node.children() {
                    let key = child.key();
                    $(
                        if key.is($key) {
                            seen.$field = true;
                            $crate::decode::object::wire_field_decode!($mode out $field $key child problems);
                            continue;
                        }
                    )*
                }
                $( $crate::decode::object::wire_field_check!($mode $key seen.$field, problems); )*
                Some(out)
            }
        }
    };
}

macro_rules! wire_field_type {
    (required $type:ty) => { $type };
    (list $type:ty) => { $type };
    (optional $type:ty) => { Option<$type> };
}

macro_rules! wire_field_decode {
    (required $out:ident $field:ident $key:literal $child:ident $problems:ident) => {
        if let Some(value) = $problems
            .in_field($key, |problems| $crate::decode::object::Field::decode($child, problems))
        {
            $out.$field = value;
        }
    };
    (list $out:ident $field:ident $key:literal $child:ident $problems:ident) => {
        if !$child.is_null() {
            $crate::decode::object::wire_field_decode!(required $out $field $key $child $problems);
        }
    };
    (optional $out:ident $field:ident $key:literal $child:ident $problems:ident) => {
        $out.$field = if $child.is_null() {
            None
        } else {
            $problems.in_field($key, |problems| $crate::decode::object::Field::decode($child, problems))
        };
    };
}

macro_rules! wire_field_check {
    (required $key:literal $seen:expr, $problems:ident) => {
        if !$seen {
            $problems.in_field($key, |problems| problems.report("is missing"));
        }
    };
    ($mode:ident $key:literal $seen:expr, $problems:ident) => {
        let _ = $seen;
    };
}

/// Declares an enum for a string that has known values and may get more.
macro_rules! open_enum {
    (
        $(#[$doc:meta])*
        $name:ident { $( $(#[$variant_doc:meta])* $variant:ident = $text:literal, )* }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name<'a> {
            $( $(#[$variant_doc])* $variant, )*
            /// A value that this version of Weir does not know.
            Other($crate::json::Text<'a>),
        }

        impl<'a> $name<'a> {
            /// The value as it appears in the line.
            pub fn as_str(&self) -> std::borrow::Cow<'a, str> {
                match self {
                    $( Self::$variant => std::borrow::Cow::Borrowed($text), )*
                    Self::Other(text) => text.to_str(),
                }
            }
        }

        impl Default for $name<'_> {
            fn default() -> Self {
                Self::Other($crate::json::Text::default())
            }
        }

        impl<'a> $crate::decode::object::Field<'a> for $name<'a> {
            fn decode(
                node: $crate::json::Node<'a, '_>,
                problems: &mut $crate::decode::object::Problems,
            ) -> Option<Self> {
                let text = <$crate::json::Text<'a> as $crate::decode::object::Field<'a>>::decode(node, problems)?;
                $( if text.is($text) { return Some(Self::$variant); } )*
                Some(Self::Other(text))
            }
        }
    };
}

pub(crate) use {open_enum, wire_field_check, wire_field_decode, wire_field_type, wire_struct};
