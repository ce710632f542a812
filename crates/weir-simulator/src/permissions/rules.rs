//! Rules such as `Edit` and `Bash(git log:*)`.

use super::command::parts;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    tool: String,
    /// The text in parentheses.
    content: Option<String>,
}

impl Rule {
    fn parse(text: &str) -> Self {
        match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
            Some((tool, content)) if content != "*" => {
                Self { tool: tool.to_owned(), content: Some(content.to_owned()) }
            }
            Some((tool, _)) => Self { tool: tool.to_owned(), content: None },
            None => Self { tool: text.to_owned(), content: None },
        }
    }

    fn matches_tool(&self, tool: &str) -> bool {
        // A rule for a server applies to all of its tools.
        self.tool == tool
            || self.tool.starts_with("mcp__")
                && tool.strip_prefix(self.tool.as_str()).is_some_and(|rest| rest.starts_with("__"))
    }

    fn matches_command(&self, command: &str) -> bool {
        let Some(content) = &self.content else { return true };
        let prefix = content.strip_suffix(":*").or_else(|| content.strip_suffix(" *"));
        match prefix {
            Some(prefix) => {
                command.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            }
            None => command == content,
        }
    }
}

/// What is allowed and refused without asking.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Rules {
    allow: Vec<Rule>,
    deny: Vec<Rule>,
}

impl Rules {
    pub(crate) fn new<T: AsRef<str>>(allow: &[T], deny: &[T]) -> Self {
        let parse = |list: &[T]| list.iter().map(|text| Rule::parse(text.as_ref())).collect();
        Self { allow: parse(allow), deny: parse(deny) }
    }

    /// Adds a rule from the host.
    pub(crate) fn add(&mut self, tool: &str, content: Option<&str>, allow: bool) {
        let rule = Rule { tool: tool.to_owned(), content: content.map(str::to_owned) };
        if allow { self.allow.push(rule) } else { self.deny.push(rule) }
    }

    /// Combines both sets of rules.
    #[must_use]
    pub(crate) fn with(mut self, more: &Self) -> Self {
        self.allow.extend_from_slice(&more.allow);
        self.deny.extend_from_slice(&more.deny);
        self
    }

    /// Whether a call is refused. One refused command of several is enough.
    pub(crate) fn denies(&self, tool: &str, command: &str) -> bool {
        let commands = parts(command);
        self.deny.iter().filter(|rule| rule.matches_tool(tool)).any(|rule| {
            rule.content.is_none() || tool == "Bash" && commands.iter().any(|part| rule.matches_command(part))
        })
    }

    /// Whether a tool is allowed whatever its arguments.
    pub(crate) fn allows_whole(&self, tool: &str) -> bool {
        self.allow.iter().any(|rule| rule.matches_tool(tool) && rule.content.is_none())
    }

    /// Whether a call is allowed. Each of several commands has to be.
    pub(crate) fn allows(&self, tool: &str, command: &str) -> bool {
        let rules: Vec<_> = self.allow.iter().filter(|rule| rule.matches_tool(tool)).collect();
        if tool == "WebFetch" {
            // Rules refer to a fetch by its domain.
            let fits = |rule: &&Rule| rule.content.as_deref().is_none_or(|content| content == command);
            return rules.iter().any(fits);
        }
        if tool != "Bash" || rules.iter().any(|rule| rule.content.is_none()) {
            return !rules.is_empty();
        }
        let commands = parts(command);
        !commands.is_empty()
            && commands.iter().all(|part| rules.iter().any(|rule| rule.matches_command(part)))
    }
}
