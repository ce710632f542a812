//! `[loop.coder]` and `[loop.planner]`: what their sessions are to be like.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema};
use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize};
use weir_session::SessionSpec;

/// The tools of a coder that does not name any.
const CODER: [&str; 6] = ["Read", "Edit", "Write", "Bash", "Glob", "Grep"];

/// The tools of a planner that does not name any.
const PLANNER: [&str; 2] = ["Read", "Bash"];

/// What the sessions of the coder or the planner are to be like.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(transform = describe)]
pub struct Mode {
    /// The session's own options. The loop adds its rules to the prompts, derives the tools from the allowed ones, and
    /// never lets a session cost more than what is left of its limits.
    #[serde(flatten)]
    pub spec: SessionSpec,
    /// More arguments for the CLI.
    #[schemars(default)]
    pub extra_args: Vec<String>,
}

impl Mode {
    /// The coder's defaults.
    pub fn coder() -> Self {
        Self::with_tools(&CODER)
    }

    /// The planner's defaults.
    pub fn planner() -> Self {
        Self::with_tools(&PLANNER)
    }

    fn with_tools(tools: &[&str]) -> Self {
        let allowed_tools = tools.iter().map(ToString::to_string).collect();
        Self { spec: SessionSpec { allowed_tools, ..SessionSpec::default() }, extra_args: Vec::new() }
    }

    /// The options of one session that may cost this much and take this many turns.
    pub fn session(&self, max_cost_usd: f64, max_turns: Option<u32>) -> SessionSpec {
        let own = &self.spec;
        SessionSpec {
            max_cost_usd: Some(own.max_cost_usd.map_or(max_cost_usd, |own| own.min(max_cost_usd))),
            max_turns: own.max_turns.into_iter().chain(max_turns).min(),
            ..own.clone()
        }
    }

    pub(super) fn read_coder<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(deserializer, Self::coder())
    }

    pub(super) fn read_planner<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(deserializer, Self::planner())
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D, defaults: Self) -> Result<Self, D::Error> {
        /// A flattened struct would accept any key, so the keys that are left over are collected.
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Table {
            allowed_tools: Option<Vec<String>>,
            extra_args: Vec<String>,
            #[serde(flatten)]
            spec: SessionSpec,
            #[serde(flatten)]
            unknown: BTreeMap<String, IgnoredAny>,
        }
        let table = Table::deserialize(deserializer)?;
        if let Some(key) = table.unknown.keys().next() {
            return Err(D::Error::custom(format!("unknown field `{key}`")));
        }
        let allowed_tools = table.allowed_tools.unwrap_or(defaults.spec.allowed_tools);
        Ok(Self { spec: SessionSpec { allowed_tools, ..table.spec }, extra_args: table.extra_args })
    }
}

/// Describes the keys that mean something else in the loop than elsewhere, and refuses unknown ones.
fn describe(schema: &mut Schema) {
    let texts = [
        (
            "allowed_tools",
            "The tools that a session has, and rules such as `Bash(git log:*)` for what a tool may do without permission.",
        ),
        (
            "system_prompt",
            "Replaces the CLI's own system prompt. The loop's rules for planner or coder come after it.",
        ),
        ("append_system_prompt", "Added to the system prompt, after the loop's rules for planner or coder."),
        ("tools", "Fewer tools than the allowed ones; all of those by default."),
    ];
    let Some(properties) = schema.get_mut("properties").and_then(|all| all.as_object_mut()) else { return };
    for (key, text) in texts {
        if let Some(property) = properties.get_mut(key).and_then(|property| property.as_object_mut()) {
            property.insert("description".to_owned(), text.into());
        }
    }
    schema.insert("additionalProperties".to_owned(), false.into());
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, parse};

    #[test]
    fn each_mode_keeps_its_own_tools_unless_it_names_some() {
        let config = parse("[loop.coder]\nmodel = \"opus\"\n[loop.planner]\nmodel = \"haiku\"").unwrap();
        let defaults = Config::default();
        assert_eq!(config.coder.spec.model.as_deref(), Some("opus"));
        assert_eq!(config.coder.spec.allowed_tools, defaults.coder.spec.allowed_tools);
        assert_eq!(config.planner.spec.allowed_tools, ["Read", "Bash"]);
        let config = parse("[loop.coder]\nallowed_tools = []").unwrap();
        assert!(config.coder.spec.allowed_tools.is_empty());
    }

    #[test]
    fn every_option_of_a_session_can_be_set_and_no_other_key() {
        let text = "[loop.coder]\nmodel = \"m\"\nsystem_prompt = \"s\"\nappend_system_prompt = \"a\"\n\
                    disallowed_tools = [\"Bash(rm:*)\"]\npermission_mode = \"acceptEdits\"\nmax_cost_usd = 1\n\
                    max_turns = 7\nextra_args = [\"--verbose\"]";
        let mode = parse(text).unwrap().coder;
        assert_eq!((mode.spec.max_cost_usd, mode.spec.max_turns), (Some(1.0), Some(7)));
        assert_eq!((mode.spec.disallowed_tools.len(), mode.extra_args.len()), (1, 1));
        let session = mode.session(0.5, Some(9));
        assert_eq!((session.max_cost_usd, session.max_turns), (Some(0.5), Some(7)), "the lower limits");
        let error = parse("[loop.coder]\nmodelname = \"m\"").unwrap_err();
        assert!(error.contains("modelname") && error.contains("line 1"), "{error}");
    }
}
