//! The other end of a connection with an agent, on the level of JSON-RPC messages: it can do what no client library lets
//! one do.

use std::any::Any;
use std::collections::VecDeque;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;
use weir_testkit::soon;

/// An editor that speaks JSON-RPC by hand.
pub(crate) struct Peer {
    output: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    incoming: mpsc::UnboundedReceiver<String>,
    /// What came while something else was waited for, in order.
    pub(crate) seen: VecDeque<Value>,
    next_id: u64,
    /// What lives as long as the connection, such as the agent's process.
    _kept: Option<Box<dyn Any + Send>>,
}

impl Peer {
    pub(crate) fn new(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        let (sender, incoming) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut lines = BufReader::new(input).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { output: Some(Box::new(output)), incoming, seen: VecDeque::new(), next_id: 0, _kept: None }
    }

    /// Keeps something as long as the connection lives.
    pub(crate) fn keeping(self, kept: impl Any + Send) -> Self {
        Self { _kept: Some(Box::new(kept)), ..self }
    }

    /// Writes bytes as they are.
    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        let output = self.output.as_mut().unwrap();
        soon(output.write_all(bytes)).await.unwrap();
        soon(output.flush()).await.unwrap();
    }

    /// Closes this end's output.
    pub(crate) async fn hang_up(&mut self) {
        let mut output = self.output.take().unwrap();
        // The other end may have closed it.
        let _ = output.shutdown().await;
    }

    async fn message(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes()).await;
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.message(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    /// Sends a request and returns its id.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.message(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    pub(crate) async fn respond(&mut self, id: &Value, result: Value) {
        self.message(&json!({"jsonrpc": "2.0", "id": id, "result": result})).await;
    }

    pub(crate) async fn respond_with_error(&mut self, id: &Value, code: i64) {
        let error = json!({"code": code, "message": "no"});
        self.message(&json!({"jsonrpc": "2.0", "id": id, "error": error})).await;
    }

    /// The next message, whatever it is; none at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let line = soon(self.incoming.recv()).await?;
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        assert_eq!(message["jsonrpc"], "2.0", "the agent wrote what is not a message: {line}");
        Some(message)
    }

    /// Waits for a message; what comes before is kept in `seen`.
    pub(crate) async fn until(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(place) = self.seen.iter().position(&is_it) {
            return self.seen.remove(place).unwrap();
        }
        loop {
            let Some(message) = self.next().await else {
                panic!("closed before {what}; seen {:?}", self.seen)
            };
            if is_it(&message) {
                return message;
            }
            self.seen.push_back(message);
        }
    }

    /// Waits for the response to a request.
    pub(crate) async fn response(&mut self, id: u64) -> Result<Value, Value> {
        let is_it = |message: &Value| message["id"] == id && message.get("method").is_none();
        let mut message = self.until(&format!("the response to {id}"), is_it).await;
        match message.get_mut("result") {
            Some(result) => Ok(result.take()),
            None => Err(message["error"].take()),
        }
    }

    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.request(method, params).await;
        self.response(id).await
    }

    /// Waits for a request of the agent.
    pub(crate) async fn asked(&mut self, method: &str) -> Value {
        self.until(method, |message| message["method"] == method && message.get("id").is_some()).await
    }

    /// Waits for an update of this kind.
    pub(crate) async fn update(&mut self, kind: &str) -> Value {
        let is_it = |message: &Value| message["params"]["update"]["sessionUpdate"] == kind;
        self.until(kind, is_it).await["params"]["update"].take()
    }

    /// Sends a prompt with a text.
    pub(crate) async fn prompt(&mut self, session: &str, text: &str) -> u64 {
        let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
        self.request("session/prompt", params).await
    }

    /// Sends a prompt and waits for its end.
    pub(crate) async fn ask(&mut self, session: &str, text: &str) -> Result<Value, Value> {
        let id = self.prompt(session, text).await;
        self.response(id).await
    }

    /// The updates that came so far, in order, and forgets all that came.
    pub(crate) fn updates(&mut self) -> Vec<Value> {
        let all = self.seen.drain(..);
        all.filter_map(|mut message| Some(message.pointer_mut("/params/update")?.take())).collect()
    }
}

/// The text of all updates of this kind.
pub(crate) fn text_of(updates: &[Value], kind: &str) -> String {
    let chunks = updates.iter().filter(|update| update["sessionUpdate"] == kind);
    chunks.filter_map(|update| update["content"]["text"].as_str()).collect()
}
