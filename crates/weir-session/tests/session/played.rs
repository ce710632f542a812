//! A CLI played by the test, line by line.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use weir_process::{Exit, Peer, Process};
use weir_session::{Message, Session, SessionError, SessionOptions, TurnEnd};

pub(crate) use weir_testkit::soon;

pub(crate) const SESSION: &str = "0b2bd3a5-6d0c-4c0e-9d5c-6f1f3f0c1a2b";

/// How a message ended.
pub(crate) type Answer = Result<Arc<TurnEnd>, SessionError>;

/// Provides the processes of a session.
pub(crate) struct Stage {
    processes: mpsc::UnboundedSender<Process>,
}

/// The CLI's side of one process.
pub(crate) struct Cli {
    peer: Peer,
}

/// A session whose processes the test provides.
pub(crate) fn session(mut options: SessionOptions) -> (Session, Stage) {
    // A peer does not end by itself.
    options.stop = weir_process::StopOptions::now();
    let (processes, receiver) = mpsc::unbounded_channel();
    (Session::over(options, receiver), Stage { processes })
}

/// Sends a message from a separate task.
pub(crate) fn asking(session: &Session, message: impl Into<Message>) -> JoinHandle<Answer> {
    let (session, message) = (session.clone(), message.into());
    // Not `Session::ask`, which turns a failed turn into an error.
    tokio::spawn(async move { session.send(message).await?.answer().await })
}

/// Lets everything happen that can happen without time passing.
pub(crate) async fn quiet() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

impl Stage {
    /// Provides the next process.
    pub(crate) fn next(&self) -> Cli {
        let (process, peer) = weir_process::memory();
        self.processes.send(process).expect("the session is alive");
        Cli { peer }
    }

    /// Whether no more processes are wanted.
    pub(crate) fn is_closed(&self) -> bool {
        self.processes.is_closed()
    }

    /// Provides a process that is ready and idle.
    pub(crate) async fn started(&self, session: &Session) -> Cli {
        let (started, cli) = tokio::join!(session.start(), self.ready());
        started.expect("it starts");
        cli
    }

    /// Provides the next process, which answers the handshake.
    pub(crate) async fn ready(&self) -> Cli {
        let mut cli = self.next();
        cli.handshake().await;
        cli
    }
}

impl Cli {
    /// The next line that the session wrote.
    pub(crate) async fn hears(&mut self) -> Value {
        let line = soon(self.peer.read_line()).await;
        serde_json::from_str(&line.expect("the input is open")).expect("a line is JSON")
    }

    /// Expects that the session closes the input without another line.
    pub(crate) async fn hears_nothing_more(&mut self) {
        assert_eq!(soon(self.peer.read_line()).await, None);
    }

    /// Expects that the session writes nothing, although it could.
    pub(crate) async fn hears_nothing_yet(&mut self) {
        let line = tokio::time::timeout(Duration::from_millis(1), self.peer.read_line()).await;
        assert_eq!(line.ok(), None, "nothing should have been written");
    }

    pub(crate) async fn says(&mut self, line: &Value) {
        assert!(soon(self.peer.write_line(&line.to_string())).await, "the session reads");
    }

    pub(crate) async fn says_raw(&mut self, bytes: &[u8]) {
        assert!(soon(self.peer.write(bytes)).await, "the session reads");
    }

    /// Answers `initialize`.
    pub(crate) async fn handshake(&mut self) {
        let request = self.hears_request("initialize").await;
        self.answers(&request, json!({"commands": []})).await;
        quiet().await;
    }

    /// The next line, which must be a control request of this kind.
    pub(crate) async fn hears_request(&mut self, subtype: &str) -> Value {
        let line = self.hears().await;
        assert_eq!(line["type"], "control_request", "{line}");
        assert_eq!(line["request"]["subtype"], subtype, "{line}");
        line
    }

    /// The next line, which must be a message; returns its uuid.
    pub(crate) async fn hears_message(&mut self, text: &str) -> String {
        let line = self.hears().await;
        assert_eq!(line["type"], "user", "{line}");
        assert_eq!(line["message"]["content"], text, "{line}");
        line["uuid"].as_str().expect("a message has an id").to_owned()
    }

    /// The next line, which must answer this request of ours; returns the response.
    pub(crate) async fn hears_answer(&mut self, request: &str) -> Value {
        let mut line = self.hears().await;
        assert_eq!(line["type"], "control_response", "{line}");
        assert_eq!(line["response"]["request_id"], request, "{line}");
        line["response"].take()
    }

    /// Answers a control request.
    pub(crate) async fn answers(&mut self, request: &Value, response: Value) {
        let id = &request["request_id"];
        let response = json!({"subtype": "success", "request_id": id, "response": response});
        self.says(&json!({"type": "control_response", "response": response})).await;
    }

    /// Refuses a control request.
    pub(crate) async fn refuses(&mut self, request: &Value, error: &str) {
        let id = &request["request_id"];
        let response = json!({"subtype": "error", "request_id": id, "error": error});
        self.says(&json!({"type": "control_response", "response": response})).await;
    }

    /// Sends a request to the host.
    pub(crate) async fn asks(&mut self, id: &str, request: Value) {
        self.says(&json!({"type": "control_request", "request_id": id, "request": request})).await;
    }

    /// Requests permission for a tool.
    pub(crate) async fn asks_for(&mut self, id: &str, tool: &str) {
        let request = json!({"subtype": "can_use_tool", "tool_name": tool, "input": {"command": "ls"},
            "tool_use_id": format!("toolu_{id}"), "permission_suggestions": []});
        self.asks(id, request).await;
    }

    /// Withdraws a request.
    pub(crate) async fn takes_back(&mut self, id: &str) {
        self.says(&json!({"type": "control_cancel_request", "request_id": id})).await;
    }

    pub(crate) async fn init(&mut self) {
        self.init_as(SESSION).await;
    }

    pub(crate) async fn init_as(&mut self, session: &str) {
        self.says(
            &json!({"type": "system", "subtype": "init", "session_id": session, "model": "m", "tools": [],
            "mcp_servers": [], "cwd": "/workspace", "permissionMode": "default", "apiKeySource": "none"}),
        )
        .await;
    }

    /// Text of the model.
    pub(crate) async fn text(&mut self, text: &str) {
        let message = json!({"id": format!("msg {text}"), "role": "assistant", "content": [{"type": "text", "text": text}]});
        self.says(&json!({"type": "assistant", "message": message, "session_id": SESSION})).await;
    }

    /// The model uses a tool.
    pub(crate) async fn tool(&mut self, id: &str) {
        let block = json!({"type": "tool_use", "id": format!("toolu_{id}"), "name": "Bash", "input": {"command": "ls"}});
        let message = json!({"id": format!("msg {id}"), "role": "assistant", "content": [block]});
        self.says(&json!({"type": "assistant", "message": message, "session_id": SESSION})).await;
    }

    /// A result that answers these messages; empty for a version that does not report ids.
    pub(crate) async fn result(&mut self, text: &str, answers: &[&str]) {
        let mut line = result(text);
        if !answers.is_empty() {
            line["user_message_uuids"] = json!(answers);
        }
        self.says(&line).await;
    }

    /// The result of an interrupted turn.
    pub(crate) async fn interrupted(&mut self) {
        let mut line = result("");
        line["subtype"] = json!("error_during_execution");
        line.as_object_mut().unwrap().remove("result");
        self.says(&line).await;
    }

    /// Reports these background tasks.
    pub(crate) async fn tasks(&mut self, tasks: &[&str]) {
        let tasks: Vec<Value> = tasks
            .iter()
            .map(|id| json!({"task_id": id, "task_type": "local_bash", "description": "works"}))
            .collect();
        self.says(&json!({"type": "system", "subtype": "background_tasks_changed", "tasks": tasks})).await;
    }

    /// Reports what became of a message.
    pub(crate) async fn lifecycle(&mut self, message: &str, state: &str) {
        self.says(&json!({"type": "command_lifecycle", "command_uuid": message, "state": state})).await;
    }

    /// A whole turn.
    pub(crate) async fn turn(&mut self, message: &str, answer: &str) {
        let id = self.hears_message(message).await;
        self.init().await;
        self.text(answer).await;
        self.result(answer, &[&id]).await;
    }

    /// Takes a message and begins its turn; returns its uuid.
    pub(crate) async fn begins(&mut self, message: &str) -> String {
        let id = self.hears_message(message).await;
        self.init().await;
        quiet().await;
        id
    }

    /// Closes its output and stops reading, but does not end.
    pub(crate) fn goes_deaf(mut self) -> Deaf {
        self.peer.close_output();
        Deaf { peer: self.peer }
    }

    pub(crate) fn exits(self, code: i32) {
        self.peer.exit(Exit::with_code(code));
    }

    pub(crate) fn peer_mut(&mut self) -> &mut Peer {
        &mut self.peer
    }
}

/// A CLI that has closed its output and takes some time to end.
pub(crate) struct Deaf {
    peer: Peer,
}

impl Deaf {
    pub(crate) fn exits(self, code: i32) {
        self.peer.exit(Exit::with_code(code));
    }
}

pub(crate) fn result(text: &str) -> Value {
    json!({"type": "result", "subtype": "success", "is_error": false, "result": text, "num_turns": 1,
        "duration_ms": 5, "duration_api_ms": 4, "session_id": SESSION, "total_cost_usd": 0.25,
        "usage": {"input_tokens": 1, "output_tokens": 1}, "modelUsage": {}, "permission_denials": []})
}
