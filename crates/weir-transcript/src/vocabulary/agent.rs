//! The `agent` vocabulary: `agent-message-start`, `agent-text-delta` and so on.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_wire::{ApiMessageId, CliSessionId, MessageId, OwnedJson, RequestId, ToolUseId, TurnId};

use super::{Milestone, Milestones};
use crate::host::HostEvent;
use crate::view::{
    AgentProgress, AgentState, Change, Denial, EntryBody, EntryId, ModelCost, Notice, Output, RequestKind,
    RequestState, Todo, TokenUsage, ToolDetail, ToolState, TurnCause, TurnState, View,
};

/// An event of the `agent` vocabulary.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AgentEvent {
    /// What happened.
    #[serde(flatten)]
    pub kind: AgentEventKind,
    /// The session, once it is known.
    pub session_id: Option<CliSessionId>,
    /// The turn that it belongs to.
    pub turn_id: Option<TurnId>,
    /// The sub-agent that it belongs to, by the tool call that started it; null for the main agent.
    pub parent_tool_use_id: Option<ToolUseId>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum AgentEventKind {
    /// A process was started for the session.
    #[serde(rename = "agent-process-start")]
    ProcessStart {
        /// The CLI's id of the session that it resumes.
        resumes: Option<CliSessionId>,
    },
    /// The process has ended.
    #[serde(rename = "agent-process-end")]
    ProcessEnd {
        /// Its exit code; null if a signal ended it or if it is not known.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
        /// The end of its standard error.
        stderr: String,
        /// Whether it was ended on purpose.
        wanted: bool,
    },
    /// A turn begins.
    #[serde(rename = "agent-message-start")]
    MessageStart {
        /// The model.
        model: Option<String>,
        /// What caused the turn.
        cause: TurnCause,
        /// The messages that it answers, as far as known.
        messages: Vec<MessageId>,
        /// The agent's working directory.
        cwd: Option<String>,
        /// The tools that the model has.
        tools: Vec<String>,
    },
    /// The model writes text.
    #[serde(rename = "agent-text-delta")]
    TextDelta {
        /// The block that it belongs to.
        entry: EntryId,
        /// The model's message that the block is a part of. Blocks of one message follow each other without a gap.
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<ApiMessageId>,
        /// The text.
        text: String,
        /// Set if this replaces the block's text so far.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        replaces: bool,
        /// Set if the CLI wrote this in place of the model to report an API error.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    /// The model writes thinking.
    #[serde(rename = "agent-thinking-delta")]
    ThinkingDelta {
        /// The block that it belongs to.
        entry: EntryId,
        /// The text.
        text: String,
        /// Set if this replaces the block's text so far.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        replaces: bool,
    },
    /// A tool is called.
    #[serde(rename = "agent-tool-start")]
    ToolStart {
        /// The call.
        tool_use_id: ToolUseId,
        /// The tool.
        name: String,
        /// What it does, in a line.
        title: String,
        /// Its arguments.
        input: OwnedJson,
    },
    /// A tool has ended.
    #[serde(rename = "agent-tool-end")]
    ToolEnd {
        /// The call.
        tool_use_id: ToolUseId,
        /// The tool.
        name: String,
        /// How it ended.
        state: ToolState,
        /// Whether it is known to have failed. False if its end was never reported: then `state` is `unknown`.
        is_error: bool,
        /// Its output.
        output: Option<Output>,
        /// Details that depend on the kind of tool.
        detail: ToolDetail,
        /// How long it took.
        duration_ms: Option<u64>,
    },
    /// The user is asked a question, or a question was settled.
    #[serde(rename = "agent-question")]
    Question {
        /// Id of the request; the decision carries it. Null if the stream has the call but not the CLI's
        /// request, as in some recordings: `tool_use_id` then identifies the question.
        request_id: Option<RequestId>,
        /// The call that is waiting.
        tool_use_id: Option<ToolUseId>,
        /// The questions.
        request: RequestKind,
        /// Whether it is still waiting.
        state: RequestState,
    },
    /// A permission is requested, or a request was settled.
    #[serde(rename = "agent-permission")]
    Permission {
        /// Id of the request; the decision carries it.
        request_id: RequestId,
        /// The call that is waiting.
        tool_use_id: Option<ToolUseId>,
        /// What is requested.
        request: RequestKind,
        /// Whether it is still waiting.
        state: RequestState,
    },
    /// A tool of a client is called and waits for its answer, or has received it.
    #[serde(rename = "agent-tool-request")]
    ToolRequest {
        /// Id of the request; the decision carries it.
        request_id: RequestId,
        /// The call that is waiting.
        tool_use_id: Option<ToolUseId>,
        /// The tool, as the client named it.
        name: String,
        /// Its arguments.
        input: Value,
        /// Whether it is still waiting.
        state: RequestState,
    },
    /// A to-do list has changed.
    #[serde(rename = "agent-todos")]
    Todos {
        /// The whole list.
        items: Vec<Todo>,
    },
    /// A sub-agent begins.
    #[serde(rename = "agent-subagent-start")]
    SubagentStart {
        /// The call that started it, which is its id.
        tool_use_id: ToolUseId,
        /// What it is for; never empty.
        description: String,
        /// The kind of sub-agent.
        agent_type: Option<String>,
        /// Whether the session continues while it runs, as far as known.
        background: bool,
    },
    /// Something that was reported about a sub-agent has changed.
    #[serde(rename = "agent-subagent-update")]
    SubagentUpdate {
        /// The call that started it.
        tool_use_id: ToolUseId,
        /// What it is for; never empty.
        description: String,
        /// The kind of sub-agent.
        agent_type: Option<String>,
        /// Whether the session continues while it runs.
        background: bool,
    },
    /// A sub-agent has ended.
    #[serde(rename = "agent-subagent-end")]
    SubagentEnd {
        /// The call that started it.
        tool_use_id: ToolUseId,
        /// How it ended.
        state: AgentState,
        /// A summary of the outcome.
        summary: Option<String>,
        /// What it has used.
        progress: AgentProgress,
    },
    /// The CLI printed plain text that is neither a line of the protocol nor text of the model.
    #[serde(rename = "agent-output")]
    Output {
        /// The line.
        text: String,
    },
    /// Something went wrong.
    #[serde(rename = "agent-error")]
    Error {
        /// The error message.
        message: String,
    },
    /// A turn has ended.
    #[serde(rename = "agent-message-end")]
    MessageEnd {
        /// How it ended.
        state: TurnState,
        /// The result's subtype, if there was a result.
        subtype: Option<String>,
        /// Whether it failed. A turn that was interrupted did not.
        is_error: bool,
        /// The answer.
        text: Option<String>,
        /// Set if the CLI's result was empty and the answer is the text that was streamed.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        degraded: bool,
        /// The messages that it answered.
        messages: Vec<MessageId>,
        /// Rounds with the model.
        num_turns: Option<u64>,
        /// How long it took.
        duration_ms: Option<u64>,
        /// Tokens of the main loop; null if the CLI did not report them.
        usage: Option<TokenUsage>,
        /// What the turn cost; null if that is not known.
        cost_usd: Option<f64>,
        /// The CLI's own total, over all turns of the session.
        total_cost_usd: Option<f64>,
        /// What the turn cost by model, with the tokens of each.
        models: Vec<ModelCost>,
        /// Tool calls that were not allowed.
        permission_denials: Vec<Denial>,
    },
}

impl AgentEvent {
    /// The event's name, such as `agent-text-delta`.
    pub fn name(&self) -> &'static str {
        match &self.kind {
            AgentEventKind::ProcessStart { .. } => "agent-process-start",
            AgentEventKind::ProcessEnd { .. } => "agent-process-end",
            AgentEventKind::MessageStart { .. } => "agent-message-start",
            AgentEventKind::TextDelta { .. } => "agent-text-delta",
            AgentEventKind::ThinkingDelta { .. } => "agent-thinking-delta",
            AgentEventKind::ToolStart { .. } => "agent-tool-start",
            AgentEventKind::ToolEnd { .. } => "agent-tool-end",
            AgentEventKind::Question { .. } => "agent-question",
            AgentEventKind::Permission { .. } => "agent-permission",
            AgentEventKind::ToolRequest { .. } => "agent-tool-request",
            AgentEventKind::Todos { .. } => "agent-todos",
            AgentEventKind::SubagentStart { .. } => "agent-subagent-start",
            AgentEventKind::SubagentUpdate { .. } => "agent-subagent-update",
            AgentEventKind::SubagentEnd { .. } => "agent-subagent-end",
            AgentEventKind::Output { .. } => "agent-output",
            AgentEventKind::Error { .. } => "agent-error",
            AgentEventKind::MessageEnd { .. } => "agent-message-end",
        }
    }
}

/// Translates changes into `agent` events.
///
/// ```
/// use weir_transcript::{AgentVocabulary, Fold, FoldOptions};
/// use weir_wire::Decoder;
///
/// let (mut decoder, mut fold) = (Decoder::new(), Fold::new(FoldOptions::default()));
/// let mut vocabulary = AgentVocabulary::default();
/// let mut names = Vec::new();
/// let line = br#"{"type":"assistant","message":{"content":[{"type":"text","text":"Hi"}]}}"#;
/// fold.line(&decoder.decode(line), &mut |view, change| {
///     vocabulary.translate(view, change, &mut |event| names.push(event.name()));
/// });
/// assert_eq!(names, ["agent-process-start", "agent-message-start", "agent-text-delta"]);
/// ```
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct AgentVocabulary {
    milestones: Milestones,
}

impl AgentVocabulary {
    /// Reports the events in a change. The view already includes the change.
    pub fn translate(&mut self, view: &View, change: &Change<'_>, tell: &mut dyn FnMut(AgentEvent)) {
        self.milestones.tell(view, change, &mut |milestone| {
            if let Some(event) = event(view, &milestone) {
                tell(event);
            }
        });
    }

    /// Reports the events in a host event. Call it after the changes that the host event caused have been
    /// translated.
    pub fn host(&mut self, view: &View, event: &HostEvent, tell: &mut dyn FnMut(AgentEvent)) {
        self.milestones.host(event, &mut |milestone| {
            if let Some(event) = self::event(view, &milestone) {
                tell(event);
            }
        });
    }
}

pub(super) fn event(view: &View, milestone: &Milestone<'_>) -> Option<AgentEvent> {
    let (turn_id, parent_tool_use_id, kind) = match milestone {
        Milestone::TurnStarted(turn) => {
            let kind = AgentEventKind::MessageStart {
                model: view.session.model.clone(),
                cause: turn.cause.clone(),
                messages: turn.messages.clone(),
                cwd: view.session.cwd.clone(),
                tools: view.session.tools.clone(),
            };
            (Some(turn.id), None, kind)
        }
        Milestone::TurnEnded(turn) => {
            let result = turn.result.as_ref();
            let kind = AgentEventKind::MessageEnd {
                state: turn.state,
                subtype: result.map(|result| result.subtype.clone()),
                is_error: turn.state.is_error(),
                text: result.and_then(|result| result.text.clone()),
                degraded: result.is_some_and(|result| result.degraded),
                messages: turn.messages.clone(),
                num_turns: result.and_then(|result| result.num_turns),
                duration_ms: result.and_then(|result| result.duration_ms),
                usage: result.and_then(|result| result.usage),
                cost_usd: turn.cost_usd,
                total_cost_usd: view.cost.reported_usd,
                models: turn.models.clone(),
                permission_denials: result.map(|result| result.denials.clone()).unwrap_or_default(),
            };
            (Some(turn.id), None, kind)
        }
        Milestone::Text { entry, text, replaces } => {
            let (message_id, is_error) = match &entry.body {
                EntryBody::Text(text) => (text.message.clone(), text.error.is_some()),
                _ => (None, false),
            };
            let (text, replaces) = ((*text).to_owned(), *replaces);
            let kind = AgentEventKind::TextDelta { entry: entry.id, message_id, text, replaces, is_error };
            (entry.turn, entry.parent.clone(), kind)
        }
        Milestone::Thinking { entry, text, replaces } => {
            let kind = AgentEventKind::ThinkingDelta {
                entry: entry.id,
                text: (*text).to_owned(),
                replaces: *replaces,
            };
            (entry.turn, entry.parent.clone(), kind)
        }
        Milestone::ToolStarted { entry, tool } => {
            let kind = AgentEventKind::ToolStart {
                tool_use_id: tool.id.clone(),
                name: tool.name.clone(),
                title: tool.title.clone(),
                input: tool.input.clone(),
            };
            (entry.turn, entry.parent.clone(), kind)
        }
        Milestone::ToolEnded { entry, tool } => {
            let kind = AgentEventKind::ToolEnd {
                tool_use_id: tool.id.clone(),
                name: tool.name.clone(),
                state: tool.state,
                is_error: tool.state.is_error(),
                output: tool.output.clone(),
                detail: tool.detail.clone(),
                duration_ms: tool.duration_ms,
            };
            (entry.turn, entry.parent.clone(), kind)
        }
        Milestone::Request(request) => {
            let (request_id, tool_use_id) = (request.id.clone(), request.tool.clone());
            let (kind, state) = (request.kind.clone(), request.state.clone());
            let event = match &request.kind {
                RequestKind::Question { .. } => {
                    let request_id = Some(request_id);
                    AgentEventKind::Question { request_id, tool_use_id, request: kind, state }
                }
                RequestKind::ClientTool { name, input } => AgentEventKind::ToolRequest {
                    request_id,
                    tool_use_id,
                    name: name.clone(),
                    input: input.clone(),
                    state,
                },
                _ => AgentEventKind::Permission { request_id, tool_use_id, request: kind, state },
            };
            (request.turn, request.parent.clone(), event)
        }
        Milestone::Question { entry, tool, request, state } => {
            let kind = AgentEventKind::Question {
                request_id: None,
                tool_use_id: Some(tool.id.clone()),
                request: request.as_ref().clone(),
                state: state.clone(),
            };
            (entry.turn, entry.parent.clone(), kind)
        }
        Milestone::Todos(list) => (
            view.turns.last().map(|turn| turn.id),
            list.agent.clone(),
            AgentEventKind::Todos { items: list.items.clone() },
        ),
        Milestone::AgentStarted(agent) => {
            let kind = AgentEventKind::SubagentStart {
                tool_use_id: agent.id.clone(),
                description: agent.label(),
                agent_type: agent.agent_type.clone(),
                background: agent.background,
            };
            (agent.turn, agent.parent.clone(), kind)
        }
        Milestone::AgentChanged(agent) => {
            let kind = AgentEventKind::SubagentUpdate {
                tool_use_id: agent.id.clone(),
                description: agent.label(),
                agent_type: agent.agent_type.clone(),
                background: agent.background,
            };
            (agent.turn, agent.parent.clone(), kind)
        }
        Milestone::AgentEnded(agent) => {
            let kind = AgentEventKind::SubagentEnd {
                tool_use_id: agent.id.clone(),
                state: agent.state,
                summary: agent.summary.clone(),
                progress: agent.progress.clone(),
            };
            (agent.turn, agent.parent.clone(), kind)
        }
        Milestone::Error { entry, turn, message } => {
            let parent = entry.and_then(|entry| entry.parent.clone());
            (*turn, parent, AgentEventKind::Error { message: message.clone() })
        }
        Milestone::Notice { entry, notice: Notice::PlainText { text } } => {
            (entry.turn, entry.parent.clone(), AgentEventKind::Output { text: text.clone() })
        }
        Milestone::Notice { entry, notice } => {
            (entry.turn, entry.parent.clone(), AgentEventKind::Error { message: notice.error_message()? })
        }
        Milestone::ProcessStarted { resumes } => {
            (None, None, AgentEventKind::ProcessStart { resumes: resumes.clone() })
        }
        Milestone::ProcessEnded(exit) => {
            let kind = AgentEventKind::ProcessEnd {
                code: exit.code,
                signal: exit.signal,
                stderr: exit.stderr.clone(),
                wanted: exit.wanted,
            };
            (None, None, kind)
        }
        Milestone::Session { .. } => return None,
    };
    Some(AgentEvent { kind, session_id: view.session.id.clone(), turn_id, parent_tool_use_id })
}
