//! What a role may decide about a permission request. No IO.
//!
//! The table in `docs/server.md` says the same for people, and `weir-cli/tests/serve/decisions.rs` checks it.

use std::path::{Component, Path, PathBuf};

use weir_wire::{PermissionContext, PermissionRule, PermissionUpdate, RuleDestination};

use super::types::{AnswerPermission, Behavior, Remember};
use crate::auth::Role;
use crate::problem::Problem;

/// The mode that asks a person for each edit.
pub(super) const ASKS: &str = "default";

/// Tools whose rules name files.
const FILE_TOOLS: [&str; 8] = ["Read", "Edit", "MultiEdit", "Write", "NotebookEdit", "Glob", "Grep", "LS"];

/// Refuses what the role may never decide, regardless of the request.
pub(super) fn check_role(role: Role, answer: &AnswerPermission) -> Result<(), Problem> {
    let needs = |least: Role, detail: &str| {
        if role < least {
            Err(Problem::forbidden("role", detail).with("needs", least.as_str()))
        } else {
            Ok(())
        }
    };
    if answer.updated_input.is_some() {
        needs(Role::Driver, "changing the arguments needs the role driver; allow or deny the call as it is")?;
    }
    if answer.remember.iter().any(|rule| rule.destination != RuleDestination::Session) {
        needs(
            Role::Admin,
            "storing a rule needs the role admin; keep it for the session, or allow this one call",
        )?;
    }
    if !answer.remember.is_empty() {
        needs(Role::Driver, "adding a rule needs the role driver; allow or deny this one call")?;
    }
    if answer.permission_mode.as_deref().is_some_and(|mode| mode != ASKS) {
        needs(
            Role::Driver,
            "changing the permission mode needs the role driver; approve the plan without it",
        )?;
    }
    Ok(())
}

/// Refuses fields that do not fit the behavior.
pub(super) fn check_shape(answer: &AnswerPermission) -> Result<(), Problem> {
    let bad = |detail: &str| Err(Problem::unprocessable("bad_answer", detail));
    match answer.behavior {
        Behavior::Deny
            if answer.updated_input.is_some()
                || !answer.remember.is_empty()
                || answer.permission_mode.is_some() =>
        {
            bad("a denial cannot have updated_input, remember or permission_mode")
        }
        Behavior::Allow if answer.message.is_some() || answer.interrupt.is_some() => {
            bad("message and interrupt are only for a denial")
        }
        _ => Ok(()),
    }
}

/// The requested changes of rules, each derived from a suggestion of the request: clients cannot invent rules.
pub(super) fn updates(
    role: Role,
    wanted: &[Remember],
    suggestions: &[PermissionUpdate],
    context: &PermissionContext,
    roots: &[PathBuf],
) -> Result<Vec<PermissionUpdate>, Problem> {
    let bad = |detail: String| Problem::unprocessable("bad_answer", detail);
    if context.suppress_always_allow_rule && !wanted.is_empty() {
        let detail = "the CLI does not allow a rule for this request; allow or deny this one call";
        return Err(Problem::unprocessable("no_rule", detail));
    }
    let mut updates = Vec::new();
    for (at, Remember { suggestion: place, destination }) in wanted.iter().enumerate() {
        if wanted.iter().take(at).any(|other| other.suggestion == *place) {
            return Err(bad(format!("suggestion {place} is listed twice")));
        }
        let suggestion = suggestions.get(*place).ok_or_else(|| {
            bad(format!("the request has no suggestion {place}; it has {} suggestions", suggestions.len()))
        })?;
        if !suggestion.allows_calls() {
            return Err(bad(format!("suggestion {place} cannot be accepted")));
        }
        if suggestion.mode().is_some() && *destination != RuleDestination::Session {
            return Err(bad("a permission mode can only be kept for the session".to_owned()));
        }
        if role < Role::Admin && reaches_out(suggestion, roots) {
            let detail =
                "a rule for files outside the server's roots needs the role admin; allow this one call";
            return Err(Problem::forbidden("role", detail).with("needs", Role::Admin.as_str()));
        }
        updates.push(suggestion.stored_in(*destination));
    }
    Ok(updates)
}

/// Whether a role may accept a suggestion, kept for the session.
pub(crate) fn may_keep(role: Role, suggestion: &PermissionUpdate, roots: &[PathBuf]) -> bool {
    role >= Role::Admin || (role == Role::Driver && !reaches_out(suggestion, roots))
}

/// Whether a suggestion is about files outside the roots.
fn reaches_out(suggestion: &PermissionUpdate, roots: &[PathBuf]) -> bool {
    let is_outside = |path: &Path| {
        let leaves = path.components().any(|part| part == Component::ParentDir);
        leaves || !roots.iter().any(|root| path.starts_with(root))
    };
    let reaches = |rule: &PermissionRule| match rule.rule_content.as_deref() {
        _ if !FILE_TOOLS.contains(&rule.tool_name.as_str()) => false,
        // All files anywhere.
        None => true,
        // Two leading slashes mean an absolute path; other paths are below the session's folder.
        Some(content) => match content.strip_prefix("//") {
            Some(path) => is_outside(&Path::new("/").join(path.trim_start_matches('/'))),
            None => content.starts_with('~') || content.split('/').any(|part| part == ".."),
        },
    };
    match suggestion {
        PermissionUpdate::AddDirectories(update) => {
            update.directories.iter().any(|folder| is_outside(Path::new(folder)))
        }
        update => update.allowed_rules().iter().any(reaches),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn out(suggestion: &Value) -> bool {
        reaches_out(&suggestion.clone().into(), &["/srv/work".into()])
    }

    fn rule(tool: &str, content: Option<&str>) -> Value {
        json!({"type": "addRules", "behavior": "allow", "destination": "session",
            "rules": [{"toolName": tool, "ruleContent": content}]})
    }

    #[test]
    fn rules_for_files_outside_the_roots_are_recognised() {
        for (tool, content) in [
            ("Read", Some("//etc/**")),
            ("Read", Some("//srv/workshop/**")),
            ("Read", Some("//srv/work/../other/**")),
            ("Read", Some("~/.ssh/**")),
            ("Edit", Some("../other/**")),
            ("Read", None),
        ] {
            assert!(out(&rule(tool, content)), "{tool} {content:?}");
        }
        for (tool, content) in [
            ("Read", Some("//srv/work/a/**")),
            ("Edit", Some("src/**")),
            ("Edit", Some("/src/**")),
            ("Bash", Some("git push:*")),
            ("mcp__a__b", None),
        ] {
            assert!(!out(&rule(tool, content)), "{tool} {content:?}");
        }
        let folders = |folder: &str| json!({"type": "addDirectories", "directories": [folder]});
        assert!(out(&folders("/etc")) && out(&folders("/srv/work/../..")) && !out(&folders("/srv/work/b")));
    }
}
