//! Permissions: the decision about a tool call, from the mode and the rules. Pure; the host is asked elsewhere.

mod command;
mod rules;

use std::path::{Component, Path, PathBuf};

pub(crate) use command::{only_reads, unknown_parts};
pub(crate) use rules::Rules;

use super::profile::Profile;
use crate::json::Json;
use crate::{array, object};

/// A decision.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Decision {
    /// It may run, for this reason (`reason_type`).
    Allow(Option<&'static str>),
    /// It may not.
    Deny { message: String, reason: Option<&'static str> },
    /// The user decides.
    Ask(Question),
}

/// What the user is asked.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Question {
    pub(crate) suggestions: Option<Json>,
    pub(crate) blocked_path: Option<String>,
    pub(crate) reason: Option<&'static str>,
    pub(crate) reason_type: Option<&'static str>,
    /// Whether the newer version adds `server_policy_ask_only`.
    pub(crate) policy_ask_only: bool,
    /// Whether the tool itself is a question to the user.
    pub(crate) interaction: bool,
    /// What the model is told if the user cannot be asked.
    pub(crate) unanswered: String,
}

/// What the decision depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub(crate) profile: &'a Profile,
    pub(crate) mode: &'a str,
    pub(crate) rules: &'a Rules,
    pub(crate) cwd: &'a Path,
    pub(crate) folders: &'a [PathBuf],
    pub(crate) plan_file: Option<&'a Path>,
}

/// Decides about a call.
pub(crate) fn decide(tool: &str, input: &Json, facts: Facts<'_>) -> Decision {
    if matches!(tool, "AskUserQuestion" | "ExitPlanMode") {
        let unanswered =
            format!("Claude requested permissions to use {tool}, but you haven't granted it yet.");
        return Decision::Ask(Question { interaction: true, unanswered, ..Question::default() });
    }
    let command = input.str_of("command").unwrap_or_default();
    if facts.rules.denies(tool, command) {
        let (message, reason) = if tool == "Bash" {
            (format!("Permission to use Bash with command {command} has been denied."), "subcommandResults")
        } else {
            (format!("Permission to use {tool} has been denied."), "rule")
        };
        return Decision::Deny { message, reason: Some(reason) };
    }
    let subject = match tool {
        "WebFetch" => format!("domain:{}", domain_of(input.str_of("url").unwrap_or_default())),
        _ => command.to_owned(),
    };
    let decision = match tool {
        _ if facts.rules.allows(tool, &subject) && !only_by_prefix(tool, command, facts) => {
            return Decision::Allow(Some("rule"));
        }
        _ if facts.mode == "bypassPermissions" => return Decision::Allow(Some("mode")),
        "Read" => read(input, facts),
        "Edit" | "Write" | "MultiEdit" => write(tool, input.str_of("file_path"), facts),
        "NotebookEdit" => write(tool, input.str_of("notebook_path"), facts),
        "Bash" => command::decide(command, facts),
        "WebFetch" => web_fetch(input, facts),
        "WebSearch" => ask(tool, add_rules(tool, Vec::new())),
        _ if tool.starts_with("mcp__") => {
            let Decision::Ask(question) = ask(tool, add_rules(tool, Vec::new())) else {
                return Decision::Allow(None);
            };
            Decision::Ask(Question { policy_ask_only: true, ..question })
        }
        "Glob" | "Grep" => Decision::Allow(Some("mode")),
        _ => Decision::Allow(None),
    };
    match (decision, facts.mode) {
        (Decision::Ask(_), "dontAsk") => {
            Decision::Deny { message: dont_ask(tool, facts.profile), reason: Some("mode") }
        }
        (decision, _) => decision,
    }
}

/// Whether only a prefix rule allows a change of files, which the older version does not accept.
fn only_by_prefix(tool: &str, command: &str, facts: Facts<'_>) -> bool {
    facts.profile.is_old()
        && tool == "Bash"
        && facts.mode == "default"
        && command::changes_files(command)
        && !facts.rules.allows_whole(tool)
}

fn dont_ask(tool: &str, profile: &Profile) -> String {
    if profile.is_old() {
        return format!("Permission to use {tool} has been auto-denied in dontAsk mode.");
    }
    format!("Permission to use {tool} has been denied because Claude Code is running in don't ask mode.")
}

fn ask(tool: &str, suggestions: Json) -> Decision {
    let unanswered = format!("Claude requested permissions to use {tool}, but you haven't granted it yet.");
    Decision::Ask(Question { suggestions: Some(suggestions), unanswered, ..Question::default() })
}

/// A suggestion to allow a tool, with these rule contents or altogether.
fn add_rules(tool: &str, contents: Vec<String>) -> Json {
    let rules: Vec<Json> = if contents.is_empty() {
        vec![object! { "toolName" => tool }]
    } else {
        contents.into_iter().map(|content| object! { "toolName" => tool, "ruleContent" => content }).collect()
    };
    array![object! {
        "type" => "addRules",
        "rules" => rules,
        "behavior" => "allow",
        "destination" => "localSettings",
    }]
}

fn read(input: &Json, facts: Facts<'_>) -> Decision {
    let path = resolve(facts.cwd, input.str_of("file_path").unwrap_or_default());
    if is_inside(&path, facts) {
        return Decision::Allow(Some("mode"));
    }
    let unanswered = format!(
        "Claude requested permissions to read from {}, but you haven't granted it yet.",
        path.display()
    );
    Decision::Ask(Question { suggestions: Some(array![]), unanswered, ..Question::default() })
}

fn write(tool: &str, path: Option<&str>, facts: Facts<'_>) -> Decision {
    let path = resolve(facts.cwd, path.unwrap_or_default());
    if facts.plan_file == Some(path.as_path()) {
        return Decision::Allow(Some("other"));
    }
    let inside = is_inside(&path, facts);
    if facts.mode == "acceptEdits" && inside {
        return Decision::Allow(Some("mode"));
    }
    let unanswered = format!(
        "Claude requested permissions to write to {}, but you haven't granted it yet.",
        path.display()
    );
    let question = Question { unanswered, ..Question::default() };
    if facts.mode == "plan" && !facts.profile.is_old() {
        return Decision::Ask(Question { reason_type: Some("mode"), ..question });
    }
    let set_mode = object! { "type" => "setMode", "mode" => "acceptEdits", "destination" => "session" };
    let suggestions = if inside { array![set_mode] } else { array![] };
    let policy_ask_only = tool != "NotebookEdit";
    Decision::Ask(Question { suggestions: Some(suggestions), policy_ask_only, ..question })
}

fn web_fetch(input: &Json, facts: Facts<'_>) -> Decision {
    let unanswered =
        "Claude requested permissions to use WebFetch, but you haven't granted it yet.".to_owned();
    let mut question = Question { unanswered, ..Question::default() };
    if !facts.profile.is_old() {
        let domain = domain_of(input.str_of("url").unwrap_or_default());
        let rule = object! { "toolName" => "WebFetch", "ruleContent" => format!("domain:{domain}") };
        question.suggestions = Some(array![object! {
            "type" => "addRules",
            "destination" => "localSettings",
            "rules" => array![rule],
            "behavior" => "allow",
        }]);
    }
    Decision::Ask(question)
}

/// The host name in a URL.
pub(crate) fn domain_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    host.rsplit_once(':').map_or(host, |(host, _)| host)
}

/// Makes a path absolute, without `.` and `..`.
pub(crate) fn resolve(cwd: &Path, path: &str) -> PathBuf {
    let mut resolved = PathBuf::new();
    for part in cwd.join(path).components() {
        match part {
            Component::ParentDir => _ = resolved.pop(),
            Component::CurDir => {}
            part => resolved.push(part),
        }
    }
    resolved
}

fn is_inside(path: &Path, facts: Facts<'_>) -> bool {
    path.starts_with(facts.cwd) || facts.folders.iter().any(|folder| path.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(tool: &str, input: &Json, mode: &str, allow: &[&str], deny: &[&str]) -> Decision {
        let profile = Profile::of("2.1.325");
        let rules = Rules::new(allow, deny);
        let cwd = Path::new("/workspace/demo");
        decide(
            tool,
            input,
            Facts { profile: &profile, mode, rules: &rules, cwd, folders: &[], plan_file: None },
        )
    }

    fn bash(command: &str, mode: &str, allow: &[&str], deny: &[&str]) -> Decision {
        decision("Bash", &object! { "command" => command }, mode, allow, deny)
    }

    fn asks(decision: &Decision) -> bool {
        matches!(decision, Decision::Ask(_))
    }

    #[test]
    fn commands_that_only_read_need_no_permission() {
        for command in [
            "echo hi",
            "cat app.py | head -2",
            "sleep 1; echo done",
            "git status && ls -la",
            "echo 'a; rm x > y'",
        ] {
            assert_eq!(
                bash(command, "default", &[], &[]),
                Decision::Allow(Some("subcommandResults")),
                "{command}"
            );
        }
        for command in [
            "rm -rf x",
            "echo hi > file",
            "echo $(touch x)",
            "perl -e 1",
            "git push",
            "ls; make",
            "cat < /etc/x",
        ] {
            assert!(asks(&bash(command, "default", &[], &[])), "{command}");
        }
    }

    #[test]
    fn a_path_outside_is_named() {
        let Decision::Ask(question) = bash("ls /nonexistent", "default", &[], &[]) else {
            panic!("not asked")
        };
        assert_eq!(question.blocked_path.as_deref(), Some("/nonexistent"));
        assert_eq!(question.suggestions, Some(array![]));
    }

    #[test]
    fn rules_match_whole_tools_and_prefixes() {
        assert_eq!(bash("make all", "default", &["Bash"], &[]), Decision::Allow(Some("rule")));
        assert_eq!(
            bash("git push origin", "default", &["Bash(git push:*)"], &[]),
            Decision::Allow(Some("rule"))
        );
        assert!(asks(&bash("git pull; rm x", "default", &["Bash(git:*)"], &[])));
        assert_eq!(
            bash("git pull; git push", "default", &["Bash(git *)"], &[]),
            Decision::Allow(Some("rule"))
        );
        assert!(matches!(
            bash("ls; echo hi", "default", &["Bash"], &["Bash(echo:*)"]),
            Decision::Deny { .. }
        ));
    }

    #[test]
    fn edits_depend_on_the_mode() {
        let write =
            |mode: &str, path: &str| decision("Write", &object! { "file_path" => path }, mode, &[], &[]);
        assert!(asks(&write("default", "/workspace/demo/a")));
        assert_eq!(write("acceptEdits", "/workspace/demo/a"), Decision::Allow(Some("mode")));
        assert!(asks(&write("acceptEdits", "/workspace/demo/../other")));
        assert!(asks(&write("plan", "/workspace/demo/a")));
        assert_eq!(write("bypassPermissions", "/etc/passwd"), Decision::Allow(Some("mode")));
        assert!(matches!(write("dontAsk", "/workspace/demo/a"), Decision::Deny { .. }));
    }

    #[test]
    fn questions_are_asked_in_every_mode() {
        let question =
            decision("AskUserQuestion", &object! {}, "bypassPermissions", &["AskUserQuestion"], &[]);
        assert!(matches!(question, Decision::Ask(Question { interaction: true, .. })));
    }

    #[test]
    fn domains_are_found() {
        assert_eq!(domain_of("http://127.0.0.1:9/x"), "127.0.0.1");
        assert_eq!(domain_of("https://example.org?q"), "example.org");
    }
}
