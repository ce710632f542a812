//! The part of HTTP/1.1 that the CLI uses: requests with a length or in chunks, and connections that are kept open.
//!
//! Reading goes through [`RequestReader`], which keeps bytes beyond a request for the next one. It does not interpret
//! requests.

use std::io::{self, Read, Write};

/// Maximum length of a request head.
const HEAD_LIMIT: usize = 256 << 10;
/// Maximum length of a request body.
const BODY_LIMIT: usize = 256 << 20;

/// A request as received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// Whether the client wants the connection closed after the response.
    pub(crate) fn closes(&self) -> bool {
        self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

fn header<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// Reads requests from a connection, one after the other.
#[derive(Debug)]
pub(crate) struct RequestReader<S> {
    stream: S,
    /// Bytes that were read and not used yet.
    buffer: Vec<u8>,
}

impl<S: Read + Write> RequestReader<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, buffer: Vec::new() }
    }

    /// The next request; `None` if the client has closed the connection.
    pub(crate) fn next_request(&mut self) -> io::Result<Option<Request>> {
        let head = loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                break self.take(end + 4);
            }
            if self.buffer.len() > HEAD_LIMIT {
                return Err(invalid("the head of the request is too long"));
            }
            if !self.fill()? {
                return if self.buffer.is_empty() { Ok(None) } else { Err(cut_off()) };
            }
        };
        let (method, target, headers) = parse_head(&head)?;
        if header(&headers, "expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let chunked =
            header(&headers, "transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked"));
        let body = if chunked {
            self.chunked_body()?
        } else {
            let length = header(&headers, "content-length").map_or(Ok(0), str::parse::<usize>);
            self.exactly(length.map_err(|_| invalid("the content-length is not a number"))?)?
        };
        Ok(Some(Request { method, target, headers, body }))
    }

    fn chunked_body(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?;
            let digits = line.split(';').next().unwrap_or_default().trim();
            let length = usize::from_str_radix(digits, 16)
                .map_err(|_| invalid("the length of a chunk is not a number"))?;
            if body.len().saturating_add(length) > BODY_LIMIT {
                return Err(invalid("the body of the request is too long"));
            }
            body.extend(self.exactly(length)?);
            if length == 0 {
                // Trailers, up to an empty line.
                while !self.line()?.is_empty() {}
                return Ok(body);
            }
            self.line()?;
        }
    }

    fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = find(&self.buffer, b"\r\n") {
                let mut line = self.take(end + 2);
                line.truncate(end);
                return String::from_utf8(line).map_err(|_| invalid("a line of the request is not text"));
            }
            if self.buffer.len() > HEAD_LIMIT {
                return Err(invalid("a line of the request is too long"));
            }
            if !self.fill()? {
                return Err(cut_off());
            }
        }
    }

    fn exactly(&mut self, length: usize) -> io::Result<Vec<u8>> {
        if length > BODY_LIMIT {
            return Err(invalid("the body of the request is too long"));
        }
        while self.buffer.len() < length {
            if !self.fill()? {
                return Err(cut_off());
            }
        }
        Ok(self.take(length))
    }

    /// Removes and returns the first bytes of the buffer.
    fn take(&mut self, length: usize) -> Vec<u8> {
        let rest = self.buffer.split_off(length.min(self.buffer.len()));
        std::mem::replace(&mut self.buffer, rest)
    }

    /// Reads more; returns false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        let mut piece = [0; 16 << 10];
        let count = loop {
            match self.stream.read(&mut piece) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.buffer.extend_from_slice(piece.get(..count).unwrap_or_default());
        Ok(count > 0)
    }
}

type Head = (String, String, Vec<(String, String)>);

fn parse_head(head: &[u8]) -> io::Result<Head> {
    let head = std::str::from_utf8(head).map_err(|_| invalid("the head of the request is not text"))?;
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some("HTTP/1.1" | "HTTP/1.0"), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(invalid("the first line of the request is not HTTP/1.1"));
    };
    let headers = lines.filter(|line| !line.is_empty()).map(|line| {
        let (name, value) = line.split_once(':').ok_or_else(|| invalid("a header has no colon"))?;
        Ok((name.to_ascii_lowercase(), value.trim().to_owned()))
    });
    Ok((method.to_owned(), target.to_owned(), headers.collect::<io::Result<_>>()?))
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn cut_off() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the request ends in the middle")
}

/// Writes the head of a response. The framing is a header like the others.
pub(crate) fn write_head(
    stream: &mut impl Write,
    status: u16,
    headers: &[(String, String)],
    framing: (&str, &str),
) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    for (name, value) in headers {
        // A line feed in a scripted value would end the header.
        head.push_str(&format!("{name}: {}\r\n", value.replace(['\r', '\n'], " ")));
    }
    head.push_str(&format!("{}: {}\r\n\r\n", framing.0, framing.1));
    stream.write_all(head.as_bytes())
}

/// Writes a chunk of a response; skips an empty one, because it would end the response.
pub(crate) fn write_chunk(stream: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    stream.write_all(&chunk)
}

/// Ends a chunked response.
pub(crate) fn write_last_chunk(stream: &mut impl Write) -> io::Result<()> {
    stream.write_all(b"0\r\n\r\n")
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        413 => "Payload Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        529 => "Overloaded",
        _ => "Scripted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection that returns its input in pieces of one size.
    struct Pieces {
        input: Vec<u8>,
        size: usize,
        output: Vec<u8>,
    }

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.size.min(buffer.len()).min(self.input.len());
            buffer[..count].copy_from_slice(&self.input[..count]);
            self.input.drain(..count);
            Ok(count)
        }
    }

    impl Write for Pieces {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.output.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn all(input: &str, size: usize) -> io::Result<Vec<Request>> {
        let stream = Pieces { input: input.into(), size, output: Vec::new() };
        let mut reader = RequestReader::new(stream);
        let mut requests = Vec::new();
        while let Some(request) = reader.next_request()? {
            requests.push(request);
        }
        Ok(requests)
    }

    #[test]
    fn two_requests_on_one_connection_in_any_pieces() {
        let input = "POST /v1/messages?beta=true HTTP/1.1\r\nContent-Length: 5\r\nX-A:  b \r\n\r\nhello\
                     POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: v\r\n\r\n\
                     HEAD / HTTP/1.1\r\nConnection: close\r\n\r\n";
        for size in [1, 2, 7, 1000] {
            let requests = all(input, size).unwrap();
            assert_eq!(requests.len(), 3, "in pieces of {size}");
            assert_eq!(requests[0].target, "/v1/messages?beta=true");
            assert_eq!(requests[0].header("x-a"), Some("b"));
            assert_eq!(requests[0].body, b"hello");
            assert_eq!(requests[1].body, b"abcde");
            assert_eq!((requests[2].method.as_str(), requests[2].closes()), ("HEAD", true));
        }
    }

    #[test]
    fn invalid_requests_are_refused() {
        for input in [
            "GET / HTTP/2\r\n\r\n",
            "GET /\r\n\r\n",
            "GET / HTTP/1.1\r\nno colon\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 999999999999\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nshort",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "GET / HT",
        ] {
            assert!(all(input, 1000).is_err(), "{input:?}");
        }
        assert!(all(&format!("GET / HTTP/1.1\r\nA: {}", "x".repeat(HEAD_LIMIT)), 4096).is_err());
    }

    #[test]
    fn a_header_cannot_be_injected() {
        let mut out = Vec::new();
        write_head(&mut out, 429, &[("retry-after".into(), "1\r\nx: y".into())], ("content-length", "0"))
            .unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            "HTTP/1.1 429 Too Many Requests\r\nretry-after: 1  x: y\r\ncontent-length: 0\r\n\r\n"
        );
    }
}
