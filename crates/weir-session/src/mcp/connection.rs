//! One server, for one process of the CLI.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification, ErrorData,
    JsonRpcMessage, JsonRpcNotification, RequestId, ServerJsonRpcMessage,
};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::servers::{BackChannel, Factory};
use super::transport::{OurEnd, connect};
use crate::ask::Decision;

/// Requests of the CLI that the server has not answered yet.
#[derive(Default)]
struct Pending {
    waiting: HashMap<RequestId, oneshot::Sender<ServerJsonRpcMessage>>,
    /// Why the server ended, if it has.
    ended: Option<String>,
}

type SharedPending = Arc<Mutex<Pending>>;

/// One server, for one process of the CLI. The server ends when this is dropped.
pub(super) struct Connection {
    name: String,
    to_server: mpsc::UnboundedSender<ClientJsonRpcMessage>,
    pending: SharedPending,
    _tasks: JoinSet<()>,
}

impl Connection {
    /// Starts a server.
    pub(super) fn new(name: &str, factory: &Factory, back_channel: BackChannel) -> Self {
        let (transport, OurEnd { to_server, from_server }) = connect();
        let pending = SharedPending::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(pump(from_server, Arc::clone(&pending), name.to_owned(), back_channel));
        // The future is created inside the task: the factory may panic, which must only affect the server.
        let (factory, ended) = (Arc::clone(factory), EndOnDrop(Arc::clone(&pending)));
        tasks.spawn(async move {
            let reason = factory(transport).await;
            ended.end(reason);
        });
        Self { name: name.to_owned(), to_server, pending, _tasks: tasks }
    }

    /// Passes a message to the server and waits for its answer, if it expects one.
    pub(super) async fn deliver(&self, message: Value) -> Decision {
        let id = message.get("id").cloned();
        match serde_json::from_value::<ClientJsonRpcMessage>(message) {
            Ok(JsonRpcMessage::Request(request)) => {
                let id = request.id.clone();
                self.request(id, JsonRpcMessage::Request(request)).await
            }
            Ok(message) => {
                if let JsonRpcMessage::Notification(JsonRpcNotification {
                    notification: ClientNotification::CancelledNotification(cancelled),
                    ..
                }) = &message
                {
                    self.give_up(cancelled.params.request_id.as_ref());
                }
                // If the server is gone, the message is dropped.
                let _ = self.to_server.send(message);
                // The CLI expects an answer to everything, even where JSON-RPC has none.
                Decision::Value(json!({"jsonrpc": "2.0", "id": id.unwrap_or(json!(0)), "result": {}}))
            }
            Err(error) => Decision::Error(format!(
                "the MCP server {} was sent an invalid MCP message: {error}",
                self.name
            )),
        }
    }

    async fn request(&self, id: RequestId, message: ClientJsonRpcMessage) -> Decision {
        let (sender, answer) = oneshot::channel();
        {
            let mut pending = lock(&self.pending);
            if let Some(reason) = &pending.ended {
                return Decision::Error(self.gone(reason));
            }
            pending.waiting.insert(id.clone(), sender);
        }
        let mut withdrawal = Withdrawal { connection: self, id: Some(id) };
        // If the server has ended, the sender of the answer is dropped.
        let _ = self.to_server.send(message);
        let answer = answer.await;
        withdrawal.id = None;
        match answer.map(|answer| serde_json::to_value(&answer)) {
            Ok(Ok(answer)) => Decision::Value(answer),
            Ok(Err(error)) => {
                Decision::Error(format!("the answer of the MCP server {} is not JSON: {error}", self.name))
            }
            Err(_) => {
                let reason = lock(&self.pending).ended.clone();
                Decision::Error(self.gone(reason.as_deref().unwrap_or("it dropped the request")))
            }
        }
    }

    fn gone(&self, reason: &str) -> String {
        format!("the MCP server {} does not answer: {reason}", self.name)
    }

    /// Answers a request whose answer is no longer wanted.
    fn give_up(&self, id: Option<&RequestId>) {
        let Some(id) = id else { return };
        let waiting = lock(&self.pending).waiting.remove(id);
        if let Some(waiting) = waiting {
            let error = ErrorData::internal_error("the request was cancelled", None);
            // The receiver may be gone as well.
            let _ = waiting.send(JsonRpcMessage::error(error, Some(id.clone())));
        }
    }
}

/// Tells the server that a request was withdrawn, if the future waiting for its answer is dropped.
struct Withdrawal<'c> {
    connection: &'c Connection,
    id: Option<RequestId>,
}

impl Drop for Withdrawal<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        lock(&self.connection.pending).waiting.remove(&id);
        let params = CancelledNotificationParam::new(Some(id), Some("withdrawn".to_owned()));
        let cancelled = ClientNotification::CancelledNotification(CancelledNotification::new(params));
        let _ = self.connection.to_server.send(JsonRpcMessage::notification(cancelled));
    }
}

/// Records why the server ended, even if it panicked.
struct EndOnDrop(SharedPending);

impl EndOnDrop {
    fn end(&self, reason: String) {
        let mut pending = lock(&self.0);
        pending.ended.get_or_insert(reason);
        // This wakes those who are waiting.
        pending.waiting.clear();
    }
}

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.end("it panicked, or was stopped".to_owned());
    }
}

/// Routes the server's messages: answers to pending requests, everything else to the CLI.
async fn pump(
    mut from_server: mpsc::UnboundedReceiver<ServerJsonRpcMessage>,
    pending: SharedPending,
    name: String,
    back_channel: BackChannel,
) {
    while let Some(message) = from_server.recv().await {
        let id = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        match id {
            Some(id) => {
                let waiting = lock(&pending).waiting.remove(&id);
                // A cancelled request has no receiver for its answer.
                if let Some(waiting) = waiting {
                    let _ = waiting.send(message);
                }
            }
            None => {
                if let Ok(message) = serde_json::to_value(&message) {
                    back_channel.tell(&name, message).await;
                }
            }
        }
    }
}

fn lock(pending: &SharedPending) -> MutexGuard<'_, Pending> {
    // No statement under the lock can panic halfway.
    pending.lock().unwrap_or_else(PoisonError::into_inner)
}
