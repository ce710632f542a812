//! Decisions on the CLI's requests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use weir_wire::RuleDestination;

/// The decision on a permission request or on a plan.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerPermission {
    /// Whether the request is allowed.
    pub(crate) behavior: Behavior,
    /// Message to the model with a denial.
    pub(crate) message: Option<String>,
    /// Arguments that replace those of the call. Needs the role `driver`.
    #[schema(value_type = Option<std::collections::HashMap<String, Value>>)]
    pub(crate) updated_input: Option<serde_json::Map<String, Value>>,
    /// Suggestions of the request that apply from now on. Needs the role `driver` for the session, and `admin` to store
    /// it.
    #[serde(default)]
    pub(crate) remember: Vec<Remember>,
    /// The permission mode in which a plan is carried out; `default`, which asks for each edit, if left out. Other
    /// modes need the role `driver`.
    pub(crate) permission_mode: Option<String>,
    /// Whether a denial ends the turn.
    pub(crate) interrupt: Option<bool>,
}

/// A suggestion that applies from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Remember {
    /// Index in the request's `suggestions`, from 0.
    pub(crate) suggestion: usize,
    /// Where the rule is kept.
    pub(crate) destination: RuleDestination,
}

/// Whether a tool may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Behavior {
    /// The tool may be used.
    Allow,
    /// The tool may not be used.
    Deny,
}

/// The response to questions: either answers, or a reason to decline.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerQuestion {
    /// For each question a label, several labels, or free text.
    pub(crate) answers: Option<BTreeMap<String, Choice>>,
    /// Why the questions are declined; the model is told.
    pub(crate) decline: Option<String>,
}

/// The answer to one question.
#[derive(Debug, Clone, Deserialize, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Choice {
    /// A label, or free text.
    One(String),
    /// Several labels.
    Several(Vec<String>),
}

/// The response to an elicitation of an MCP server.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerElicitation {
    /// Whether the elicitation is accepted.
    pub(crate) action: ElicitationAction,
    /// The answers, by field name of the form; left out for a link.
    #[schema(value_type = Option<std::collections::HashMap<String, Value>>)]
    pub(crate) content: Option<serde_json::Map<String, Value>>,
}

/// The decision on an elicitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ElicitationAction {
    /// Accepted, with the content or at the link.
    Accept,
    /// Declined.
    Decline,
    /// Dismissed without a decision.
    Cancel,
}

/// An accepted decision.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Answered {
    /// The request.
    pub(crate) request_id: String,
    /// Who answered it.
    pub(crate) answered_by: String,
}
