//! Writes compact JSON, like JavaScript's `JSON.stringify`.

use std::fmt::{self, Write as _};

use super::Json;

/// The character that represents the surrogate U+D800; the others follow. It is at the end of the second private-use
/// plane, where no assigned character can be.
pub(super) const SURROGATES: u32 = 0x10_F800;

/// A text for use outside JSON: lone surrogates become U+FFFD.
pub fn without_surrogates(text: &str) -> String {
    text.chars().map(|letter| if u32::from(letter) >= SURROGATES { '\u{fffd}' } else { letter }).collect()
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(flag) => write!(f, "{flag}"),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Float(number) if number.is_finite() => write!(f, "{number}"),
            Self::Float(_) => f.write_str("null"),
            Self::String(text) => string(f, text),
            Self::Array(items) => {
                f.write_char('[')?;
                for (place, item) in items.iter().enumerate() {
                    if place > 0 {
                        f.write_char(',')?;
                    }
                    write!(f, "{item}")?;
                }
                f.write_char(']')
            }
            Self::Object(members) => {
                f.write_char('{')?;
                for (place, (key, value)) in members.iter().enumerate() {
                    if place > 0 {
                        f.write_char(',')?;
                    }
                    string(f, key)?;
                    f.write_char(':')?;
                    write!(f, "{value}")?;
                }
                f.write_char('}')
            }
        }
    }
}

fn string(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    let mut rest = text;
    while let Some(place) = rest.find(|letter: char| needs_escape(letter)) {
        let (plain, tail) = rest.split_at(place);
        f.write_str(plain)?;
        let Some(letter) = tail.chars().next() else { break };
        escape(f, letter)?;
        rest = tail.get(letter.len_utf8()..).unwrap_or_default();
    }
    f.write_str(rest)?;
    f.write_char('"')
}

fn needs_escape(letter: char) -> bool {
    letter < ' ' || matches!(letter, '"' | '\\') || u32::from(letter) >= SURROGATES
}

fn escape(f: &mut fmt::Formatter<'_>, letter: char) -> fmt::Result {
    match letter {
        '"' => f.write_str("\\\""),
        '\\' => f.write_str("\\\\"),
        '\n' => f.write_str("\\n"),
        '\r' => f.write_str("\\r"),
        '\t' => f.write_str("\\t"),
        '\u{8}' => f.write_str("\\b"),
        '\u{c}' => f.write_str("\\f"),
        _ if u32::from(letter) >= SURROGATES => {
            write!(f, "\\u{:04x}", u32::from(letter) - SURROGATES + 0xD800)
        }
        _ => write!(f, "\\u{:04x}", u32::from(letter)),
    }
}
