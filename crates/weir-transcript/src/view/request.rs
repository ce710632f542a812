//! Requests of the CLI to a person, or to a client whose tool it calls.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_wire::{FormField, PermissionContext, PermissionUpdate, Question, RequestId, ToolUseId, TurnId};

use super::EntryId;

/// The tool with which the CLI shows a plan.
pub(crate) const PLAN_TOOL: &str = "ExitPlanMode";

/// A request to a person, or to a client whose tool is called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Request {
    /// Id of the request; the decision carries it.
    pub id: RequestId,
    /// The entry at which it arrived.
    pub entry: EntryId,
    /// The turn in which it arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The tool call that is waiting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolUseId>,
    /// The sub-agent that asks; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ToolUseId>,
    /// What is requested.
    pub kind: RequestKind,
    /// Whether it is still waiting.
    pub state: RequestState,
}

/// What is requested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RequestKind {
    /// May this tool be used?
    Permission(PermissionRequest),
    /// Questions with choices.
    Question {
        /// The questions.
        questions: Vec<Question>,
        /// The arguments of the tool call, which the decision repeats.
        input: Value,
    },
    /// May this plan be carried out?
    Plan {
        /// The plan, in Markdown.
        plan: Option<String>,
        /// The arguments of the tool call.
        input: Value,
    },
    /// An MCP server wants something.
    Elicitation {
        /// The server.
        server: String,
        /// The text of the request.
        message: String,
        /// The address to open, if the answer is given there and not in a form.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        /// The fields of the form; absent without a form, or with one that Weir does not understand.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        form: Option<Vec<FormField>>,
    },
    /// A tool of a client is called. A program answers it, not a person.
    ClientTool {
        /// The tool, as the client named it.
        name: String,
        /// Its arguments.
        input: Value,
    },
}

/// Asks whether a tool may be used.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PermissionRequest {
    /// The tool.
    pub tool_name: String,
    /// Its arguments.
    pub input: Value,
    /// What the call is about, in a few words.
    pub description: Option<String>,
    /// Why the CLI asks.
    pub reason: Option<String>,
    /// The path outside the allowed folders.
    pub blocked_path: Option<String>,
    /// Rules that would allow such calls from now on. A decision refers to one by its index in this list.
    pub suggestions: Vec<PermissionUpdate>,
    /// What the CLI says about the request apart from the call itself.
    #[serde(default, skip_serializing_if = "PermissionContext::is_empty")]
    pub context: Box<PermissionContext>,
}

impl RequestKind {
    /// Whether a person has to decide.
    pub fn is_for_a_person(&self) -> bool {
        !matches!(self, Self::ClientTool { .. })
    }

    /// The CLI's name of the tool that waits, if it is a tool of the CLI.
    pub fn tool_name(&self) -> Option<&str> {
        match self {
            Self::Permission(request) => Some(&request.tool_name),
            Self::Question { .. } => Some("AskUserQuestion"),
            Self::Plan { .. } => Some(PLAN_TOOL),
            Self::Elicitation { .. } | Self::ClientTool { .. } => None,
        }
    }

    /// The request as one for a tool, if it is a permission or a plan: a plan asks whether the tool that leaves plan
    /// mode may be used.
    pub fn permission(&self) -> Option<Cow<'_, PermissionRequest>> {
        match self {
            Self::Permission(request) => Some(Cow::Borrowed(request)),
            Self::Plan { plan, input } => {
                let mut input = input.clone();
                if let (Some(plan), Value::Object(members)) = (plan, &mut input) {
                    members.entry("plan").or_insert_with(|| plan.as_str().into());
                }
                let tool_name = PLAN_TOOL.to_owned();
                Some(Cow::Owned(PermissionRequest { tool_name, input, ..PermissionRequest::default() }))
            }
            _ => None,
        }
    }
}

/// The state of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RequestState {
    /// It is waiting.
    Open,
    /// It was allowed.
    Allowed {
        /// Who decided.
        by: Option<String>,
        /// The answers, for questions.
        answers: Option<Value>,
    },
    /// It was denied.
    Denied {
        /// Who decided.
        by: Option<String>,
        /// Message for the model.
        message: Option<String>,
    },
    /// It was denied because no decision came in time.
    Expired,
    /// The CLI no longer wants an answer.
    Cancelled,
    /// The tool's result arrived, so it was decided elsewhere; by whom and how is not known.
    Settled,
}
