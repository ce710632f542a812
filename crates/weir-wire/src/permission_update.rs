//! Permission updates: changes to what the CLI allows without asking.
//!
//! The CLI suggests some with a permission request, and an answer to the request may make them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A change to what the CLI allows without asking, in the CLI's own JSON.
///
/// ```
/// use weir_wire::{PermissionUpdate, RuleDestination};
///
/// let suggested = serde_json::json!({"type": "addRules", "behavior": "allow", "destination": "localSettings",
///     "rules": [{"toolName": "Bash", "ruleContent": "git push:*"}]});
/// let update = PermissionUpdate::from(suggested);
/// assert!(update.allows_calls());
/// assert_eq!(update.describe(), "always allow Bash(git push:*)");
/// assert_eq!(update.for_session().destination(), Some(RuleDestination::Session));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
#[non_exhaustive]
pub enum PermissionUpdate {
    /// Adds rules.
    AddRules(RulesUpdate),
    /// Replaces all rules with this behavior.
    ReplaceRules(RulesUpdate),
    /// Removes rules.
    RemoveRules(RulesUpdate),
    /// Changes the permission mode.
    SetMode(ModeUpdate),
    /// Lets the CLI work in more folders.
    AddDirectories(DirectoriesUpdate),
    /// No longer lets the CLI work in folders that were added before.
    RemoveDirectories(DirectoriesUpdate),
    /// An update that this version of Weir does not know, as the CLI wrote it.
    #[serde(untagged)]
    Other(Value),
}

/// Rules that are added or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RulesUpdate {
    /// The rules.
    pub rules: Vec<PermissionRule>,
    /// What they say about the calls that they match.
    pub behavior: RuleBehavior,
    /// Where they are stored; absent for a destination that Weir does not know.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    pub destination: Option<RuleDestination>,
}

/// A permission mode that is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ModeUpdate {
    /// The mode.
    pub mode: String,
    /// Where it is stored; absent for a destination that Weir does not know.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    pub destination: Option<RuleDestination>,
}

/// Folders that are added or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DirectoriesUpdate {
    /// The folders.
    pub directories: Vec<String>,
    /// Where they are stored; absent for a destination that Weir does not know.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    pub destination: Option<RuleDestination>,
}

/// The calls that a rule applies to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PermissionRule {
    /// The tool.
    pub tool_name: String,
    /// Which calls of the tool; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_content: Option<String>,
}

/// What a rule says about the calls that it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum RuleBehavior {
    /// They need no permission.
    Allow,
    /// They are denied.
    Deny,
    /// A person decides each of them.
    Ask,
}

/// Where an update is stored, with the CLI's own names.
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

/// The destination, if Weir knows it.
fn known<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<RuleDestination>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(deserializer)?).ok())
}

/// A rule as people write it in settings.
pub(crate) fn describe_rule(tool: &str, content: Option<&str>) -> String {
    content.map_or_else(|| tool.to_owned(), |content| format!("{tool}({content})"))
}

impl std::fmt::Display for PermissionRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&describe_rule(&self.tool_name, self.rule_content.as_deref()))
    }
}

impl RuleDestination {
    /// Where that is, for a person.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Session => "in this session",
            Self::LocalSettings => "stored in .claude/settings.local.json",
            Self::ProjectSettings => "stored in .claude/settings.json",
            Self::UserSettings => "stored in ~/.claude/settings.json",
        }
    }
}

impl From<Value> for PermissionUpdate {
    fn from(update: Value) -> Self {
        Self::deserialize(&update).unwrap_or(Self::Other(update))
    }
}

impl PermissionUpdate {
    /// Allows a tool, or those of its calls that match `content`.
    pub fn allow_rule(tool: &str, content: Option<&str>, destination: RuleDestination) -> Self {
        let rule = PermissionRule { tool_name: tool.to_owned(), rule_content: content.map(str::to_owned) };
        let destination = Some(destination);
        Self::AddRules(RulesUpdate { rules: vec![rule], behavior: RuleBehavior::Allow, destination })
    }

    /// Sets the permission mode.
    pub fn set_mode(mode: impl Into<String>, destination: RuleDestination) -> Self {
        Self::SetMode(ModeUpdate { mode: mode.into(), destination: Some(destination) })
    }

    /// Allows working in more folders.
    pub fn add_directories(directories: &[&str], destination: RuleDestination) -> Self {
        let directories = directories.iter().map(ToString::to_string).collect();
        Self::AddDirectories(DirectoriesUpdate { directories, destination: Some(destination) })
    }

    /// Whether it allows calls that need permission without it. Only such suggestions are offered to people.
    pub fn allows_calls(&self) -> bool {
        match self {
            Self::AddRules(_) => !self.allowed_rules().is_empty(),
            Self::SetMode(update) => !update.mode.is_empty(),
            Self::AddDirectories(update) => !update.directories.is_empty(),
            _ => false,
        }
    }

    /// The rules that it adds and that allow calls; none if one of them names no tool.
    pub fn allowed_rules(&self) -> &[PermissionRule] {
        match self {
            Self::AddRules(RulesUpdate { rules, behavior: RuleBehavior::Allow, .. })
                if rules.iter().all(|rule| !rule.tool_name.is_empty()) =>
            {
                rules
            }
            _ => &[],
        }
    }

    /// The permission mode that it sets; `None` for other changes.
    pub fn mode(&self) -> Option<&str> {
        match self {
            Self::SetMode(update) => Some(&update.mode),
            _ => None,
        }
    }

    /// Where it is stored; `None` for a destination that Weir does not know.
    pub fn destination(&self) -> Option<RuleDestination> {
        match self {
            Self::AddRules(update) | Self::ReplaceRules(update) | Self::RemoveRules(update) => {
                update.destination
            }
            Self::SetMode(update) => update.destination,
            Self::AddDirectories(update) | Self::RemoveDirectories(update) => update.destination,
            Self::Other(_) => None,
        }
    }

    /// The same change, stored there. An update that Weir does not know stays as it is.
    #[must_use]
    pub fn stored_in(&self, destination: RuleDestination) -> Self {
        let mut update = self.clone();
        match &mut update {
            Self::AddRules(update) | Self::ReplaceRules(update) | Self::RemoveRules(update) => {
                update.destination = Some(destination);
            }
            Self::SetMode(update) => update.destination = Some(destination),
            Self::AddDirectories(update) | Self::RemoveDirectories(update) => {
                update.destination = Some(destination);
            }
            Self::Other(_) => {}
        }
        update
    }

    /// The same change, only for the session.
    #[must_use]
    pub fn for_session(&self) -> Self {
        self.stored_in(RuleDestination::Session)
    }

    /// What it changes, in words for a person: `always allow Bash(git push:*)`. The text is the CLI's and the model's in
    /// part, so it may contain invisible characters.
    pub fn describe(&self) -> String {
        let verb = |behavior: &RuleBehavior| match behavior {
            RuleBehavior::Allow => "allow",
            RuleBehavior::Deny => "deny",
            RuleBehavior::Ask => "ask about",
        };
        let list =
            |rules: &[PermissionRule]| rules.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Self::AddRules(RulesUpdate { rules, behavior, .. }) => {
                format!("always {} {}", verb(behavior), list(rules))
            }
            Self::ReplaceRules(RulesUpdate { rules, behavior, .. }) => {
                format!("always {} {}, and no other calls", verb(behavior), list(rules))
            }
            Self::RemoveRules(RulesUpdate { rules, behavior, .. }) => {
                format!("no longer always {} {}", verb(behavior), list(rules))
            }
            Self::SetMode(update) => format!("use the permission mode {}", update.mode),
            Self::AddDirectories(update) => format!("allow the folder {}", update.directories.join(", ")),
            Self::RemoveDirectories(update) => {
                format!("no longer allow the folder {}", update.directories.join(", "))
            }
            Self::Other(update) => format!("change the permissions: {update}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(update: &Value) -> PermissionUpdate {
        PermissionUpdate::from(update.clone())
    }

    #[test]
    fn a_suggestion_is_stored_in_the_requested_destination() {
        let suggested = json!({"type": "addRules", "destination": "localSettings", "behavior": "allow",
            "rules": [{"toolName": "Bash", "ruleContent": "git push:*"}, {"toolName": "mcp__a__b"}]});
        let update = read(&suggested);
        assert_eq!(update.destination(), Some(RuleDestination::LocalSettings));
        assert_eq!(
            json!(update.for_session()),
            json!({"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "git push:*"},
                {"toolName": "mcp__a__b"}], "behavior": "allow", "destination": "session"})
        );
        assert_eq!(json!(update.stored_in(RuleDestination::LocalSettings)), suggested);
    }

    #[test]
    fn every_kind_is_written_as_it_was_read() {
        for update in [
            json!({"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "ask", "destination": "session"}),
            json!({"type": "replaceRules", "rules": [], "behavior": "deny", "destination": "userSettings"}),
            json!({"type": "removeRules", "rules": [{"toolName": "Bash"}], "behavior": "allow",
                "destination": "projectSettings"}),
            json!({"type": "setMode", "mode": "plan", "destination": "session"}),
            json!({"type": "addDirectories", "directories": ["/a"], "destination": "localSettings"}),
            json!({"type": "removeDirectories", "directories": ["/a"], "destination": "session"}),
        ] {
            let read = read(&update);
            assert!(!matches!(read, PermissionUpdate::Other(_)), "{update}");
            assert_eq!(json!(read), update);
        }
        for other in [
            json!({"type": "grantWishes", "wishes": 3, "destination": "session"}),
            json!({"type": "addRules", "rules": 7}),
            json!({"mode": "plan"}),
            json!("setMode"),
        ] {
            assert_eq!(read(&other), PermissionUpdate::Other(other.clone()));
            assert_eq!(json!(read(&other).for_session()), other);
        }
    }

    #[test]
    fn suggestions_that_do_not_allow_calls_are_not_offered() {
        for suggested in [
            json!({"type": "addRules", "behavior": "deny", "rules": [{"toolName": "Bash"}]}),
            json!({"type": "addRules", "behavior": "allow", "rules": []}),
            json!({"type": "addRules", "behavior": "allow", "rules": [{"ruleContent": "x"}]}),
            json!({"type": "addRules", "behavior": "allow", "rules": [{"toolName": ""}]}),
            json!({"type": "removeRules", "behavior": "allow", "rules": [{"toolName": "Bash"}]}),
            json!({"type": "setMode"}),
            json!({"type": "addDirectories", "directories": [7]}),
            json!({}),
            json!("setMode"),
        ] {
            assert!(!read(&suggested).allows_calls(), "{suggested}");
        }
        let elsewhere = read(&json!({"type": "setMode", "mode": "plan", "destination": "cliArg"}));
        assert!(elsewhere.allows_calls());
        assert_eq!(elsewhere.destination(), None);
    }

    #[test]
    fn an_update_is_described_in_words() {
        let described = |update: Value| read(&update).describe();
        let rules = json!([{"toolName": "Bash", "ruleContent": "ls:*"}, {"toolName": "Read"}]);
        for (kind, behavior, words) in [
            ("addRules", "allow", "always allow Bash(ls:*), Read"),
            ("addRules", "ask", "always ask about Bash(ls:*), Read"),
            ("replaceRules", "deny", "always deny Bash(ls:*), Read, and no other calls"),
            ("removeRules", "allow", "no longer always allow Bash(ls:*), Read"),
        ] {
            assert_eq!(described(json!({"type": kind, "behavior": behavior, "rules": rules})), words);
        }
        assert_eq!(described(json!({"type": "setMode", "mode": "plan"})), "use the permission mode plan");
        let folders = json!({"type": "addDirectories", "directories": ["/a", "/b"]});
        assert_eq!(described(folders), "allow the folder /a, /b");
        let folders = json!({"type": "removeDirectories", "directories": ["/a"]});
        assert_eq!(described(folders), "no longer allow the folder /a");
        assert_eq!(described(json!({"type": "x"})), "change the permissions: {\"type\":\"x\"}");
    }
}
