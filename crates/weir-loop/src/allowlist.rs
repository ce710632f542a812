//! Checks the list of allowed tools, before money is spent on finding out that a rule never matches. Pure.

use weir_session::KNOWN_TOOLS;

use crate::config::Level;

/// The tool that would move a session to a worktree unknown to the loop. No session has it.
pub(crate) const LEAVES_THE_FOLDER: &str = "EnterWorktree";

/// Tools whose rules can have content, as in `Bash(git log:*)`.
const WITH_RULES: [&str; 11] = [
    "Agent",
    "Bash",
    "Edit",
    "MultiEdit",
    "NotebookEdit",
    "Read",
    "Skill",
    "SlashCommand",
    "Task",
    "WebFetch",
    "Write",
];

/// A problem in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFinding {
    /// The severity.
    pub level: Level,
    /// What is wrong, and what to do.
    pub message: String,
}

/// A parsed rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rule<'a> {
    tool: &'a str,
    content: Option<&'a str>,
}

impl<'a> Rule<'a> {
    fn parse(text: &'a str) -> Result<Self, String> {
        let Some((tool, rest)) = text.split_once('(') else {
            return if text.contains(')') {
                Err("unmatched closing parenthesis".into())
            } else {
                Ok(Self { tool: text, content: None })
            };
        };
        match rest.strip_suffix(')') {
            Some("") => Err("the parentheses are empty; leave them out to allow the whole tool".into()),
            Some(content) => Ok(Self { tool, content: Some(content) }),
            None => Err("the parenthesis is not closed; a comma inside a rule splits it in two".into()),
        }
    }
}

/// Finds rules that are invalid or can never match.
pub fn lint(allowed: &[String], disallowed: &[String]) -> Vec<ToolFinding> {
    let mut findings = Vec::new();
    if allowed.is_empty() {
        let message =
            "no tool is allowed, so no work can be done; list some, such as Read,Edit,Bash".to_owned();
        findings.push(ToolFinding { level: Level::Error, message });
    }
    for text in allowed {
        match Rule::parse(text) {
            Err(why) => findings.push(error(text, &why)),
            Ok(rule) => findings.extend(lint_rule(text, rule, allowed, disallowed)),
        }
    }
    findings
}

fn lint_rule(text: &str, rule: Rule<'_>, allowed: &[String], disallowed: &[String]) -> Vec<ToolFinding> {
    let mut findings = Vec::new();
    if !is_known(rule.tool) {
        findings.push(error(text, &unknown(rule.tool)));
        return findings;
    }
    if rule.tool == LEAVES_THE_FOLDER {
        let why = "not available in the loop: work in another folder would not be committed";
        findings.push(error(text, why));
    }
    if disallowed.iter().any(|denied| denied == text || denied == rule.tool) {
        findings.push(error(text, "it is also disallowed, which takes precedence"));
    }
    if let Some(content) = rule.content {
        if allowed.iter().any(|other| other == rule.tool) {
            findings
                .push(warning(text, &format!("{} is allowed as a whole, so this adds nothing", rule.tool)));
        }
        findings.extend(lint_content(text, rule.tool, content));
    }
    if allowed.iter().filter(|other| *other == text).count() > 1 {
        findings.push(warning(text, "it is listed twice"));
    }
    findings
}

fn lint_content(text: &str, tool: &str, content: &str) -> Option<ToolFinding> {
    if !WITH_RULES.contains(&tool) && !tool.starts_with("mcp__") {
        return Some(error(text, &format!("{tool} takes no rule; write {tool} alone")));
    }
    if content.trim() != content {
        return Some(error(text, "a rule with a leading or trailing space never matches"));
    }
    match tool {
        "Bash" => bash(text, content),
        "WebFetch" if !content.starts_with("domain:") => {
            Some(error(text, "it can never match; write WebFetch(domain:example.com)"))
        }
        "Read" | "Edit" | "Write" | "MultiEdit" | "NotebookEdit"
            if content.starts_with('/') && !content.starts_with("//") =>
        {
            Some(warning(
                text,
                "a path with one slash is relative to the settings folder; write two for the root of the disk",
            ))
        }
        _ => None,
    }
}

fn bash(text: &str, content: &str) -> Option<ToolFinding> {
    // The CLI splits a compound command and checks each part, so a rule with two parts never matches.
    let compound = ["&&", "||", ";", "|", "\n", "$(", "`"].into_iter().find(|sign| content.contains(sign));
    if let Some(sign) = compound {
        let why = format!(
            "a compound command ({}) is checked part by part; add a rule for each part",
            sign.escape_debug()
        );
        return Some(error(text, &why));
    }
    if content.starts_with("cd ") {
        return Some(warning(text, "the session already works in the task's folder"));
    }
    match content.find(":*") {
        Some(0) => Some(error(text, "no command before :*; write Bash alone to allow every command")),
        Some(place) if place + 2 < content.len() => {
            Some(error(text, ":* matches the rest of a command and is allowed only at the end of a rule"))
        }
        _ => None,
    }
}

fn is_known(tool: &str) -> bool {
    KNOWN_TOOLS.contains(&tool) || (tool.starts_with("mcp__") && tool.len() > 5)
}

fn unknown(tool: &str) -> String {
    let bare = tool.trim();
    match KNOWN_TOOLS.iter().find(|known| known.eq_ignore_ascii_case(bare)) {
        Some(known) => format!("no such tool; did you mean {known}?"),
        None => "no such tool; `claude --help` and the init line of a log list the tools".to_owned(),
    }
}

fn error(rule: &str, why: &str) -> ToolFinding {
    ToolFinding { level: Level::Error, message: format!("{rule}: {why}") }
}

fn warning(rule: &str, why: &str) -> ToolFinding {
    ToolFinding { level: Level::Warning, message: format!("{rule}: {why}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lint_of(rules: &[&str]) -> Vec<(Level, String)> {
        let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
        lint(&rules, &["WebSearch".to_owned()]).into_iter().map(|f| (f.level, f.message)).collect()
    }

    #[test]
    fn the_usual_rules_are_fine() {
        let rules = [
            "Read",
            "Bash(git log:*)",
            "Bash(npm test)",
            "Edit(src/**)",
            "WebFetch(domain:docs.rs)",
            "mcp__db__query",
        ];
        assert_eq!(lint_of(&rules), []);
    }

    #[test]
    fn what_can_never_match_is_an_error() {
        let wrong = [
            ("bash", "did you mean Bash?"),
            ("Bsh", "no such tool"),
            ("EnterWorktree", "would not be committed"),
            ("Bash(git add . && git commit:*)", "part by part"),
            ("Bash(cat x | wc)", "part by part"),
            ("Bash()", "empty"),
            ("Bash(git", "not closed"),
            ("Bash(:*)", "no command"),
            ("Bash(git:* push)", "at the end"),
            ("Bash( git:*)", "space"),
            ("Glob(src)", "takes no rule"),
            ("WebFetch(docs.rs)", "domain:"),
            ("WebSearch", "disallowed"),
        ];
        for (rule, why) in wrong {
            let found = lint_of(&[rule]);
            assert!(
                found.iter().any(|(level, text)| *level == Level::Error && text.contains(why)),
                "{rule}: {found:?}"
            );
        }
        assert_eq!(lint(&[], &[]).len(), 1);
    }

    #[test]
    fn what_adds_nothing_is_a_warning() {
        let found = lint_of(&["Bash", "Bash(git:*)", "Read", "Read"]);
        assert!(found.iter().all(|(level, _)| *level == Level::Warning), "{found:?}");
        assert_eq!(found.len(), 3);
    }
}
