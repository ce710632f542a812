//! The imitated version, and the differences between versions.
//!
//! 2.1.325 is the default. Everything that a driver can notice and that differs in 2.1.9 is a method here, so that
//! the rest of the code asks for a behaviour and not for a version number.

mod lists;

use crate::json::Json;
use crate::{array, object};

/// The imitated version.
#[derive(Debug, Clone)]
pub(crate) struct Profile {
    /// As printed by `--version`.
    pub(crate) version: String,
    old: bool,
}

/// The price of a model, in dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Price {
    pub(crate) input: f64,
    pub(crate) output: f64,
    pub(crate) context_window: u64,
    pub(crate) max_output: u64,
}

impl Profile {
    /// The profile for a version: everything before 2.1.61 behaves like 2.1.9, the rest like 2.1.325.
    pub(crate) fn of(version: &str) -> Self {
        let numbers: Vec<u64> = version.split('.').map(|part| part.parse().unwrap_or_default()).collect();
        Self { version: version.to_owned(), old: numbers.as_slice() < [2, 1, 61].as_slice() }
    }

    /// Whether it behaves like 2.1.9. Prefer the methods that name a behaviour.
    pub(crate) fn is_old(&self) -> bool {
        self.old
    }

    /// Whether waiting messages are answered together, with lifecycle lines and the uuids in the result.
    pub(crate) fn coalesces(&self) -> bool {
        !self.old
    }

    /// Whether background tasks are reported and start their own turns.
    pub(crate) fn reports_tasks(&self) -> bool {
        !self.old
    }

    /// Whether a sub-agent runs in the background unless its call says otherwise.
    pub(crate) fn agents_in_background(&self) -> bool {
        !self.old
    }

    /// Whether sub-agents can start sub-agents.
    pub(crate) fn nests_agents(&self) -> bool {
        !self.old
    }

    /// Whether an unknown control request gets an error response; the older version does not respond.
    pub(crate) fn refuses_unknown_requests(&self) -> bool {
        !self.old
    }

    /// Whether a resumed session continues from its saved cost.
    pub(crate) fn resumes_cost(&self) -> bool {
        !self.old
    }

    /// Whether API retries are reported.
    pub(crate) fn reports_retries(&self) -> bool {
        !self.old
    }

    /// Whether message lines have a timestamp.
    pub(crate) fn timestamps(&self) -> bool {
        !self.old
    }

    /// Whether a small model sees the output of a command afterwards, which costs a little.
    pub(crate) fn asks_small_model_about_output(&self) -> bool {
        self.old
    }

    /// Whether a file has to be read before it is changed.
    pub(crate) fn wants_files_read(&self) -> bool {
        self.old
    }

    /// The model used by default.
    pub(crate) fn default_model(&self) -> &'static str {
        if self.old { "claude-sonnet-4-5-20250929" } else { "claude-opus-5-5" }
    }

    /// The small model for side calls.
    pub(crate) fn small_model(&self) -> &'static str {
        "claude-haiku-4-5-20251001"
    }

    /// Resolves a short name to a model.
    pub(crate) fn resolve_model(&self, name: &str) -> String {
        let model = match (name, self.old) {
            ("default", _) => self.default_model(),
            ("opus", false) => "claude-opus-5-5",
            ("sonnet", false) => "claude-sonnet-5-5",
            ("haiku", false) => "claude-haiku-5-5",
            ("opus", true) => "claude-opus-4-5-20251101",
            ("sonnet", true) => "claude-sonnet-4-5-20250929",
            ("haiku", true) => "claude-haiku-4-5-20251001",
            _ => name,
        };
        model.to_owned()
    }

    /// The price of a model.
    pub(crate) fn price(&self, model: &str) -> Price {
        let price =
            |input, output, context_window, max_output| Price { input, output, context_window, max_output };
        match model {
            _ if model.contains("fable") => price(8.0, 40.0, 1_000_000, 128_000),
            _ if model.contains("opus-4") => price(5.0, 25.0, 200_000, 64_000),
            _ if model.contains("opus") => price(4.0, 20.0, 1_000_000, 128_000),
            _ if model.contains("sonnet-4") => price(3.0, 15.0, 200_000, 64_000),
            _ if model.contains("sonnet") => price(2.0, 10.0, 1_000_000, 128_000),
            _ if model.contains("haiku-4") => price(1.0, 5.0, 200_000, 64_000),
            _ if model.contains("haiku") => price(0.1, 0.5, 1_000_000, 128_000),
            _ => price(3.0, 15.0, 200_000, 64_000),
        }
    }

    /// The permission modes accepted on the command line.
    pub(crate) fn permission_modes(&self) -> &'static [&'static str] {
        if self.old {
            &["acceptEdits", "bypassPermissions", "default", "delegate", "dontAsk", "plan"]
        } else {
            &["acceptEdits", "auto", "bypassPermissions", "manual", "dontAsk", "plan"]
        }
    }

    /// The built-in tools in the order in which `init` lists them.
    pub(crate) fn tools(&self) -> &'static [&'static str] {
        if self.old { lists::OLD_TOOLS } else { lists::NEW_TOOLS }
    }

    /// Whether a tool is only available if the host answers requests.
    pub(crate) fn needs_host(&self, tool: &str) -> bool {
        !self.old && matches!(tool, "AskUserQuestion" | "EnterPlanMode" | "ExitPlanMode")
    }

    /// Whether a tool maintains a to-do list, which is off by default.
    pub(crate) fn is_todo_tool(&self, tool: &str) -> bool {
        !self.old && matches!(tool, "TaskCreate" | "TaskGet" | "TaskList" | "TaskUpdate")
    }

    /// The slash commands in `init`.
    pub(crate) fn slash_commands(&self) -> &'static [&'static str] {
        if self.old { lists::OLD_COMMANDS } else { lists::NEW_COMMANDS }
    }

    /// The skills in `init`: the newer version counts its first commands as skills.
    pub(crate) fn skills(&self) -> &'static [&'static str] {
        if self.old { &[] } else { lists::NEW_COMMANDS.get(..16).unwrap_or_default() }
    }

    /// The kinds of sub-agents.
    pub(crate) fn agents(&self) -> &'static [&'static str] {
        if self.old {
            &["Bash", "general-purpose", "statusline-setup", "Explore", "Plan"]
        } else {
            &["claude", "Explore", "general-purpose", "Plan", "statusline-setup"]
        }
    }

    /// The capabilities in `init`.
    pub(crate) fn capabilities(&self) -> &'static [&'static str] {
        lists::CAPABILITIES
    }

    /// The models in the response to `initialize`.
    pub(crate) fn models(&self) -> Json {
        let entry = |value: &str, name: &str, about: &str| {
            let mut model = object! { "value" => value };
            if !self.old {
                model.set("resolvedModel", self.resolve_model(value));
            }
            model.with("displayName", name).with("description", about)
        };
        array![
            entry("default", "Default (recommended)", "The default model"),
            entry("opus", "Opus", "For complex work"),
            entry("sonnet", "Sonnet", "For routine work"),
            entry("haiku", "Haiku", "For quick answers"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::Profile;

    #[test]
    fn versions_are_distinguished_by_number() {
        for old in ["1.0.124", "2.0.72", "2.1.9"] {
            assert!(Profile::of(old).is_old(), "{old}");
        }
        for new in ["2.1.61", "2.1.197", "2.1.325", "3.0.0"] {
            assert!(!Profile::of(new).is_old(), "{new}");
        }
    }
}
