//! The remote transport: the protocol over HTTP, as a service for one holder of a token.
//!
//! What is said to an editor that does not read its streams waits in the library's mailboxes, which have no limit. So what
//! leaves in a stream is counted, and an editor that leaves too much unread is told nothing more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol::{Agent as AgentRole, Client, ConnectTo};
use agent_client_protocol_http::{AcpHttpServer, ServerOptions};
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use tower::Service as _;

use crate::agent::AcpAgent;
use crate::connection;
use crate::outbox::Outbox;

/// The header that names a connection.
pub const CONNECTION: &str = "acp-connection-id";

/// The header that names a session.
pub const SESSION: &str = "acp-session-id";

/// The remote transport for whom an agent's guard speaks. Its connections are its own: another holder's service does not
/// know them. Cloning gives another handle to the same connections.
///
/// It answers `POST`, `GET` for a stream of events, and `DELETE`. It has no WebSockets, which outlive the check of the
/// token that opened them. It does not authenticate anyone: that is the caller's part.
#[derive(Debug, Clone)]
pub struct Remote {
    router: Router,
    /// By connection.
    outboxes: Arc<Mutex<HashMap<String, Outbox>>>,
}

tokio::task_local! {
    /// The outbox of the connection that a request opens.
    static OPENED: Outbox;
}

/// The agent of one connection.
struct Component(AcpAgent, Outbox);

impl ConnectTo<Client> for Component {
    async fn connect_to(self, client: impl ConnectTo<AgentRole>) -> Result<(), agent_client_protocol::Error> {
        connection::serve(self.0, self.1, client).await
    }
}

impl Remote {
    /// The path at which requests are answered.
    pub const PATH: &'static str = "/acp";

    /// A service for one holder.
    pub fn new(agent: AcpAgent) -> Self {
        let options = ServerOptions::default().with_path(Self::PATH).with_health_endpoint(false);
        let outbox = || OPENED.try_with(Outbox::clone).unwrap_or_else(|_| Outbox::of_streams());
        let server = AcpHttpServer::new(move || Component(agent.clone(), outbox())).with_options(options);
        Self { router: server.into_router(), outboxes: Arc::default() }
    }

    fn outboxes(&self) -> MutexGuard<'_, HashMap<String, Outbox>> {
        // No statement under the lock can panic halfway through.
        self.outboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a request.
    pub async fn answer(&self, mut request: Request<Body>) -> Response {
        // Without these a request is not taken for a WebSocket.
        for name in ["upgrade", "sec-websocket-key", "sec-websocket-version"] {
            request.headers_mut().remove(name);
        }
        *request.uri_mut() = axum::http::Uri::from_static(Self::PATH);
        let method = request.method().clone();
        let named = text(request.headers(), CONNECTION);
        let session = text(request.headers(), SESSION);
        let known = named.as_ref().and_then(|id| self.outboxes().get(id).cloned());
        if method == Method::POST && known.as_ref().is_some_and(Outbox::is_overfull) {
            let detail = "too much that was said to this connection is unread; read its streams";
            return (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "5")], detail).into_response();
        }
        let opened = Outbox::of_streams();
        let mut router = self.router.clone();
        let response = match OPENED.scope(opened.clone(), router.call(request)).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        if method == Method::DELETE
            && let Some(id) = &named
        {
            self.outboxes().remove(id);
        }
        match (text(response.headers(), CONNECTION), known) {
            (Some(id), None) if named.is_none() => {
                self.outboxes().insert(id, opened);
                response
            }
            // The library opens a connection for each `initialize`, whatever connection is named, and would not count it.
            (Some(id), _) if named.as_ref().is_some_and(|named| *named != id) => {
                self.delete(&id).await;
                let detail = "initialize opens a connection of its own: leave out Acp-Connection-Id";
                (StatusCode::BAD_REQUEST, detail).into_response()
            }
            (_, Some(outbox)) if method == Method::GET => counted(response, outbox, session),
            _ => response,
        }
    }

    /// Ends a connection whose client has gone without saying so.
    pub async fn end(&self, connection: &str) {
        self.outboxes().remove(connection);
        self.delete(connection).await;
    }

    async fn delete(&self, connection: &str) {
        let Ok(id) = HeaderValue::from_str(connection) else { return };
        let mut request = Request::new(Body::empty());
        (*request.method_mut(), *request.uri_mut()) =
            (Method::DELETE, axum::http::Uri::from_static(Self::PATH));
        request.headers_mut().insert(CONNECTION, id);
        drop(self.router.clone().call(request).await);
    }
}

/// A stream that reports what it has delivered: one message an event. It may be opened before its session is.
fn counted(response: Response, outbox: Outbox, session: Option<String>) -> Response {
    let (parts, body) = response.into_parts();
    let stream = body.into_data_stream().inspect(move |chunk| {
        let lines = chunk.iter().flat_map(|chunk| chunk.split(|byte| *byte == b'\n'));
        for _ in lines.filter(|line| line.starts_with(b"data:")) {
            match &session {
                Some(session) => outbox.of_known_session(session).taken(),
                None => outbox.taken(),
            }
        }
    });
    Response::from_parts(parts, Body::from_stream(stream))
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}
