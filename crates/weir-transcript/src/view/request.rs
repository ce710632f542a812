//! What the CLI asks a person, or a client whose tool it calls.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_wire::{FormField, PermissionContext, Question, RequestId, ToolUseId, TurnId};

use super::EntryId;

/// A request for an answer of a person, or of a client whose tool is called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Request {
    /// Names the request; the answer carries it.
    pub id: RequestId,
    /// The entry at which it came.
    pub entry: EntryId,
    /// The turn in which it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The tool call that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolUseId>,
    /// The sub-agent that asks; none for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ToolUseId>,
    /// What it asks.
    pub kind: RequestKind,
    /// Whether it still waits.
    pub state: RequestState,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RequestKind {
    /// May this tool be used?
    Permission {
        /// The tool.
        tool_name: String,
        /// Its arguments.
        input: Value,
        /// What the call is about, in a few words.
        description: Option<String>,
        /// Why it is asked.
        reason: Option<String>,
        /// The path outside the allowed folders.
        blocked_path: Option<String>,
        /// Rules that would let it pass from now on. A decision names one by its place in this list.
        suggestions: Vec<Value>,
        /// What the CLI says about the request apart from the call itself.
        #[serde(default, skip_serializing_if = "PermissionContext::is_empty")]
        context: Box<PermissionContext>,
    },
    /// Questions with choices.
    Question {
        /// The questions.
        questions: Vec<Question>,
        /// The arguments of the tool call, which the answer repeats.
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
        /// What it says.
        message: String,
        /// The address to open, where the answer is given there and not in a form.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        /// The fields of the form; none where there is no form, or one that Weir does not know.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        form: Option<Vec<FormField>>,
    },
    /// A tool of a client is called. A program answers it, and no person is waited for.
    ClientTool {
        /// The tool, as the client named it.
        name: String,
        /// Its arguments.
        input: Value,
    },
}

impl RequestKind {
    /// Whether a person has to answer.
    pub fn is_for_a_person(&self) -> bool {
        !matches!(self, Self::ClientTool { .. })
    }
}

/// Whether a request still waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RequestState {
    /// It waits.
    Open,
    /// It was allowed.
    Allowed {
        /// By whom.
        by: Option<String>,
        /// The answers, for questions.
        answers: Option<Value>,
    },
    /// It was denied.
    Denied {
        /// By whom.
        by: Option<String>,
        /// What the model was told.
        message: Option<String>,
    },
    /// Nobody answered in time, so it was denied.
    Expired,
    /// The CLI no longer wants an answer.
    Cancelled,
    /// The tool's result came, so somebody has answered; who and how is not known.
    Settled,
}
