//! The JSON grammar: finds where a value ends, or says what is wrong with it.
//!
//! Deliberately more tolerant than the standard inside strings, because the bytes are kept verbatim anyway and
//! rejecting them would lose a message: lone surrogates (`"\ud83d"`, which the CLI really writes), raw control
//! characters, bytes that are not UTF-8, and escapes that JSON does not define are all accepted. No recursion:
//! nesting depth is limited by memory (one bit per level), never by the stack.

use super::scan::{closing_quote, masks16, quote_or_backslash};
use std::fmt;

/// Why a line is not JSON, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonFault {
    /// Byte position in the line.
    pub at: usize,
    /// What was wrong there.
    pub what: &'static str,
}

impl fmt::Display for JsonFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.what, self.at)
    }
}

pub(super) type Scanned<T> = Result<T, JsonFault>;

#[cold]
pub(super) fn fault<T>(at: usize, what: &'static str) -> Scanned<T> {
    Err(JsonFault { at, what })
}

#[inline]
pub(super) fn byte_at(bytes: &[u8], at: usize) -> Option<u8> {
    bytes.get(at).copied()
}

/// First position at or after `at` that is not JSON whitespace.
#[inline]
pub(super) fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    // The CLI writes none, so one comparison is usually enough.
    while let Some(byte) = byte_at(bytes, at).filter(|byte| *byte <= b' ') {
        if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            break;
        }
        at += 1;
    }
    at
}

/// End of a string whose opening quote is just before `at`: the position of the closing quote, and
/// whether there is an escape in between.
#[inline(always)]
pub(crate) fn string_end(bytes: &[u8], at: usize) -> Result<(usize, bool), JsonFault> {
    // Keys and most values end within sixteen bytes.
    if let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<16>()) {
        let (quotes, backslashes) = masks16(chunk);
        if quotes.trailing_zeros() < backslashes.trailing_zeros() {
            return Ok((at + quotes.trailing_zeros() as usize, false));
        }
        if backslashes == 0 {
            return long_string_end(bytes, at + 16);
        }
        return escaped_string_end(bytes, at + backslashes.trailing_zeros() as usize);
    }
    long_string_end(bytes, at)
}

#[inline(never)]
fn long_string_end(bytes: &[u8], at: usize) -> Scanned<(usize, bool)> {
    match quote_or_backslash(bytes, at) {
        Some(first) if byte_at(bytes, first) == Some(b'"') => Ok((first, false)),
        Some(first) => escaped_string_end(bytes, first),
        None => fault(bytes.len(), "the string does not end"),
    }
}

/// End of a string, searched from its first backslash on.
#[inline(never)]
fn escaped_string_end(bytes: &[u8], backslash: usize) -> Scanned<(usize, bool)> {
    match closing_quote(bytes, backslash) {
        Some(end) => Ok((end, true)),
        None => fault(bytes.len(), "the string does not end"),
    }
}

/// End of a value that is neither a string nor a container.
#[inline]
pub(super) fn scalar_end(bytes: &[u8], at: usize) -> Scanned<usize> {
    let word = |text: &'static str| {
        if bytes.get(at..at + text.len()) == Some(text.as_bytes()) {
            Ok(at + text.len())
        } else {
            fault(at, "expected a JSON value")
        }
    };
    match byte_at(bytes, at) {
        Some(b't') => word("true"),
        Some(b'f') => word("false"),
        Some(b'n') => word("null"),
        Some(b'-' | b'0'..=b'9') => number_end(bytes, at),
        Some(_) => fault(at, "expected a JSON value"),
        None => fault(at, "the line ends where a JSON value is expected"),
    }
}

fn number_end(bytes: &[u8], at: usize) -> Scanned<usize> {
    let digits = |mut at: usize| {
        while let Some(b'0'..=b'9') = byte_at(bytes, at) {
            at += 1;
        }
        at
    };
    let whole = if byte_at(bytes, at) == Some(b'-') { at + 1 } else { at };
    let mut end = match byte_at(bytes, whole) {
        Some(b'0') => whole + 1,
        Some(b'1'..=b'9') => digits(whole),
        _ => return fault(whole, "a number needs a digit"),
    };
    if byte_at(bytes, end) == Some(b'.') {
        let fraction = end + 1;
        end = digits(fraction);
        if end == fraction {
            return fault(end, "a number needs a digit after its point");
        }
    }
    if let Some(b'e' | b'E') = byte_at(bytes, end) {
        let sign = end + 1;
        let exponent = if let Some(b'+' | b'-') = byte_at(bytes, sign) { sign + 1 } else { sign };
        end = digits(exponent);
        if end == exponent {
            return fault(end, "a number needs a digit in its exponent");
        }
    }
    Ok(end)
}

/// One bit for each open container: set for an object. The first 64 levels need no allocation.
#[derive(Default)]
struct Nesting {
    top: u64,
    depth: u32,
    below: Vec<u64>,
}

impl Nesting {
    fn open(&mut self, object: bool) {
        if self.depth == 64 {
            self.below.push(self.top);
            self.depth = 0;
        }
        self.top = (self.top << 1) | u64::from(object);
        self.depth += 1;
    }

    /// Closes the innermost container and returns whether another one is open around it.
    fn close(&mut self) -> bool {
        self.top >>= 1;
        self.depth -= 1;
        if self.depth == 0 {
            match self.below.pop() {
                Some(word) => (self.top, self.depth) = (word, 64),
                None => return false,
            }
        }
        true
    }

    fn in_object(&self) -> bool {
        self.top & 1 == 1
    }
}

/// End of the value that starts at `at`, every byte of it checked.
pub(super) fn value_end(bytes: &[u8], at: usize) -> Scanned<usize> {
    match byte_at(bytes, at) {
        Some(b'"') => Ok(string_end(bytes, at + 1)?.0 + 1),
        Some(b'{' | b'[') => container_end(bytes, at),
        _ => scalar_end(bytes, at),
    }
}

fn container_end(bytes: &[u8], at: usize) -> Scanned<usize> {
    let mut nesting = Nesting::default();
    let mut at = at;
    'value: loop {
        // Invariant: `at` is at the first byte of a value.
        match byte_at(bytes, at) {
            Some(b'"') => at = string_end(bytes, at + 1)?.0 + 1,
            Some(open @ (b'{' | b'[')) => {
                let object = open == b'{';
                nesting.open(object);
                at = skip_space(bytes, at + 1);
                if byte_at(bytes, at) == Some(closer(object)) {
                    at += 1;
                    if !nesting.close() {
                        return Ok(at);
                    }
                } else {
                    if object {
                        at = member_value(bytes, at)?.1;
                    }
                    continue 'value;
                }
            }
            _ => at = scalar_end(bytes, at)?,
        }
        // A value has ended: a comma starts the next one, a closer ends the container.
        loop {
            at = skip_space(bytes, at);
            let object = nesting.in_object();
            match byte_at(bytes, at) {
                Some(b',') => {
                    at = skip_space(bytes, at + 1);
                    if object {
                        at = member_value(bytes, at)?.1;
                    }
                    continue 'value;
                }
                Some(byte) if byte == closer(object) => {
                    at += 1;
                    if !nesting.close() {
                        return Ok(at);
                    }
                }
                Some(_) => return fault(at, "expected a comma or the end of the container"),
                None => return fault(at, "the line ends inside an object or array"),
            }
        }
    }
}

fn closer(object: bool) -> u8 {
    if object { b'}' } else { b']' }
}

/// A key without its quotes.
#[derive(Clone, Copy, Default)]
pub(super) struct Key {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) escaped: bool,
}

/// Reads `"key" :` at `at`; returns the key and where its value starts.
#[inline(always)]
pub(super) fn member_value(bytes: &[u8], at: usize) -> Scanned<(Key, usize)> {
    if byte_at(bytes, at) != Some(b'"') {
        return fault(at, "expected a quoted key");
    }
    let start = at + 1;
    let (end, escaped) = string_end(bytes, start)?;
    let colon = skip_space(bytes, end + 1);
    if byte_at(bytes, colon) != Some(b':') {
        return fault(colon, "expected a colon after the key");
    }
    Ok((Key { start, end, escaped }, skip_space(bytes, colon + 1)))
}

/// Strips what a terminal or an editor may put around a line: whitespace, a byte order mark, NUL bytes and
/// escape sequences.
pub(crate) fn trim(line: &[u8]) -> &[u8] {
    // The usual line begins and ends with a brace.
    if let (Some(b'{'), Some(b'}')) = (line.first(), line.last()) {
        return line;
    }
    trim_end(trim_start(line))
}

fn trim_start(mut rest: &[u8]) -> &[u8] {
    loop {
        rest = match rest {
            [b' ' | b'\t' | b'\r' | b'\n' | 0, tail @ ..] => tail,
            [0xEF, 0xBB, 0xBF, tail @ ..] => tail,
            [0x1B, tail @ ..] => rest.get(1 + escape_sequence_length(tail)..).unwrap_or_default(),
            _ => return rest,
        }
    }
}

/// Length of a terminal escape sequence after its ESC: CSI up to its final byte, OSC and similar sequences up
/// to their terminator, everything else as one byte with its intermediates.
fn escape_sequence_length(tail: &[u8]) -> usize {
    match tail.first() {
        Some(b'[') => {
            let end = tail.iter().skip(1).position(|b| (0x40..=0x7E).contains(b));
            end.map_or(tail.len(), |end| end + 2)
        }
        Some(b']' | b'P' | b'X' | b'^' | b'_') => {
            // Ends with BEL or with ESC and a backslash, whichever comes first.
            let mut at = 1;
            while let Some(found) = tail.get(at..).and_then(|rest| memchr::memchr2(0x07, 0x1B, rest)) {
                let end = at + found;
                match (byte_at(tail, end), byte_at(tail, end + 1)) {
                    (Some(0x07), _) => return end + 1,
                    (_, Some(b'\\')) => return end + 2,
                    _ => at = end + 1,
                }
            }
            // Without an end it is not a sequence; what follows may be a message and must not be lost.
            1
        }
        Some(0x20..=0x2F) => {
            let end = tail.iter().position(|b| !(0x20..=0x2F).contains(b));
            end.map_or(tail.len(), |end| end + 1)
        }
        Some(_) => 1,
        None => 0,
    }
}

fn trim_end(mut rest: &[u8]) -> &[u8] {
    loop {
        while let [head @ .., b' ' | b'\t' | b'\r' | b'\n' | 0] = rest {
            rest = head;
        }
        // An object ends here; anything that looks like an escape sequence is inside it.
        if rest.last() == Some(&b'}') {
            return rest;
        }
        // Escape sequences are short, so only the end of the line is searched; a long line stays cheap.
        let window = rest.len().saturating_sub(64);
        let escape = rest.iter().skip(window).rposition(|&b| b == 0x1B).map(|at| at + window);
        match escape {
            Some(at) if rest.get(at + 1..).is_some_and(|tail| escape_sequence_length(tail) == tail.len()) => {
                rest = rest.get(..at).unwrap_or_default();
            }
            _ => return rest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn valid(text: &str) -> bool {
        value_end(text.as_bytes(), 0) == Ok(text.len())
    }

    #[test]
    fn accepts_valid_and_tolerated_values() {
        for text in [
            "{}",
            "[]",
            "[[],{}]",
            r#"{"a":[1,2,{"b":null}],"c":"\u00e9\n"}"#,
            "-0.5e+10",
            "1e999",
            "true",
            r#"[ 1 , 2 ]"#,
            r#"{ "a" : 1 , "b" : { } }"#,
            r#""\ud83d""#,
            "\"\u{1}\"",
            r#""\x \u12g4 \u1""#,
        ] {
            assert!(valid(text), "{text}");
        }
    }

    #[test]
    fn rejects_invalid_values() {
        for text in [
            "{",
            "[",
            "[1,]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "01",
            "1.",
            "1e",
            "-",
            "tru",
            "nul",
            "\"",
            "\"\\\"",
            "[1 2]",
            "{\"a\":1]",
            "[1}",
            "{,}",
            "[,]",
            "",
        ] {
            assert!(!valid(text), "{text}");
        }
    }

    #[test]
    fn nesting_is_limited_by_memory_and_not_by_the_stack() {
        let deep = 1_000_000;
        let text = format!("{}1{}", "[".repeat(deep), "]".repeat(deep));
        assert!(valid(&text));
        let mixed = format!("{}1{}", r#"{"a":["#.repeat(5_000), "]}".repeat(5_000));
        assert!(valid(&mixed));
        let crossed = format!("{}1{}", r#"{"a":["#.repeat(100), "}]".repeat(100));
        assert!(!valid(&crossed));
    }

    #[test]
    fn trimming_is_linear() {
        // Quadratic work on this would take hours.
        let line = b"\x1b]\x07".repeat(1 << 19);
        assert_eq!(trim(&line), b"");
    }

    #[test]
    fn trims_what_terminals_put_around_a_line() {
        for line in [
            "{}",
            "\u{feff}{}",
            "  {}\r",
            "\x1b[?25h{}\x1b[0m",
            "\x1b]0;title\x07{}",
            "\0\0{}\0",
            "{}\x1b[?25h\r",
            "\x1b]0;t\x1b\\{}",
            "\x1b(B{}",
            "\x1b=\x1b[2J {}",
        ] {
            assert_eq!(trim(line.as_bytes()), b"{}", "{line:?}");
        }
        assert_eq!(trim(b"\x1b[?25h"), b"");
        assert_eq!(trim(b"\x1b["), b"");
        assert_eq!(trim(b"plain words"), b"plain words");
        assert_eq!(trim(b"{\"a\":\"\x1b[1\"}\r"), b"{\"a\":\"\x1b[1\"}");
        assert_eq!(trim(b"\x1b]0;a\x1bb\x07{}"), b"{}");
        assert_eq!(trim(b"\x1b]0;title{}"), b"0;title{}");
    }
}
