//! A JSON value that is parsed only on demand.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeSeed as _;

use super::rewrite::Rewritten;
use super::syntax::{JsonFault, byte_at, fault, member_value, skip_space, string_end, trim, value_end};
use super::text::Text;

/// Deepest nesting that is turned into nested data; anything deeper becomes a string of its JSON text, so that
/// walking the data recursively cannot overflow the stack.
const MAX_DATA_DEPTH: usize = 120;

/// The kind of a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonKind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl JsonKind {
    /// The kind in words, for error messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

/// A valid JSON value, borrowed verbatim from its line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RawJson<'a> {
    json: &'a [u8],
}

impl Default for RawJson<'_> {
    fn default() -> Self {
        Self { json: b"null" }
    }
}

impl<'a> RawJson<'a> {
    /// Wraps bytes that the scanner has already validated.
    pub(crate) const fn trusted(json: &'a [u8]) -> Self {
        Self { json }
    }

    /// Checks that `bytes` hold one JSON value, with nothing but whitespace around it.
    ///
    /// # Errors
    /// Returns what is wrong and at which byte.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, JsonFault> {
        let json = trim(bytes);
        let end = value_end(json, 0)?;
        if skip_space(json, end) != json.len() {
            return fault(end, "more text after the JSON value");
        }
        Ok(Self { json: json.get(..end).unwrap_or_default() })
    }

    /// The bytes as they appear in the line.
    pub fn bytes(&self) -> &'a [u8] {
        self.json
    }

    /// The JSON text; bytes that are not UTF-8 become U+FFFD.
    pub fn to_json_string(&self) -> String {
        String::from_utf8_lossy(self.json).into_owned()
    }

    /// What kind of value this is.
    pub fn kind(&self) -> JsonKind {
        match self.json.first() {
            Some(b'{') => JsonKind::Object,
            Some(b'[') => JsonKind::Array,
            Some(b'"') => JsonKind::String,
            Some(b't' | b'f') => JsonKind::Bool,
            Some(b'-' | b'0'..=b'9') => JsonKind::Number,
            _ => JsonKind::Null,
        }
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        self.kind() == JsonKind::Null
    }

    /// The string, if it is one.
    pub fn as_text(&self) -> Option<Text<'a>> {
        if byte_at(self.json, 0) != Some(b'"') {
            return None;
        }
        let (end, escaped) = string_end(self.json, 1).ok()?;
        Some(Text::new(self.json.get(1..end)?, escaped))
    }

    /// The boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self.json {
            b"true" => Some(true),
            b"false" => Some(false),
            _ => None,
        }
    }

    /// The number, if it is one that an `f64` can hold.
    pub fn as_f64(&self) -> Option<f64> {
        if self.kind() != JsonKind::Number {
            return None;
        }
        let number: f64 = std::str::from_utf8(self.json).ok()?.parse().ok()?;
        number.is_finite().then_some(number)
    }

    /// The number, if it is one that a `u64` can hold. A fraction is truncated.
    pub fn as_u64(&self) -> Option<u64> {
        if let Some(integer) = small_integer(self.json) {
            return Some(integer);
        }
        if let Some(integer) = std::str::from_utf8(self.json).ok().and_then(|text| text.parse().ok()) {
            return Some(integer);
        }
        let number = self.as_f64()?;
        (0.0..18_446_744_073_709_551_616.0).contains(&number).then_some(number as u64)
    }

    /// The number, if it is one that an `i64` can hold. A fraction is truncated.
    pub fn as_i64(&self) -> Option<i64> {
        if let Some(integer) = std::str::from_utf8(self.json).ok().and_then(|text| text.parse().ok()) {
            return Some(integer);
        }
        let number = self.as_f64()?;
        (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number).then_some(number as i64)
    }

    /// The members of an object, in order, repeated keys included. Empty for anything else.
    pub fn members(&self) -> Members<'a> {
        let at = if self.kind() == JsonKind::Object { Some(skip_space(self.json, 1)) } else { None };
        Members { json: self.json, at }
    }

    /// The elements of an array, in order. Empty for anything else.
    pub fn elements(&self) -> Elements<'a> {
        let at = if self.kind() == JsonKind::Array { Some(skip_space(self.json, 1)) } else { None };
        Elements { json: self.json, at }
    }

    /// The member with this key; the last one if the key is repeated, as in JavaScript.
    pub fn get(&self, key: &str) -> Option<RawJson<'a>> {
        self.members().filter(|(name, _)| name.is(key)).last().map(|(_, value)| value)
    }

    /// The value as owned data.
    ///
    /// Lone surrogates become U+FFFD, a number that neither a 64-bit integer nor an `f64` can hold becomes a
    /// string of its digits, and anything nested deeper than 120 levels becomes a string of its JSON text.
    pub fn to_value(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or(serde_json::Value::Null)
    }
}

/// An unsigned integer of a few digits, the usual case.
fn small_integer(json: &[u8]) -> Option<u64> {
    if json.len() > 18 {
        return None;
    }
    json.iter().try_fold(0u64, |number, byte| match byte {
        b'0'..=b'9' => Some(number * 10 + u64::from(byte - b'0')),
        _ => None,
    })
}

/// Iterator over the members of an object.
#[derive(Clone)]
pub struct Members<'a> {
    json: &'a [u8],
    at: Option<usize>,
}

impl<'a> Iterator for Members<'a> {
    type Item = (Text<'a>, RawJson<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        // The bytes were checked before, so an error here can only mean the closing brace.
        let (key, start) = member_value(self.json, self.at?).ok()?;
        let end = value_end(self.json, start).ok()?;
        self.at = following(self.json, end);
        let name = Text::new(self.json.get(key.start..key.end)?, key.escaped);
        Some((name, RawJson::trusted(self.json.get(start..end)?)))
    }
}

/// Iterator over the elements of an array.
#[derive(Clone)]
pub struct Elements<'a> {
    json: &'a [u8],
    at: Option<usize>,
}

impl<'a> Iterator for Elements<'a> {
    type Item = RawJson<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.at?;
        let end = value_end(self.json, start).ok()?;
        self.at = following(self.json, end);
        Some(RawJson::trusted(self.json.get(start..end)?))
    }
}

/// Where the value after the one that ended at `end` starts.
fn following(json: &[u8], end: usize) -> Option<usize> {
    let comma = skip_space(json, end);
    (byte_at(json, comma) == Some(b',')).then(|| skip_space(json, comma + 1))
}

impl fmt::Debug for RawJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.json))
    }
}

impl serde::Serialize for RawJson<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Nested { value: *self, depth: 0 }.serialize(serializer)
    }
}

/// An owned JSON value, verbatim as in its line.
///
/// Creating one copies its bytes, and cloning it copies nothing; it is turned into data only on demand.
#[derive(Clone)]
pub struct OwnedJson {
    json: Arc<[u8]>,
}

impl OwnedJson {
    /// The value, to look into.
    pub fn as_raw(&self) -> RawJson<'_> {
        RawJson::trusted(&self.json)
    }

    /// The value as data; see [`RawJson::to_value`].
    pub fn to_value(&self) -> serde_json::Value {
        self.as_raw().to_value()
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        self.as_raw().is_null()
    }
}

impl Default for OwnedJson {
    fn default() -> Self {
        RawJson::default().into()
    }
}

impl From<RawJson<'_>> for OwnedJson {
    fn from(raw: RawJson<'_>) -> Self {
        Self { json: raw.json.into() }
    }
}

impl From<&serde_json::Value> for OwnedJson {
    fn from(value: &serde_json::Value) -> Self {
        Self { json: value.to_string().into_bytes().into() }
    }
}

impl PartialEq for OwnedJson {
    fn eq(&self, other: &Self) -> bool {
        self.json == other.json || self.to_value() == other.to_value()
    }
}

impl fmt::Debug for OwnedJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.as_raw(), f)
    }
}

impl serde::Serialize for OwnedJson {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_raw().serialize(serializer)
    }
}

impl<'de> serde::Deserialize<'de> for OwnedJson {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut json = Vec::new();
        Rewritten(&mut json).deserialize(deserializer)?;
        Ok(Self { json: json.into() })
    }
}

struct Nested<'a> {
    value: RawJson<'a>,
    depth: usize,
}

impl serde::Serialize for Nested<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let inner = |value| Nested { value, depth: self.depth + 1 };
        match self.value.kind() {
            JsonKind::Object | JsonKind::Array if self.depth >= MAX_DATA_DEPTH => {
                serializer.serialize_str(&self.value.to_json_string())
            }
            JsonKind::Object => {
                serializer.collect_map(self.value.members().map(|(key, value)| (key.to_str(), inner(value))))
            }
            JsonKind::Array => serializer.collect_seq(self.value.elements().map(inner)),
            JsonKind::String => serializer.serialize_str(&self.value.as_text().unwrap_or_default().to_str()),
            JsonKind::Bool => serializer.serialize_bool(self.value.as_bool().unwrap_or_default()),
            JsonKind::Null => serializer.serialize_unit(),
            JsonKind::Number => serialize_number(self.value, serializer),
        }
    }
}

fn serialize_number<S: serde::Serializer>(value: RawJson<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    let text = std::str::from_utf8(value.json).unwrap_or_default();
    if let Ok(integer) = text.parse::<u64>() {
        serializer.serialize_u64(integer)
    } else if let Ok(integer) = text.parse::<i64>() {
        serializer.serialize_i64(integer)
    } else if let Some(number) = value.as_f64() {
        serializer.serialize_f64(number)
    } else {
        serializer.serialize_str(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn arbitrary_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<u64>().prop_map(Into::into),
            (-1e300..1e300f64).prop_map(Into::into),
            any::<String>().prop_map(Into::into),
        ];
        leaf.prop_recursive(6, 60, 8, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                proptest::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn reads_what_serde_json_wrote(value in arbitrary_json(), pretty in any::<bool>()) {
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
            prop_assert_eq!(RawJson::parse(text.as_bytes()).unwrap().to_value(), value);
        }

        #[test]
        fn no_bytes_panic_and_everything_that_serde_json_accepts_is_accepted(
            bytes in proptest::collection::vec(prop_oneof![
                Just(b'{'), Just(b'}'), Just(b'['), Just(b']'), Just(b'"'), Just(b':'), Just(b','), Just(b'\\'),
                Just(b'u'), Just(b'0'), Just(b'1'), Just(b'e'), Just(b'.'), Just(b'-'), Just(b' '), any::<u8>(),
            ], 0..60),
        ) {
            let ours = RawJson::parse(&bytes);
            if serde_json::from_slice::<serde::de::IgnoredAny>(&bytes).is_ok() {
                prop_assert!(ours.is_ok(), "{:?}", ours);
            }
            if let Ok(json) = ours {
                json.to_value();
            }
        }
    }

    #[test]
    fn deep_values_become_text_instead_of_overflowing_the_stack() {
        let text = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
        let mut value = RawJson::parse(text.as_bytes()).unwrap().to_value();
        for _ in 0..MAX_DATA_DEPTH {
            value = value[0].take();
        }
        assert_eq!(value.as_str().unwrap().len(), text.len() - 2 * MAX_DATA_DEPTH);
    }

    #[test]
    fn repeated_keys_give_the_last_value() {
        let json = RawJson::parse(br#"{"a":1,"a":2}"#).unwrap();
        assert_eq!(json.get("a").and_then(|v| v.as_u64()), Some(2));
        assert_eq!(json.members().count(), 2);
    }

    #[test]
    fn numbers_beyond_f64_are_kept_as_text() {
        let json = RawJson::parse(b"1e999").unwrap();
        assert_eq!(json.as_f64(), None);
        assert_eq!(json.to_value(), serde_json::json!("1e999"));
        let long = RawJson::parse(b"123456789012345678901234567890").unwrap();
        assert_eq!(long.as_u64(), None);
        assert_eq!(long.bytes(), b"123456789012345678901234567890");
    }
}
