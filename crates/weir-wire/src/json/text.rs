//! A JSON string that is unescaped only when it is read.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::scan::quote_or_backslash;

/// The contents of a JSON string, borrowed from the line and still escaped.
///
/// Reading never fails: a lone surrogate and bytes that are not UTF-8 become U+FFFD, and an escape that JSON
/// does not define stands for the character after its backslash.
///
/// ```
/// use weir_wire::RawJson;
///
/// let json = RawJson::parse(br#""tab\there, half an emoji: \ud83d""#)?;
/// let text = json.as_text().unwrap_or_default();
/// assert_eq!(text.to_str(), "tab\there, half an emoji: \u{fffd}");
/// # Ok::<(), weir_wire::JsonFault>(())
/// ```
#[derive(Clone, Copy, Default)]
pub struct Text<'a> {
    raw: &'a [u8],
    escaped: bool,
}

impl<'a> Text<'a> {
    pub(crate) const fn new(raw: &'a [u8], escaped: bool) -> Self {
        Self { raw, escaped }
    }

    /// The bytes between the quotes, as they appear in the line.
    pub fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// Whether the string is empty.
    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// Whether the string equals `name`. Does not handle invalid UTF-8, which names never contain.
    #[inline]
    pub(crate) fn is(&self, name: &str) -> bool {
        if self.escaped {
            return self.to_str() == name;
        }
        self.raw == name.as_bytes()
    }

    /// The string, borrowed if there is nothing to unescape.
    #[inline]
    pub fn to_str(&self) -> Cow<'a, str> {
        if self.escaped {
            return Cow::Owned(unescape(self.raw));
        }
        match std::str::from_utf8(self.raw) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(self.raw),
        }
    }

    /// The first `limit` bytes or slightly fewer, cut at a character boundary.
    #[must_use]
    pub fn head(&self, limit: usize) -> Text<'a> {
        match self.raw.get(..limit) {
            Some(start) if start.len() < self.raw.len() => {
                Text::new(whole_characters(start, self.escaped), self.escaped)
            }
            _ => *self,
        }
    }

    /// The last `limit` bytes or slightly fewer, cut at a character boundary.
    #[must_use]
    pub fn tail(&self, limit: usize) -> Text<'a> {
        let cut = self.raw.len().saturating_sub(limit);
        let from = character_start(self.raw, cut, self.escaped);
        Text::new(self.raw.get(from..).unwrap_or_default(), self.escaped)
    }
}

/// The contents of a JSON string as an owned value, still escaped.
///
/// Creating one copies its bytes and does nothing else: it is unescaped each time it is read, which for most
/// tool output is never. Cloning it copies nothing.
#[derive(Clone, Default)]
pub struct OwnedText {
    raw: Arc<[u8]>,
    escaped: bool,
}

impl OwnedText {
    /// The string.
    pub fn to_str(&self) -> Cow<'_, str> {
        self.as_text().to_str()
    }

    /// The string, borrowed and still escaped.
    pub fn as_text(&self) -> Text<'_> {
        Text::new(&self.raw, self.escaped)
    }

    /// Whether the string is empty.
    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }
}

impl From<Text<'_>> for OwnedText {
    fn from(text: Text<'_>) -> Self {
        Self { raw: text.raw.into(), escaped: text.escaped }
    }
}

impl From<&str> for OwnedText {
    fn from(text: &str) -> Self {
        Self { raw: text.as_bytes().into(), escaped: false }
    }
}

impl PartialEq for OwnedText {
    fn eq(&self, other: &Self) -> bool {
        self.as_text() == other.as_text()
    }
}

impl Eq for OwnedText {}

impl fmt::Debug for OwnedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_str(), f)
    }
}

impl fmt::Display for OwnedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_str())
    }
}

impl serde::Serialize for OwnedText {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_str())
    }
}

impl<'de> serde::Deserialize<'de> for OwnedText {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
        Ok(Self::from(&*text))
    }
}

/// Cuts an unfinished escape sequence or character off the end.
fn whole_characters(start: &[u8], escaped: bool) -> &[u8] {
    let mut end = start.len();
    if escaped {
        end = start.len() - unfinished_escape(start);
    }
    // Continuation bytes at the cut belong to a character that may be incomplete: drop that character.
    let mut lead = end;
    while lead > 0 && end - lead < 4 && start.get(lead - 1).is_some_and(|b| (0x80..0xC0).contains(b)) {
        lead -= 1;
    }
    if start.get(lead.wrapping_sub(1)).is_some_and(|b| *b >= 0xC0) {
        end = lead - 1;
    }
    start.get(..end).unwrap_or_default()
}

/// Number of bytes at the end that belong to an escape sequence (or to the first half of a surrogate pair) that
/// was cut.
fn unfinished_escape(start: &[u8]) -> usize {
    let window = start.len().saturating_sub(12);
    let mut at = window;
    // Start at a byte that is certainly not inside an escape: go back over a run of backslashes.
    while at > 0 && start.get(at - 1) == Some(&b'\\') {
        at -= 1;
    }
    if at > 0 && start.get(at.saturating_sub(5)..at).is_some_and(|before| before.contains(&b'\\')) {
        at = start.get(..at).and_then(|s| s.iter().rposition(|&b| b == b'\\')).unwrap_or(at);
        while at > 0 && start.get(at - 1) == Some(&b'\\') {
            at -= 1;
        }
    }
    while at < start.len() {
        if start.get(at) != Some(&b'\\') {
            at += 1;
            continue;
        }
        let length = if start.get(at + 1) == Some(&b'u') { 6 } else { 2 };
        let high = start.get(at + 2).is_some_and(|b| matches!(b, b'd' | b'D'))
            && start.get(at + 3).is_some_and(|b| matches!(b, b'8'..=b'9' | b'a'..=b'b' | b'A'..=b'B'));
        let needed = if length == 6 && high { 12 } else { length };
        if at + needed > start.len() {
            return start.len() - at;
        }
        at += length;
    }
    0
}

/// First position at or after `cut` where a character begins.
fn character_start(raw: &[u8], cut: usize, escaped: bool) -> usize {
    let mut at = cut;
    if escaped && cut > 0 {
        let window = cut.saturating_sub(12);
        // Inside the window every escape is followed from its backslash, so the cut never lands in one.
        let mut from = raw
            .get(window..cut)
            .and_then(|w| w.iter().position(|&b| b == b'\\'))
            .map_or(cut, |offset| window + offset);
        while from > 0 && raw.get(from - 1) == Some(&b'\\') {
            from -= 1;
        }
        while from < cut {
            from += match (raw.get(from), raw.get(from + 1)) {
                (Some(b'\\'), Some(b'u')) => 6,
                (Some(b'\\'), _) => 2,
                _ => 1,
            };
        }
        at = from.max(cut).min(raw.len());
        // The second half of a surrogate pair is not a character.
        if let Some([b'\\', b'u', b'd' | b'D', b'c'..=b'f' | b'C'..=b'F', ..]) = raw.get(at..) {
            at = raw.len().min(at + 6);
        }
    }
    while raw.get(at).is_some_and(|b| (0x80..0xC0).contains(b)) {
        at += 1;
    }
    at
}

/// Unescapes the contents of a valid JSON string.
fn unescape(raw: &[u8]) -> String {
    let mut out = Vec::with_capacity(raw.len());
    let mut at = 0;
    while let Some(found) = quote_or_backslash(raw, at) {
        out.extend_from_slice(raw.get(at..found).unwrap_or_default());
        at = unescape_one(raw, found, &mut out);
    }
    out.extend_from_slice(raw.get(at..).unwrap_or_default());
    match String::from_utf8(out) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

/// Writes the character whose escape starts at `at` and returns the position after it.
fn unescape_one(raw: &[u8], at: usize, out: &mut Vec<u8>) -> usize {
    let plain = match raw.get(at + 1) {
        Some(b'n') => b'\n',
        Some(b't') => b'\t',
        Some(b'r') => b'\r',
        Some(b'b') => 0x08,
        Some(b'f') => 0x0C,
        Some(b'u') => {
            let (character, after) = unicode_escape(raw, at);
            let mut buffer = [0; 4];
            out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
            return after;
        }
        Some(&byte) => byte,
        None => return at + 1,
    };
    out.push(plain);
    at + 2
}

fn unicode_escape(raw: &[u8], at: usize) -> (char, usize) {
    let unit = |at: usize| {
        let digits = raw.get(at..at + 6)?.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0, |unit, &digit| Some(unit * 16 + char::from(digit).to_digit(16)?))
    };
    let Some(first) = unit(at) else {
        return (char::REPLACEMENT_CHARACTER, at + 2);
    };
    if (0xD800..0xDC00).contains(&first)
        && let Some(second) = unit(at + 6).filter(|unit| (0xDC00..0xE000).contains(unit))
    {
        let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), at + 12);
    }
    (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), at + 6)
}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        self.is(other) || (std::str::from_utf8(self.raw).is_err() && self.to_str() == other)
    }
}

impl PartialEq<&str> for Text<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        (self.raw == other.raw && self.escaped == other.escaped) || self.to_str() == other.to_str()
    }
}

impl Eq for Text<'_> {}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_str())
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_str(), f)
    }
}

impl serde::Serialize for Text<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(json: &str) -> String {
        let raw = json.as_bytes();
        Text::new(raw, raw.contains(&b'\\')).to_str().into_owned()
    }

    #[test]
    fn unescapes_everything_json_has() {
        assert_eq!(text(r#"a\"b\\c\/d\b\f\n\r\t"#), "a\"b\\c/d\u{8}\u{c}\n\r\t");
        assert_eq!(text(r"\u00e9\u20AC\ud83d\ude00"), "é€😀");
    }

    #[test]
    fn escapes_that_json_does_not_have_stand_for_themselves() {
        assert_eq!(text(r"\x\-\u12g4\u+123\u1"), "x-\u{fffd}12g4\u{fffd}+123\u{fffd}1");
    }

    #[test]
    fn lone_surrogates_become_the_replacement_character() {
        assert_eq!(text(r"x\ud83d"), "x\u{fffd}");
        assert_eq!(text(r"\ud83dy"), "\u{fffd}y");
        assert_eq!(text(r"\ude00\ud83d"), "\u{fffd}\u{fffd}");
        assert_eq!(text(r"\ud83d\u0041"), "\u{fffd}A");
        assert_eq!(text(r"\ud83d\ud83d\ude00"), "\u{fffd}😀");
    }

    proptest! {
        #[test]
        fn reads_what_serde_json_wrote(original in any::<String>()) {
            let json = serde_json::to_string(&original).unwrap();
            prop_assert_eq!(text(&json[1..json.len() - 1]), original);
        }

        #[test]
        fn head_and_tail_are_cut_between_characters(original in "[a-z\\\\\"\n\u{1}é€😀]{0,40}", limit in 0usize..60) {
            for ascii in [false, true] {
                let mut json = serde_json::to_string(&original).unwrap();
                if ascii {
                    json = json.chars().fold(String::new(), |mut out, c| {
                        if c.is_ascii() { out.push(c) } else {
                            let mut units = [0; 2];
                            for unit in c.encode_utf16(&mut units) { out.push_str(&format!("\\u{unit:04x}")); }
                        }
                        out
                    });
                }
                let raw = &json.as_bytes()[1..json.len() - 1];
                let text = Text::new(raw, raw.contains(&b'\\'));
                let (head, tail) = (text.head(limit).to_str(), text.tail(limit).to_str());
                prop_assert!(original.starts_with(&*head), "head {head:?}");
                prop_assert!(original.ends_with(&*tail), "tail {tail:?}");
                prop_assert!(head.len() <= limit && tail.len() <= limit.max(3));
            }
        }
    }
}
