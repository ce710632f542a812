//! Looks at the list of allowed tools before money is spent on finding out that a rule never matches. Pure.

use weir_session::KNOWN_TOOLS;

use crate::config::Level;

/// The tool with which a session would go on in a worktree that the loop does not know. No session has it.
pub(crate) const LEAVES_THE_FOLDER: &str = "EnterWorktree";

/// Tools whose rules can say more than the name.
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

/// Something that is wrong with the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFinding {
    /// How bad it is.
    pub level: Level,
    /// What is wrong, and what to do.
    pub message: String,
}

/// A rule in its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rule<'a> {
    tool: &'a str,
    content: Option<&'a str>,
}

impl<'a> Rule<'a> {
    fn parse(text: &'a str) -> Result<Self, String> {
        let Some((tool, rest)) = text.split_once('(') else {
            return if text.contains(')') {
                Err("a bracket is closed that was not opened".into())
            } else {
                Ok(Self { tool: text, content: None })
            };
        };
        match rest.strip_suffix(')') {
            Some("") => Err("the brackets are empty; leave them out to allow the whole tool".into()),
            Some(content) => Ok(Self { tool, content: Some(content) }),
            None => Err("the bracket is not closed; a comma inside of a rule divides it in two".into()),
        }
    }
}

/// Looks for rules that are wrong or that can never match.
pub fn lint(allowed: &[String], disallowed: &[String]) -> Vec<ToolFinding> {
    let mut findings = Vec::new();
    if allowed.is_empty() {
        let message =
            "no tool is allowed, so nothing can be done; list them, such as Read,Edit,Bash".to_owned();
        findings.push(ToolFinding { level: Level::Error, message });
    }
    for text in allowed {
        match Rule::parse(text) {
            Err(why) => findings.push(error(text, &why)),
            Ok(rule) => findings.extend(of_rule(text, rule, allowed, disallowed)),
        }
    }
    findings
}

fn of_rule(text: &str, rule: Rule<'_>, allowed: &[String], disallowed: &[String]) -> Vec<ToolFinding> {
    let mut findings = Vec::new();
    if !is_known(rule.tool) {
        findings.push(error(text, &unknown(rule.tool)));
        return findings;
    }
    if rule.tool == LEAVES_THE_FOLDER {
        let why = "no session of the loop has it: what is done in another folder would not be committed";
        findings.push(error(text, why));
    }
    if disallowed.iter().any(|denied| denied == text || denied == rule.tool) {
        findings.push(error(text, "it is disallowed as well, which wins"));
    }
    if let Some(content) = rule.content {
        if allowed.iter().any(|other| other == rule.tool) {
            findings
                .push(warning(text, &format!("{} is allowed as a whole, so this adds nothing", rule.tool)));
        }
        findings.extend(of_content(text, rule.tool, content));
    }
    if allowed.iter().filter(|other| *other == text).count() > 1 {
        findings.push(warning(text, "it stands there twice"));
    }
    findings
}

fn of_content(text: &str, tool: &str, content: &str) -> Option<ToolFinding> {
    if !WITH_RULES.contains(&tool) && !tool.starts_with("mcp__") {
        return Some(error(text, &format!("{tool} takes no rule; write {tool} alone")));
    }
    if content.trim() != content {
        return Some(error(text, "a space at the edge of a rule never matches"));
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
                "one slash means the folder of the settings; write two for the root of the disk",
            ))
        }
        _ => None,
    }
}

fn bash(text: &str, content: &str) -> Option<ToolFinding> {
    // The CLI takes a command apart and asks for each part, so a rule with two of them matches none.
    let compound = ["&&", "||", ";", "|", "\n", "$(", "`"].into_iter().find(|sign| content.contains(sign));
    if let Some(sign) = compound {
        let why = format!(
            "a compound command ({}) is checked part by part; allow each part by a rule of its own",
            sign.escape_debug()
        );
        return Some(error(text, &why));
    }
    if content.starts_with("cd ") {
        return Some(warning(text, "the session works in the task's folder already"));
    }
    match content.find(":*") {
        Some(0) => Some(error(text, "there is no command before :*; write Bash alone to allow all")),
        Some(place) if place + 2 < content.len() => {
            Some(error(text, ":* stands for the rest of a command and counts at the end of the rule only"))
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
        Some(known) => format!("there is no such tool; it is written {known}"),
        None => "there is no such tool; `claude --help` and the init line of a log list them".to_owned(),
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
            ("bash", "it is written Bash"),
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
