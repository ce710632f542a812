//! What the persona knows when it produces a step.

use crate::json::Json;
use crate::script::{self, Step, ToolCall};
use crate::sim::Sim;

/// The situation.
#[derive(Debug)]
pub(super) struct Scene {
    /// The last message, in lower case.
    pub(super) prompt: String,
    /// Whether it is the first message of the conversation.
    pub(super) first: bool,
    /// Whether the host can answer a question.
    pub(super) can_ask: bool,
    /// The kind of to-do list available, if any.
    pub(super) todos: Todos,
    /// The answer to the last question.
    pub(super) answer: Option<String>,
    /// Whether the user refused something since the last message.
    pub(super) refused: bool,
    pub(super) cwd: String,
    pub(super) model: String,
}

/// The kinds of to-do lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Todos {
    None,
    Written,
    Tasks,
}

impl Scene {
    pub(super) fn new(sim: &Sim, messages: &[Json]) -> Self {
        let tools = sim.tools();
        let has = |name: &str| tools.iter().any(|tool| tool == name);
        let is_prompt = |message: &&Json| {
            message.str_of("role") == Some("user")
                && !script::texts(message.get("content").unwrap_or(&Json::Null)).is_empty()
        };
        let prompts: Vec<&Json> = messages.iter().filter(is_prompt).collect();
        let last = prompts
            .last()
            .map(|message| script::texts(message.get("content").unwrap_or(&Json::Null)).join("\n"));
        let since: Vec<&Json> = messages.iter().rev().take_while(|message| !is_prompt(message)).collect();
        let results = || {
            since
                .iter()
                .flat_map(|message| message.items_of("content"))
                .filter(|block| block.str_of("type") == Some("tool_result"))
        };
        let answer = results().find_map(|block| {
            let text = block.str_of("content")?;
            let given = text
                .strip_prefix("Your questions have been answered: ")
                .or_else(|| text.strip_prefix("User has answered your questions: "))?;
            given.split("\"=\"").nth(1)?.split('"').next().map(str::to_owned)
        });
        let state = sim.state();
        Self {
            prompt: last.unwrap_or_default().to_lowercase(),
            first: prompts.len() <= 1,
            can_ask: has("AskUserQuestion") && sim.options.host_permissions,
            todos: match () {
                () if has("TaskCreate") => Todos::Tasks,
                () if has("TodoWrite") => Todos::Written,
                () => Todos::None,
            },
            answer,
            refused: results().any(|block| block.is_true("is_error")),
            cwd: sim.cwd().display().to_string(),
            model: state.model.clone(),
        }
    }

    /// The path of a file in the workspace.
    pub(super) fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.cwd)
    }
}

/// A call of a tool.
pub(super) fn call(tool: &str, input: Json) -> ToolCall {
    ToolCall { tool: tool.to_owned(), input }
}

/// A step that says something and calls tools.
pub(super) fn says(text: &str, tools: Vec<ToolCall>) -> Step {
    Step { text: (!text.is_empty()).then(|| text.to_owned()), tools, ..Step::default() }
}

/// The same step after a thought.
pub(super) fn thinks(thought: &str, step: Step) -> Step {
    Step { thinking: Some(thought.to_owned()), ..step }
}
