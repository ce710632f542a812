//! The host's events as reports for the chat. System events are left out.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::Value;
use weir_transcript::{RequestKind, RequestState, TurnCause};
use weir_wire::MessageId;

use super::asking::{kind, other_request, rule_in_words};
use crate::engine::{Ask, Report};

/// Turns events into reports.
#[derive(Debug)]
pub(super) struct Listener {
    /// Turns that nobody asked for.
    unasked: HashSet<u64>,
    /// Turns of messages that did not come from a chat: somebody talks to the session on the page.
    others: HashSet<u64>,
    /// Requests that the chat was told of, with the rules that would let them pass from now on.
    asked: Suggestions,
    /// Tools that gave pictures back, of which the chat was not told.
    pictured: Vec<String>,
}

/// Rules that would let a request pass from now on, by request.
pub(super) type Suggestions = Arc<Mutex<HashMap<String, Vec<Value>>>>;

#[derive(Debug, Deserialize)]
struct Envelope {
    #[serde(default)]
    turn_id: Option<u64>,
    #[serde(default)]
    parent_tool_use_id: Option<String>,
    #[serde(flatten)]
    rest: Value,
}

#[derive(Debug, Deserialize)]
struct Text {
    entry: u64,
    text: String,
    #[serde(default)]
    replaces: bool,
}

#[derive(Debug, Deserialize)]
struct Tool {
    tool_use_id: String,
    name: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    output: Option<ToolOutput>,
}

#[derive(Debug, Deserialize)]
struct ToolOutput {
    #[serde(default)]
    images: u32,
}

#[derive(Debug, Deserialize)]
struct Request {
    request_id: String,
    request: RequestKind,
    state: RequestState,
}

impl Listener {
    /// A listener that keeps the rules of open requests here.
    pub(super) fn new(asked: Suggestions) -> Self {
        Self { unasked: HashSet::new(), others: HashSet::new(), asked, pictured: Vec::new() }
    }

    /// The turn that an event begins, with its messages; nothing where it begins none, or one that nobody asked for.
    pub(super) fn begins(event: &str, data: &[u8]) -> Option<(u64, Vec<MessageId>)> {
        #[derive(Deserialize)]
        struct Start {
            turn_id: u64,
            cause: TurnCause,
            messages: Vec<MessageId>,
        }
        let start: Start = serde_json::from_slice(data).ok().filter(|_| event == "agent-message-start")?;
        (start.cause == TurnCause::Message).then_some((start.turn_id, start.messages))
    }

    /// What is said in this turn is not for the chat. Its requests are.
    pub(super) fn leave_out(&mut self, turn: u64) {
        self.others.insert(turn);
    }

    /// Tools that gave pictures back since this was asked last.
    pub(super) fn take_pictured(&mut self) -> Vec<String> {
        std::mem::take(&mut self.pictured)
    }

    fn asked(&self) -> MutexGuard<'_, HashMap<String, Vec<Value>>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What an event means for the chat.
    pub(super) fn hear(&mut self, event: &str, data: &[u8]) -> Option<Report> {
        let envelope: Envelope = serde_json::from_slice(data).ok()?;
        if matches!(event, "agent-permission" | "agent-question") {
            return self.request(serde_json::from_value(envelope.rest).ok()?);
        }
        // What sub-agents say and do is summed up by the one that started them.
        if envelope.parent_tool_use_id.is_some() {
            return None;
        }
        if event == "agent-message-start" {
            self.started(envelope.turn_id, &envelope.rest);
            return None;
        }
        let is_unasked = envelope.turn_id.is_some_and(|turn| self.unasked.contains(&turn));
        if event == "agent-message-end" {
            let text = envelope.rest.get("text").and_then(Value::as_str).unwrap_or_default().trim();
            if let Some(turn) = envelope.turn_id {
                self.unasked.remove(&turn);
                self.others.remove(&turn);
            }
            return (is_unasked && !text.is_empty()).then(|| Report::Unasked { text: text.to_owned() });
        }
        if is_unasked || envelope.turn_id.is_some_and(|turn| self.others.contains(&turn)) {
            return None;
        }
        match event {
            "agent-text-delta" => {
                let Text { entry, text, replaces } = serde_json::from_value(envelope.rest).ok()?;
                Some(Report::Text { block: entry, text, replaces })
            }
            "agent-tool-start" => {
                let tool: Tool = serde_json::from_value(envelope.rest).ok()?;
                let title =
                    if tool.title.is_empty() { tool.name } else { format!("{}: {}", tool.name, tool.title) };
                Some(Report::ToolStarted { id: tool.tool_use_id, title })
            }
            "agent-tool-end" => {
                let tool: Tool = serde_json::from_value(envelope.rest).ok()?;
                if tool.output.is_some_and(|output| output.images > 0) {
                    self.pictured.push(tool.tool_use_id.clone());
                }
                Some(Report::ToolEnded { id: tool.tool_use_id })
            }
            "agent-error" => {
                let message = envelope.rest.get("message").and_then(Value::as_str)?;
                Some(Report::Delayed {
                    reason: message.lines().next().unwrap_or_default().chars().take(200).collect(),
                })
            }
            _ => None,
        }
    }

    fn started(&mut self, turn: Option<u64>, rest: &Value) {
        let cause = rest.get("cause").and_then(|cause| serde_json::from_value(cause.clone()).ok());
        if let (Some(turn), Some(TurnCause::Unasked { .. })) = (turn, cause) {
            self.unasked.insert(turn);
        }
    }

    fn request(&self, request: Request) -> Option<Report> {
        let Request { request_id, request, state } = request;
        let how = match state {
            RequestState::Open => {
                let rules = match &request {
                    RequestKind::Permission { suggestions, .. } => {
                        suggestions.iter().filter(|rule| rule_in_words(rule).is_some()).cloned().collect()
                    }
                    _ => Vec::new(),
                };
                if self.asked().insert(request_id.clone(), rules).is_some() {
                    return None;
                }
                let other = other_request(&request);
                return match kind(request) {
                    Some(kind) => Some(Report::Asked(Ask { request: request_id, kind })),
                    None => other.map(|text| Report::Unasked { text }),
                };
            }
            RequestState::Allowed { by, .. } => by_whom("Allowed", by),
            RequestState::Denied { by, .. } => by_whom("Denied", by),
            RequestState::Expired => "Nobody answered in time, so it was denied.".to_owned(),
            RequestState::Cancelled => "It is no longer needed.".to_owned(),
            _ => "It was answered elsewhere.".to_owned(),
        };
        self.asked().remove(&request_id).map(|_| Report::Settled { request: request_id, how })
    }
}

fn by_whom(verb: &str, by: Option<String>) -> String {
    match by {
        Some(by) => format!("{verb} by {by}."),
        None => format!("{verb} elsewhere."),
    }
}
