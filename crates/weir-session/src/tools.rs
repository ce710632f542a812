//! Which tools a session has. Pure, and the only place that knows how to tell a CLI.
//!
//! There are two lists with different meanings: `tools` is which tools exist, `allowed_tools` is which run
//! without asking. The second restricts nothing: for tools that it does not name, the CLI asks for some
//! (`Bash`, `Edit`, `WebFetch`) and silently runs the rest (`Task`, `CronCreate`, `EnterWorktree`, reading). A
//! tool that must not run must not exist.

/// Tools that affect only the session and its user, so every session has them. The first two need a person to
/// answer.
const OF_THE_SESSION: [&str; 3] = ["AskUserQuestion", "ExitPlanMode", "TodoWrite"];

/// Tools that have had several names. `--tools` knows only the one of its version and silently ignores the
/// others.
const RENAMED: [[&str; 2]; 3] = [["Task", "Agent"], ["KillShell", "TaskStop"], ["BashOutput", "TaskOutput"]];

/// Tools that ask before doing anything no rule allows.
const ASKING: [&str; 9] =
    ["Bash", "Edit", "MultiEdit", "NotebookEdit", "Skill", "SlashCommand", "WebFetch", "WebSearch", "Write"];

/// Known built-in tools of the CLI, versions 1.0.124 to 2.1.325.
pub const KNOWN_TOOLS: &[&str] = &[
    "Agent",
    "AskUserQuestion",
    "Bash",
    "BashOutput",
    "CronCreate",
    "CronDelete",
    "CronList",
    "Edit",
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "ExitWorktree",
    "Glob",
    "Grep",
    "KillShell",
    "LS",
    "ListAgents",
    "ListMcpResourcesTool",
    "MCPSearch",
    "Monitor",
    "MultiEdit",
    "NotebookEdit",
    "NotebookRead",
    "Read",
    "ReadMcpResourceTool",
    "ReportFindings",
    "ScheduleWakeup",
    "SendMessage",
    "Skill",
    "SlashCommand",
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "TodoWrite",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "Workflow",
    "Write",
];

/// The tool that a rule such as `Bash(git:*)` concerns.
fn tool_of_rule(rule: &str) -> &str {
    rule.split_once('(').map_or(rule, |(tool, _)| tool).trim()
}

/// What happens to tools that no rule names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unlisted {
    /// They do not exist.
    Absent,
    /// Those that ask exist, for a person who can allow a call; the others do not.
    Asked,
}

/// The tools for a session that may do only what these rules allow. A rule for a part of a tool, such as
/// `Bash(git:*)`, counts as its tool: the CLI asks for the other parts, except for read-only commands.
pub fn tools_of_rules<R: AsRef<str>>(rules: &[R], unlisted: Unlisted) -> Vec<String> {
    let mut tools: Vec<String> = Vec::new();
    let asking = ASKING.iter().copied().filter(|_| unlisted == Unlisted::Asked);
    for tool in rules.iter().map(|rule| tool_of_rule(rule.as_ref())).chain(asking) {
        if !tool.is_empty() && !tools.iter().any(|known| known == tool) {
            tools.push(tool.to_owned());
        }
    }
    tools
}

/// The tools in both lists; `None` means all.
pub fn narrowed(outer: Option<Vec<String>>, inner: Option<Vec<String>>) -> Option<Vec<String>> {
    match (outer, inner) {
        (Some(outer), Some(mut inner)) => {
            inner.retain(|tool| outer.iter().any(|other| is_within(tool, other)));
            Some(inner)
        }
        (outer, inner) => outer.or(inner),
    }
}

/// Whether a tool is the same as another one, or belongs to that server.
fn is_within(tool: &str, other: &str) -> bool {
    let is_served =
        || other.starts_with("mcp__") && tool.strip_prefix(other).is_some_and(|rest| rest.starts_with("__"));
    tool == other
        || RENAMED.iter().any(|names| names.contains(&tool) && names.contains(&other))
        || is_served()
}

/// Names of the built-in tools for `--tools`, in all spellings. `is_attended` says whether a person can answer.
pub(crate) fn built_in(tools: &[String], is_attended: bool) -> Vec<&str> {
    let own = OF_THE_SESSION.into_iter().filter(|tool| is_attended || *tool == "TodoWrite");
    let mut names: Vec<&str> = Vec::new();
    for tool in tools.iter().map(String::as_str).filter(|tool| !is_mcp(tool)).chain(own) {
        let others = RENAMED.iter().filter(|all| all.contains(&tool)).flatten().copied();
        for name in std::iter::once(tool).chain(others) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// The built-in tools not in this list, for a version that cannot be given a list of tools.
pub(crate) fn others(names: &[&str]) -> Vec<String> {
    KNOWN_TOOLS.iter().filter(|tool| !names.contains(tool)).map(ToString::to_string).collect()
}

/// Whether a tool belongs to an MCP server.
pub(crate) fn is_mcp(tool: &str) -> bool {
    tool.starts_with("mcp__")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(tools: &[&str]) -> Vec<String> {
        tools.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_rule_counts_as_its_tool() {
        let rules = ["Read", "Bash(git log:*)", "Bash(npm test)", "mcp__db__query", "Read(src/**)"];
        assert_eq!(tools_of_rules(&rules, Unlisted::Absent), ["Read", "Bash", "mcp__db__query"]);
        let asked = tools_of_rules(&["Read"], Unlisted::Asked);
        assert!(asked.contains(&"WebFetch".to_owned()) && asked.contains(&"Read".to_owned()), "{asked:?}");
        for never_asks in ["Task", "CronCreate", "EnterWorktree", "Glob", "Workflow"] {
            assert!(!asked.contains(&never_asks.to_owned()), "{never_asks}");
        }
    }

    #[test]
    fn a_session_cannot_have_more_than_the_owner_gives() {
        let outer = Some(list(&["Read", "Task", "mcp__db"]));
        let inner = Some(list(&["Agent", "Bash", "mcp__db__query", "mcp__dbs"]));
        assert_eq!(narrowed(outer.clone(), inner), Some(list(&["Agent", "mcp__db__query"])));
        assert_eq!(narrowed(outer.clone(), None), outer);
        assert_eq!(narrowed(None, None), None);
        assert_eq!(narrowed(None, Some(Vec::new())), Some(Vec::new()));
    }

    #[test]
    fn all_spellings_are_named_and_servers_are_not() {
        let tools = list(&["Task", "mcp__db__query"]);
        assert_eq!(built_in(&tools, true), ["Task", "Agent", "AskUserQuestion", "ExitPlanMode", "TodoWrite"]);
        assert_eq!(built_in(&[], false), ["TodoWrite"]);
        let denied = others(&built_in(&list(&["Read", "Task"]), false));
        assert!(denied.contains(&"Bash".to_owned()) && denied.contains(&"EnterWorktree".to_owned()));
        assert!(!denied.contains(&"Read".to_owned()) && !denied.contains(&"Agent".to_owned()), "{denied:?}");
    }
}
