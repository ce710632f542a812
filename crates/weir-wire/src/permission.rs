//! Permission requests as owned data: what the CLI says about one, and the rule changes that it suggests.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::send::PermissionUpdate;

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
    /// The rule.
    #[serde(flatten)]
    pub rule: PermissionRule,
}

/// The calls that a rule applies to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PermissionRule {
    /// The tool.
    pub tool_name: String,
    /// Which calls of the tool; all if absent.
    pub rule_content: Option<String>,
}

impl std::fmt::Display for PermissionRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.rule_content {
            Some(content) => write!(f, "{}({content})", self.tool_name),
            None => f.write_str(&self.tool_name),
        }
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

/// Where a rule change is stored, with the CLI's own names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum RuleDestination {
    /// In the memory of the CLI process.
    Session,
    /// In the project, for this user: `.claude/settings.local.json`.
    LocalSettings,
    /// In the project, for everyone who works on it: `.claude/settings.json`.
    ProjectSettings,
    /// For all projects of this user: `~/.claude/settings.json`.
    UserSettings,
}

impl RuleDestination {
    /// All destinations, the shortest-lived first.
    pub const ALL: [Self; 4] =
        [Self::Session, Self::LocalSettings, Self::ProjectSettings, Self::UserSettings];

    /// The CLI's name for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::LocalSettings => "localSettings",
            Self::ProjectSettings => "projectSettings",
            Self::UserSettings => "userSettings",
        }
    }
}

/// A rule change that the CLI suggests with a permission request, of a kind that allows such calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// What would change.
    pub kind: SuggestionKind,
    /// Where the CLI would store it; `None` for a destination that Weir does not know.
    pub destination: Option<RuleDestination>,
}

/// What a suggestion would change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SuggestionKind {
    /// These calls no longer need permission.
    AllowRules(Vec<PermissionRule>),
    /// The permission mode changes.
    SetMode(String),
    /// The CLI may also work in these folders.
    AddDirectories(Vec<String>),
}

impl Suggestion {
    /// Reads a suggestion of the CLI; `None` for kinds that Weir does not offer, such as deny rules.
    pub fn read(suggestion: &Value) -> Option<Self> {
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let list = |name: &str| suggestion.get(name).and_then(Value::as_array);
        let kind = match suggestion.get("type").and_then(Value::as_str)? {
            "addRules" if text(suggestion, "behavior").as_deref() == Some("allow") => {
                let rule = |rule: &Value| {
                    let tool_name = text(rule, "toolName").filter(|name| !name.is_empty())?;
                    Some(PermissionRule { tool_name, rule_content: text(rule, "ruleContent") })
                };
                SuggestionKind::AllowRules(list("rules")?.iter().map(rule).collect::<Option<_>>()?)
            }
            "setMode" => SuggestionKind::SetMode(text(suggestion, "mode")?),
            "addDirectories" => {
                let folder = |folder: &Value| folder.as_str().map(str::to_owned);
                SuggestionKind::AddDirectories(
                    list("directories")?.iter().map(folder).collect::<Option<_>>()?,
                )
            }
            _ => return None,
        };
        let is_empty = match &kind {
            SuggestionKind::AllowRules(rules) => rules.is_empty(),
            SuggestionKind::SetMode(mode) => mode.is_empty(),
            SuggestionKind::AddDirectories(folders) => folders.is_empty(),
        };
        let destination = suggestion.get("destination").cloned();
        let destination = destination.and_then(|name| serde_json::from_value(name).ok());
        (!is_empty).then_some(Self { kind, destination })
    }

    /// The update that stores the change in this destination.
    pub fn update(&self, destination: RuleDestination) -> PermissionUpdate {
        let destination = destination.as_str();
        match &self.kind {
            SuggestionKind::AllowRules(rules) => {
                let rules = rules.iter().map(|rule| {
                    let mut json = json!({"toolName": rule.tool_name});
                    if let (Some(content), Some(json)) = (&rule.rule_content, json.as_object_mut()) {
                        json.insert("ruleContent".into(), json!(content));
                    }
                    json
                });
                PermissionUpdate::new(json!({
                    "type": "addRules", "rules": rules.collect::<Vec<_>>(), "behavior": "allow",
                    "destination": destination,
                }))
            }
            SuggestionKind::SetMode(mode) => PermissionUpdate::set_mode(mode, destination),
            SuggestionKind::AddDirectories(folders) => {
                let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
                PermissionUpdate::add_directories(&folders, destination)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suggestion_is_stored_in_the_requested_destination() {
        let suggested = json!({"type": "addRules", "destination": "localSettings", "behavior": "allow",
            "rules": [{"toolName": "Bash", "ruleContent": "git push:*"}, {"toolName": "mcp__a__b"}]});
        let suggestion = Suggestion::read(&suggested).unwrap();
        assert_eq!(suggestion.destination, Some(RuleDestination::LocalSettings));
        let update = suggestion.update(RuleDestination::Session);
        assert_eq!(
            *update.as_value(),
            json!({"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "git push:*"},
                {"toolName": "mcp__a__b"}], "behavior": "allow", "destination": "session"})
        );
        assert_eq!(*suggestion.update(RuleDestination::LocalSettings).as_value(), suggested);
        for destination in RuleDestination::ALL {
            assert_eq!(json!(destination), json!(destination.as_str()));
        }
    }

    #[test]
    fn suggestions_that_do_not_allow_calls_are_not_offered() {
        for suggested in [
            json!({"type": "addRules", "behavior": "deny", "rules": [{"toolName": "Bash"}]}),
            json!({"type": "addRules", "behavior": "allow", "rules": []}),
            json!({"type": "addRules", "behavior": "allow", "rules": [{"ruleContent": "x"}]}),
            json!({"type": "removeRules", "behavior": "allow", "rules": [{"toolName": "Bash"}]}),
            json!({"type": "setMode"}),
            json!({"type": "addDirectories", "directories": [7]}),
            json!({}),
            json!("setMode"),
        ] {
            assert_eq!(Suggestion::read(&suggested), None, "{suggested}");
        }
        let elsewhere = json!({"type": "setMode", "mode": "plan", "destination": "cliArg"});
        assert_eq!(Suggestion::read(&elsewhere).unwrap().destination, None);
    }
}
