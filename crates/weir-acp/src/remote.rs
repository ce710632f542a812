//! The remote transport: the protocol over HTTP, as a service for one holder of a token.

use agent_client_protocol::{Agent as AgentRole, Client, ConnectTo};
use agent_client_protocol_http::{AcpHttpServer, ServerOptions};
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Method, Request};
use axum::response::Response;
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
}

/// The agent of one connection.
struct Component(AcpAgent);

impl ConnectTo<Client> for Component {
    async fn connect_to(self, client: impl ConnectTo<AgentRole>) -> Result<(), agent_client_protocol::Error> {
        connection::serve(self.0, Outbox::default(), client).await
    }
}

impl Remote {
    /// The path at which requests are answered.
    pub const PATH: &'static str = "/acp";

    /// A service for one holder.
    pub fn new(agent: AcpAgent) -> Self {
        let options = ServerOptions::default().with_path(Self::PATH).with_health_endpoint(false);
        let server = AcpHttpServer::new(move || Component(agent.clone())).with_options(options);
        Self { router: server.into_router() }
    }

    /// Answers a request.
    pub async fn answer(&self, mut request: Request<Body>) -> Response {
        // Without these a request is not taken for a WebSocket.
        for name in ["upgrade", "sec-websocket-key", "sec-websocket-version"] {
            request.headers_mut().remove(name);
        }
        *request.uri_mut() = axum::http::Uri::from_static(Self::PATH);
        let mut router = self.router.clone();
        match router.call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }

    /// Ends a connection whose client has gone without saying so.
    pub async fn end(&self, connection: &str) {
        let Ok(id) = HeaderValue::from_str(connection) else { return };
        let mut request = Request::new(Body::empty());
        *request.method_mut() = Method::DELETE;
        request.headers_mut().insert(CONNECTION, id);
        drop(self.answer(request).await);
    }
}
