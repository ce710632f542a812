//! Which tools drivers may pre-approve.
//!
//! A pre-approved tool runs without asking a person. `Bash` or `Read(//**)` would then reach outside the session's
//! folder, so the operator decides what drivers may pre-approve. By default that is reading and searching inside the
//! session's folder, and tools that touch nothing.

use std::path::{Component, Path};

/// Tools that read and search. The CLI has one kind of rule for all of them.
const READING: [&str; 5] = ["Read", "Glob", "Grep", "LS", "NotebookRead"];
/// Tools that touch nothing outside the session.
const HARMLESS: [&str; 2] = ["TodoWrite", "Task"];

/// Which tools drivers may pre-approve.
#[derive(Debug, Clone, Default)]
pub struct ToolPolicy {
    rules: Vec<String>,
}

impl ToolPolicy {
    /// Allows these in addition to the defaults: rules such as `Bash(git:*)`, the name of a tool for all its rules, or
    /// `*` for everything.
    pub fn new(rules: impl IntoIterator<Item = String>) -> Self {
        Self { rules: rules.into_iter().collect() }
    }

    /// Returns the rules to pass to the CLI.
    ///
    /// # Errors
    /// The first rule that drivers may not use.
    pub(crate) fn check(&self, wanted: Vec<String>) -> Result<Vec<String>, String> {
        let mut rules = Vec::new();
        for rule in wanted {
            if self.is_granted(&rule) {
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            } else if !reads_inside(&rule) {
                return Err(rule);
            }
            // The CLI never asks before reading and searching inside its folder. An explicit rule would make older
            // versions follow links that lead outside.
        }
        Ok(rules)
    }

    fn is_granted(&self, rule: &str) -> bool {
        let Some((tool, _)) = split(rule) else { return false };
        let is_granted = |granted: &String| granted == "*" || granted == rule || granted == tool;
        self.rules.iter().any(is_granted) || HARMLESS.contains(&rule)
    }
}

/// Whether a rule allows reading and searching in the session's folder and nothing else.
fn reads_inside(rule: &str) -> bool {
    split(rule).is_some_and(|(tool, pattern)| READING.contains(&tool) && pattern.is_none_or(is_inside))
}

/// Splits a rule into the tool and the part in parentheses.
fn split(rule: &str) -> Option<(&str, Option<&str>)> {
    // The CLI would read a rule with a comma as two rules.
    if rule.contains(',') {
        return None;
    }
    match rule.split_once('(') {
        None => Some((rule, None)),
        Some((tool, rest)) => {
            Some((tool, Some(rest.strip_suffix(')').filter(|pattern| !pattern.contains(['(', ')']))?)))
        }
    }
}

/// Whether a pattern stays in the folder: it is relative and has no `..`.
fn is_inside(pattern: &str) -> bool {
    !pattern.is_empty()
        && !pattern.starts_with(['~', '/', '!', '$'])
        && !pattern.contains(['\\', '{', '}'])
        && Path::new(pattern)
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(policy: &ToolPolicy, rules: &[&str]) -> Result<Vec<String>, String> {
        policy.check(rules.iter().map(|rule| (*rule).to_owned()).collect())
    }

    #[test]
    fn reading_inside_the_folder_needs_no_rule() {
        let policy = ToolPolicy::default();
        assert_eq!(check(&policy, &["Read", "Grep", "Glob"]).unwrap(), Vec::<String>::new());
        assert_eq!(check(&policy, &["Read(src/**)", "TodoWrite"]).unwrap(), ["TodoWrite"]);
        // Unless the owner allows more.
        let generous = ToolPolicy::new(["Read".to_owned()]);
        assert_eq!(check(&generous, &["Read", "Read(src/**)"]).unwrap(), ["Read", "Read(src/**)"]);
    }

    #[test]
    fn no_rule_reaches_outside_the_folder() {
        let policy = ToolPolicy::default();
        for rule in [
            "Bash",
            "Bash(ls:*)",
            "Read(//**)",
            "Read(~/**)",
            "Read(../x)",
            "Read(a/../../x)",
            "Read(/etc/**)",
            "Write",
            "Edit",
            "WebFetch",
            "mcp__x",
            "Read(a),Bash",
            "Read(a",
            "*",
            "",
            "Read(x) Bash(y)",
            "read",
            " Read",
            "Read(${HOME}/x)",
            "Read({a,../b})",
            "Task(x)",
        ] {
            assert_eq!(check(&policy, &[rule]), Err(rule.to_owned()));
        }
    }

    #[test]
    fn the_owner_may_allow_more() {
        let policy = ToolPolicy::new(["Bash(git status:*)".to_owned(), "WebFetch".to_owned()]);
        let allowed = ["Bash(git status:*)", "WebFetch", "WebFetch(domain:example.org)"];
        assert_eq!(check(&policy, &allowed).unwrap(), allowed);
        assert!(check(&policy, &["Bash"]).is_err() && check(&policy, &["Bash(git:*)"]).is_err());
        assert_eq!(check(&ToolPolicy::new(["*".to_owned()]), &["Bash"]).unwrap(), ["Bash"]);
    }
}
