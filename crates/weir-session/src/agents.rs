//! Definitions of agents that a session brings along.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::levels::Effort;

/// An agent that the model can start, in addition to those in the settings.
///
/// Neither a permission mode nor an MCP server can be part of it: what an agent may do is what the session may do. Nor
/// can a first prompt, because the CLI would interpret its text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct AgentSpec {
    /// When the model should use it.
    pub description: String,
    /// Its system prompt.
    pub prompt: String,
    /// The tools that it has; those of the session if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Tools that it does not have.
    #[serde(skip_serializing_if = "Vec::is_empty", alias = "disallowedTools")]
    pub disallowed_tools: Vec<String>,
    /// Its model; that of the session if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How thoroughly its model works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Skills that are loaded for it at its start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// Maximum number of its model calls.
    #[serde(skip_serializing_if = "Option::is_none", alias = "maxTurns")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<u32>, minimum = 1))]
    pub max_turns: Option<NonZeroU32>,
    /// Whether it always runs in the background.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// Whether it does without the instructions of the user and of the folder (`CLAUDE.md`).
    #[serde(skip_serializing_if = "std::ops::Not::not", alias = "omitClaudeMd")]
    pub omit_instructions: bool,
}

impl AgentSpec {
    /// An agent with this description and system prompt.
    pub fn new(description: impl Into<String>, prompt: impl Into<String>) -> Self {
        Self { description: description.into(), prompt: prompt.into(), ..Self::default() }
    }

    /// The form that the CLI reads.
    pub(crate) fn to_value(&self) -> Value {
        // Every field is named, so that a new one does not compile before the CLI gets it.
        let Self {
            description,
            prompt,
            tools,
            disallowed_tools,
            model,
            effort,
            skills,
            max_turns,
            background,
            omit_instructions,
        } = self;
        let mut agent = Map::new();
        let mut set = |name: &str, value: Value| agent.insert(name.to_owned(), value);
        set("description", json!(description));
        set("prompt", json!(prompt));
        let optional = [
            ("tools", tools.as_ref().map(|tools| json!(tools))),
            ("disallowedTools", (!disallowed_tools.is_empty()).then(|| json!(disallowed_tools))),
            ("model", model.as_ref().map(|model| json!(model))),
            ("effort", effort.map(|effort| json!(effort.as_str()))),
            ("skills", (!skills.is_empty()).then(|| json!(skills))),
            ("maxTurns", max_turns.map(|turns| json!(turns))),
            ("background", background.then_some(Value::Bool(true))),
            ("omitClaudeMd", omit_instructions.then_some(Value::Bool(true))),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                set(name, value);
            }
        }
        Value::Object(agent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_sent_in_the_form_of_the_cli() {
        let agent = AgentSpec {
            tools: Some(vec!["Read".into()]),
            disallowed_tools: vec!["Bash".into()],
            max_turns: NonZeroU32::new(3),
            effort: Some(Effort::Low),
            omit_instructions: true,
            ..AgentSpec::new("Reviews", "You review.")
        };
        assert_eq!(
            agent.to_value(),
            json!({"description": "Reviews", "prompt": "You review.", "tools": ["Read"], "disallowedTools": ["Bash"],
                "maxTurns": 3, "effort": "low", "omitClaudeMd": true})
        );
    }

    #[test]
    fn files_of_the_cli_can_be_read_and_what_is_unknown_is_refused() {
        let read = |value: Value| serde_json::from_value::<AgentSpec>(value);
        let agent = read(json!({"description": "d", "prompt": "p", "maxTurns": 2})).unwrap();
        assert_eq!(agent.max_turns, NonZeroU32::new(2));
        for member in ["permissionMode", "mcpServers", "initialPrompt", "prompts"] {
            let error = read(json!({"description": "d", "prompt": "p", (member): "x"})).unwrap_err();
            assert!(error.to_string().contains(member), "{error}");
        }
    }
}
