//! What came of one session. Plain data.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_wire::{InitMessage, RawJson, Text};

/// What came of one session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentRun {
    /// How it ended.
    pub end: AgentEnd,
    /// The session, as the CLI names it.
    pub session_id: Option<String>,
    /// Whether that is another one than was asked for.
    pub forked: bool,
    /// The model.
    pub model: Option<String>,
    /// The CLI's version.
    pub version: Option<String>,
    /// What it worked with; none where the CLI did not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup: Option<Arc<Setup>>,
    /// What was not as it was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The answer, or what was said where no result came.
    pub text: String,
    /// Whether the answer is only what was said.
    pub degraded: bool,
    /// The result's subtype.
    pub subtype: Option<String>,
    /// Whether the result is an error.
    pub is_error: bool,
    /// Why.
    pub errors: Vec<String>,
    /// The HTTP status of the API error that ended it.
    pub api_error_status: Option<u64>,
    /// Whether the result was empty and answers nothing.
    pub is_empty: bool,
    /// Rounds with the model.
    pub turns: Option<u64>,
    /// How long it took.
    pub duration_ms: u64,
    /// What it cost; none where that is not known.
    pub cost_usd: Option<f64>,
    /// Tokens read and written, caches and sub-agents included.
    pub tokens: u64,
    /// The same by model.
    pub models: Vec<ModelUse>,
    /// How many tools were called.
    pub tools: u64,
    /// Tools that were not allowed.
    pub denials: Vec<DeniedTool>,
    /// Questions that nobody answered.
    pub unanswered: Vec<String>,
    /// The account's limit, as last heard.
    pub rate_limit: Option<LimitInfo>,
    /// Lines that were not as expected.
    pub malformed_lines: u64,
    /// Where the raw lines are.
    pub log: Option<PathBuf>,
    /// Where the standard error is.
    pub stderr_log: Option<PathBuf>,
}

/// What the CLI said that a session works with, as its `init` line has it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Setup {
    /// The CLI's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The permission mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// The tools that the model had.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The skills.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// The plugins, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plugins: Vec<String>,
}

impl Setup {
    /// What an `init` line says.
    pub(super) fn of(init: &InitMessage<'_>) -> Self {
        let words = |list: &[Text<'_>]| list.iter().map(|word| word.to_str().into_owned()).collect();
        let plugin = |plugin: &RawJson<'_>| match plugin.to_value() {
            Value::String(name) => name,
            other => {
                other.get("name").and_then(Value::as_str).map_or_else(|| other.to_string(), str::to_owned)
            }
        };
        Self {
            version: init.claude_code_version.map(|version| version.to_str().into_owned()),
            cwd: init.cwd.map(|cwd| cwd.to_str().into_owned()),
            permission_mode: init.permission_mode.map(|mode| mode.to_str().into_owned()),
            tools: words(&init.tools),
            skills: words(&init.skills),
            plugins: init.plugins.iter().map(plugin).collect(),
        }
    }

    /// In a line, for the report.
    pub fn words(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.version.as_ref().map(|version| format!("CLI {version}")));
        parts.extend(self.permission_mode.as_ref().map(|mode| format!("mode {mode}")));
        parts.extend(self.cwd.as_ref().map(|cwd| format!("in {cwd}")));
        for (what, list) in [("tools", &self.tools), ("skills", &self.skills), ("plugins", &self.plugins)] {
            if !list.is_empty() {
                parts.push(format!("{what} {}", list.join(", ")));
            }
        }
        parts.join("; ")
    }
}

/// How a session ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum AgentEnd {
    /// With a result.
    Answered,
    /// Without one, although the CLI ended well.
    #[default]
    NoResult,
    /// The CLI died.
    Crashed {
        /// How, and what it printed.
        why: String,
    },
    /// It took too long.
    TimedOut {
        /// What it was doing.
        why: String,
    },
    /// The CLI could not be started.
    NotStarted {
        /// Why, and what to do.
        why: String,
    },
    /// Its money limit was reached.
    Budget {
        /// Which.
        why: String,
    },
    /// Somebody wanted the loop to end, or it was killed.
    Interrupted,
    /// A person ended this session, and the loop goes on.
    Stopped,
}

/// What one model was used for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ModelUse {
    /// The model.
    pub model: String,
    /// Tokens read and written, caches included.
    pub tokens: u64,
    /// The estimate in dollars.
    pub usd: f64,
}

/// A tool that was not allowed, and what would allow it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeniedTool {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub input: Value,
    /// The rule that would allow it.
    pub rule: String,
}

impl DeniedTool {
    /// A denial, with a rule made from the call.
    pub fn new(tool: &str, input: Value) -> Self {
        Self { rule: rule(tool, &input), tool: tool.to_owned(), input }
    }

    /// In a line: the tool and what it was to do.
    pub fn headline(&self) -> String {
        let main = ["command", "file_path", "notebook_path", "path", "url", "pattern", "query"]
            .iter()
            .find_map(|key| self.input.get(key).and_then(Value::as_str));
        match main {
            Some(main) => format!("{} {main}", self.tool),
            None => format!("{} {}", self.tool, self.input),
        }
    }
}

/// The rule that would allow a call.
fn rule(tool: &str, input: &Value) -> String {
    let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
    match tool {
        "Bash" => {
            let command = text("command").trim();
            let is_compound = ["&&", "||", ";", "|", "\n"].iter().any(|sign| command.contains(sign));
            let words: Vec<&str> = command.split_whitespace().collect();
            match words.as_slice() {
                [] => tool.to_owned(),
                _ if is_compound => tool.to_owned(),
                [program, word, ..]
                    if word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
                        && !word.starts_with('-') =>
                {
                    format!("Bash({program} {word}:*)")
                }
                [program, ..] => format!("Bash({program}:*)"),
            }
        }
        "WebFetch" => {
            let host = text("url").split("//").nth(1).and_then(|rest| rest.split(['/', ':']).next());
            host.filter(|host| !host.is_empty())
                .map_or_else(|| tool.to_owned(), |host| format!("WebFetch(domain:{host})"))
        }
        _ => tool.to_owned(),
    }
}

/// The account's limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LimitInfo {
    /// Whether requests are refused.
    pub rejected: bool,
    /// When it is lifted, in seconds since 1970.
    pub resets_at: Option<u64>,
    /// Which limit.
    pub limit: Option<String>,
    /// How much is used: one is all of it.
    pub utilization: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_rule_that_would_allow_a_call() {
        let rule = |tool: &str, input: Value| DeniedTool::new(tool, input).rule;
        assert_eq!(rule("Bash", json!({"command": "git push origin"})), "Bash(git push:*)");
        assert_eq!(rule("Bash", json!({"command": "rm -rf x"})), "Bash(rm:*)");
        assert_eq!(rule("Bash", json!({"command": "a && b"})), "Bash");
        assert_eq!(rule("WebFetch", json!({"url": "https://docs.rs/x"})), "WebFetch(domain:docs.rs)");
        assert_eq!(rule("Write", json!({"file_path": "/x"})), "Write");
        assert_eq!(DeniedTool::new("Write", json!({"file_path": "/x"})).headline(), "Write /x");
    }
}
