//! The CLI's side of the control protocol: its requests to us, and its answers to ours.

use crate::decode::object::{Field, Problems, wire_struct};
use crate::form::{FormField, form_fields};
use crate::id::{IdRef, RequestId, ToolUseId};
use crate::json::{Node, RawJson, Text};
use crate::permission::{AskRule, McpServerName, PermissionContext};
use crate::permission_update::PermissionUpdate;

wire_struct! {
    /// The CLI asks for something and waits for the answer. Every request must be answered.
    ControlRequestMessage {
        /// Id of the request; the answer carries it.
        required request_id: IdRef<'a, RequestId> = "request_id",
        /// What it asks for.
        required request: ControlRequest<'a> = "request",
    }
}

/// What the CLI asks for.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ControlRequest<'a> {
    /// May this tool be used? Questions for the user also arrive this way.
    CanUseTool(Box<CanUseTool<'a>>),
    /// A hook that we registered must run.
    HookCallback(HookCallback<'a>),
    /// A message for an MCP server in our process.
    McpMessage(McpMessage<'a>),
    /// An MCP server wants something from the user.
    Elicitation(Elicitation<'a>),
    /// A dialog of a kind that we said we can show.
    UserDialog(UserDialog<'a>),
    /// Something that this version of Weir does not know. It still gets an answer: an error.
    Unknown {
        /// Its `subtype`, if it has one.
        subtype: Option<Text<'a>>,
        /// The request.
        json: RawJson<'a>,
    },
}

impl Default for ControlRequest<'_> {
    fn default() -> Self {
        Self::Unknown { subtype: None, json: RawJson::default() }
    }
}

impl<'a> Field<'a> for ControlRequest<'a> {
    fn decode(node: Node<'a, '_>, problems: &mut Problems) -> Option<Self> {
        let subtype = node.get("subtype").and_then(|subtype| subtype.text());
        let name = subtype.map(|subtype| subtype.to_str());
        match name.as_deref() {
            Some("can_use_tool") => Field::decode(node, problems).map(Self::CanUseTool),
            Some("hook_callback") => Field::decode(node, problems).map(Self::HookCallback),
            Some("mcp_message") => Field::decode(node, problems).map(Self::McpMessage),
            Some("elicitation") => Field::decode(node, problems).map(Self::Elicitation),
            Some("request_user_dialog") => Field::decode(node, problems).map(Self::UserDialog),
            _ => Some(Self::Unknown { subtype, json: node.raw() }),
        }
    }
}

wire_struct! {
    /// May this tool be used?
    CanUseTool {
        /// The tool.
        required tool_name: Text<'a> = "tool_name",
        /// Its arguments.
        required input: RawJson<'a> = "input",
        /// The call. Old versions leave it out.
        optional tool_use_id: IdRef<'a, ToolUseId> = "tool_use_id",
        /// Rules that would allow such calls from now on.
        list permission_suggestions: Vec<RawJson<'a>> = "permission_suggestions",
        /// Set if only a person can decide: a question, a plan.
        optional requires_user_interaction: bool = "requires_user_interaction",
        /// What the call is about, in a few words.
        optional description: Text<'a> = "description",
        /// The tool's name for people.
        optional display_name: Text<'a> = "display_name",
        /// A headline for the request.
        optional title: Text<'a> = "title",
        /// The path outside the allowed folders.
        optional blocked_path: Text<'a> = "blocked_path",
        /// Why the CLI asks.
        optional decision_reason: Text<'a> = "decision_reason",
        /// The CLI's own id of the sub-agent that asks.
        optional agent_id: Text<'a> = "agent_id",
        /// The kind of `decision_reason`, such as `rule`, `hook` or `safetyCheck`.
        optional decision_reason_type: Text<'a> = "decision_reason_type",
        /// Set if a safety check is involved: whether a classifier may approve the call, or only a person.
        optional classifier_approvable: bool = "classifier_approvable",
        /// Set if a rule that always allows such calls must not be offered.
        optional suppress_always_allow_rule: bool = "suppress_always_allow_rule",
        /// Set if a single stray key press must not approve the request.
        optional default_to_no: bool = "default_to_no",
        /// The rule in the user's settings that requires a person's decision.
        optional matched_ask_rule: MatchedRule<'a> = "matched_ask_rule",
        /// The MCP server that provides the tool.
        optional mcp_server: McpServer<'a> = "mcp_server",
    }
}

wire_struct! {
    /// A rule in the user's settings that matched a call.
    MatchedRule {
        /// The settings that contain it, such as `userSettings`.
        optional origin: Text<'a> = "source",
        /// The tool that it applies to.
        optional tool_name: Text<'a> = "tool_name",
        /// Which calls of the tool; all if absent.
        optional rule_content: Text<'a> = "rule_content",
    }
}

wire_struct! {
    /// An MCP server named by a permission request.
    McpServer {
        /// Its name in the configuration.
        optional name: Text<'a> = "name",
        /// Where its configuration comes from, such as `sdk` or `project`.
        optional origin: Text<'a> = "source",
    }
}

impl Elicitation<'_> {
    /// The fields of the form; `None` without a form, or with one that Weir does not understand.
    pub fn form(&self) -> Option<Vec<FormField>> {
        let order: Vec<String> = self.property_order.iter().map(|name| name.to_str().into_owned()).collect();
        form_fields(&self.requested_schema?.to_value(), &order)
    }
}

impl CanUseTool<'_> {
    /// The updates that the CLI suggests, so that it need not ask again.
    pub fn suggestions(&self) -> Vec<PermissionUpdate> {
        self.permission_suggestions.iter().map(|update| update.to_value().into()).collect()
    }

    /// What the CLI says about the request apart from the call itself.
    pub fn context(&self) -> PermissionContext {
        let owned = |text: Option<Text<'_>>| text.map(|text| text.to_str().into_owned());
        PermissionContext {
            default_to_no: self.default_to_no.unwrap_or(false),
            suppress_always_allow_rule: self.suppress_always_allow_rule.unwrap_or(false),
            requires_user_interaction: self.requires_user_interaction.unwrap_or(false),
            decision_reason_type: owned(self.decision_reason_type),
            classifier_approvable: self.classifier_approvable,
            matched_ask_rule: self.matched_ask_rule.as_ref().map(|rule| AskRule {
                source: owned(rule.origin),
                tool_name: owned(rule.tool_name).unwrap_or_default(),
                rule_content: owned(rule.rule_content),
            }),
            mcp_server: self.mcp_server.as_ref().map(|server| McpServerName {
                name: owned(server.name).unwrap_or_default(),
                source: owned(server.origin),
            }),
        }
    }
}

wire_struct! {
    /// A hook that we registered in `initialize` must run.
    HookCallback {
        /// The id under which we registered it.
        required callback_id: Text<'a> = "callback_id",
        /// The input of the hook.
        required input: RawJson<'a> = "input",
        /// The tool call that it applies to.
        optional tool_use_id: IdRef<'a, ToolUseId> = "tool_use_id",
    }
}

wire_struct! {
    /// A message for an MCP server in our process.
    McpMessage {
        /// The server.
        required server_name: Text<'a> = "server_name",
        /// The JSON-RPC message.
        required message: RawJson<'a> = "message",
    }
}

wire_struct! {
    /// An MCP server wants something from the user.
    Elicitation {
        /// The server.
        required mcp_server_name: Text<'a> = "mcp_server_name",
        /// The text of the request.
        required message: Text<'a> = "message",
        /// `form` or `url`.
        optional mode: Text<'a> = "mode",
        /// The address to open, for `url`.
        optional url: Text<'a> = "url",
        /// The shape of the answer, for `form`.
        optional requested_schema: RawJson<'a> = "requested_schema",
        /// The members of the schema in the order in which the server listed them.
        list property_order: Vec<Text<'a>> = "property_order",
    }
}

wire_struct! {
    /// A dialog of a kind that we said we can show.
    UserDialog {
        /// Its kind, such as `refusal_fallback_prompt`.
        required dialog_kind: Text<'a> = "dialog_kind",
        /// What to show; each kind has its own shape.
        optional payload: RawJson<'a> = "payload",
        /// The tool call that it belongs to.
        optional tool_use_id: IdRef<'a, ToolUseId> = "tool_use_id",
    }
}

wire_struct! {
    /// The CLI answers a control request of ours.
    ControlResponseMessage {
        /// The answer.
        required response: ControlResponse<'a> = "response",
    }
}

wire_struct! {
    /// An answer to a control request of ours.
    ControlResponse {
        /// `success` or `error`.
        required subtype: Text<'a> = "subtype",
        /// The request that this answers.
        required request_id: IdRef<'a, RequestId> = "request_id",
        /// The result of the request.
        optional response: RawJson<'a> = "response",
        /// Why it could not be done.
        optional error: Text<'a> = "error",
        /// Requests of the CLI that are still unanswered.
        list pending_permission_requests: Vec<RawJson<'a>> = "pending_permission_requests",
    }
}

impl ControlResponse<'_> {
    /// Whether the request was carried out.
    pub fn is_success(&self) -> bool {
        self.subtype == "success"
    }
}

wire_struct! {
    /// The CLI no longer wants an answer to a request.
    ControlCancelMessage {
        /// The request.
        required request_id: IdRef<'a, RequestId> = "request_id",
    }
}
