//! A played CLI based on observations of real ones: it reads, thinks, asks, runs tools, and has its own
//! interpretation of an interrupt before a turn has begun.

use std::collections::VecDeque;

use serde_json::{Value, json};

/// How a version treats messages that it has received and not begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// 2.1.9: does not report message ids, cannot cancel, and applies an interrupt to the waiting message.
    Old,
    /// 2.1.325: reports message ids; on an interrupt it drops cancelled messages. An interrupt alone applies to
    /// the first message of the process and is ignored for others.
    New,
    /// Reports message ids, but neither cancels nor remembers anything: only a running turn can be ended.
    Stubborn,
}

/// The next step of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Model,
    Asks,
    Waits,
    Tool,
    LastWords,
}

#[derive(Debug)]
pub(super) struct Played {
    version: Version,
    /// Written to it, but not read yet.
    inbox: VecDeque<Value>,
    /// Written by it, but not received by us yet.
    outbox: VecDeque<Value>,
    waiting: VecDeque<String>,
    turn: Option<(String, Stage)>,
    is_first: bool,
    keeps_interrupt: bool,
    asks: usize,
    /// Whether a tool needs permission.
    asks_first: bool,
    /// The messages for which a tool was started, in order.
    pub(super) tools: Vec<String>,
    /// The messages that it has finished by itself.
    pub(super) finished: Vec<String>,
}

impl Played {
    pub(super) fn new(version: Version, asks_first: bool) -> Self {
        Self {
            version,
            inbox: VecDeque::new(),
            outbox: VecDeque::new(),
            waiting: VecDeque::new(),
            turn: None,
            is_first: true,
            keeps_interrupt: false,
            asks: 0,
            asks_first,
            tools: Vec::new(),
            finished: Vec::new(),
        }
    }

    pub(super) fn write(&mut self, line: Value) {
        self.inbox.push_back(line);
    }

    /// The messages that it never read.
    pub(super) fn unread(&self) -> Vec<String> {
        let users = self.inbox.iter().filter(|line| line["type"] == "user");
        users.filter_map(|line| Some(line["uuid"].as_str()?.to_owned())).collect()
    }

    /// A new process: what the previous one had read and written is gone.
    pub(super) fn restarts(&mut self) {
        let Self { version, asks_first, tools, finished, .. } = self;
        let (tools, finished) = (std::mem::take(tools), std::mem::take(finished));
        *self = Self { tools, finished, ..Self::new(*version, *asks_first) };
    }

    pub(super) fn can_read(&self) -> bool {
        !self.inbox.is_empty()
    }

    pub(super) fn can_work(&self) -> bool {
        match &self.turn {
            None => !self.waiting.is_empty(),
            Some((_, Stage::Waits)) => false,
            // Before a tool starts, all output is received and all input is read: calls to the model, which
            // take much longer, lie in between.
            Some((_, Stage::Tool)) => self.inbox.is_empty() && self.outbox.is_empty(),
            Some(_) => true,
        }
    }

    /// The next line of its output.
    pub(super) fn says(&mut self) -> Option<Value> {
        self.outbox.pop_front()
    }

    pub(super) fn reads(&mut self) {
        let Some(line) = self.inbox.pop_front() else { return };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match line["type"].as_str() {
            Some("user") => {
                let id = text(&line["uuid"]);
                self.lifecycle(&id, "queued");
                self.waiting.push_back(id);
            }
            Some("control_response") if matches!(self.turn, Some((_, Stage::Waits))) => {
                let is_allowed = line["response"]["response"]["behavior"] == "allow";
                if let Some((_, stage)) = &mut self.turn {
                    *stage = if is_allowed { Stage::Tool } else { Stage::LastWords };
                }
            }
            Some("control_request") => {
                let answer = match line["request"]["subtype"].as_str() {
                    Some("interrupt") => Some(self.interrupted()),
                    Some("cancel_async_message") => self.cancelled(&text(&line["request"]["message_uuid"])),
                    _ => Some(json!({})),
                };
                if let Some(answer) = answer {
                    let response =
                        json!({"subtype": "success", "request_id": line["request_id"], "response": answer});
                    self.outbox.push_back(json!({"type": "control_response", "response": response}));
                }
            }
            _ => {}
        }
    }

    fn interrupted(&mut self) -> Value {
        match self.turn.take() {
            Some((id, _)) => self.ends(&id, true),
            None if self.version == Version::Old || self.version == Version::New && self.is_first => {
                self.keeps_interrupt = !self.waiting.is_empty();
            }
            None => {}
        }
        json!({})
    }

    fn cancelled(&mut self, id: &str) -> Option<Value> {
        match self.version {
            // It does not answer requests that it does not know.
            Version::Old => None,
            Version::Stubborn => Some(json!({"cancelled": false})),
            Version::New => {
                let before = self.waiting.len();
                self.waiting.retain(|waiting| waiting != id);
                let is_cancelled = before != self.waiting.len();
                if is_cancelled {
                    self.lifecycle(id, "cancelled");
                }
                Some(json!({"cancelled": is_cancelled}))
            }
        }
    }

    pub(super) fn works(&mut self) {
        let Some((id, stage)) = self.turn.take() else { return self.begins() };
        let next = match stage {
            Stage::Model => {
                let tool =
                    json!({"type": "tool_use", "id": format!("toolu-{id}"), "name": "Bash", "input": {}});
                let message = json!({"id": format!("msg-{id}"), "content": [tool]});
                self.outbox.push_back(json!({"type": "assistant", "message": message}));
                if self.asks_first { Stage::Asks } else { Stage::Tool }
            }
            Stage::Asks => {
                self.asks += 1;
                let request = json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {},
                    "tool_use_id": format!("toolu-{id}")});
                self.outbox.push_back(json!({"type": "control_request", "request": request,
                    "request_id": format!("{id}-{}", self.asks)}));
                Stage::Waits
            }
            Stage::Waits => Stage::Waits,
            Stage::Tool => {
                self.tools.push(id.clone());
                Stage::LastWords
            }
            Stage::LastWords => return self.ends(&id, false),
        };
        self.turn = Some((id, next));
    }

    fn begins(&mut self) {
        let Some(id) = self.waiting.pop_front() else { return };
        self.is_first = false;
        self.lifecycle(&id, "started");
        self.outbox.push_back(json!({"type": "system", "subtype": "init", "session_id": "s", "model": "m",
            "tools": [], "mcp_servers": []}));
        if std::mem::take(&mut self.keeps_interrupt) {
            self.ends(&id, true);
        } else {
            self.turn = Some((id, Stage::Model));
        }
    }

    fn ends(&mut self, id: &str, is_interrupted: bool) {
        let subtype = if is_interrupted { "error_during_execution" } else { "success" };
        let mut line = json!({"type": "result", "subtype": subtype, "is_error": is_interrupted,
            "num_turns": 1, "session_id": "s", "result": "words"});
        if self.version != Version::Old {
            line["user_message_uuids"] = json!([id]);
        }
        self.outbox.push_back(line);
        self.lifecycle(id, if is_interrupted { "cancelled" } else { "completed" });
        if !is_interrupted {
            self.finished.push(id.to_owned());
        }
    }

    fn lifecycle(&mut self, id: &str, state: &str) {
        if self.version != Version::Old {
            let line = json!({"type": "command_lifecycle", "command_uuid": id, "state": state});
            self.outbox.push_back(line);
        }
    }
}
