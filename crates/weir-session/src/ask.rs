//! Requests that the CLI makes of the host, and the host's decisions.

use serde_json::Value;
use weir_wire::{
    CanUseTool, ControlRequest, ControlRequestMessage, FormField, HookCallback, PermissionContext,
    PermissionUpdate, Question, QuestionAnswers, RequestId, Text, ToolInput, ToolUseId,
};

/// A request that the CLI makes and waits for.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Ask {
    /// Asks whether a tool may be used.
    Permission(PermissionRequest),
    /// Questions with choices for a person.
    Question(QuestionRequest),
    /// Calls a hook that the host registered.
    Hook(HookRequest),
    /// A message for an MCP server that runs in the host.
    Mcp(McpRequest),
    /// An MCP server asks a person for input.
    Elicitation(ElicitationRequest),
}

/// Asks whether a tool may be used.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionRequest {
    /// Id of the request.
    pub id: RequestId,
    /// The tool.
    pub tool_name: String,
    /// Its arguments.
    pub input: Value,
    /// Id of the tool call. Old versions leave it out.
    pub tool_use_id: Option<ToolUseId>,
    /// Short description of the call.
    pub description: Option<String>,
    /// Why permission is needed.
    pub reason: Option<String>,
    /// The path outside the allowed folders, if there is one.
    pub blocked_path: Option<String>,
    /// Rules that would allow it from now on.
    pub suggestions: Vec<PermissionUpdate>,
    /// What the CLI says about the request beyond the call itself.
    pub context: Box<PermissionContext>,
}

/// Questions with choices for a person.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionRequest {
    /// Id of the request.
    pub id: RequestId,
    /// The questions.
    pub questions: Vec<Question>,
    /// Arguments of the call, which the answer repeats.
    pub input: Value,
    /// Id of the tool call.
    pub tool_use_id: Option<ToolUseId>,
}

/// Calls a hook that the host registered.
#[derive(Debug, Clone, PartialEq)]
pub struct HookRequest {
    /// Id of the request.
    pub id: RequestId,
    /// The name under which it was registered.
    pub callback: String,
    /// Input of the hook.
    pub input: Value,
    /// The tool call it concerns.
    pub tool_use_id: Option<ToolUseId>,
}

/// A message for an MCP server that runs in the host.
#[derive(Debug, Clone, PartialEq)]
pub struct McpRequest {
    /// Id of the request.
    pub id: RequestId,
    /// The server.
    pub server: String,
    /// The JSON-RPC message.
    pub message: Value,
}

/// An MCP server asks a person for input.
#[derive(Debug, Clone, PartialEq)]
pub struct ElicitationRequest {
    /// Id of the request.
    pub id: RequestId,
    /// The server.
    pub server: String,
    /// Text for the person.
    pub message: String,
    /// URL to open if the answer is given there instead of in a form.
    pub url: Option<String>,
    /// Fields of the form; `None` if there is no form or Weir does not know its kind.
    pub form: Option<Vec<FormField>>,
}

/// The host's decision.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Decision {
    /// The tool may be used.
    Allow {
        /// Changed arguments, if any.
        input: Option<Value>,
        /// Rules to add, so that the CLI does not ask again.
        remember: Vec<PermissionUpdate>,
    },
    /// The tool may not be used.
    Deny {
        /// Reason given to the model.
        message: String,
        /// Whether the turn ends as well.
        interrupt: bool,
    },
    /// Answers to questions.
    Answers(QuestionAnswers),
    /// Return value of a hook, an MCP server or an elicitation.
    Value(Value),
    /// The request cannot be carried out.
    Error(String),
    /// The answer comes later through `Session::answer`, before the time limit for answers.
    LeaveOpen,
}

impl Decision {
    /// Allows the tool with its original arguments.
    pub fn allow() -> Self {
        Self::Allow { input: None, remember: Vec::new() }
    }

    /// Denies the tool, for this reason.
    pub fn deny(message: impl Into<String>) -> Self {
        Self::Deny { message: message.into(), interrupt: false }
    }
}

impl Ask {
    /// Id of the request.
    pub fn id(&self) -> &RequestId {
        match self {
            Self::Permission(ask) => &ask.id,
            Self::Question(ask) => &ask.id,
            Self::Hook(ask) => &ask.id,
            Self::Mcp(ask) => &ask.id,
            Self::Elicitation(ask) => &ask.id,
        }
    }

    /// Whether a person may have to answer it, which can take a long time.
    pub fn is_for_a_person(&self) -> bool {
        matches!(self, Self::Permission(_) | Self::Question(_) | Self::Elicitation(_))
    }

    /// Parses a request; `None` if this version of Weir does not know it.
    pub(crate) fn read(message: &ControlRequestMessage<'_>) -> Option<Self> {
        let id = message.request_id.to_id();
        match &message.request {
            ControlRequest::CanUseTool(ask) => Some(Self::can_use_tool(id, ask)),
            ControlRequest::HookCallback(hook) => Some(Self::hook(id, hook)),
            ControlRequest::McpMessage(mcp) => Some(Self::Mcp(McpRequest {
                id,
                server: mcp.server_name.to_str().into(),
                message: mcp.message.to_value(),
            })),
            ControlRequest::Elicitation(ask) => Some(Self::Elicitation(ElicitationRequest {
                id,
                server: ask.mcp_server_name.to_str().into(),
                message: ask.message.to_str().into(),
                url: ask.url.map(|url| url.to_str().into_owned()),
                form: ask.form(),
            })),
            _ => None,
        }
    }

    fn hook(id: RequestId, hook: &HookCallback<'_>) -> Self {
        Self::Hook(HookRequest {
            id,
            callback: hook.callback_id.to_str().into(),
            input: hook.input.to_value(),
            tool_use_id: hook.tool_use_id.map(|id| id.to_id()),
        })
    }

    fn can_use_tool(id: RequestId, ask: &CanUseTool<'_>) -> Self {
        let tool_name = ask.tool_name.to_str().into_owned();
        let input = ask.input.to_value();
        let tool_use_id = ask.tool_use_id.map(|id| id.to_id());
        if tool_name == "AskUserQuestion"
            && let ToolInput::AskUserQuestion(question) = ToolInput::from_value(&tool_name, input.clone())
        {
            return Self::Question(QuestionRequest { id, questions: question.questions, input, tool_use_id });
        }
        let owned = |text: Option<Text<'_>>| text.map(|text| text.to_str().into_owned());
        Self::Permission(PermissionRequest {
            id,
            tool_name,
            input,
            tool_use_id,
            description: owned(ask.description),
            reason: owned(ask.decision_reason),
            blocked_path: owned(ask.blocked_path),
            suggestions: ask.suggestions(),
            context: Box::new(ask.context()),
        })
    }
}
