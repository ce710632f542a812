//! What the CLI says about a permission request apart from the call itself, as owned data.

use serde::{Deserialize, Serialize};

use crate::permission_update::describe_rule;

/// What the CLI says about a permission request apart from the call itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct PermissionContext {
    /// Whether a single stray key press must not approve the request.
    #[serde(skip_serializing_if = "is_false")]
    pub default_to_no: bool,
    /// Whether a rule that always allows such calls must not be offered.
    #[serde(skip_serializing_if = "is_false")]
    pub suppress_always_allow_rule: bool,
    /// Whether only a person may decide, and no program on a person's behalf.
    #[serde(skip_serializing_if = "is_false")]
    pub requires_user_interaction: bool,
    /// The kind of reason: `rule`, `mode`, `hook`, `safetyCheck`, `workingDir`, `other` and more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision_reason_type: Option<String>,
    /// Present if a safety check is involved: false if only a person may approve the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classifier_approvable: Option<bool>,
    /// The rule in the user's settings that requires a person's decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched_ask_rule: Option<AskRule>,
    /// The MCP server that provides the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_server: Option<McpServerName>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

impl PermissionContext {
    /// Whether every field has its default value.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a program that decides by its own rules must leave the request to a person.
    pub fn needs_a_person(&self) -> bool {
        self.requires_user_interaction
            || self.default_to_no
            || self.matched_ask_rule.is_some()
            || self.classifier_approvable == Some(false)
    }
}

/// A rule in the user's settings that requires a person's decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AskRule {
    /// The settings that contain it, such as `userSettings`.
    pub source: Option<String>,
    /// The tool.
    pub tool_name: String,
    /// Which calls of the tool; all if absent.
    pub rule_content: Option<String>,
}

impl std::fmt::Display for AskRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&describe_rule(&self.tool_name, self.rule_content.as_deref()))
    }
}

/// An MCP server named by a permission request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct McpServerName {
    /// Its name in the configuration.
    pub name: String,
    /// Where its configuration comes from, such as `sdk` or `project`.
    pub source: Option<String>,
}
