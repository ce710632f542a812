//! The servers of a session.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use rmcp::ServerHandler;
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use weir_wire::HostRequest;

use super::connection::Connection;
use super::guard::Guarded;
use super::transport::HostTransport;
use crate::ask::{Ask, McpRequest};
use crate::calls::WeakCaller;
use crate::driver::Call;
use crate::handler::Deciding;
use crate::machine::Command;

/// How long what a server says next waits for the CLI to take what it said before. It keeps the order; a CLI that does
/// not answer loses that.
const IN_ORDER: Duration = Duration::from_secs(1);

/// Starts a server on a transport; gives the reason for its end.
pub(crate) type Factory =
    Arc<dyn Fn(HostTransport) -> Pin<Box<dyn Future<Output = String> + Send>> + Send + Sync>;

/// What starts a server of this kind.
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
pub(super) struct Outlet {
    /// Weak: a server must not keep its session alive.
    calls: WeakCaller,
}

impl Outlet {
    /// Tells the CLI something that it did not ask for.
    pub(super) async fn tell(&self, server: &str, message: Value) {
        let mut fields = Map::new();
        fields.insert("server_name".to_owned(), Value::String(server.to_owned()));
        fields.insert("message".to_owned(), message);
        let request = Box::new(HostRequest::Other { subtype: "mcp_message".to_owned(), fields });
        let (reply, taken) = oneshot::channel();
        let call = Call::Command(Box::new(move |ticket| Command::Request { ticket, request }), reply);
        // If the session is over or the CLI refuses, there is nobody left to tell.
        if self.calls.send(call) {
            let _ = tokio::time::timeout(IN_ORDER, taken).await;
        }
    }
}

/// The servers of a session.
pub(crate) struct McpServers {
    factories: Vec<(String, Factory)>,
    live: HashMap<String, Arc<Connection>>,
    outlet: Outlet,
}

impl McpServers {
    /// The servers of a session, if it has any.
    pub(crate) fn new(factories: Vec<(String, Factory)>, calls: WeakCaller) -> Option<Box<Self>> {
        let some = !factories.is_empty();
        some.then(|| Box::new(Self { factories, live: HashMap::new(), outlet: Outlet { calls } }))
    }

    /// Others from now on. Those that run go on until the process does not.
    pub(crate) fn replace(
        before: Option<Box<Self>>,
        factories: Vec<(String, Factory)>,
        calls: WeakCaller,
    ) -> Option<Box<Self>> {
        match before {
            Some(mut servers) => {
                servers.factories = factories;
                Some(servers)
            }
            None => Self::new(factories, calls),
        }
    }

    /// What will answer a request, if it is for one of these servers.
    pub(crate) fn deliver(&mut self, ask: &Ask) -> Option<Deciding<'static>> {
        let Ask::Mcp(request) = ask else { return None };
        let connection = self.connection(request)?;
        let message = request.message.clone();
        Some(Box::pin(async move { connection.deliver(message).await }))
    }

    /// The connection that a message belongs to. A greeting begins a new one: the CLI has a new process.
    fn connection(&mut self, request: &McpRequest) -> Option<Arc<Connection>> {
        let is_greeting = request.message.get("method").and_then(Value::as_str) == Some("initialize");
        let known = self.live.get(&request.server).filter(|_| !is_greeting);
        if let Some(known) = known {
            return Some(Arc::clone(known));
        }
        let (name, factory) = self.factories.iter().find(|(name, _)| *name == request.server)?;
        let new = Arc::new(Connection::new(name, factory, self.outlet.clone()));
        self.live.insert(name.clone(), Arc::clone(&new));
        Some(new)
    }
}
