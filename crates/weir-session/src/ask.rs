//! Requests that the CLI makes of the host, and the host's decisions.

use serde_json::Value;
use weir_transcript::{Request, RequestKind, View};
use weir_wire::{
    ControlRequest, ControlRequestMessage, PermissionUpdate, QuestionAnswers, RequestId, ToolUseId,
};

/// A request that the CLI makes and waits for.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Ask {
    /// For a person: a permission, questions, a plan, or input for an MCP server.
    Request(Box<Request>),
    /// Calls a hook that the host registered.
    Hook(HookRequest),
    /// A message for an MCP server that runs in the host.
    Mcp(McpRequest),
    /// A dialog of a kind that the host can show, see [`crate::SessionOptions::dialogs`]. Answered with
    /// [`Decision::Value`], or denied if the user closes it.
    Dialog(DialogRequest),
}

/// A dialog for the user.
#[derive(Debug, Clone, PartialEq)]
pub struct DialogRequest {
    /// Id of the request.
    pub id: RequestId,
    /// Its kind, such as `refusal_fallback_prompt`.
    pub kind: String,
    /// What to show; each kind has its own shape.
    pub payload: Value,
    /// The tool call that it belongs to.
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
            Self::Request(request) => &request.id,
            Self::Hook(ask) => &ask.id,
            Self::Mcp(ask) => &ask.id,
            Self::Dialog(ask) => &ask.id,
        }
    }

    /// What a person is asked, if it is for a person.
    pub fn kind(&self) -> Option<&RequestKind> {
        if let Self::Request(request) = self { Some(&request.kind) } else { None }
    }

    /// Whether a person may have to answer it, which can take a long time.
    pub fn is_for_a_person(&self) -> bool {
        self.kind().is_some()
    }

    /// A request that the view already has if it is for a person; `None` if this version of Weir does not know it.
    pub(crate) fn read(message: &ControlRequestMessage<'_>, view: &View) -> Option<Self> {
        let id = message.request_id.to_id();
        match &message.request {
            ControlRequest::CanUseTool(_) | ControlRequest::Elicitation(_) => {
                view.request(&id).map(|request| Self::Request(Box::new(request.clone())))
            }
            ControlRequest::HookCallback(hook) => Some(Self::Hook(HookRequest {
                id,
                callback: hook.callback_id.to_str().into(),
                input: hook.input.to_value(),
                tool_use_id: hook.tool_use_id.map(|id| id.to_id()),
            })),
            ControlRequest::McpMessage(mcp) => Some(Self::Mcp(McpRequest {
                id,
                server: mcp.server_name.to_str().into(),
                message: mcp.message.to_value(),
            })),
            ControlRequest::UserDialog(dialog) => Some(Self::Dialog(DialogRequest {
                id,
                kind: dialog.dialog_kind.to_str().into(),
                payload: dialog.payload.map(|payload| payload.to_value()).unwrap_or_default(),
                tool_use_id: dialog.tool_use_id.map(|id| id.to_id()),
            })),
            _ => None,
        }
    }
}
