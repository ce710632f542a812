//! Converts the host's events to reports for the chat. System events are left out.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_transcript::{AgentEvent, AgentEventKind, PermissionRequest, RequestKind, RequestState, TurnCause};
use weir_wire::{MessageId, PermissionUpdate, RequestId, TurnId};

use super::asking::{kind, other_request};
use crate::engine::{Ask, Report};

/// Converts events to reports.
#[derive(Debug)]
pub(super) struct Listener {
    /// Turns that do not answer a message.
    unasked: HashSet<TurnId>,
    /// Turns of messages that did not come from a chat, for example from the page.
    others: HashSet<TurnId>,
    /// Requests that were reported to the chat, with the rules that would allow them for the rest of the session.
    asked: Suggestions,
    /// Tool calls that returned pictures and are not reported yet.
    pictured: Vec<String>,
}

/// Rules that would allow a request for the rest of the session, by request.
pub(super) type Suggestions = Arc<Mutex<HashMap<String, Vec<PermissionUpdate>>>>;

impl Listener {
    /// A listener that stores the rules of open requests in `asked`.
    pub(super) fn new(asked: Suggestions) -> Self {
        Self { unasked: HashSet::new(), others: HashSet::new(), asked, pictured: Vec::new() }
    }

    /// The turn that an event starts, with its messages. `None` if it starts none, or one that does not answer a
    /// message.
    pub(super) fn begins(event: &AgentEvent) -> Option<(TurnId, &[MessageId])> {
        match &event.kind {
            AgentEventKind::MessageStart { cause: TurnCause::Message, messages, .. } => {
                Some((event.turn_id?, messages))
            }
            _ => None,
        }
    }

    /// Leaves out the text of this turn. Its requests are still reported.
    pub(super) fn leave_out(&mut self, turn: TurnId) {
        self.others.insert(turn);
    }

    /// Tool calls that returned pictures since the last call.
    pub(super) fn take_pictured(&mut self) -> Vec<String> {
        std::mem::take(&mut self.pictured)
    }

    fn asked(&self) -> MutexGuard<'_, HashMap<String, Vec<PermissionUpdate>>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The report for an event, if any.
    pub(super) fn report(&mut self, event: &AgentEvent) -> Option<Report> {
        match &event.kind {
            AgentEventKind::Permission { request_id, request, state, .. } => {
                return self.request(request_id, request, state);
            }
            AgentEventKind::Question { request_id: Some(request_id), request, state, .. } => {
                return self.request(request_id, request, state);
            }
            // Sub-agents are left out: the main agent sums up their work.
            _ if event.parent_tool_use_id.is_some() => return None,
            AgentEventKind::MessageStart { cause: TurnCause::Unasked { .. }, .. } => {
                self.unasked.extend(event.turn_id);
                return None;
            }
            AgentEventKind::MessageEnd { text, .. } => {
                let turn = event.turn_id?;
                self.others.remove(&turn);
                let text = text.as_deref().unwrap_or_default().trim();
                let is_reported = self.unasked.remove(&turn) && !text.is_empty();
                return is_reported.then(|| Report::Unasked { text: text.to_owned() });
            }
            _ => {}
        }
        if event.turn_id.is_some_and(|turn| self.unasked.contains(&turn) || self.others.contains(&turn)) {
            return None;
        }
        match &event.kind {
            AgentEventKind::TextDelta { entry, text, replaces, .. } => {
                Some(Report::Text { block: entry.0, text: text.clone(), replaces: *replaces })
            }
            AgentEventKind::ToolStart { tool_use_id, name, title, .. } => {
                let title = if title.is_empty() { name.clone() } else { format!("{name}: {title}") };
                Some(Report::ToolStarted { id: tool_use_id.to_string(), title })
            }
            AgentEventKind::ToolEnd { tool_use_id, output, .. } => {
                let id = tool_use_id.to_string();
                if output.as_ref().is_some_and(|output| output.images > 0) {
                    self.pictured.push(id.clone());
                }
                Some(Report::ToolEnded { id })
            }
            AgentEventKind::Error { message } => {
                let reason = message.lines().next().unwrap_or_default().chars().take(200).collect();
                Some(Report::Delayed { reason })
            }
            _ => None,
        }
    }

    fn request(&self, id: &RequestId, request: &RequestKind, state: &RequestState) -> Option<Report> {
        let request_id = id.to_string();
        let how = match state {
            RequestState::Open => {
                let rules = match request {
                    // Other updates, such as another permission mode, are too far-reaching for a button in a chat. A
                    // chat must not change anyone's settings.
                    RequestKind::Permission(PermissionRequest { suggestions, .. }) => suggestions
                        .iter()
                        .filter(|update| !update.allowed_rules().is_empty())
                        .map(PermissionUpdate::for_session)
                        .collect(),
                    _ => Vec::new(),
                };
                if self.asked().insert(request_id.clone(), rules).is_some() {
                    return None;
                }
                let other = other_request(request);
                return match kind(request.clone()) {
                    Some(kind) => Some(Report::Asked(Ask { request: request_id, kind })),
                    None => other.map(|text| Report::Unasked { text }),
                };
            }
            RequestState::Allowed { by, .. } => by_whom("Allowed", by.as_deref()),
            RequestState::Denied { by, .. } => by_whom("Denied", by.as_deref()),
            RequestState::Expired => "Not answered in time, so it was denied.".to_owned(),
            RequestState::Cancelled => "It is no longer needed.".to_owned(),
            _ => "It was answered elsewhere.".to_owned(),
        };
        self.asked().remove(&request_id).map(|_| Report::Settled { request: request_id, how })
    }
}

fn by_whom(verb: &str, by: Option<&str>) -> String {
    match by {
        Some(by) => format!("{verb} by {by}."),
        None => format!("{verb} elsewhere."),
    }
}
