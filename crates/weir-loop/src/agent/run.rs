//! How one session went. Plain data.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_transcript::Session;

/// How one session went.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentRun {
    /// How it ended.
    pub end: AgentEnd,
    /// The CLI's session id.
    pub session_id: Option<String>,
    /// Whether that id differs from the requested one.
    pub forked: bool,
    /// The model.
    pub model: Option<String>,
    /// The CLI's version.
    pub version: Option<String>,
    /// What the session worked with; `None` if the CLI did not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup: Option<Arc<Setup>>,
    /// Warnings: settings that were not applied as requested, and what the CLI itself warns of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The final text, or what was said until then if there is no result.
    pub text: String,
    /// Whether `text` does not come from a result.
    pub degraded: bool,
    /// The result's subtype.
    pub subtype: Option<String>,
    /// Whether the result is an error.
    pub is_error: bool,
    /// The errors that the result lists.
    pub errors: Vec<String>,
    /// The HTTP status of the API error that ended the session.
    pub api_error_status: Option<u64>,
    /// Whether the result was empty.
    pub is_empty: bool,
    /// Turns with the model.
    pub turns: Option<u64>,
    /// How long it took.
    pub duration_ms: u64,
    /// The cost; `None` if it is unknown.
    pub cost_usd: Option<f64>,
    /// Tokens read and written, caches and sub-agents included.
    pub tokens: u64,
    /// Usage by model.
    pub models: Vec<ModelUse>,
    /// Number of tool calls.
    pub tools: u64,
    /// Tools that were not allowed.
    pub denials: Vec<DeniedTool>,
    /// Questions that were not answered.
    pub unanswered: Vec<String>,
    /// The account's limit, as last reported.
    pub rate_limit: Option<LimitInfo>,
    /// Number of lines that could not be parsed as expected.
    pub malformed_lines: u64,
    /// The raw log.
    pub log: Option<PathBuf>,
    /// The log of standard error.
    pub stderr_log: Option<PathBuf>,
}

impl AgentRun {
    /// Whether the loop refused something that the session wanted.
    pub(super) fn was_refused(&self) -> bool {
        !self.denials.is_empty() || !self.unanswered.is_empty()
    }
}

/// What a session works with, according to the CLI's `init` line.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Setup {
    /// The CLI's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The permission mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// The tools available to the model.
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
    /// What the CLI said about the session; `None` if it said nothing.
    pub(super) fn of(session: &Session) -> Option<Self> {
        session.cwd.as_ref()?;
        Some(Self {
            version: session.version.clone(),
            cwd: session.cwd.clone(),
            permission_mode: session.permission_mode.clone(),
            tools: session.tools.clone(),
            skills: session.skills.clone(),
            plugins: session.plugins.iter().map(|plugin| plugin.name.clone()).collect(),
        })
    }

    /// One line for the report.
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
    /// Without a result, although the CLI exited successfully.
    #[default]
    NoResult,
    /// The CLI died.
    Crashed {
        /// How it died, and what it printed.
        why: String,
    },
    /// It took too long.
    TimedOut {
        /// What the session was doing.
        why: String,
    },
    /// The CLI could not be started.
    NotStarted {
        /// The cause, and what to do.
        why: String,
    },
    /// Its cost limit was reached.
    Budget {
        /// The limit that was reached.
        why: String,
    },
    /// The loop was stopped or killed.
    Interrupted,
    /// A person ended this session; the loop continues.
    Stopped,
}

/// How much one model was used.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ModelUse {
    /// The model.
    pub model: String,
    /// Tokens read and written, caches included.
    pub tokens: u64,
    /// The estimated cost in dollars.
    pub usd: f64,
}

/// A tool call that was not allowed, and the rule that would allow it.
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

    /// One line: the tool and its main argument.
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
    /// When the limit resets, in seconds since 1970.
    pub resets_at: Option<u64>,
    /// The name of the limit.
    pub limit: Option<String>,
    /// The part that is used: 1 is all of it.
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
