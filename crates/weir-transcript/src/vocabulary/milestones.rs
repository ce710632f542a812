//! Milestones in the changes of a view: things that begin, grow and end, each reported once.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use weir_wire::{CliSessionId, ToolUseId, TurnId};

use crate::host::HostEvent;
use crate::view::{
    Agent, AgentState, Change, Entry, EntryBody, EntryId, Notice, Request, RequestKind, RequestState,
    Session, Status, TodoList, ToolCall, ToolDetail, ToolState, Turn, TurnState, View,
};

/// Maximum number of unfinished calls that are remembered in addition to those in the view.
const MAX_OPEN_CALLS: usize = 1000;

/// Something new in a change.
#[derive(Debug)]
pub(crate) enum Milestone<'c> {
    Session {
        session: &'c Session,
        is_first: bool,
    },
    TurnStarted(&'c Turn),
    TurnEnded(&'c Turn),
    /// Text of an agent; `replaces` if it replaces what was reported before.
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
    /// Something that was reported about an agent at its start has changed.
    AgentChanged(&'c Agent),
    AgentEnded(&'c Agent),
    Request(&'c Request),
    /// A call that asks the user, in a stream that lacks the CLI's request for an answer.
    Question {
        entry: &'c Entry,
        tool: &'c ToolCall,
        request: Box<RequestKind>,
        state: RequestState,
    },
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
    ProcessStarted {
        /// The session that it resumes.
        resumes: Option<CliSessionId>,
    },
    ProcessEnded(Exit),
}

impl Milestone<'_> {
    /// The turn that it belongs to.
    pub(crate) fn turn(&self) -> Option<TurnId> {
        match self {
            Self::TurnStarted(turn) | Self::TurnEnded(turn) => Some(turn.id),
            Self::Text { entry, .. }
            | Self::Thinking { entry, .. }
            | Self::ToolStarted { entry, .. }
            | Self::ToolEnded { entry, .. }
            | Self::Question { entry, .. }
            | Self::Notice { entry, .. } => entry.turn,
            Self::AgentStarted(agent) | Self::AgentChanged(agent) | Self::AgentEnded(agent) => agent.turn,
            Self::Request(request) => request.turn,
            Self::Error { turn, .. } => *turn,
            Self::Session { .. } | Self::Todos(_) | Self::ProcessStarted { .. } | Self::ProcessEnded(_) => {
                None
            }
        }
    }
}

/// How a process ended, as far as known.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Exit {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stderr: String,
    /// Whether the host ended it on request.
    pub(crate) wanted: bool,
}

/// What was reported about an agent at its start.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ReportedAgent {
    label: String,
    agent_type: Option<String>,
    background: bool,
}

/// Remembers what was reported.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Milestones {
    session: bool,
    /// Whether a host reports its processes. A recording does not, and begins with its first line.
    has_host: bool,
    has_process: bool,
    /// Questions that were reported from their calls.
    questions: HashSet<ToolUseId>,
    tools_started: HashSet<ToolUseId>,
    tools_ended: HashSet<ToolUseId>,
    /// Results that came before their calls: reported with the call, or at the end of the turn.
    nameless: Vec<EntryId>,
    turns_ended: HashSet<TurnId>,
    agents_started: HashMap<ToolUseId, ReportedAgent>,
    agents_ended: HashSet<ToolUseId>,
    last_error: Option<(Option<TurnId>, String)>,
}

impl Milestones {
    /// Reports what is new in a change. The view already includes the change.
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
            Change::TextReplaced { entry, text } => {
                if let Some(entry) = view.entry(*entry) {
                    text_grew(entry, text, true, tell);
                }
            }
            Change::EntryAdded(entry) => {
                let Some(entry) = view.entry(entry.id) else { return };
                match &entry.body {
                    EntryBody::Text(text) => text_grew(entry, &text.text, false, tell),
                    EntryBody::Thinking(thinking) => text_grew(entry, &thinking.text, false, tell),
                    _ => {}
                }
                self.entry(entry, tell);
            }
            Change::EntryReplaced(entry) => {
                if let Some(entry) = view.entry(entry.id) {
                    self.entry(entry, tell);
                }
            }
            Change::ToolState { entry, .. } | Change::ToolEnded { entry, .. } => {
                if let Some((entry, tool)) = view.tool(*entry) {
                    self.tool(entry, tool, tell);
                }
            }
            Change::Session(session) => {
                // A host that resumes a session sets the id before it reports its process; only the CLI reports
                // its folder and model.
                if session.cwd.is_some() || session.model.is_some() {
                    self.recording_began(tell);
                }
                tell(Milestone::Session { session, is_first: !self.session });
                self.session = true;
            }
            Change::TurnAdded(turn) => {
                self.recording_began(tell);
                tell(Milestone::TurnStarted(turn));
            }
            Change::TurnReplaced(turn) => self.turn(view, turn, tell),
            Change::Agent(agent) => self.agent(agent, tell),
            Change::Request(request) => {
                if let Some(tool) = &request.tool {
                    self.questions.remove(tool);
                }
                tell(Milestone::Request(request));
            }
            Change::Todos(todos) => tell(Milestone::Todos(todos)),
            // A host reports separately how the process ended.
            Change::Status { status: Status::Ended } if !self.has_host => {
                self.recording_began(tell);
                self.has_process = false;
                tell(Milestone::ProcessEnded(Exit::default()));
            }
            Change::Dropped { .. } => self.forget(view),
            Change::Status { .. }
            | Change::BlockEnded { .. }
            | Change::InputAppended { .. }
            | Change::Tasks { .. }
            | Change::FileChanged(_)
            | Change::Cost(_)
            | Change::MessageUsed(_)
            | Change::RateLimit(_)
            | Change::Oddities(_) => {}
        }
    }

    /// Reports what is new in a host event. The changes that it caused were reported before.
    pub(crate) fn host<'c>(&mut self, event: &HostEvent, tell: &mut dyn FnMut(Milestone<'c>)) {
        match event {
            HostEvent::ProcessStarted { resumes } => {
                (self.has_host, self.has_process) = (true, true);
                tell(Milestone::ProcessStarted { resumes: resumes.clone() });
            }
            HostEvent::ProcessExited { code, signal, stderr, wanted } if self.has_process => {
                self.has_process = false;
                let exit = Exit { code: *code, signal: *signal, stderr: stderr.clone(), wanted: *wanted };
                tell(Milestone::ProcessEnded(exit));
            }
            HostEvent::RecordingEnded if self.has_process => {
                self.has_process = false;
                tell(Milestone::ProcessEnded(Exit::default()));
            }
            _ => {}
        }
    }

    /// A process shows activity that no host has started.
    fn recording_began<'c>(&mut self, tell: &mut dyn FnMut(Milestone<'c>)) {
        if !self.has_host && !self.has_process {
            self.has_process = true;
            tell(Milestone::ProcessStarted { resumes: None });
        }
    }

    /// Forgets what was dropped from the view, except calls whose end has not been reported yet.
    fn forget(&mut self, view: &View) {
        let kept: HashSet<&ToolUseId> = view.tools().map(|(_, tool)| &tool.id).collect();
        self.tools_started.retain(|id| kept.contains(id) || !self.tools_ended.contains(id));
        self.tools_ended.retain(|id| kept.contains(id));
        self.nameless.retain(|entry| view.entry(*entry).is_some());
        self.turns_ended.retain(|turn| view.turn(*turn).is_some());
        self.questions.retain(|id| kept.contains(id));
        self.agents_started.retain(|agent, _| view.agent(agent).is_some());
        self.agents_ended.retain(|agent| view.agent(agent).is_some());
        // Calls that never end would accumulate in an endless turn.
        if self.tools_started.len() > MAX_OPEN_CALLS + kept.len() {
            self.tools_started.retain(|id| kept.contains(id));
        }
    }

    fn entry<'c>(&mut self, entry: &'c Entry, tell: &mut dyn FnMut(Milestone<'c>)) {
        match &entry.body {
            EntryBody::Text(text) if text.error.is_some() => {
                self.error(Some(entry), entry.turn, text.text.clone(), tell);
            }
            EntryBody::Tool(tool) => self.tool(entry, tool, tell),
            EntryBody::Notice { notice } => tell(Milestone::Notice { entry, notice }),
            _ => {}
        }
    }

    fn tool<'c>(&mut self, entry: &'c Entry, tool: &'c ToolCall, tell: &mut dyn FnMut(Milestone<'c>)) {
        // A denied call ends when its result arrives, which tells the model so.
        let is_over = tool.state.is_settled() && (tool.state != ToolState::Denied || tool.output.is_some());
        if tool.name.is_empty() {
            if is_over && !self.nameless.contains(&entry.id) {
                self.nameless.push(entry.id);
            }
            return;
        }
        if tool.state != ToolState::Pending && self.tools_started.insert(tool.id.clone()) {
            tell(Milestone::ToolStarted { entry, tool });
            // With a host, the CLI's request for an answer follows; a recording may not have one.
            if let Some(request) = question(tool).filter(|_| !self.has_host && !is_over) {
                self.questions.insert(tool.id.clone());
                let request = Box::new(request);
                tell(Milestone::Question { entry, tool, request, state: RequestState::Open });
            }
        }
        if is_over && self.tools_ended.insert(tool.id.clone()) {
            let was_reported = self.questions.remove(&tool.id);
            if let Some(request) = question(tool).filter(|_| was_reported || tool.request.is_none()) {
                let state = settled(tool);
                tell(Milestone::Question { entry, tool, request: Box::new(request), state });
            }
            tell(Milestone::ToolEnded { entry, tool });
        }
    }

    fn turn<'c>(&mut self, view: &'c View, turn: &'c Turn, tell: &mut dyn FnMut(Milestone<'c>)) {
        if turn.state == TurnState::Running || !self.turns_ended.insert(turn.id) {
            return;
        }
        for entry in std::mem::take(&mut self.nameless) {
            if let Some((entry, tool)) = view.tool(entry)
                && self.tools_ended.insert(tool.id.clone())
            {
                tell(Milestone::ToolEnded { entry, tool });
            }
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
            self.error(None, Some(turn.id), message, tell);
        }
        tell(Milestone::TurnEnded(turn));
    }

    /// The text and the result of a turn may report the same error; it is reported once.
    fn error<'c>(
        &mut self,
        entry: Option<&'c Entry>,
        turn: Option<TurnId>,
        message: String,
        tell: &mut dyn FnMut(Milestone<'c>),
    ) {
        let reported = Some((turn, message.clone()));
        if self.last_error != reported {
            self.last_error = reported;
            tell(Milestone::Error { entry, turn, message });
        }
    }

    fn agent<'c>(&mut self, agent: &'c Agent, tell: &mut dyn FnMut(Milestone<'c>)) {
        let now = ReportedAgent {
            label: agent.label(),
            agent_type: agent.agent_type.clone(),
            background: agent.background,
        };
        let is_over = self.agents_ended.contains(&agent.id);
        match self.agents_started.get(&agent.id) {
            None => {
                self.agents_started.insert(agent.id.clone(), now);
                tell(Milestone::AgentStarted(agent));
            }
            Some(reported) if *reported != now && !is_over => {
                self.agents_started.insert(agent.id.clone(), now);
                tell(Milestone::AgentChanged(agent));
            }
            Some(_) => {}
        }
        if agent.state != AgentState::Running && self.agents_ended.insert(agent.id.clone()) {
            tell(Milestone::AgentEnded(agent));
        }
    }
}

/// What a call asks the user, if anything.
fn question(tool: &ToolCall) -> Option<RequestKind> {
    match &tool.detail {
        ToolDetail::Questions { questions, .. } => Some(RequestKind::Question {
            questions: questions.clone(),
            input: tool.input.as_raw().to_value(),
        }),
        _ => None,
    }
}

/// What became of a question, derived from the end of its call.
fn settled(tool: &ToolCall) -> RequestState {
    let message = tool.output.as_ref().map(|output| output.text.to_str().into_owned());
    match (&tool.detail, tool.state) {
        (ToolDetail::Questions { answers: Some(answers), .. }, ToolState::Succeeded) => {
            RequestState::Allowed { by: None, answers: Some(answers.clone()) }
        }
        (_, ToolState::Succeeded) => RequestState::Settled,
        (_, ToolState::Denied | ToolState::Failed) => RequestState::Denied { by: None, message },
        _ => RequestState::Cancelled,
    }
}

fn text_grew<'c>(entry: &'c Entry, text: &'c str, replaces: bool, tell: &mut dyn FnMut(Milestone<'c>)) {
    if text.is_empty() {
        return;
    }
    match &entry.body {
        EntryBody::Text(_) => tell(Milestone::Text { entry, text, replaces }),
        EntryBody::Thinking(_) => tell(Milestone::Thinking { entry, text, replaces }),
        _ => {}
    }
}

impl Notice {
    /// The error that a notice reports, if any.
    pub(crate) fn error_message(&self) -> Option<String> {
        match self {
            Self::ApiRetry { attempt, max_retries, delay_ms, status, error } => {
                let what = error.as_deref().unwrap_or("no response");
                let status = status.map(|status| format!(" ({status})")).unwrap_or_default();
                let of = max_retries.map(|max| format!(" of {max}")).unwrap_or_default();
                let wait = delay_ms.map(|ms| format!(" in {:.1} s", ms as f64 / 1000.0)).unwrap_or_default();
                Some(format!("the API failed: {what}{status}; attempt {attempt}{of}{wait}"))
            }
            Self::RateLimit { status, .. } if status == "rejected" => {
                Some("the account's rate limit is reached".into())
            }
            Self::ProcessEnded { code, signal, stderr } => {
                let how = match (code, signal) {
                    (Some(code), _) => format!("the CLI exited with code {code}"),
                    (None, Some(signal)) => format!("the CLI was ended by signal {signal}"),
                    (None, None) => "the CLI ended".into(),
                };
                let stderr = stderr.trim();
                Some(if stderr.is_empty() { how } else { format!("{how}: {stderr}") })
            }
            Self::Login { error: Some(error), .. } => Some(error.clone()),
            Self::Error { message } => Some(message.clone()),
            _ => None,
        }
    }
}
