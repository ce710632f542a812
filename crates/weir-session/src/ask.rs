//! What the CLI asks the host, and how the host decides.

use serde_json::Value;
use weir_wire::{
    CanUseTool, ControlRequest, ControlRequestMessage, FormField, HookCallback, PermissionContext,
    PermissionUpdate, Question, QuestionAnswers, RequestId, Text, ToolInput, ToolUseId,
};

/// Something that the CLI asks and waits for.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Ask {
    /// May this tool be used?
    Permission(PermissionRequest),
    /// Questions with choices for a person.
    Question(QuestionRequest),
    /// A hook that the host registered is due.
    Hook(HookRequest),
    /// A message for an MCP server that lives in the host.
    Mcp(McpRequest),
    /// An MCP server wants something from a person.
    Elicitation(ElicitationRequest),
}

/// May this tool be used?
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionRequest {
    /// Names the request.
    pub id: RequestId,
    /// The tool.
    pub tool_name: String,
    /// Its arguments.
    pub input: Value,
    /// The call. Old versions leave it out.
    pub tool_use_id: Option<ToolUseId>,
    /// What the call is about, in a few words.
    pub description: Option<String>,
    /// Why it is asked at all.
    pub reason: Option<String>,
    /// The path outside the allowed folders.
    pub blocked_path: Option<String>,
    /// Rules that would let it pass from now on.
    pub suggestions: Vec<Value>,
    /// What the CLI says about the request apart from the call itself.
    pub context: Box<PermissionContext>,
}

/// Questions with choices for a person.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionRequest {
    /// Names the request.
    pub id: RequestId,
    /// The questions.
    pub questions: Vec<Question>,
    /// The arguments of the call, which the answer repeats.
    pub input: Value,
    /// The call.
    pub tool_use_id: Option<ToolUseId>,
}

/// A hook that the host registered is due.
#[derive(Debug, Clone, PartialEq)]
pub struct HookRequest {
    /// Names the request.
    pub id: RequestId,
    /// The name under which it was registered.
    pub callback: String,
    /// What it gets to see.
    pub input: Value,
    /// The tool call that it is about.
    pub tool_use_id: Option<ToolUseId>,
}

/// A message for an MCP server that lives in the host.
#[derive(Debug, Clone, PartialEq)]
pub struct McpRequest {
    /// Names the request.
    pub id: RequestId,
    /// The server.
    pub server: String,
    /// The JSON-RPC message.
    pub message: Value,
}

/// An MCP server wants something from a person.
#[derive(Debug, Clone, PartialEq)]
pub struct ElicitationRequest {
    /// Names the request.
    pub id: RequestId,
    /// The server.
    pub server: String,
    /// What it says.
    pub message: String,
    /// The address to open, where the answer is given there and not in a form.
    pub url: Option<String>,
    /// The fields of the form; none where there is no form, or one that Weir does not know.
    pub form: Option<Vec<FormField>>,
}

/// The host's decision.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Decision {
    /// The tool may be used.
    Allow {
        /// Other arguments than those asked about.
        input: Option<Value>,
        /// Rules to add, so that it is not asked again.
        remember: Vec<PermissionUpdate>,
    },
    /// It may not.
    Deny {
        /// What the model is told.
        message: String,
        /// Whether the turn ends as well.
        interrupt: bool,
    },
    /// The answers to questions.
    Answers(QuestionAnswers),
    /// What a hook, an MCP server or an elicitation gives back.
    Value(Value),
    /// The request cannot be carried out.
    Error(String),
    /// Somebody else will answer, by `Session::answer`, before the limit for answers.
    LeaveOpen,
}

impl Decision {
    /// The tool may be used as asked.
    pub fn allow() -> Self {
        Self::Allow { input: None, remember: Vec::new() }
    }

    /// The tool may not be used, for this reason.
    pub fn deny(message: impl Into<String>) -> Self {
        Self::Deny { message: message.into(), interrupt: false }
    }
}

impl Ask {
    /// Names the request.
    pub fn id(&self) -> &RequestId {
        match self {
            Self::Permission(ask) => &ask.id,
            Self::Question(ask) => &ask.id,
            Self::Hook(ask) => &ask.id,
            Self::Mcp(ask) => &ask.id,
            Self::Elicitation(ask) => &ask.id,
        }
    }

    /// Whether a person may have to answer it, which can take long.
    pub fn is_for_a_person(&self) -> bool {
        matches!(self, Self::Permission(_) | Self::Question(_) | Self::Elicitation(_))
    }

    /// Reads a request; nothing where this version of Weir does not know it.
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
            suggestions: ask.permission_suggestions.iter().map(weir_wire::RawJson::to_value).collect(),
            context: Box::new(ask.context()),
        })
    }
}
