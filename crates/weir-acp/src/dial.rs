//! A server's remote transport as the streams of an agent: how `weir acp --server` reaches sessions of another program or
//! machine. Twin of `remote`.
//!
//! What the editor sends is posted line by line, in its order. What the server sends comes as streams of events: one for
//! the connection, and one for each session that the editor names or gets.

use std::collections::HashSet;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, StatusCode, Url};
use serde_json::Value;
use tokio::io::{AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use weir_base::error::with_causes;

use crate::envelope::{Envelope, INTERNAL, INVALID_PARAMS, answer};
use crate::lines::{MAX_LINE, next_line};
use crate::relay::AgentStreams;
use crate::remote::{CONNECTION, Remote, SESSION};

/// How long a server may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// Bytes between the relay and this.
const BUFFER: usize = 1 << 16;
/// Messages of the server that wait for the relay.
const WAITING: usize = 64;

/// A server that has sessions for editors. Cloning gives another handle to the same.
#[derive(Debug, Clone)]
pub struct Dial {
    endpoint: Url,
    client: reqwest::Client,
}

/// Why a server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// The address is not one of a server.
    #[error("{address:?} is not a valid address of a server, such as https://weir.example.com: {reason}")]
    Address {
        /// The address.
        address: String,
        /// Why not.
        reason: String,
    },
    /// The token has characters that no token has.
    #[error("the token has characters that cannot be sent")]
    Token,
    /// The HTTP client cannot be made.
    #[error("cannot create the HTTP client")]
    Client(#[source] reqwest::Error),
}

impl Dial {
    /// A server with its address, below which `/acp` is found, and the token of an editor.
    ///
    /// # Errors
    /// If the address or the token is not valid.
    pub fn new(address: &str, token: Option<&str>) -> Result<Self, DialError> {
        let invalid =
            |reason: &str| DialError::Address { address: address.to_owned(), reason: reason.to_owned() };
        let mut endpoint = Url::parse(address).map_err(|error| invalid(&error.to_string()))?;
        if !matches!(endpoint.scheme(), "http" | "https") || endpoint.host_str().is_none() {
            return Err(invalid("it must begin with http:// or https:// and name a host"));
        }
        let path = format!("{}{}", endpoint.path().trim_end_matches('/'), Remote::PATH);
        endpoint.set_path(&path);
        let mut headers = HeaderMap::new();
        if let Some(token) = token {
            let mut value =
                HeaderValue::from_str(&format!("Bearer {}", token.trim())).map_err(|_| DialError::Token)?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        // Fails if a provider is installed already. Any provider will do.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .user_agent(concat!("weir/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .connect_timeout(CONNECT)
            // A redirect could send the token to another host.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(DialError::Client)?;
        Ok(Self { endpoint, client })
    }

    /// The streams of an agent on the server. Nothing is sent before the editor says something.
    pub fn connect(&self) -> AgentStreams {
        let (near, far) = tokio::io::duplex(BUFFER);
        let (said, to_say) = mpsc::channel(WAITING);
        let (input, output) = tokio::io::split(far);
        tokio::spawn(say(output, to_say));
        tokio::spawn(Line { dial: self.clone(), connection: None, said, open: HashSet::new() }.run(input));
        let (input, output) = tokio::io::split(near);
        (Box::new(input), Box::new(output))
    }
}

/// Writes what the server says to the editor's side, until the line is dead.
async fn say(mut output: tokio::io::WriteHalf<DuplexStream>, mut to_say: mpsc::Receiver<String>) {
    while let Some(message) = to_say.recv().await {
        if output.write_all(format!("{message}\n").as_bytes()).await.is_err() {
            return;
        }
    }
    // Tells the relay that the agent has gone.
    let _ = output.shutdown().await;
}

/// A connection with a server.
struct Line {
    dial: Dial,
    /// None before the editor has said hello.
    connection: Option<HeaderValue>,
    /// What the server says.
    said: mpsc::Sender<String>,
    /// Sessions whose streams are read.
    open: HashSet<String>,
}

/// Which stream has ended, and the session that is to be opened because of what came by it.
enum Heard {
    Ended(Option<String>),
    Session(String),
}

impl Line {
    async fn run(mut self, input: tokio::io::ReadHalf<DuplexStream>) {
        let mut input = BufReader::new(input);
        let (heard, mut hearing) = mpsc::unbounded_channel();
        let mut streams = JoinSet::new();
        // Waiting for the next line is given up only at the end.
        let (lines, mut next) = mpsc::channel(1);
        streams.spawn(async move {
            while let Ok(Some(line)) = next_line(&mut input, MAX_LINE).await {
                if lines.send(line).await.is_err() {
                    return;
                }
            }
        });
        loop {
            let session = tokio::select! {
                line = next.recv() => {
                    let Some(line) = line else { break };
                    if let Some(id) = self.session_of(&line) {
                        self.listen(id, &mut streams, &heard).await;
                    }
                    match self.post(&line).await {
                        Ok(true) => self.listen_to_connection(&mut streams, &heard).await,
                        Ok(false) => {}
                        Err(Gone) => break,
                    }
                    continue;
                }
                heard = hearing.recv() => match heard {
                    Some(Heard::Session(id)) => id,
                    // One session's stream ends when the session is closed; the other one with the connection.
                    Some(Heard::Ended(Some(id))) => { self.open.remove(&id); continue }
                    Some(Heard::Ended(None)) | None => break,
                },
                else => break,
            };
            self.listen(session, &mut streams, &heard).await;
        }
        if let Some(connection) = &self.connection {
            let request = self.dial.client.delete(self.dial.endpoint.clone()).header(CONNECTION, connection);
            // The server may have gone.
            let _ = request.timeout(CONNECT).send().await;
        }
    }

    /// The session that a request of the editor is about, if its stream is not read yet.
    fn session_of(&self, line: &str) -> Option<String> {
        self.connection.as_ref()?;
        Envelope::of(line)?.session().filter(|id| !self.open.contains(id))
    }

    /// Posts a message; whether it opened the connection. An error of the server is the answer to a request.
    async fn post(&mut self, line: &str) -> Result<bool, Gone> {
        let mut request = self.dial.client.post(self.dial.endpoint.clone());
        if let Some(connection) = &self.connection {
            request = request.header(CONNECTION, connection);
        }
        let response =
            match request.header(CONTENT_TYPE, "application/json").body(line.to_owned()).send().await {
                Ok(response) => response,
                Err(error) => {
                    let reason =
                        format!("the server cannot be reached: {}", with_causes(&error.without_url()));
                    self.refuse(line, INTERNAL, &reason).await?;
                    return Err(Gone);
                }
            };
        let status = response.status();
        if status == StatusCode::NOT_FOUND && self.connection.is_some() {
            // It was restarted, or has closed the connection.
            return Err(Gone);
        }
        let opened = response.headers().get(CONNECTION).filter(|_| self.connection.is_none()).cloned();
        let body = response.text().await.map_err(|_| Gone)?;
        if !status.is_success() {
            // What the server does not read is not about the server.
            let code = if status == StatusCode::BAD_REQUEST { INVALID_PARAMS } else { INTERNAL };
            self.refuse(line, code, &refusal(status, &body)).await?;
            return Ok(false);
        }
        if !body.is_empty() {
            self.said.send(body).await.map_err(|_| Gone)?;
        }
        let is_open = opened.is_some();
        if is_open {
            self.connection = opened;
        }
        Ok(is_open)
    }

    /// Answers a message that the server does not take.
    async fn refuse(&self, line: &str, code: i32, reason: &str) -> Result<(), Gone> {
        let Some(answer) = answer(line, code, reason) else { return Ok(()) };
        self.said.send(answer).await.map_err(|_| Gone)
    }

    async fn listen_to_connection(
        &mut self,
        streams: &mut JoinSet<()>,
        heard: &mpsc::UnboundedSender<Heard>,
    ) {
        self.hear(None, streams, heard).await;
    }

    /// Reads the stream of a session.
    async fn listen(&mut self, id: String, streams: &mut JoinSet<()>, heard: &mpsc::UnboundedSender<Heard>) {
        if self.open.insert(id.clone()) {
            self.hear(Some(id), streams, heard).await;
        }
    }

    /// Opens a stream, so that nothing of it is missed by what is sent next, and reads it in a task.
    async fn hear(
        &mut self,
        session: Option<String>,
        streams: &mut JoinSet<()>,
        heard: &mpsc::UnboundedSender<Heard>,
    ) {
        let Some(connection) = &self.connection else { return };
        let mut request = self.dial.client.get(self.dial.endpoint.clone()).header(CONNECTION, connection);
        request = request.header(ACCEPT, "text/event-stream");
        if let Some(id) = &session {
            let Ok(value) = HeaderValue::from_str(id) else { return };
            request = request.header(HeaderName::from_static(SESSION), value);
        }
        let opened = request.send().await.ok().filter(|response| response.status().is_success());
        let Some(response) = opened else {
            // A session that does not exist has none; the answer to the request says so.
            let _ = heard.send(Heard::Ended(session));
            return;
        };
        let (said, heard) = (self.said.clone(), heard.clone());
        streams.spawn(async move {
            read(response, &said, &heard).await;
            // The line may be dead.
            let _ = heard.send(Heard::Ended(session));
        });
    }
}

/// The server or the editor has gone.
struct Gone;

/// Why the server refused a request, as its problem details say.
fn refusal(status: StatusCode, body: &str) -> String {
    let problem: Value = serde_json::from_str(body).unwrap_or_default();
    let detail = ["detail", "title"].iter().find_map(|name| problem.get(name)?.as_str());
    match detail {
        Some(detail) => format!("the server refuses this: {detail}"),
        None => format!("the server refuses this: {status}"),
    }
}

/// Passes on the messages of a stream of events until it ends.
async fn read(mut response: Response, said: &mpsc::Sender<String>, heard: &mpsc::UnboundedSender<Heard>) {
    let mut events = Events::default();
    while let Ok(Some(bytes)) = response.chunk().await {
        for message in events.take(&bytes) {
            if let Some(id) = Envelope::of(&message).and_then(|message| message.opened()) {
                let _ = heard.send(Heard::Session(id));
            }
            if said.send(message).await.is_err() {
                return;
            }
        }
    }
}

/// Splits a stream of events into their data.
#[derive(Debug, Default)]
struct Events {
    line: Vec<u8>,
    data: String,
}

impl Events {
    /// Takes bytes; the data of the events that they complete.
    fn take(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut found = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.last() != Some(&b'\n') {
                continue;
            }
            let line = String::from_utf8_lossy(&self.line).trim_end_matches(['\r', '\n']).to_owned();
            self.line.clear();
            if let Some(data) = line.strip_prefix("data:") {
                self.data.push_str(data.strip_prefix(' ').unwrap_or(data));
            } else if line.is_empty() && !self.data.is_empty() {
                found.push(std::mem::take(&mut self.data));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_found_wherever_their_bytes_are_split() {
        let stream =
            "id: 1\ndata: {\"a\":\ndata: 1}\n\n: ping\n\nevent: message\r\ndata:{\"b\":\"ü\"}\r\n\r\n"
                .as_bytes();
        for cut in 0..stream.len() {
            let mut events = Events::default();
            let mut found = events.take(&stream[..cut]);
            found.extend(events.take(&stream[cut..]));
            assert_eq!(found, ["{\"a\":1}", "{\"b\":\"ü\"}"], "{cut}");
        }
    }

    #[test]
    fn an_address_is_one_of_a_server() {
        let endpoint = |address: &str| Dial::new(address, None).map(|dial| dial.endpoint.to_string());
        assert_eq!(endpoint("http://127.0.0.1:4747").unwrap(), "http://127.0.0.1:4747/acp");
        assert_eq!(endpoint("https://example.com/weir/").unwrap(), "https://example.com/weir/acp");
        for bad in ["example.com", "ws://example.com", "http://", "file:///etc/passwd", ""] {
            let error = endpoint(bad).unwrap_err().to_string();
            assert!(error.contains("not a valid address"), "{bad}: {error}");
        }
        assert!(matches!(Dial::new("http://a", Some("a\nb")), Err(DialError::Token)));
        let shown = format!("{:?}", Dial::new("http://a", Some("hush")).unwrap());
        assert!(!shown.contains("hush"), "{shown}");
    }

    #[test]
    fn a_refusal_says_what_the_server_says() {
        let body = r#"{"type":"about:blank","title":"Unauthorized","detail":"the token is not valid"}"#;
        assert_eq!(
            refusal(StatusCode::UNAUTHORIZED, body),
            "the server refuses this: the token is not valid"
        );
        assert!(refusal(StatusCode::BAD_GATEWAY, "<html>").contains("502"));
    }
}
