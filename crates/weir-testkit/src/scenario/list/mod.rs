//! The list of scenarios, by theme.

mod agents;
mod control;
mod conversation;
mod errors;
mod input;
mod sessions;
mod tools;

use super::model::Scenario;
use crate::json::Json;
use crate::object;

/// All scenarios, in order.
pub fn all() -> Vec<Scenario> {
    let themes = [
        conversation::scenarios(),
        tools::scenarios(),
        agents::scenarios(),
        control::scenarios(),
        errors::scenarios(),
        sessions::scenarios(),
        input::scenarios(),
    ];
    themes.into_iter().flatten().collect()
}

/// Scenarios with the largest differences between versions. A short run plays these on all versions, and the others
/// on the newest one.
const DIFFERENT: [&str; 11] = [
    "hello",
    "interrupt-stream",
    "interrupt-tool",
    "mcp-host-server",
    "permission-allowed",
    "question-answered",
    "resume",
    "resume-missing",
    "set-permission-mode",
    "steered",
    "subagent-background",
];

/// Whether this scenario differs much between versions.
pub fn differs_by_version(name: &str) -> bool {
    DIFFERENT.contains(&name)
}

/// A message with a script.
fn script(steps: impl IntoIterator<Item = Json>) -> String {
    format!("@@{}", Json::Array(steps.into_iter().collect()))
}

/// A step that says something.
fn says(text: &str) -> Json {
    object! { "text" => text }
}

/// A step that says something and uses this many tokens.
fn says_for(text: &str, input: i64, output: i64) -> Json {
    says(text).with("usage", object! { "input_tokens" => input, "output_tokens" => output })
}

/// A step that calls a tool.
fn calls(tool: &str, input: Json) -> Json {
    object! { "tool" => tool, "input" => input }
}

/// A step that runs a command.
fn runs(command: &str) -> Json {
    calls("Bash", object! { "command" => command, "description" => "a step" })
}

/// A call of a sub-agent with its own script.
fn delegates(description: &str, background: bool, steps: impl IntoIterator<Item = Json>) -> Json {
    calls(
        "Task",
        object! {
            "description" => description,
            "prompt" => format!("go {}", script(steps)),
            "subagent_type" => "general-purpose",
            "run_in_background" => background,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_every_script_can_be_read() {
        let scenarios = all();
        assert!(scenarios.len() >= 30, "{}", scenarios.len());
        let names: HashSet<_> = scenarios.iter().map(|scenario| scenario.name).collect();
        assert_eq!(names.len(), scenarios.len());
        for scenario in scenarios {
            assert!(!scenario.about.is_empty(), "{}", scenario.name);
            for action in scenario.processes.iter().flat_map(|process| &process.actions) {
                if let super::super::Action::Send(text) | super::super::Action::SendInterrupted(text, _) =
                    action
                    && text.contains(crate::script::MARK)
                {
                    assert_eq!(crate::script::scripts(text).len(), 1, "{}: {text}", scenario.name);
                }
            }
        }
    }
}
