//! The listener and its threads: one for each connection, all of them ended and joined on drop.

use std::collections::HashMap;
use std::io::{self, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::answer::{Answer, AnswerBody, Counters, answer, body_of};
use super::log::{Log, RecordedRequest};
use super::stream::Piece;
use crate::http::request::{Request, RequestReader, write_chunk, write_head, write_last_chunk};

/// Why the API could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApiError {
    /// No port could be opened.
    #[error("cannot open a port on 127.0.0.1 for the scripted API; is loopback up?")]
    Listen(#[source] io::Error),
    /// No thread could be started.
    #[error("cannot start a thread for the scripted API")]
    Thread(#[source] io::Error),
}

/// A Messages API on loopback that plays the scripts in the prompts. It ends when dropped.
///
/// ```
/// let api = weir_testkit::api::ScriptedApi::start()?;
/// assert!(api.url().starts_with("http://127.0.0.1:"));
/// assert!(api.requests().is_empty());
/// # Ok::<(), weir_testkit::api::ApiError>(())
/// ```
#[derive(Debug)]
pub struct ScriptedApi {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

impl ScriptedApi {
    /// Starts an API on a free port.
    ///
    /// # Errors
    /// If no port can be opened or no thread started.
    pub fn start() -> Result<Self, ApiError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(ApiError::Listen)?;
        let address = listener.local_addr().map_err(ApiError::Listen)?;
        let shared = Arc::new(Shared::default());
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("scripted-api".into())
            .spawn(move || accept(&listener, &for_thread))
            .map_err(ApiError::Thread)?;
        Ok(Self { address, shared, listener: Some(thread) })
    }

    /// Its base URL: the value for `ANTHROPIC_BASE_URL`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The requests so far, in order; only the last few thousand.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.lock().log.all().to_vec()
    }

    /// Waits until the requests so far satisfy the condition. Returns false on a timeout.
    pub fn wait_until(&self, deadline: Duration, condition: impl Fn(&[RecordedRequest]) -> bool) -> bool {
        let end = Instant::now() + deadline;
        let mut state = self.shared.lock();
        while !condition(state.log.all()) {
            let Some(left) = end.checked_duration_since(Instant::now()) else { return false };
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl Drop for ScriptedApi {
    fn drop(&mut self) {
        let connections = {
            let mut state = self.shared.lock();
            state.stopped = true;
            std::mem::take(&mut state.connections)
        };
        self.shared.changed.notify_all();
        // Each of these wakes a thread: the readers, and the one that accepts.
        for connection in connections.values() {
            let _gone_already = connection.stream.shutdown(Shutdown::Both);
        }
        let _refused_if_it_has_ended = TcpStream::connect(self.address);
        let threads = connections.into_values().map(|connection| connection.thread);
        for thread in self.listener.take().into_iter().chain(threads.flatten()) {
            let _panicked = thread.join();
        }
    }
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Signalled for each new request, and at the end.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    stopped: bool,
    counters: Counters,
    log: Log,
    next_connection: u64,
    connections: HashMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    /// `None` while it is being started.
    thread: Option<JoinHandle<()>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pauses, and returns whether to continue.
    fn pause(&self, pause: Duration) -> bool {
        let state = self.lock();
        let waited = self.changed.wait_timeout_while(state, pause, |state| !state.stopped);
        !waited.unwrap_or_else(PoisonError::into_inner).0.stopped
    }

    fn record(&self, request: RecordedRequest) {
        self.lock().log.push(request);
        self.changed.notify_all();
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        let mut state = shared.lock();
        if state.stopped {
            return;
        }
        // A client that is gone before it was accepted is not a reason to stop.
        let Ok(stream) = stream else { continue };
        let Ok(for_thread) = stream.try_clone() else { continue };
        state.next_connection += 1;
        let number = state.next_connection;
        state.connections.insert(number, Connection { stream, thread: None });
        let for_connection = Arc::clone(shared);
        let thread = std::thread::Builder::new().name(format!("scripted-api-{number}")).spawn(move || {
            // A client that disconnects in the middle of a response is normal: it was interrupted.
            let _gone = serve(for_thread, &for_connection);
            for_connection.lock().connections.remove(&number);
        });
        match (thread, state.connections.get_mut(&number)) {
            (Ok(thread), Some(connection)) => connection.thread = Some(thread),
            _ => {
                state.connections.remove(&number);
            }
        }
    }
}

/// Answers the requests of one connection until either side closes it.
fn serve(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut out = stream.try_clone()?;
    let mut reader = RequestReader::new(stream);
    while let Some(request) = reader.next_request()? {
        let (body, text) = body_of(&request);
        let mut record = RecordedRequest::new(&request, &body);
        let answer = answer(&request, &body, &text, &mut shared.lock().counters);
        record.status = answer.status;
        shared.record(record);
        if !shared.pause(answer.delay) || !send(&mut out, &request, answer, shared)? || request.closes() {
            break;
        }
    }
    out.shutdown(Shutdown::Both)
}

/// Sends a response. Returns false if nothing can follow on this connection.
fn send(out: &mut TcpStream, request: &Request, answer: Answer, shared: &Shared) -> io::Result<bool> {
    let Answer { status, mut headers, body, .. } = answer;
    match body {
        AnswerBody::Nothing => Ok(false),
        AnswerBody::Json(body) => {
            let body = body.to_string();
            headers.push(("content-type".into(), "application/json".into()));
            write_head(out, status, &headers, ("content-length", &body.len().to_string()))?;
            if request.method != "HEAD" {
                out.write_all(body.as_bytes())?;
            }
            Ok(true)
        }
        AnswerBody::Stream(pieces) => {
            headers.push(("content-type".into(), "text/event-stream".into()));
            write_head(out, status, &headers, ("transfer-encoding", "chunked"))?;
            for piece in pieces {
                match piece {
                    Piece::Send(bytes) => write_chunk(out, &bytes)?,
                    Piece::Pause(pause) if shared.pause(pause) => {}
                    Piece::Pause(_) | Piece::Cut => return Ok(false),
                }
            }
            write_last_chunk(out)?;
            Ok(true)
        }
    }
}
