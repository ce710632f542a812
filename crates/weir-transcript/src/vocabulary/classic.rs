//! The `classic` vocabulary: `system`, `text`, `tool_use`, `tool_result`, `result`, `error`, `done`, `stderr`.

use serde::{Deserialize, Serialize};
use weir_wire::{CliSessionId, MessageId, OwnedJson, RequestId, ToolUseId, TurnId};

use super::{Milestone, Milestones};
use crate::host::HostEvent;
use crate::view::{
    Agent, Change, Denial, ModelCost, Notice, Output, Plugin, RequestKind, RequestState, Session, TodoList,
    TokenUsage, ToolState, Turn, TurnState, View,
};

/// An event of the `classic` vocabulary.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ClassicEvent {
    /// The event's name.
    pub event: &'static str,
    /// The event's data.
    pub data: ClassicData,
    /// The turn that it belongs to, even if the data does not say.
    #[serde(skip)]
    pub turn_id: Option<TurnId>,
}

impl ClassicEvent {
    /// An event with these data, named after them.
    pub fn new(data: ClassicData, turn_id: Option<TurnId>) -> Self {
        let event = match &data {
            ClassicData::System(_) => "system",
            ClassicData::Text(_) => "text",
            ClassicData::ToolUse(_) => "tool_use",
            ClassicData::ToolResult(_) => "tool_result",
            ClassicData::Result(_) => "result",
            ClassicData::Error(_) => "error",
            ClassicData::Done(_) => "done",
            ClassicData::Stderr(_) => "stderr",
        };
        Self { event, data, turn_id }
    }
}

/// The data of an event. The event's name says which variant it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(untagged)]
#[non_exhaustive]
pub enum ClassicData {
    /// `system`: something about the session.
    System(ClassicSystem),
    /// `text`: the agent writes text.
    Text(ClassicText),
    /// `tool_use`: a tool is called.
    ToolUse(ClassicToolUse),
    /// `tool_result`: a call has ended.
    ToolResult(ClassicToolResult),
    /// `result`: a turn has ended.
    Result(Box<ClassicResult>),
    /// `error`: something went wrong.
    Error(ClassicError),
    /// `done`: an answer is complete.
    Done(ClassicDone),
    /// `stderr`: the CLI printed something on its standard error.
    Stderr(ClassicStderr),
}

/// Something about the session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "subtype", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ClassicSystem {
    /// What the session works with, reported once at the start.
    Init(ClassicSession),
    /// What the session works with, after a change.
    Session(ClassicSession),
    /// A process was started for the session.
    ProcessStarted {
        /// The CLI's id of the session that it resumes.
        resumes: Option<CliSessionId>,
    },
    /// The process has ended.
    ProcessEnded {
        /// Its exit code; null if a signal ended it or if it is not known.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
        /// Whether it was ended on purpose.
        wanted: bool,
    },
    /// A person is asked, or a request was settled.
    Request {
        /// Id of the request; the decision carries it. Null if the stream has the call but not the request.
        request_id: Option<RequestId>,
        /// The call that is waiting.
        tool_use_id: Option<ToolUseId>,
        /// What is requested.
        request: RequestKind,
        /// Whether it is still waiting.
        state: RequestState,
    },
    /// A sub-agent begins.
    SubagentStarted {
        /// The sub-agent.
        agent: Agent,
    },
    /// Something that was reported about a sub-agent at its start has changed.
    SubagentUpdated {
        /// The sub-agent.
        agent: Agent,
    },
    /// A sub-agent has ended.
    SubagentEnded {
        /// The sub-agent.
        agent: Agent,
    },
    /// A to-do list has changed.
    Todos {
        /// The whole list.
        todos: TodoList,
    },
    /// The CLI reports something.
    Notice {
        /// The notice.
        notice: Notice,
    },
}

/// What a session works with.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ClassicSession {
    /// The CLI's id of the session.
    pub session_id: Option<CliSessionId>,
    /// The model.
    pub model: Option<String>,
    /// Its working directory.
    pub cwd: Option<String>,
    /// The tools that the model has.
    pub tools: Vec<String>,
    /// The CLI's version.
    pub version: Option<String>,
    /// The permission mode: what is allowed without asking.
    pub permission_mode: Option<String>,
    /// The skills that can be used.
    pub skills: Vec<String>,
    /// The plugins that are loaded.
    pub plugins: Vec<Plugin>,
}

impl From<&Session> for ClassicSession {
    fn from(session: &Session) -> Self {
        Self {
            session_id: session.id.clone(),
            model: session.model.clone(),
            cwd: session.cwd.clone(),
            tools: session.tools.clone(),
            version: session.version.clone(),
            permission_mode: session.permission_mode.clone(),
            skills: session.skills.clone(),
            plugins: session.plugins.clone(),
        }
    }
}

/// The agent writes text.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ClassicText {
    /// A piece of text, to be appended to the previous ones.
    pub text: String,
    /// Set if this replaces the block's text so far.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub replaces: bool,
    /// Who wrote it, if not the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<ClassicTextSource>,
    /// The turn.
    pub turn_id: Option<TurnId>,
    /// The sub-agent that wrote it, by the call that started it; null for the main agent.
    pub parent_tool_use_id: Option<ToolUseId>,
}

/// Who wrote a text that is not the model's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ClassicTextSource {
    /// The CLI itself: a line of plain text among its output.
    Cli,
}

/// A tool is called.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ClassicToolUse {
    /// Id of the call.
    pub id: ToolUseId,
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub input: OwnedJson,
    /// The turn.
    pub turn_id: Option<TurnId>,
    /// The sub-agent that calls it; null for the main agent.
    pub parent_tool_use_id: Option<ToolUseId>,
}

/// A call has ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ClassicToolResult {
    /// The call.
    pub tool_use_id: ToolUseId,
    /// The tool.
    pub name: String,
    /// Its output; null if there is none.
    pub output: Option<Output>,
    /// How it ended.
    pub state: ToolState,
    /// Whether it is known to have failed. False if its end was never reported: then `state` is `unknown`.
    pub is_error: bool,
    /// The turn.
    pub turn_id: Option<TurnId>,
    /// The sub-agent that called it; null for the main agent.
    pub parent_tool_use_id: Option<ToolUseId>,
}

/// A turn has ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ClassicResult {
    /// The CLI's id of the session.
    pub session_id: Option<CliSessionId>,
    /// The turn.
    pub turn_id: TurnId,
    /// The messages that it answers, as far as known.
    pub messages: Vec<MessageId>,
    /// How it ended.
    pub state: TurnState,
    /// The CLI's subtype of the result; null if no result came.
    pub subtype: Option<String>,
    /// Whether it failed.
    pub is_error: bool,
    /// The answer.
    pub result: Option<String>,
    /// Whether the answer was assembled from the streamed text because the CLI's result was empty.
    pub degraded: bool,
    /// Rounds with the model.
    pub num_turns: Option<u64>,
    /// How long it took.
    pub duration_ms: Option<u64>,
    /// Tokens of the main loop.
    pub usage: Option<TokenUsage>,
    /// What the turn cost; null if that is not known.
    pub cost_usd: Option<f64>,
    /// The cost by model, with the tokens of each, sub-agents included.
    pub models: Vec<ModelCost>,
    /// The CLI's own total, over all turns of the session.
    pub total_cost_usd: Option<f64>,
    /// Calls that were not allowed.
    pub permission_denials: Vec<Denial>,
}

/// Something went wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ClassicError {
    /// The error message.
    pub message: String,
    /// The turn in which it happened.
    pub turn_id: Option<TurnId>,
    /// The sub-agent to which it happened; null for the main agent.
    pub parent_tool_use_id: Option<ToolUseId>,
}

/// An answer is complete.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ClassicDone {
    /// The CLI's id of the session.
    pub session_id: Option<CliSessionId>,
    /// The turn that has ended; null if the process ended without one.
    pub turn_id: Option<TurnId>,
}

/// The CLI printed something on its standard error.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ClassicStderr {
    /// The text.
    pub text: String,
}

/// Translates changes into `classic` events.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClassicVocabulary {
    milestones: Milestones,
    /// Whether `done` was sent since the process was started.
    is_done: bool,
}

impl ClassicVocabulary {
    /// Reports the events in a change. The view already includes the change.
    pub fn translate(&mut self, view: &View, change: &Change<'_>, tell: &mut dyn FnMut(ClassicEvent)) {
        let is_done = &mut self.is_done;
        self.milestones.tell(view, change, &mut |milestone| translate(view, &milestone, is_done, Some(tell)));
    }

    /// Reports the events in a host event. Call it after the changes that the host event caused have been
    /// translated.
    pub fn host(&mut self, view: &View, event: &HostEvent, tell: &mut dyn FnMut(ClassicEvent)) {
        let is_done = &mut self.is_done;
        self.milestones.host(event, &mut |milestone| translate(view, &milestone, is_done, Some(tell)));
    }

    /// What the CLI printed on its standard error.
    pub fn stderr(text: &str) -> ClassicEvent {
        ClassicEvent::new(ClassicData::Stderr(ClassicStderr { text: text.to_owned() }), None)
    }
}

/// Builds events only for a sink; whether `done` was told is kept track of in any case.
pub(super) fn translate(
    view: &View,
    milestone: &Milestone<'_>,
    is_done: &mut bool,
    mut tell: Option<&mut dyn FnMut(ClassicEvent)>,
) {
    if let Some(tell) = &mut tell
        && let Some(data) = data(view, milestone)
    {
        tell(ClassicEvent::new(data, milestone.turn()));
    }
    let turn_id = match milestone {
        Milestone::ProcessStarted { .. } => {
            *is_done = false;
            return;
        }
        Milestone::TurnEnded(turn) => Some(turn.id),
        // A client that waits for an answer that never began must learn that there is none.
        Milestone::ProcessEnded(_) if !*is_done => None,
        _ => return,
    };
    *is_done = true;
    if let Some(tell) = tell {
        let done = ClassicDone { session_id: view.session.id.clone(), turn_id };
        tell(ClassicEvent::new(ClassicData::Done(done), turn_id));
    }
}

fn data(view: &View, milestone: &Milestone<'_>) -> Option<ClassicData> {
    Some(match milestone {
        Milestone::Text { entry, text, replaces } => ClassicData::Text(ClassicText {
            text: (*text).to_owned(),
            replaces: *replaces,
            source: None,
            turn_id: entry.turn,
            parent_tool_use_id: entry.parent.clone(),
        }),
        Milestone::ToolStarted { entry, tool } => ClassicData::ToolUse(ClassicToolUse {
            id: tool.id.clone(),
            name: tool.name.clone(),
            input: tool.input.clone(),
            turn_id: entry.turn,
            parent_tool_use_id: entry.parent.clone(),
        }),
        Milestone::ToolEnded { entry, tool } => ClassicData::ToolResult(ClassicToolResult {
            tool_use_id: tool.id.clone(),
            name: tool.name.clone(),
            output: tool.output.clone(),
            state: tool.state,
            is_error: tool.state.is_error(),
            turn_id: entry.turn,
            parent_tool_use_id: entry.parent.clone(),
        }),
        Milestone::TurnEnded(turn) => ClassicData::Result(Box::new(result(view, turn))),
        Milestone::Error { entry, turn, message } => ClassicData::Error(ClassicError {
            message: message.clone(),
            turn_id: *turn,
            parent_tool_use_id: entry.and_then(|entry| entry.parent.clone()),
        }),
        Milestone::Notice { entry, notice: Notice::PlainText { text } } => ClassicData::Text(ClassicText {
            text: text.clone(),
            replaces: false,
            source: Some(ClassicTextSource::Cli),
            turn_id: entry.turn,
            parent_tool_use_id: entry.parent.clone(),
        }),
        Milestone::Notice { entry, notice } => match notice.error_message() {
            Some(message) => ClassicData::Error(ClassicError {
                message,
                turn_id: entry.turn,
                parent_tool_use_id: entry.parent.clone(),
            }),
            None => ClassicData::System(ClassicSystem::Notice { notice: (*notice).clone() }),
        },
        Milestone::TurnStarted(_) | Milestone::Thinking { .. } => return None,
        other => ClassicData::System(system(other)?),
    })
}

fn result(view: &View, turn: &Turn) -> ClassicResult {
    let result = turn.result.as_ref();
    ClassicResult {
        session_id: view.session.id.clone(),
        turn_id: turn.id,
        messages: turn.messages.clone(),
        state: turn.state,
        subtype: result.map(|result| result.subtype.clone()),
        is_error: turn.state.is_error(),
        result: result.and_then(|result| result.text.clone()),
        degraded: result.is_some_and(|result| result.degraded),
        num_turns: result.and_then(|result| result.num_turns),
        duration_ms: result.and_then(|result| result.duration_ms),
        usage: result.and_then(|result| result.usage),
        cost_usd: turn.cost_usd,
        models: turn.models.clone(),
        total_cost_usd: view.cost.reported_usd,
        permission_denials: result.map(|result| result.denials.clone()).unwrap_or_default(),
    }
}

fn system(milestone: &Milestone<'_>) -> Option<ClassicSystem> {
    Some(match milestone {
        Milestone::Session { session, is_first: true } => ClassicSystem::Init((*session).into()),
        Milestone::Session { session, is_first: false } => ClassicSystem::Session((*session).into()),
        Milestone::ProcessStarted { resumes } => ClassicSystem::ProcessStarted { resumes: resumes.clone() },
        Milestone::ProcessEnded(exit) => {
            ClassicSystem::ProcessEnded { code: exit.code, signal: exit.signal, wanted: exit.wanted }
        }
        Milestone::Request(request) => ClassicSystem::Request {
            request_id: Some(request.id.clone()),
            tool_use_id: request.tool.clone(),
            request: request.kind.clone(),
            state: request.state.clone(),
        },
        Milestone::Question { tool, request, state, .. } => ClassicSystem::Request {
            request_id: None,
            tool_use_id: Some(tool.id.clone()),
            request: request.as_ref().clone(),
            state: state.clone(),
        },
        Milestone::AgentStarted(agent) => ClassicSystem::SubagentStarted { agent: (*agent).clone() },
        Milestone::AgentChanged(agent) => ClassicSystem::SubagentUpdated { agent: (*agent).clone() },
        Milestone::AgentEnded(agent) => ClassicSystem::SubagentEnded { agent: (*agent).clone() },
        Milestone::Todos(list) => ClassicSystem::Todos { todos: (*list).clone() },
        _ => return None,
    })
}
