//! The `classic` vocabulary: `system`, `text`, `tool_use`, `tool_result`, `result`, `error`, `done`, `stderr`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Milestone, Milestones};
use crate::view::{Change, Entry, Notice, ToolState, View};

/// An event of the `classic` vocabulary.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassicEvent {
    /// The event's name.
    pub event: &'static str,
    /// What it tells.
    pub data: Value,
}

/// Makes `classic` events from changes.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ClassicVocabulary {
    milestones: Milestones,
}

impl ClassicVocabulary {
    /// Tells the events in a change. The view is as it is after it.
    pub fn translate(&mut self, view: &View, change: &Change<'_>, tell: &mut dyn FnMut(ClassicEvent)) {
        self.milestones.tell(view, change, &mut |milestone| {
            if let Some((event, data)) = event(view, &milestone) {
                tell(ClassicEvent { event, data });
            }
        });
    }

    /// What the CLI printed on its standard error.
    pub fn stderr(text: &str) -> ClassicEvent {
        ClassicEvent { event: "stderr", data: json!({"text": text}) }
    }
}

fn place(entry: &Entry) -> (Value, Value) {
    (json!(entry.turn), json!(entry.parent))
}

fn event(view: &View, milestone: &Milestone<'_>) -> Option<(&'static str, Value)> {
    Some(match milestone {
        Milestone::Session { session, is_first } => {
            let data = json!({
                "subtype": if *is_first { "init" } else { "session" },
                "session_id": session.id,
                "model": session.model,
                "cwd": session.cwd,
                "tools": session.tools,
                "version": session.version,
                "permission_mode": session.permission_mode,
                "skills": session.skills,
                "plugins": session.plugins,
            });
            ("system", data)
        }
        Milestone::Text { entry, text, replaces } => {
            let (turn, parent) = place(entry);
            let mut data = json!({"text": text, "turn_id": turn, "parent_tool_use_id": parent});
            if let Some(data) = data.as_object_mut().filter(|_| *replaces) {
                data.insert("replaces".into(), json!(true));
            }
            ("text", data)
        }
        Milestone::ToolStarted { entry, tool } => {
            let (turn, parent) = place(entry);
            let data = json!({
                "id": tool.id,
                "name": tool.name,
                "input": tool.input,
                "turn_id": turn,
                "parent_tool_use_id": parent,
            });
            ("tool_use", data)
        }
        Milestone::ToolEnded { entry, tool } => {
            let (turn, parent) = place(entry);
            let data = json!({
                "tool_use_id": tool.id,
                "name": tool.name,
                "output": tool.output,
                "state": tool.state,
                "is_error": tool.state != ToolState::Succeeded,
                "turn_id": turn,
                "parent_tool_use_id": parent,
            });
            ("tool_result", data)
        }
        Milestone::TurnEnded(turn) => {
            let result = turn.result.as_ref();
            let data = json!({
                "session_id": view.session.id,
                "turn_id": turn.id,
                "state": turn.state,
                "subtype": result.map(|result| &result.subtype),
                "is_error": turn.state.is_error(),
                "result": result.and_then(|result| result.text.as_ref()),
                "degraded": result.is_some_and(|result| result.degraded),
                "num_turns": result.and_then(|result| result.num_turns),
                "duration_ms": result.and_then(|result| result.duration_ms),
                "usage": result.and_then(|result| result.usage),
                "cost_usd": turn.cost_usd,
                "models": turn.models,
                "total_cost_usd": view.cost.reported_usd,
                "permission_denials": result.map(|result| result.denials.as_slice()).unwrap_or_default(),
            });
            ("result", data)
        }
        Milestone::Error { entry, turn, message } => {
            let parent = entry.and_then(|entry| entry.parent.as_ref());
            ("error", json!({"message": message, "turn_id": turn, "parent_tool_use_id": parent}))
        }
        Milestone::Notice { entry, notice: Notice::PlainText { text } } => {
            let (turn, parent) = place(entry);
            ("text", json!({"text": text, "source": "cli", "turn_id": turn, "parent_tool_use_id": parent}))
        }
        Milestone::Notice { entry, notice } => match notice.error_message() {
            Some(message) => ("error", json!({"message": message, "turn_id": entry.turn})),
            None => ("system", notice_data(notice)),
        },
        Milestone::Request(request) => {
            let data = json!({"subtype": "request", "request_id": request.id, "tool_use_id": request.tool, "request": request.kind, "state": request.state});
            ("system", data)
        }
        Milestone::AgentStarted(agent) => ("system", json!({"subtype": "subagent_started", "agent": agent})),
        Milestone::AgentEnded(agent) => ("system", json!({"subtype": "subagent_ended", "agent": agent})),
        Milestone::Todos(list) => ("system", json!({"subtype": "todos", "todos": list})),
        Milestone::Ended => ("done", json!({"session_id": view.session.id})),
        Milestone::TurnStarted(_) | Milestone::Thinking { .. } => return None,
    })
}

fn notice_data(notice: &Notice) -> Value {
    json!({"subtype": "notice", "notice": notice})
}
