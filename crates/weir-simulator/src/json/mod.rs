//! JSON values that keep the order of their keys and preserve lone surrogates.
//!
//! The simulated CLI has to write keys in the order of the real one, and both the CLI and the models send lone
//! surrogates (`"\ud83d"`), which Rust strings cannot represent. Here they are private-use characters, written as the
//! same escapes again. This module knows nothing about the protocol.

mod parse;
mod write;

pub use parse::{ParseError, parse, parse_prefix};
pub use write::without_surrogates;

/// A JSON value. Objects keep the order of their keys.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Json {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Float(f64),
    /// A string. A lone surrogate in it is a private-use character.
    String(String),
    /// An array.
    Array(Vec<Self>),
    /// An object, in order.
    Object(Vec<(String, Self)>),
}

/// Builds an object: `object! { "type" => "user", "message" => message }`.
#[macro_export]
macro_rules! object {
    ($($key:expr => $value:expr),* $(,)?) => {
        $crate::json::Json::Object(vec![$((::std::string::String::from($key), $crate::json::Json::from($value))),*])
    };
}

/// Builds an array: `array![1, "two", object! {}]`.
#[macro_export]
macro_rules! array {
    ($($value:expr),* $(,)?) => { $crate::json::Json::Array(vec![$($crate::json::Json::from($value)),*]) };
}

impl Json {
    /// A member of an object.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// A mutable reference to a member of an object.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        match self {
            Self::Object(members) => members.iter_mut().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The value at a path of keys.
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |value, key| value.get(key))
    }

    /// The string value of a member.
    pub fn str_of(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Self::as_str)
    }

    /// The numeric value of a member.
    pub fn number_of(&self, key: &str) -> Option<f64> {
        self.get(key).and_then(Self::as_f64)
    }

    /// The integer value of a member.
    pub fn integer_of(&self, key: &str) -> Option<i64> {
        self.get(key).and_then(Self::as_i64)
    }

    /// Whether a member is `true`.
    pub fn is_true(&self, key: &str) -> bool {
        matches!(self.get(key), Some(Self::Bool(true)))
    }

    /// The elements of a member that is an array; empty for anything else.
    pub fn items_of(&self, key: &str) -> &[Self] {
        self.get(key).map_or(&[], Self::items)
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Integer(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            _ => None,
        }
    }

    /// The integer, if it is one.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            Self::Float(number) if number.fract() == 0.0 => Some(*number as i64),
            _ => None,
        }
    }

    /// The elements of an array; empty for anything else.
    pub fn items(&self) -> &[Self] {
        match self {
            Self::Array(items) => items,
            _ => &[],
        }
    }

    /// The members of an object; empty for anything else.
    pub fn members(&self) -> &[(String, Self)] {
        match self {
            Self::Object(members) => members,
            _ => &[],
        }
    }

    /// Whether it is an object.
    pub fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    /// Sets a member: in place if it exists, otherwise at the end.
    pub fn set(&mut self, key: &str, value: impl Into<Self>) {
        if let Some(place) = self.get_mut(key) {
            *place = value.into();
        } else if let Self::Object(members) = self {
            members.push((key.to_owned(), value.into()));
        }
    }

    /// Removes a member.
    pub fn remove(&mut self, key: &str) -> Option<Self> {
        let Self::Object(members) = self else { return None };
        let place = members.iter().position(|(name, _)| name == key)?;
        Some(members.remove(place).1)
    }

    /// The object with one more member.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Self>) -> Self {
        self.set(key, value);
        self
    }

    /// The object with one more member, if there is a value for it.
    #[must_use]
    pub fn with_some(self, key: &str, value: Option<impl Into<Self>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// The object with all members of another.
    #[must_use]
    pub fn with_all(mut self, other: Self) -> Self {
        if let Self::Object(members) = other {
            for (key, value) in members {
                self.set(&key, value);
            }
        }
        self
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<&String> for Json {
    fn from(text: &String) -> Self {
        Self::String(text.clone())
    }
}

impl From<bool> for Json {
    fn from(flag: bool) -> Self {
        Self::Bool(flag)
    }
}

impl From<i64> for Json {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<i32> for Json {
    fn from(number: i32) -> Self {
        Self::Integer(number.into())
    }
}

impl From<u32> for Json {
    fn from(number: u32) -> Self {
        Self::Integer(number.into())
    }
}

impl From<u64> for Json {
    fn from(number: u64) -> Self {
        i64::try_from(number).map_or(Self::Float(number as f64), Self::Integer)
    }
}

impl From<usize> for Json {
    fn from(number: usize) -> Self {
        Self::from(number as u64)
    }
}

impl From<f64> for Json {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<&Self> for Json {
    fn from(value: &Self) -> Self {
        value.clone()
    }
}

impl<T: Into<Self>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<T: Into<Self>> From<Vec<T>> for Json {
    fn from(items: Vec<T>) -> Self {
        Self::Array(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Clone + Into<Self>> From<&[T]> for Json {
    fn from(items: &[T]) -> Self {
        Self::Array(items.iter().cloned().map(Into::into).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_written_as_it_was_read() {
        let text = r#"{"z":1,"a":[true,false,null,-3,0.5,1e300],"text":"line\nquote\" \\ tab\t \u0001 é 😀","n":{}}"#;
        assert_eq!(parse(text).unwrap().to_string(), text.replace("1e300", &format!("{}", 1e300)));
    }

    #[test]
    fn a_lone_surrogate_survives_and_a_pair_is_one_character() {
        let text = r#"["\ud83d","\ude00 low","\ud83d\ude00"]"#;
        let value = parse(text).unwrap();
        assert_eq!(value.to_string(), r#"["\ud83d","\ude00 low","😀"]"#);
        assert_eq!(without_surrogates(value.items()[0].as_str().unwrap()), "\u{fffd}");
    }

    #[test]
    fn invalid_json_is_refused() {
        for text in ["", "{", "{\"a\":1,}", "[1 2]", "nul", "01", "\"\n\"", "\"\\x\"", "1 1", "-", "1."] {
            assert!(parse(text).is_err(), "{text}");
        }
        let deep = "[".repeat(100_000);
        assert!(parse(&deep).is_err(), "the stack would not hold it");
    }

    #[test]
    fn a_prefix_ends_where_the_value_ends() {
        let (value, rest) = parse_prefix("[1] and more").unwrap();
        assert_eq!((value, rest), (array![1], " and more"));
    }

    #[test]
    fn members_are_replaced_in_their_place() {
        let mut value = object! { "a" => 1, "b" => "two" };
        value.set("a", true);
        value.set("c", Json::Null);
        assert_eq!(value.to_string(), r#"{"a":true,"b":"two","c":null}"#);
        assert_eq!(value.remove("b"), Some(Json::from("two")));
        assert_eq!(value.with_some("d", None::<i64>).to_string(), r#"{"a":true,"c":null}"#);
    }
}
