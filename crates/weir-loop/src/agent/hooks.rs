//! What no session may do, whatever is allowed: the CLI asks before each tool call. Pure.

use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};
use weir_wire::{HookEvent, HookRegistration};

use crate::protection::Protection;

/// Decides which tool calls are forbidden.
#[derive(Debug, Clone, Default)]
pub(super) struct Rules {
    /// The folder of the task.
    pub(super) cwd: PathBuf,
    /// Files that must not be changed, relative to `cwd`.
    pub(super) protected: Protection,
}

/// The hook that makes the CLI ask us.
pub(super) fn registration() -> HookRegistration {
    HookRegistration {
        matcher: Some("Bash|Task|Agent|Edit|Write|MultiEdit|NotebookEdit".to_owned()),
        ..HookRegistration::new(HookEvent::PreToolUse, "weir-loop")
    }
}

impl Rules {
    /// The hook's output for the CLI.
    pub(super) fn judge(&self, input: &Value) -> Value {
        let tool = input.get("tool_name").and_then(Value::as_str).unwrap_or_default();
        let empty = Value::Null;
        match self.forbids(tool, input.get("tool_input").unwrap_or(&empty)) {
            Some(reason) => json!({"hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": reason,
            }}),
            None => json!({}),
        }
    }

    /// The reason if a call is forbidden.
    pub(super) fn forbids(&self, tool: &str, input: &Value) -> Option<String> {
        if input.get("run_in_background").and_then(Value::as_bool) == Some(true) {
            return Some("Nothing may run in the background here: it would end with the session. Run it in the foreground.".to_owned());
        }
        let key = if tool == "NotebookEdit" { "notebook_path" } else { "file_path" };
        if !matches!(tool, "Edit" | "Write" | "MultiEdit" | "NotebookEdit") {
            return None;
        }
        let path = input.get(key).and_then(Value::as_str)?;
        let path = self.relative(Path::new(path))?;
        let pattern = self.protected.why(&path)?;
        Some(format!("{pattern} is protected: it says how the work is checked. Leave it as it is."))
    }

    /// The path relative to `cwd`, without `.` and `..`. `None` if it lies outside.
    fn relative(&self, path: &Path) -> Option<PathBuf> {
        let whole = self.cwd.join(path);
        let mut plain = PathBuf::new();
        for part in whole.components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => {
                    plain.pop();
                }
                other => plain.push(other),
            }
        }
        plain.strip_prefix(&self.cwd).ok().map(Path::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        Rules {
            cwd: PathBuf::from("/w"),
            protected: Protection::of(
                &crate::config::parse("[loop]\nprotected = [\"tests\"]\n").unwrap(),
                Some(Path::new("weir.toml")),
                &|_| None,
            ),
        }
    }

    #[test]
    fn nothing_runs_in_the_background() {
        let call = |input: Value| rules().forbids("Bash", &input).is_some();
        assert!(call(json!({"command": "sleep 9", "run_in_background": true})));
        assert!(!call(json!({"command": "sleep 9", "run_in_background": false})));
        assert!(!call(json!({"command": "sleep 9"})));
        assert!(rules().forbids("Task", &json!({"run_in_background": true})).is_some());
    }

    #[test]
    fn protected_files_cannot_be_edited() {
        let edit = |path: &str| rules().forbids("Edit", &json!({"file_path": path})).is_some();
        assert!(
            edit("/w/weir.toml")
                && edit("weir.toml")
                && edit("/w/tests/a.rs")
                && edit("/w/src/../tests/a.rs")
        );
        assert!(!edit("/w/src/a.rs") && !edit("/w/tests2/a.rs") && !edit("/elsewhere/weir.toml"));
        assert!(rules().forbids("Read", &json!({"file_path": "/w/weir.toml"})).is_none());
    }
}
