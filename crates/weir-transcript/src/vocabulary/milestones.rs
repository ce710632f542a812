//! What in a change is news: things that begin, grow and end, each told once.

use std::collections::HashSet;

use weir_wire::{ToolUseId, TurnId};

use crate::view::{
    Agent, AgentState, Change, Entry, EntryBody, EntryId, Notice, Request, Session, Status, TodoList,
    ToolCall, ToolState, Turn, TurnState, View,
};

/// A piece of news.
#[derive(Debug)]
pub(crate) enum Milestone<'c> {
    Session(&'c Session),
    TurnStarted(&'c Turn),
    TurnEnded(&'c Turn),
    /// Text of an agent; `replaces` where it takes the place of what was told before.
    Text {
        entry: &'c Entry,
        text: &'c str,
        replaces: bool,
    },
    Thinking {
        entry: &'c Entry,
        text: &'c str,
        replaces: bool,
    },
    ToolStarted {
        entry: &'c Entry,
        tool: &'c ToolCall,
    },
    ToolEnded {
        entry: &'c Entry,
        tool: &'c ToolCall,
    },
    AgentStarted(&'c Agent),
    AgentEnded(&'c Agent),
    Request(&'c Request),
    Todos(&'c TodoList),
    Notice {
        entry: &'c Entry,
        notice: &'c Notice,
    },
    Error {
        entry: Option<&'c Entry>,
        turn: Option<TurnId>,
        message: String,
    },
    Ended,
}

/// Remembers what was told.
#[derive(Debug, Default)]
pub(crate) struct Milestones {
    tools_started: HashSet<EntryId>,
    tools_ended: HashSet<EntryId>,
    turns_ended: HashSet<TurnId>,
    agents_started: HashSet<ToolUseId>,
    agents_ended: HashSet<ToolUseId>,
}

impl Milestones {
    /// Tells what is new in a change. The view is as it is after it.
    pub(crate) fn tell<'c>(
        &mut self,
        view: &'c View,
        change: &'c Change<'_>,
        tell: &mut dyn FnMut(Milestone<'c>),
    ) {
        match change {
            Change::TextAppended { entry, text } => {
                if let Some(entry) = view.entry(*entry) {
                    text_grew(entry, text, false, tell);
                }
            }
            Change::EntryAdded(entry) => {
                let Some(entry) = view.entry(entry.id) else { return };
                self.entry_added(entry, tell);
            }
            Change::EntryReplaced(replaced) => {
                let Some(entry) = view.entry(replaced.id) else {
                    return;
                };
                match &entry.body {
                    EntryBody::Text(text) => text_grew(entry, &text.text, true, tell),
                    EntryBody::Thinking(thinking) => text_grew(entry, &thinking.text, true, tell),
                    EntryBody::Tool(tool) => self.tool(entry, tool, tell),
                    EntryBody::Notice { notice } => tell(Milestone::Notice { entry, notice }),
                    EntryBody::User(_) | EntryBody::Hook(_) | EntryBody::Unknown(_) => {}
                }
            }
            Change::ToolState { entry, .. } | Change::ToolEnded { entry, .. } => {
                if let Some((entry, tool)) = view.tool(*entry) {
                    self.tool(entry, tool, tell);
                }
            }
            Change::Session(session) => tell(Milestone::Session(session)),
            Change::TurnAdded(turn) => tell(Milestone::TurnStarted(turn)),
            Change::TurnReplaced(turn) => self.turn(turn, tell),
            Change::Agent(agent) => self.agent(agent, tell),
            Change::Request(request) => tell(Milestone::Request(request)),
            Change::Todos(todos) => tell(Milestone::Todos(todos)),
            Change::Status {
                status: Status::Ended,
            } => tell(Milestone::Ended),
            Change::Dropped {
                first_entry,
                first_turn,
                ..
            } => {
                self.tools_started.retain(|entry| entry >= first_entry);
                self.tools_ended.retain(|entry| entry >= first_entry);
                self.turns_ended.retain(|turn| turn >= first_turn);
                self.agents_started.retain(|agent| view.agent(agent).is_some());
                self.agents_ended.retain(|agent| view.agent(agent).is_some());
            }
            Change::Status { .. }
            | Change::BlockEnded { .. }
            | Change::InputAppended { .. }
            | Change::Tasks { .. }
            | Change::FileChanged(_)
            | Change::Cost(_)
            | Change::RateLimit(_)
            | Change::Oddities(_) => {}
        }
    }

    fn entry_added<'c>(&mut self, entry: &'c Entry, tell: &mut dyn FnMut(Milestone<'c>)) {
        match &entry.body {
            EntryBody::Text(text) => {
                text_grew(entry, &text.text, false, tell);
                if text.error.is_some() {
                    let message = text.text.clone();
                    tell(Milestone::Error {
                        entry: Some(entry),
                        turn: entry.turn,
                        message,
                    });
                }
            }
            EntryBody::Thinking(thinking) => text_grew(entry, &thinking.text, false, tell),
            EntryBody::Tool(tool) => self.tool(entry, tool, tell),
            EntryBody::Notice { notice } => tell(Milestone::Notice { entry, notice }),
            EntryBody::User(_) | EntryBody::Hook(_) | EntryBody::Unknown(_) => {}
        }
    }

    fn tool<'c>(&mut self, entry: &'c Entry, tool: &'c ToolCall, tell: &mut dyn FnMut(Milestone<'c>)) {
        // A call whose result came first has no name yet: its start is told when the call comes.
        let is_called = tool.state != ToolState::Pending && !tool.name.is_empty();
        if is_called && self.tools_started.insert(entry.id) {
            tell(Milestone::ToolStarted { entry, tool });
        }
        if tool.state.is_settled() && self.tools_ended.insert(entry.id) {
            tell(Milestone::ToolEnded { entry, tool });
        }
    }

    fn turn<'c>(&mut self, turn: &'c Turn, tell: &mut dyn FnMut(Milestone<'c>)) {
        if turn.state == TurnState::Running || !self.turns_ended.insert(turn.id) {
            return;
        }
        let message = match (turn.state, &turn.result) {
            (TurnState::Failed, Some(result)) => match (&result.text, result.errors.is_empty()) {
                (Some(text), true) => Some(text.clone()),
                (_, false) => Some(result.errors.join("\n")),
                (None, true) => Some(result.subtype.clone()),
            },
            (TurnState::Degraded | TurnState::Lost, _) => Some("the CLI ended without a result".to_owned()),
            _ => None,
        };
        if let Some(message) = message {
            tell(Milestone::Error {
                entry: None,
                turn: Some(turn.id),
                message,
            });
        }
        tell(Milestone::TurnEnded(turn));
    }

    fn agent<'c>(&mut self, agent: &'c Agent, tell: &mut dyn FnMut(Milestone<'c>)) {
        if self.agents_started.insert(agent.id.clone()) {
            tell(Milestone::AgentStarted(agent));
        }
        if agent.state != AgentState::Running && self.agents_ended.insert(agent.id.clone()) {
            tell(Milestone::AgentEnded(agent));
        }
    }
}

fn text_grew<'c>(entry: &'c Entry, text: &'c str, replaces: bool, tell: &mut dyn FnMut(Milestone<'c>)) {
    if text.is_empty() {
        return;
    }
    match &entry.body {
        EntryBody::Text(_) => tell(Milestone::Text {
            entry,
            text,
            replaces,
        }),
        EntryBody::Thinking(_) => tell(Milestone::Thinking {
            entry,
            text,
            replaces,
        }),
        _ => {}
    }
}

impl Notice {
    /// The error that a notice tells of, if it does.
    pub(crate) fn error_message(&self) -> Option<String> {
        match self {
            Self::ApiRetry {
                attempt,
                max_retries,
                delay_ms,
                status,
                error,
            } => {
                let what = error.as_deref().unwrap_or("no answer");
                let status = status.map(|status| format!(" ({status})")).unwrap_or_default();
                let of = max_retries.map(|most| format!(" of {most}")).unwrap_or_default();
                let wait = delay_ms
                    .map(|ms| format!(" in {:.1} s", ms as f64 / 1000.0))
                    .unwrap_or_default();
                Some(format!("the API failed: {what}{status}; try {attempt}{of}{wait}"))
            }
            Self::RateLimit { status, .. } if status == "rejected" => {
                Some("the account's limit is reached".into())
            }
            Self::ProcessEnded { code, signal, stderr } => {
                let how = match (code, signal) {
                    (Some(code), _) => format!("the CLI exited with code {code}"),
                    (None, Some(signal)) => format!("the CLI was ended by signal {signal}"),
                    (None, None) => "the CLI ended".into(),
                };
                let stderr = stderr.trim();
                Some(if stderr.is_empty() {
                    how
                } else {
                    format!("{how}: {stderr}")
                })
            }
            Self::Login {
                error: Some(error), ..
            } => Some(error.clone()),
            Self::Error { message } => Some(message.clone()),
            _ => None,
        }
    }
}
