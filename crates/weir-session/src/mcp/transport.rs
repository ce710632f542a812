//! The transport of a server: two queues in memory.

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;

/// The server's end of a connection.
pub(crate) struct HostTransport {
    incoming: mpsc::UnboundedReceiver<ClientJsonRpcMessage>,
    outgoing: mpsc::UnboundedSender<ServerJsonRpcMessage>,
}

/// Our end of it.
pub(super) struct OurEnd {
    pub(super) to_server: mpsc::UnboundedSender<ClientJsonRpcMessage>,
    pub(super) from_server: mpsc::UnboundedReceiver<ServerJsonRpcMessage>,
}

/// The session no longer receives the server's messages.
#[derive(Debug, thiserror::Error)]
#[error("the session has ended")]
pub(crate) struct SessionEnded;

/// Creates both ends of a connection.
pub(super) fn connect() -> (HostTransport, OurEnd) {
    let (to_server, incoming) = mpsc::unbounded_channel();
    let (outgoing, from_server) = mpsc::unbounded_channel();
    (HostTransport { incoming, outgoing }, OurEnd { to_server, from_server })
}

impl Transport<RoleServer> for HostTransport {
    type Error = SessionEnded;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), SessionEnded>> + Send + 'static {
        // Sent at once and not in the future, which keeps the server's messages in order.
        std::future::ready(self.outgoing.send(message).map_err(|_| SessionEnded))
    }

    fn receive(&mut self) -> impl Future<Output = Option<ClientJsonRpcMessage>> + Send {
        self.incoming.recv()
    }

    fn close(&mut self) -> impl Future<Output = Result<(), SessionEnded>> + Send {
        self.incoming.close();
        std::future::ready(Ok(()))
    }
}
