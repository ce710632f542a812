//! What the first request tells the CLI about the session. Pure.
//!
//! Unlike an unknown flag, a CLI ignores a member that it does not know. So each member is listed with what it
//! is for, and a version that would ignore it is refused before anything runs.

use serde_json::{Map, Value, json};
use weir_process::Capabilities;
use weir_wire::{InitializeRequest, output_schema};

use crate::agents::AgentSpec;
use crate::options::SessionOptions;

/// The text of sub-agents. Nothing is refused for it: a version without it still reports their tool calls.
pub(crate) const SUBAGENT_TEXT: &str = "forwardSubagentText";

/// The first request, or `None` if it only asks whether the CLI is ready.
pub(crate) fn introduction(options: &SessionOptions) -> Option<InitializeRequest> {
    let mut members = members(options);
    if options.subagent_text {
        members.insert(SUBAGENT_TEXT.to_owned(), json!(true));
    }
    let is_plain = options.hooks.is_empty() && options.mcp_servers.is_empty() && members.is_empty();
    (!is_plain).then(|| InitializeRequest {
        hooks: options.hooks.clone(),
        sdk_mcp_servers: options.mcp_servers.clone(),
        extra: members,
    })
}

/// The members that a CLI has to act on.
pub(crate) fn members(options: &SessionOptions) -> Map<String, Value> {
    let spec = &options.spec;
    let agents: Map<String, Value> =
        spec.agents.iter().map(|(name, agent)| (name.clone(), agent.to_value())).collect();
    let members = [
        ("jsonSchema", spec.output_schema.as_ref().map(output_schema::tidy)),
        ("agents", (!agents.is_empty()).then_some(Value::Object(agents))),
        ("skills", spec.skills.as_ref().map(|skills| json!(skills))),
        ("agentProgressSummaries", spec.agent_summaries.then_some(Value::Bool(true))),
        ("planModeInstructions", spec.plan_mode_instructions.as_ref().map(|text| json!(text))),
        ("title", options.title.as_ref().map(|title| json!(title))),
        ("toolAliases", (!options.tool_aliases.is_empty()).then(|| json!(options.tool_aliases))),
        ("sdkMcpServerConfigs", server_limits(options)),
        ("supportedDialogKinds", (!options.dialogs.is_empty()).then(|| json!(options.dialogs))),
    ];
    members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// How long calls of servers in our own process may take, for each server.
fn server_limits(options: &SessionOptions) -> Option<Value> {
    let limits = options.mcp_server_timeouts.iter();
    let limits: Map<String, Value> = limits
        .map(|(name, limit)| {
            // The CLI ignores less than a second.
            let milliseconds = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX).max(1000);
            (name.clone(), json!({"timeout": milliseconds}))
        })
        .collect();
    (!limits.is_empty()).then_some(Value::Object(limits))
}

/// What a CLI would have to do for these options and cannot, because it would ignore the member.
pub(crate) fn unsupported(options: &SessionOptions, known: &Capabilities) -> Option<&'static str> {
    let members = members(options);
    let is_ignored =
        |member: &&(&str, &str)| members.contains_key(member.0) && !known.has_introduction(member.0);
    let member = NEEDED.iter().find(is_ignored).map(|(_, what)| *what);
    member.or_else(|| options.spec.agents.values().find_map(|agent| unsupported_agent(agent, known)))
}

/// Members with what the option is for. The schema has a flag of its own, which tells more.
const NEEDED: [(&str, &str); 8] = [
    ("agents", "take agents with a session (--agents)"),
    ("skills", "limit the skills (--skills)"),
    ("agentProgressSummaries", "sum up what sub-agents do (--agent-summaries)"),
    ("planModeInstructions", "replace the instructions for a plan (--plan-mode-instructions)"),
    ("title", "take a title with a session (--title)"),
    ("toolAliases", "call a tool by another name (--tool-alias)"),
    ("sdkMcpServerConfigs", "limit the calls of a server in our own process (mcp_server_timeouts)"),
    ("supportedDialogKinds", "ask for dialogs (dialogs)"),
];

fn unsupported_agent(agent: &AgentSpec, known: &Capabilities) -> Option<&'static str> {
    let members = [
        (
            !agent.disallowed_tools.is_empty(),
            "agents.disallowedTools",
            "deny an agent some tools (disallowed_tools)",
        ),
        (!agent.skills.is_empty(), "agents.skills", "load skills for an agent (skills)"),
        (agent.max_turns.is_some(), "agents.maxTurns", "limit the turns of an agent (max_turns)"),
        (agent.effort.is_some(), "agents.effort", "set the effort of an agent (effort)"),
        (agent.background, "agents.background", "keep an agent in the background (background)"),
        (
            agent.omit_instructions,
            "agents.omitClaudeMd",
            "keep instructions from an agent (omit_instructions)",
        ),
    ];
    let is_ignored = |(is_set, member, _): &(bool, &str, &str)| *is_set && !known.has_introduction(member);
    members.into_iter().find(is_ignored).map(|(_, _, what)| what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU32;
    use weir_process::Version;

    fn full() -> SessionOptions {
        let mut options = SessionOptions::new().title("t").tool_alias("Shell", "Bash");
        options.spec.agents.insert("a".into(), AgentSpec::new("d", "p"));
        options.spec.skills = Some(vec!["pdf".into()]);
        options.spec.agent_summaries = true;
        options.spec.plan_mode_instructions = Some("i".into());
        options.dialogs = vec!["refusal_fallback_prompt".into()];
        options.mcp_server_timeouts.insert("calc".into(), std::time::Duration::from_secs(5));
        options
    }

    #[test]
    fn a_session_without_options_only_asks_whether_the_cli_is_ready() {
        assert_eq!(introduction(&SessionOptions::new()), None);
        let mut options = SessionOptions::new();
        options.subagent_text = true;
        assert_eq!(introduction(&options).unwrap().extra[SUBAGENT_TEXT], true);
        // An old version need not know it.
        assert_eq!(unsupported(&options, &Capabilities::of(Version::new(1, 0, 124))), None);
    }

    #[test]
    fn every_member_is_sent_and_refused_where_it_would_be_ignored() {
        let options = full();
        let sent = introduction(&options).unwrap().extra;
        let newest = Capabilities::of(Version::new(2, 1, 325));
        let oldest = Capabilities::of(Version::new(1, 0, 124));
        assert_eq!(unsupported(&options, &newest), None);
        assert_eq!(sent.len(), NEEDED.len());
        for (member, what) in NEEDED {
            assert!(sent.contains_key(member), "{member}");
            assert!(newest.has_introduction(member), "{member}");
            assert!(what.contains('('), "{what}");
        }
        assert!(unsupported(&options, &oldest).unwrap().contains("--agents"));
        let mut options = full();
        options.spec.agents.clear();
        let old = Capabilities::of(Version::new(2, 1, 61));
        assert!(unsupported(&options, &old).unwrap().contains("--skills"));
    }

    #[test]
    fn members_of_agents_are_refused_one_by_one() {
        let mut options = SessionOptions::new();
        let agent = AgentSpec { max_turns: NonZeroU32::new(2), ..AgentSpec::new("d", "p") };
        options.spec.agents.insert("a".into(), agent);
        let of = |version| unsupported(&options, &Capabilities::of(version));
        assert!(of(Version::new(2, 1, 9)).unwrap().contains("max_turns"));
        assert_eq!(of(Version::new(2, 1, 61)), None);
    }
}
