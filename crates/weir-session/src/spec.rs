//! What a session is to be like: the options that the library, the command line and the API have in common.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::agents::AgentSpec;
use crate::levels::{Effort, Thinking};
use crate::tools::narrowed;

/// What a session is to be like. Declared once: the library, the command line, the API, the loop's configuration and
/// stored sessions embed it.
///
/// A new option is a field here, its part in [`SessionSpec::with_defaults`], and what it means for the CLI in
/// `arguments.rs`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SessionSpec {
    /// The model; the CLI's default if none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "clap", arg(long))]
    pub model: Option<String>,

    /// Models to use, in this order, while the model is overloaded or not available.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "clap",
        arg(long = "fallback-model", value_name = "MODELS", value_delimiter = ',', help_heading = "Model")
    )]
    #[cfg_attr(feature = "schema", schema(example = json!(["sonnet", "haiku"])))]
    pub fallback_models: Vec<String>,

    /// How thoroughly the model works.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "clap", arg(long, value_enum, help_heading = "Model"))]
    pub effort: Option<Effort>,

    /// Whether the model thinks before it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "clap", arg(long, value_enum, help_heading = "Model"))]
    pub thinking: Option<Thinking>,

    /// Maximum number of tokens for thinking, for models that have such a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TOKENS", help_heading = "Model"))]
    #[cfg_attr(feature = "schema", schema(value_type = Option<u32>, minimum = 1))]
    pub max_thinking_tokens: Option<NonZeroU32>,

    /// How many tokens the model should use for a task. It is told how many are left and finishes in time; nothing
    /// stops it if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TOKENS", help_heading = "Model"))]
    #[cfg_attr(feature = "schema", schema(value_type = Option<u32>, minimum = 1))]
    pub task_budget_tokens: Option<NonZeroU32>,

    /// Beta features of the API to switch on, such as `context-1m-2025-08-07`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "clap",
        arg(long = "beta", value_name = "NAMES", value_delimiter = ',', help_heading = "Model")
    )]
    pub betas: Vec<String>,

    /// Works as this agent: with its system prompt, tools and model.
    ///
    /// One of `agents`, or one that the settings define.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME", help_heading = "Agents"))]
    pub agent: Option<String>,

    /// Agents that the model can start, by name, in addition to those in the settings.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "clap", arg(skip))]
    pub agents: BTreeMap<String, AgentSpec>,

    /// The skills that the model sees; all of them by default.
    ///
    /// Their files can still be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Agents")
    )]
    pub skills: Option<Vec<String>>,

    /// Whether the CLI sums up what a sub-agent is doing, every half minute.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Agents"))]
    pub agent_summaries: bool,

    /// Replaces the CLI's own system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TEXT", conflicts_with = "append_system_prompt"))]
    pub system_prompt: Option<String>,

    /// Text to append to the system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TEXT"))]
    pub append_system_prompt: Option<String>,

    /// Keeps what differs between machines and folders out of the system prompt, so that the prompt cache covers more.
    ///
    /// The model gets it in front of the first message instead.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "clap", arg(long))]
    pub exclude_dynamic_sections: bool,

    /// Whether the system prompt of the first request is used for the whole session, also after a change of
    /// `append_system_prompt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "BOOL"))]
    pub system_prompt_snapshot: Option<bool>,

    /// Replaces the instructions for writing a plan, in the permission mode `plan`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TEXT"))]
    pub plan_mode_instructions: Option<String>,

    /// The available tools; all of them by default.
    ///
    /// A tool that is not listed does not exist for the session. A listed one that is not in the allowed tools asks for
    /// permission, if it is a tool that asks. Tools of MCP servers are listed by full name or as `mcp__SERVER`; if none
    /// is listed, the CLI does not start the servers in its settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "TOOLS", value_delimiter = ',', help_heading = "Permissions")
    )]
    #[cfg_attr(feature = "schema", schema(example = json!(["Read", "Grep", "Edit", "Bash"])))]
    pub tools: Option<Vec<String>>,

    /// Tools that need no permission, or rules such as `Bash(git:*)`. This restricts nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "TOOLS", value_delimiter = ',', help_heading = "Permissions")
    )]
    pub allowed_tools: Vec<String>,

    /// Tools that must not be used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "TOOLS", value_delimiter = ',', help_heading = "Permissions")
    )]
    pub disallowed_tools: Vec<String>,

    /// What is allowed without asking: `default`, `acceptEdits`, `plan`, …
    ///
    /// `default` if none is given, whatever the user's settings say.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "MODE", help_heading = "Permissions"))]
    pub permission_mode: Option<String>,

    /// Whether the CLI keeps nothing of the session on disk.
    ///
    /// The session then lives only as long as its process.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Session"))]
    pub no_session_persistence: bool,

    /// Whether the CLI keeps copies of the files that it changes, so that they can be restored.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Session"))]
    pub file_checkpointing: bool,

    /// Whether the stream says when each hook starts and ends. Hooks at the start of a session are always there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Session"))]
    pub hook_events: bool,

    /// Whether the CLI suggests the next message after each turn. Costs a request to the model.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Session"))]
    pub prompt_suggestions: bool,

    /// Maximum cost of the session, in dollars.
    ///
    /// The CLI ends a turn that exceeds it, and no message is sent afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "clap",
        arg(long = "max-cost", value_name = "USD", value_parser = parse_cost, help_heading = "Limits")
    )]
    pub max_cost_usd: Option<f64>,

    /// Maximum number of model calls in a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Limits")
    )]
    #[cfg_attr(feature = "schema", schema(minimum = 1))]
    pub max_turns: Option<u32>,

    /// The JSON Schema that answers must match.
    ///
    /// The CLI receives it on standard input; a version that does not support it is refused when its process is
    /// started.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "clap", arg(skip))]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    pub output_schema: Option<serde_json::Value>,
}

impl SessionSpec {
    /// Adds what it leaves open from `defaults`. The tools and skills are those that both have; lists of rules and of betas are
    /// joined, and nothing that either of them keeps off the disk is kept.
    #[must_use]
    pub fn with_defaults(self, defaults: Self) -> Self {
        // Every field is named, so that a new option does not compile before this says what becomes of it.
        let Self {
            model,
            fallback_models,
            effort,
            thinking,
            max_thinking_tokens,
            task_budget_tokens,
            betas,
            agent,
            agents,
            skills,
            agent_summaries,
            system_prompt,
            append_system_prompt,
            exclude_dynamic_sections,
            system_prompt_snapshot,
            plan_mode_instructions,
            tools,
            allowed_tools,
            disallowed_tools,
            permission_mode,
            no_session_persistence,
            file_checkpointing,
            hook_events,
            prompt_suggestions,
            max_cost_usd,
            max_turns,
            output_schema,
        } = self;
        let mut all_agents = defaults.agents;
        all_agents.extend(agents);
        let join = |mut first: Vec<String>, then: Vec<String>| {
            first.extend(then);
            first
        };
        let either = |own: Vec<String>, default: Vec<String>| if own.is_empty() { default } else { own };
        Self {
            model: model.or(defaults.model),
            fallback_models: either(fallback_models, defaults.fallback_models),
            effort: effort.or(defaults.effort),
            thinking: thinking.or(defaults.thinking),
            max_thinking_tokens: max_thinking_tokens.or(defaults.max_thinking_tokens),
            task_budget_tokens: task_budget_tokens.or(defaults.task_budget_tokens),
            betas: join(defaults.betas, betas),
            agent: agent.or(defaults.agent),
            agents: all_agents,
            skills: common(defaults.skills, skills),
            agent_summaries: agent_summaries || defaults.agent_summaries,
            system_prompt: system_prompt.or(defaults.system_prompt),
            append_system_prompt: append_system_prompt.or(defaults.append_system_prompt),
            exclude_dynamic_sections: exclude_dynamic_sections || defaults.exclude_dynamic_sections,
            system_prompt_snapshot: system_prompt_snapshot.or(defaults.system_prompt_snapshot),
            plan_mode_instructions: plan_mode_instructions.or(defaults.plan_mode_instructions),
            tools: narrowed(defaults.tools, tools),
            allowed_tools: join(defaults.allowed_tools, allowed_tools),
            disallowed_tools: join(defaults.disallowed_tools, disallowed_tools),
            permission_mode: permission_mode.or(defaults.permission_mode),
            no_session_persistence: no_session_persistence || defaults.no_session_persistence,
            file_checkpointing: file_checkpointing || defaults.file_checkpointing,
            hook_events: hook_events || defaults.hook_events,
            prompt_suggestions: prompt_suggestions || defaults.prompt_suggestions,
            max_cost_usd: max_cost_usd.or(defaults.max_cost_usd),
            max_turns: max_turns.or(defaults.max_turns),
            output_schema: output_schema.or(defaults.output_schema),
        }
    }
}

/// The names in both lists; `None` means all.
fn common(outer: Option<Vec<String>>, inner: Option<Vec<String>>) -> Option<Vec<String>> {
    match (outer, inner) {
        (Some(outer), Some(mut inner)) => {
            inner.retain(|name| outer.contains(name));
            Some(inner)
        }
        (outer, inner) => outer.or(inner),
    }
}

#[cfg(feature = "clap")]
fn parse_cost(text: &str) -> Result<f64, String> {
    match text.trim_start_matches('$').parse::<f64>() {
        Ok(cost) if cost.is_finite() && cost > 0.0 => Ok(cost),
        _ => Err("expected an amount above zero, such as 0.50".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn defaults_fill_what_is_open_and_never_widen_the_tools() {
        let own = SessionSpec {
            model: Some("opus".into()),
            tools: Some(words(&["Read", "Bash"])),
            allowed_tools: words(&["Read"]),
            ..SessionSpec::default()
        };
        let defaults = SessionSpec {
            model: Some("haiku".into()),
            permission_mode: Some("plan".into()),
            tools: Some(words(&["Read", "Edit"])),
            allowed_tools: words(&["Grep"]),
            no_session_persistence: true,
            max_turns: Some(3),
            ..SessionSpec::default()
        };
        let both = own.with_defaults(defaults);
        assert_eq!(both.model.as_deref(), Some("opus"));
        assert_eq!(both.permission_mode.as_deref(), Some("plan"));
        assert_eq!(both.tools, Some(words(&["Read"])));
        assert_eq!(both.allowed_tools, words(&["Grep", "Read"]));
        assert!(both.no_session_persistence);
        assert_eq!(both.max_turns, Some(3));
    }

    #[test]
    fn an_own_list_of_fallbacks_replaces_the_default_one() {
        let fallback =
            |models: &[&str]| SessionSpec { fallback_models: words(models), ..SessionSpec::default() };
        let both =
            |own: &[&str], default: &[&str]| fallback(own).with_defaults(fallback(default)).fallback_models;
        assert_eq!(both(&["haiku"], &["opus", "sonnet"]), words(&["haiku"]));
        assert_eq!(both(&[], &["opus", "sonnet"]), words(&["opus", "sonnet"]));
    }

    #[test]
    fn zero_is_not_a_number_of_tokens() {
        assert!(serde_json::from_str::<SessionSpec>(r#"{"max_thinking_tokens": 0}"#).is_err());
    }

    #[test]
    fn own_agents_replace_defaults_by_name_and_skills_are_never_widened() {
        let with = |prompt: &str, names: &[&str], skills: Option<&[&str]>| SessionSpec {
            agents: names.iter().map(|name| ((*name).to_owned(), AgentSpec::new("d", prompt))).collect(),
            skills: skills.map(words),
            ..SessionSpec::default()
        };
        let both = with("own", &["b"], Some(&["pdf", "xls"])).with_defaults(with(
            "theirs",
            &["a", "b"],
            Some(&["pdf"]),
        ));
        let prompts: Vec<&str> = both.agents.values().map(|agent| agent.prompt.as_str()).collect();
        assert_eq!(prompts, ["theirs", "own"]);
        assert_eq!(both.skills, Some(words(&["pdf"])));
    }

    #[test]
    fn what_is_not_set_is_not_written() {
        assert_eq!(serde_json::to_string(&SessionSpec::default()).unwrap(), "{}");
    }
}
