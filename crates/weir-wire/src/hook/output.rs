//! What the host answers to a hook.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::permission_update::PermissionUpdate;

/// What the host answers to a hook. The default changes nothing.
///
/// ```
/// use weir_wire::HookOutput;
///
/// let output = HookOutput::deny("no network here");
/// assert_eq!(output.to_value()["hookSpecificOutput"]["permissionDecision"], "deny");
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HookOutput {
    /// Ends the turn for this reason, which the user sees.
    pub stop: Option<String>,
    /// Objects for this reason: the message is not sent, the agent continues, the model is told.
    pub block: Option<String>,
    /// A warning for the user.
    pub system_message: Option<String>,
    /// Whether the output of the hook is kept out of the transcript.
    pub suppress_output: bool,
    /// What only this event has.
    pub specific: Option<HookSpecificOutput>,
    /// Members that have no field here.
    pub more: Map<String, Value>,
}

/// What is decided about a tool call or a change of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum HookPermission {
    /// It is allowed without asking.
    Allow,
    /// It is refused.
    Deny,
    /// A person is asked.
    Ask,
    /// It is decided later by the host, see the CLI's documentation of deferred calls.
    Defer,
}

/// The answer to a request for permission.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "behavior", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum PermissionVerdict {
    /// The tool may be used.
    Allow {
        /// Changed arguments.
        #[serde(skip_serializing_if = "Option::is_none")]
        updated_input: Option<Value>,
        /// Rules to add.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        updated_permissions: Vec<PermissionUpdate>,
    },
    /// The tool may not be used.
    Deny {
        /// The reason, which the model is told.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Whether the turn ends as well.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        interrupt: bool,
    },
}

/// What only one event has. Texts for the model are called `additional_context`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "hookEventName", rename_all_fields = "camelCase")]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields have the names of the CLI's documentation")]
pub enum HookSpecificOutput {
    /// Decides a tool call.
    PreToolUse {
        #[serde(skip_serializing_if = "Option::is_none")]
        permission_decision: Option<HookPermission>,
        #[serde(skip_serializing_if = "Option::is_none")]
        permission_decision_reason: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        updated_input: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        additional_context: Option<String>,
    },
    /// Adds to a result, or replaces it.
    PostToolUse {
        #[serde(skip_serializing_if = "Option::is_none")]
        additional_context: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        updated_tool_output: Option<Value>,
    },
    /// Adds to an error.
    PostToolUseFailure { additional_context: String },
    /// Adds to the results.
    PostToolBatch { additional_context: String },
    /// Adds to a notification.
    Notification { additional_context: String },
    /// Adds to a message.
    UserPromptSubmit {
        #[serde(skip_serializing_if = "Option::is_none")]
        additional_context: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        session_title: Option<String>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        suppress_original_prompt: bool,
    },
    /// Adds to a command.
    UserPromptExpansion {
        #[serde(skip_serializing_if = "Option::is_none")]
        additional_context: Option<String>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        suppress_original_prompt: bool,
    },
    /// Adds to the beginning of a session.
    SessionStart {
        #[serde(skip_serializing_if = "Option::is_none")]
        additional_context: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        initial_user_message: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        session_title: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        watch_paths: Vec<PathBuf>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        reload_skills: bool,
    },
    /// Adds to the preparation of a folder.
    Setup { additional_context: String },
    /// Decides a change of the model.
    PreModelSwitch {
        #[serde(skip_serializing_if = "Option::is_none")]
        permission_decision: Option<HookPermission>,
        #[serde(skip_serializing_if = "Option::is_none")]
        permission_decision_reason: Option<String>,
    },
    /// Adds to a change of the model.
    PostModelSwitch { additional_context: String },
    /// Adds to the task of a sub-agent.
    SubagentStart { additional_context: String },
    /// Makes a sub-agent continue with this.
    SubagentStop { additional_context: String },
    /// Makes the agent continue with this.
    Stop { additional_context: String },
    /// Decides a request for permission.
    PermissionRequest { decision: PermissionVerdict },
    /// Lets the model try again.
    PermissionDenied { retry: bool },
    /// Answers an MCP server.
    Elicitation {
        /// `accept`, `decline` or `cancel`.
        action: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<Map<String, Value>>,
    },
    /// Changes the user's answer to an MCP server.
    ElicitationResult {
        /// `accept`, `decline` or `cancel`.
        action: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<Map<String, Value>>,
    },
    /// Watches other files.
    CwdChanged { watch_paths: Vec<PathBuf> },
    /// Watches other files.
    FileChanged { watch_paths: Vec<PathBuf> },
    /// Says where the worktree is.
    WorktreeCreate { worktree_path: PathBuf },
    /// Shows something else.
    MessageDisplay { display_content: String },
}

impl HookOutput {
    /// Changes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// An output that only this event has.
    pub fn specific(specific: HookSpecificOutput) -> Self {
        Self { specific: Some(specific), ..Self::default() }
    }

    /// Refuses a tool call for this reason, which the model is told.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::pre_tool_use(HookPermission::Deny, Some(reason.into()))
    }

    /// Allows a tool call without asking.
    pub fn allow() -> Self {
        Self::pre_tool_use(HookPermission::Allow, None)
    }

    fn pre_tool_use(decision: HookPermission, reason: Option<String>) -> Self {
        Self::specific(HookSpecificOutput::PreToolUse {
            permission_decision: Some(decision),
            permission_decision_reason: reason,
            updated_input: None,
            additional_context: None,
        })
    }

    /// Objects for this reason.
    pub fn block(reason: impl Into<String>) -> Self {
        Self { block: Some(reason.into()), ..Self::default() }
    }

    /// As the CLI reads it.
    pub fn to_value(&self) -> Value {
        let mut output = self.more.clone();
        let mut set = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                output.insert(name.to_owned(), value);
            }
        };
        set("continue", self.stop.is_some().then_some(json!(false)));
        set("stopReason", self.stop.as_ref().map(|reason| json!(reason)));
        set("decision", self.block.is_some().then_some(json!("block")));
        set("reason", self.block.as_ref().map(|reason| json!(reason)));
        set("systemMessage", self.system_message.as_ref().map(|text| json!(text)));
        set("suppressOutput", self.suppress_output.then_some(json!(true)));
        // A path that is not UTF-8 cannot be told to the CLI.
        set(
            "hookSpecificOutput",
            self.specific.as_ref().and_then(|specific| serde_json::to_value(specific).ok()),
        );
        Value::Object(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_says_nothing() {
        assert_eq!(HookOutput::new().to_value(), json!({}));
    }

    #[test]
    fn outputs_have_the_form_of_the_cli() {
        assert_eq!(
            HookOutput::deny("no").to_value(),
            json!({"hookSpecificOutput": {
                "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "no",
            }})
        );
        let allow = PermissionVerdict::Allow { updated_input: None, updated_permissions: Vec::new() };
        let specific = HookSpecificOutput::PermissionRequest { decision: allow };
        assert_eq!(
            HookOutput::specific(specific).to_value()["hookSpecificOutput"],
            json!({"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}})
        );
        let output = HookOutput {
            stop: Some("enough".into()),
            system_message: Some("!".into()),
            ..HookOutput::block("b")
        };
        assert_eq!(
            output.to_value(),
            json!({"continue": false, "stopReason": "enough", "decision": "block", "reason": "b", "systemMessage": "!"})
        );
        let start = HookSpecificOutput::SessionStart {
            additional_context: Some("c".into()),
            initial_user_message: None,
            session_title: Some("t".into()),
            watch_paths: vec!["/w".into()],
            reload_skills: true,
        };
        assert_eq!(
            HookOutput::specific(start).to_value()["hookSpecificOutput"],
            json!({
                "hookEventName": "SessionStart", "additionalContext": "c", "sessionTitle": "t", "watchPaths": ["/w"],
                "reloadSkills": true,
            })
        );
    }
}
