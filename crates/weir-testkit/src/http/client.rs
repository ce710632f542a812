//! A client that sends exactly what it is given, for talking to a server and for attacking one.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot talk to the server should stop")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Instant;

use serde_json::Value;

use crate::DEADLINE;

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers, as received.
    pub headers: Vec<(String, String)>,
    /// The body, without chunks.
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// If it is something else.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// A header; empty if there is none.
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// Checks the status and returns the answer.
    ///
    /// # Panics
    /// If it is another one.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }
}

/// The address of a server, and a token. Each request has a connection of its own, and one that fails stops the test.
#[derive(Debug, Clone)]
pub struct Client {
    /// `127.0.0.1:PORT`.
    pub address: String,
    /// What comes before each path: empty, or `/base`.
    pub base: String,
    /// The secret for `Authorization`.
    pub token: String,
}

impl Client {
    /// A client for `http://address/base`.
    pub fn new(url: &str, token: &str) -> Self {
        let rest = url.strip_prefix("http://").unwrap();
        let (address, base) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        Self { address: address.to_owned(), base: base.to_owned(), token: token.to_owned() }
    }

    /// The same client with another token.
    pub fn with(&self, token: &str) -> Self {
        Self { token: token.to_owned(), ..self.clone() }
    }

    /// A GET.
    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], None)
    }

    /// A POST of JSON.
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, &[], Some(body))
    }

    /// A request with the token and more headers.
    pub fn ask(&self, method: &str, path: &str, more: &[(&str, &str)], body: Option<&Value>) -> Answer {
        let authorization = format!("Bearer {}", self.token);
        let mut headers = vec![("Host", self.address.as_str()), ("Authorization", authorization.as_str())];
        headers.extend_from_slice(more);
        let body = body.map(ToString::to_string);
        if body.is_some() {
            headers.push(("Content-Type", "application/json"));
        }
        self.raw(method, path, &headers, body.as_deref().unwrap_or_default().as_bytes())
    }

    /// A request with these headers and no others.
    pub fn raw(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut connection = self.open(method, path, headers, body);
        let (status, headers) = read_head(&mut connection);
        let body = read_body(&mut connection, &headers);
        Answer { status, headers, body }
    }

    /// The status of a GET of this path, without waiting for the body.
    pub fn get_head(&self, path: &str) -> u16 {
        let authorization = format!("Bearer {}", self.token);
        let headers = [("Host", self.address.as_str()), ("Authorization", authorization.as_str())];
        read_head(&mut self.open("GET", path, &headers, b"")).0
    }

    fn open(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> BufReader<TcpStream> {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let mut head = format!("{method} {}{path} HTTP/1.1\r\nConnection: close\r\n", self.base);
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() || method != "GET" {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        (&stream).write_all(&[head.as_bytes(), body].concat()).unwrap();
        BufReader::new(stream)
    }

    /// Follows a stream of events.
    #[track_caller]
    pub fn events(&self, path: &str, last: Option<&str>) -> Events {
        let authorization = format!("Bearer {}", self.token);
        let mut headers = vec![("Host", self.address.as_str()), ("Authorization", authorization.as_str())];
        headers.extend(last.map(|last| ("Last-Event-ID", last)));
        self.stream("GET", path, &headers, b"")
    }

    /// Follows a stream of events, with more headers.
    #[track_caller]
    pub fn events_with(&self, path: &str, more: &[(&str, &str)]) -> Events {
        let authorization = format!("Bearer {}", self.token);
        let mut headers = vec![("Host", self.address.as_str()), ("Authorization", authorization.as_str())];
        headers.extend_from_slice(more);
        self.stream("GET", path, &headers, b"")
    }

    /// Sends a request whose answer is a stream of events.
    #[track_caller]
    pub fn post_events(&self, path: &str, body: &Value) -> Events {
        let authorization = format!("Bearer {}", self.token);
        let headers = [
            ("Host", self.address.as_str()),
            ("Authorization", authorization.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "text/event-stream"),
        ];
        self.stream("POST", path, &headers, body.to_string().as_bytes())
    }

    #[track_caller]
    fn stream(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Events {
        let mut connection = self.open(method, path, headers, body);
        let (status, headers) = read_head(&mut connection);
        if status != 200 {
            let body = read_body(&mut connection, &headers);
            panic!("no stream: {status} {}", String::from_utf8_lossy(&body));
        }
        Events { connection, headers, waiting: String::new(), is_over: false }
    }
}

fn read_head(connection: &mut BufReader<TcpStream>) -> (u16, Vec<(String, String)>) {
    let mut line = String::new();
    connection.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {line:?}")).parse().unwrap();
    let mut headers = Vec::new();
    loop {
        line.clear();
        connection.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(':') else { return (status, headers) };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
}

fn is_chunked(headers: &[(String, String)]) -> bool {
    headers.iter().any(|(name, value)| name.eq_ignore_ascii_case("transfer-encoding") && value == "chunked")
}

fn read_body(connection: &mut BufReader<TcpStream>, headers: &[(String, String)]) -> Vec<u8> {
    let mut body = Vec::new();
    if !is_chunked(headers) {
        // A server that refuses a body may close before all of it was read.
        let _ = connection.read_to_end(&mut body);
        return body;
    }
    while let Some(chunk) = read_chunk(connection) {
        body.extend(chunk);
    }
    body
}

/// A chunk; `None` at the end.
fn read_chunk(connection: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut line = String::new();
    connection.read_line(&mut line).ok()?;
    let length = usize::from_str_radix(line.trim(), 16).ok().filter(|length| *length > 0)?;
    let mut chunk = vec![0; length + 2];
    connection.read_exact(&mut chunk).ok()?;
    chunk.truncate(length);
    Some(chunk)
}

/// An event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its id.
    pub id: Option<String>,
    /// Its name; empty if it has none.
    pub name: String,
    /// Its data, with a line feed between lines.
    pub data: String,
}

impl Event {
    /// The data as JSON.
    ///
    /// # Panics
    /// If they are something else.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap()
    }
}

/// A stream of events.
#[derive(Debug)]
pub struct Events {
    connection: BufReader<TcpStream>,
    /// The headers of the answer.
    pub headers: Vec<(String, String)>,
    waiting: String,
    is_over: bool,
}

impl Iterator for Events {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.waiting.find("\n\n") {
                let text: String = self.waiting.drain(..end + 2).collect();
                return Some(parse(&text));
            }
            if self.is_over {
                return None;
            }
            match read_chunk(&mut self.connection) {
                Some(chunk) => self.waiting.push_str(&String::from_utf8_lossy(&chunk)),
                None => self.is_over = true,
            }
        }
    }
}

impl Events {
    /// The events up to and including the first wanted one.
    ///
    /// # Panics
    /// If it does not come.
    #[track_caller]
    pub fn until(&mut self, wanted: impl Fn(&Event) -> bool) -> Vec<Event> {
        let deadline = Instant::now() + DEADLINE;
        let mut seen = Vec::new();
        for event in self.by_ref() {
            let is_wanted = wanted(&event);
            seen.push(event);
            if is_wanted {
                return seen;
            }
            assert!(Instant::now() < deadline, "the wanted event did not come: {seen:#?}");
        }
        panic!("the stream ended: {seen:#?}");
    }

    /// The first event with this name.
    ///
    /// # Panics
    /// If it does not come.
    #[track_caller]
    pub fn wait(&mut self, name: &str) -> Event {
        self.until(|event| event.name == name).pop().unwrap()
    }

    /// The remaining events until the server closes.
    pub fn rest(&mut self) -> Vec<Event> {
        self.collect()
    }

    /// Closes the connection abruptly.
    pub fn cut(self) {
        let _ = self.connection.get_ref().shutdown(Shutdown::Both);
    }
}

fn parse(text: &str) -> Event {
    let mut event = Event { id: None, name: String::new(), data: String::new() };
    for line in text.lines() {
        match line.split_once(": ") {
            Some(("id", id)) => event.id = Some(id.to_owned()),
            Some(("event", name)) => event.name = name.to_owned(),
            Some(("data", data)) => {
                if !event.data.is_empty() {
                    event.data.push('\n');
                }
                event.data.push_str(data);
            }
            _ => {}
        }
    }
    event
}
