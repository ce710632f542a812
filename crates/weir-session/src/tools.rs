//! Which tools a session has. Pure, and the one place that knows how a CLI is told.
//!
//! Two lists that mean different things: `tools` is what there is, `allowed_tools` is what runs without asking. The second
//! restricts nothing: of what it does not name, the CLI asks for some (`Bash`, `Edit`, `WebFetch`) and runs the rest without
//! a word (`Task`, `CronCreate`, `EnterWorktree`, reading). What must not run must not be there.

/// Tools that reach nothing but the session and the person at it, so that every session has them. The first two need
/// somebody who answers.
const OF_THE_SESSION: [&str; 3] = ["AskUserQuestion", "ExitPlanMode", "TodoWrite"];

/// Tools that have had several names. `--tools` knows only the one of its version and leaves out the rest without a word.
const RENAMED: [[&str; 2]; 3] = [["Task", "Agent"], ["KillShell", "TaskStop"], ["BashOutput", "TaskOutput"]];

/// Tools that ask before they do what no rule allows.
const ASKING: [&str; 9] =
    ["Bash", "Edit", "MultiEdit", "NotebookEdit", "Skill", "SlashCommand", "WebFetch", "WebSearch", "Write"];

/// The built-in tools of the CLI, as far as they are known: those of 1.0.124 to 2.1.325.
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

/// The tool that a rule such as `Bash(git:*)` is about.
fn tool_of_rule(rule: &str) -> &str {
    rule.split_once('(').map_or(rule, |(tool, _)| tool).trim()
}

/// What becomes of tools that no rule names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unlisted {
    /// They are not there.
    Absent,
    /// Those that ask are there, for a person who can allow a call; the others are not.
    Asked,
}

/// The tools that a list of rules leaves a session that must do nothing else. A rule for a part of a tool, such as
/// `Bash(git:*)`, counts as its tool: the CLI asks for the other parts, except for commands that only read.
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

/// The tools that are in both lists; no list means all.
pub fn narrowed(outer: Option<Vec<String>>, inner: Option<Vec<String>>) -> Option<Vec<String>> {
    match (outer, inner) {
        (Some(outer), Some(mut inner)) => {
            inner.retain(|tool| outer.iter().any(|other| is_within(tool, other)));
            Some(inner)
        }
        (outer, inner) => outer.or(inner),
    }
}

/// Whether a tool is another one, or one of its server's.
fn is_within(tool: &str, other: &str) -> bool {
    let is_served =
        || other.starts_with("mcp__") && tool.strip_prefix(other).is_some_and(|rest| rest.starts_with("__"));
    tool == other
        || RENAMED.iter().any(|names| names.contains(&tool) && names.contains(&other))
        || is_served()
}

/// The names of the built-in tools for `--tools`, in all spellings. `is_attended` says whether somebody answers.
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

/// The built-in tools that are not among these, for a version that cannot be told which ones to have.
pub(crate) fn others(names: &[&str]) -> Vec<String> {
    KNOWN_TOOLS.iter().filter(|tool| !names.contains(tool)).map(ToString::to_string).collect()
}

/// Whether a tool is one of an MCP server.
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
