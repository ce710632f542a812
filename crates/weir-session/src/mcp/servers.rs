//! The servers of a session, and the handler that routes requests to them.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::ServerHandler;
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use weir_wire::HostRequest;

use super::connection::Connection;
use super::guard::Guarded;
use super::transport::HostTransport;
use crate::ask::{Ask, Decision, McpRequest};
use crate::calls::WeakCaller;
use crate::driver::Call;
use crate::handler::{Deciding, Handler, denied};
use crate::machine::Command;

/// How long a server's next message waits for the CLI to accept the previous one. This keeps them in order; if
/// the CLI does not answer, the order is lost.
const IN_ORDER: Duration = Duration::from_secs(1);

/// Starts a server on a transport; returns why it ended.
pub(crate) type Factory =
    Arc<dyn Fn(HostTransport) -> Pin<Box<dyn Future<Output = String> + Send>> + Send + Sync>;

/// Creates a factory for this kind of server.
pub(crate) fn factory<S: ServerHandler>(make: impl Fn() -> S + Send + Sync + 'static) -> Factory {
    Arc::new(move |transport| {
        let server = Guarded(Arc::new(make()));
        Box::pin(async move {
            match rmcp::serve_server(server, transport).await {
                Ok(running) => match running.waiting().await {
                    Ok(reason) => format!("it has ended ({reason:?})"),
                    Err(error) => format!("it has ended ({error})"),
                },
                Err(error) => format!("it did not start ({error})"),
            }
        })
    })
}

/// The way back to the CLI.
#[derive(Clone)]
pub(super) struct BackChannel {
    /// Weak: a server must not keep its session alive.
    calls: WeakCaller,
}

impl BackChannel {
    /// Sends the CLI an unsolicited message.
    pub(super) async fn tell(&self, server: &str, message: Value) {
        let mut fields = Map::new();
        fields.insert("server_name".to_owned(), Value::String(server.to_owned()));
        fields.insert("message".to_owned(), message);
        let request = Box::new(HostRequest::Other { subtype: "mcp_message".to_owned(), fields });
        let (reply, taken) = oneshot::channel();
        let call = Call::Command(Box::new(move |ticket| Command::Request { ticket, request }), reply);
        // If the session is over or the CLI refuses, the message is dropped.
        if self.calls.send(call) {
            let _ = tokio::time::timeout(IN_ORDER, taken).await;
        }
    }
}

/// The servers of a session.
pub(crate) struct McpServers {
    factories: Mutex<Vec<(String, Factory)>>,
    live: Mutex<HashMap<String, Arc<Connection>>>,
    back_channel: BackChannel,
}

impl McpServers {
    pub(crate) fn new(factories: Vec<(String, Factory)>, calls: WeakCaller) -> Arc<Self> {
        let factories = Mutex::new(factories);
        Arc::new(Self { factories, live: Mutex::default(), back_channel: BackChannel { calls } })
    }

    /// Uses other servers from the next process on. Servers of a running process stay until it ends.
    pub(crate) fn replace(&self, factories: Vec<(String, Factory)>) {
        *self.factories.lock().unwrap_or_else(PoisonError::into_inner) = factories;
    }

    /// A handler that routes messages to these servers and leaves the rest to another handler.
    pub(crate) fn or(self: &Arc<Self>, otherwise: Option<Arc<dyn Handler>>) -> Arc<dyn Handler> {
        Arc::new(Served { servers: Arc::clone(self), otherwise })
    }

    /// The connection that a message belongs to. An `initialize` message begins a new one: the CLI has a new
    /// process.
    fn connection(&self, request: &McpRequest) -> Option<Arc<Connection>> {
        let name = &request.server;
        let is_greeting = request.message.get("method").and_then(Value::as_str) == Some("initialize");
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connection) = live.get(name).filter(|_| !is_greeting) {
            return Some(Arc::clone(connection));
        }
        let factories = self.factories.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, factory) = factories.iter().find(|(known, _)| known == name)?;
        let new = Arc::new(Connection::new(name, factory, self.back_channel.clone()));
        live.insert(name.clone(), Arc::clone(&new));
        Some(new)
    }
}

struct Served {
    servers: Arc<McpServers>,
    otherwise: Option<Arc<dyn Handler>>,
}

impl Handler for Served {
    fn decide(&self, ask: Ask) -> Deciding<'_> {
        if let Ask::Mcp(request) = &ask
            && let Some(connection) = self.servers.connection(request)
        {
            let message = request.message.clone();
            return Box::pin(async move { connection.deliver(message).await });
        }
        match &self.otherwise {
            Some(otherwise) => otherwise.decide(ask),
            None => {
                let decision: Decision = denied(&ask);
                Box::pin(std::future::ready(decision))
            }
        }
    }
}
