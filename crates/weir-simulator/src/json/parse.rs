//! Parses JSON. Strict about the grammar, lenient about surrogates.

use super::Json;
use super::write::SURROGATES;

/// Maximum nesting. Deeper text is refused, because each level needs stack.
const DEPTH: usize = 500;

/// Where the text stops being JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not JSON: {expected} expected at byte {at}; check the text around it")]
pub struct ParseError {
    /// The byte offset of the error.
    pub at: usize,
    /// What was expected there.
    pub expected: &'static str,
}

/// Parses a text that is one JSON value and nothing else.
pub fn parse(text: &str) -> Result<Json, ParseError> {
    let mut parser = Parser { text, at: 0 };
    let value = parser.value(0)?;
    parser.skip_space();
    if parser.at < text.len() {
        return Err(parser.expected("the end"));
    }
    Ok(value)
}

/// Parses the JSON value at the start of a text, and returns the rest of the text.
pub fn parse_prefix(text: &str) -> Result<(Json, &str), ParseError> {
    let mut parser = Parser { text, at: 0 };
    let value = parser.value(0)?;
    Ok((value, parser.rest()))
}

#[derive(Debug)]
struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn expected(&self, expected: &'static str) -> ParseError {
        ParseError { at: self.at, expected }
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, literal: &str) -> bool {
        let found = self.rest().starts_with(literal);
        if found {
            self.at += literal.len();
        }
        found
    }

    fn value(&mut self, depth: usize) -> Result<Json, ParseError> {
        if depth > DEPTH {
            return Err(self.expected("less nesting"));
        }
        self.skip_space();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Json::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ if self.take("true") => Ok(Json::Bool(true)),
            _ if self.take("false") => Ok(Json::Bool(false)),
            _ if self.take("null") => Ok(Json::Null),
            _ => Err(self.expected("a value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, ParseError> {
        self.at += 1;
        let mut members: Vec<(String, Json)> = Vec::new();
        self.skip_space();
        if self.take("}") {
            return Ok(Json::Object(members));
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self.expected("a key"));
            }
            let key = self.string()?;
            self.skip_space();
            if !self.take(":") {
                return Err(self.expected("a colon"));
            }
            let value = self.value(depth + 1)?;
            match members.iter_mut().find(|(name, _)| *name == key) {
                Some(member) => member.1 = value,
                None => members.push((key, value)),
            }
            self.skip_space();
            if self.take("}") {
                return Ok(Json::Object(members));
            }
            if !self.take(",") {
                return Err(self.expected("a comma or the end of the object"));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json, ParseError> {
        self.at += 1;
        let mut items = Vec::new();
        self.skip_space();
        if self.take("]") {
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_space();
            if self.take("]") {
                return Ok(Json::Array(items));
            }
            if !self.take(",") {
                return Err(self.expected("a comma or the end of the array"));
            }
        }
    }

    fn digits(&mut self) -> Result<(), ParseError> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.expected("a digit"));
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Json, ParseError> {
        let start = self.at;
        let mut whole = true;
        self.take("-");
        if !self.take("0") {
            self.digits()?;
        } else if matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.expected("no digit after a leading zero"));
        }
        if self.take(".") {
            whole = false;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            whole = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        if whole && let Ok(number) = text.parse() {
            return Ok(Json::Integer(number));
        }
        text.parse().map(Json::Float).map_err(|_| ParseError { at: start, expected: "a number" })
    }

    fn string(&mut self) -> Result<String, ParseError> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = self.rest();
            let Some(end) = rest.find(['"', '\\']) else {
                return Err(self.expected("the end of the string"));
            };
            let plain = rest.get(..end).unwrap_or_default();
            if let Some(control) = plain.find(|letter: char| letter < ' ') {
                self.at += control;
                return Err(self.expected("an escape for a control character"));
            }
            out.push_str(plain);
            self.at += end;
            if self.take("\"") {
                return Ok(out);
            }
            out.push(self.escape()?);
        }
    }

    fn escape(&mut self) -> Result<char, ParseError> {
        self.at += 1;
        let Some(letter) = self.peek() else { return Err(self.expected("an escape")) };
        let plain = match letter {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                return self.unicode_escape();
            }
            _ => return Err(self.expected("a known escape")),
        };
        self.at += 1;
        Ok(plain)
    }

    fn unicode_escape(&mut self) -> Result<char, ParseError> {
        let first = self.four_hex()?;
        if (0xD800..0xDC00).contains(&first) && self.rest().starts_with("\\u") {
            let back = self.at;
            self.at += 2;
            let second = self.four_hex()?;
            if (0xDC00..0xE000).contains(&second) {
                let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                return char::from_u32(code).ok_or_else(|| self.expected("a character"));
            }
            self.at = back;
        }
        let code = if (0xD800..0xE000).contains(&first) { SURROGATES + (first - 0xD800) } else { first };
        char::from_u32(code).ok_or_else(|| self.expected("a character"))
    }

    fn four_hex(&mut self) -> Result<u32, ParseError> {
        let digits =
            self.text.get(self.at..self.at + 4).filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = digits.and_then(|text| u32::from_str_radix(text, 16).ok());
        let code = code.ok_or_else(|| self.expected("four hexadecimal digits"))?;
        self.at += 4;
        Ok(code)
    }
}
