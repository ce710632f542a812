//! What each version is given, and what it is refused for.

use super::*;
use std::num::NonZeroU32;
use std::time::Duration;

use serde_json::json;
use weir_wire::{HookEvent, HookOutput, HookRegistration, McpServerConfig};

use crate::agents::AgentSpec;
use crate::introduction::introduction;
use crate::levels::{Effort, Thinking};
use crate::options::{PreviewFormat, SettingSource};
use crate::spec::SessionSpec;

#[test]
fn the_version_is_only_determined_if_an_option_needs_it() {
    assert!(!depends_on_version(&SessionOptions::new().model("opus").tools(["Read"])));
    assert!(depends_on_version(&SessionOptions::new().effort(Effort::High)));
    assert!(depends_on_version(&SessionOptions::new().max_cost_usd(1.0)));
    assert!(depends_on_version(&SessionOptions::new().title("t")));
    assert!(!depends_on_version(&SessionOptions::new().subagent_text(true)));
}

#[test]
fn a_prompt_too_long_for_an_argument_is_refused() {
    let (old, new) = (Capabilities::of(Version::new(1, 0, 124)), Capabilities::of(Version::new(2, 1, 9)));
    let long = "x".repeat(MAX_ARGUMENT + 1);
    let options = SessionOptions::new().append_system_prompt(&long);
    let error = check_version(&options, &Spawn::default(), &old).unwrap_err().to_string();
    assert!(error.contains("1.0.124") && error.contains("128001 bytes"), "{error}");
    assert!(check_version(&options, &Spawn::default(), &new).is_ok());
    // This prompt can be read from a file.
    assert!(check_version(&SessionOptions::new().system_prompt(&long), &Spawn::default(), &old).is_ok());
    let short = SessionOptions::new().append_system_prompt("x");
    assert!(check_version(&short, &Spawn::default(), &old).is_ok());
}

#[test]
fn options_that_an_old_cli_would_ignore_are_refused() {
    let (old, new) = (Capabilities::of(Version::new(1, 0, 124)), Capabilities::of(Version::new(2, 1, 9)));
    let mut options = SessionOptions::new();
    let branch = Spawn { fork_at: Some("line".into()), fork: true, ..Spawn::default() };
    assert!(check_version(&options, &Spawn::default(), &old).is_ok());
    assert!(matches!(check_version(&options, &branch, &old), Err(StartError::TooOld(_))));
    assert!(check_version(&options, &branch, &new).is_ok());
    let copies = SessionSpec { file_checkpointing: true, ..SessionSpec::default() };
    let copies = SessionOptions { spec: copies, ..SessionOptions::new() };
    let error = check_version(&copies, &Spawn::default(), &old).unwrap_err();
    assert!(error.to_string().contains("copies of the files"), "{error}");
    assert!(depends_on_version(&copies) && check_version(&copies, &Spawn::default(), &new).is_ok());
    options.spec.output_schema = Some(serde_json::json!({"type": "object"}));
    let error = check_version(&options, &Spawn::default(), &old).unwrap_err();
    assert!(error.to_string().contains("1.0.124") && error.to_string().contains("JSON schema"), "{error}");
    assert!(check_version(&options, &Spawn::default(), &new).is_ok());
}

/// The versions that are examined.
const EXAMINED: [Version; 6] = [
    Version::new(1, 0, 124),
    Version::new(2, 0, 72),
    Version::new(2, 1, 9),
    Version::new(2, 1, 61),
    Version::new(2, 1, 197),
    Version::new(2, 1, 325),
];

/// Sets one option.
type Set = fn(SessionOptions) -> SessionOptions;

/// Options with their names, alone and with those that they need.
fn each_option() -> Vec<(&'static str, Set)> {
    vec![
        ("add_dir", |options| options.add_dir("/more")),
        ("agent", |options| options.agent("a")),
        ("agent_summaries", |options| options.agent_summaries(true)),
        ("agents", |options| options.define_agent("a", AgentSpec::new("d", "p"))),
        ("agents.background", |options| with_agent(options, |agent| agent.background = true)),
        ("agents.disallowed_tools", |options| {
            with_agent(options, |agent| agent.disallowed_tools = vec!["Bash".into()])
        }),
        ("agents.effort", |options| with_agent(options, |agent| agent.effort = Some(Effort::Low))),
        ("agents.max_turns", |options| with_agent(options, |agent| agent.max_turns = Some(NonZeroU32::MIN))),
        ("agents.omit_instructions", |options| with_agent(options, |agent| agent.omit_instructions = true)),
        ("agents.skills", |options| with_agent(options, |agent| agent.skills = vec!["s".into()])),
        ("allowed_tools", |options| options.allowed_tools(["Read"])),
        ("append_system_prompt", |options| options.append_system_prompt("x")),
        ("betas", |options| options.betas(["b"])),
        ("continue_newest", SessionOptions::continue_newest),
        ("debug_file", |options| options.debug_file("/d")),
        ("dialogs", |options| options.dialogs(["k"])),
        ("disallowed_tools", |options| options.disallowed_tools(["Bash"])),
        ("effort", |options| options.effort(Effort::Low)),
        ("exclude_dynamic_sections", |options| options.exclude_dynamic_sections(true)),
        ("external_mcp_server", |options| {
            options.external_mcp_server("m", McpServerConfig::stdio("sh", ["-c", "true"]))
        }),
        ("extra_args", |options| options.extra_args(["--x"])),
        ("fallback_models", |options| options.fallback_models(["haiku"])),
        ("file_checkpointing", |options| options.file_checkpointing(true)),
        ("fork", |options| options.fork("id")),
        ("fork_at", |options| options.fork_at("id", "line")),
        ("hook", |options| options.hook(HookEvent::Stop, None, |_| async { HookOutput::new() })),
        ("hook of a new event", |options| {
            options.hook(HookEvent::PreModelSwitch, None, |_| async { HookOutput::new() })
        }),
        ("hook.blocks_on_failure", |options| {
            let hook = HookRegistration::new(HookEvent::PreToolUse, "h");
            options.handler_hook(HookRegistration { blocks_on_failure: true, ..hook })
        }),
        ("hook.timeout_s", |options| {
            let hook = HookRegistration::new(HookEvent::PreToolUse, "h");
            options.handler_hook(HookRegistration { timeout_s: Some(1), ..hook })
        }),
        ("hook_events", |options| options.hook_events(true)),
        ("managed_settings", |options| options.managed_settings(serde_json::Map::new())),
        ("max_cost_usd", |options| options.max_cost_usd(1.0)),
        ("max_thinking_tokens", |options| options.max_thinking_tokens(NonZeroU32::MIN)),
        ("max_turns", |options| options.max_turns(2u32)),
        ("mcp_server_timeout", |options| options.mcp_server_timeout("s", Duration::from_secs(1))),
        ("model", |options| options.model("opus")),
        ("named", |options| options.named("id")),
        ("no_session_persistence", |options| options.no_session_persistence(true)),
        ("output_schema", |options| options.output_schema(json!({"type": "object"}))),
        ("permission_mode", |options| options.permission_mode("plan")),
        ("plan_mode_instructions", |options| options.plan_mode_instructions("i")),
        ("plugin_dir", |options| options.plugin_dir("/p")),
        ("project_config_root", |options| options.project_config_root("/r")),
        ("prompt_suggestions", |options| options.prompt_suggestions(true)),
        ("question_previews", |options| options.question_previews(PreviewFormat::Html)),
        ("resume", |options| options.resume("id")),
        ("resume_drops_turn", |options| options.fork_at("id", "line").resume_drops_turn("m")),
        ("rules", |options| options.rules("r")),
        ("setting_sources", |options| options.setting_sources([SettingSource::User])),
        ("settings", |options| options.settings(serde_json::Map::new())),
        ("skills", |options| options.skills(["s"])),
        ("strict_mcp", |options| options.strict_mcp(true)),
        ("system_prompt", |options| options.system_prompt("x")),
        ("system_prompt_snapshot", |options| options.system_prompt_snapshot(true)),
        ("task_budget_tokens", |options| options.task_budget_tokens(NonZeroU32::MIN)),
        ("thinking", |options| options.thinking(Thinking::Disabled)),
        ("title", |options| options.title("t")),
        ("tool_alias", |options| options.tool_alias("a", "b")),
        ("tools", |options| options.tools(["Read"])),
    ]
}

fn with_agent(options: SessionOptions, set: impl FnOnce(&mut AgentSpec)) -> SessionOptions {
    let mut agent = AgentSpec::new("d", "p");
    set(&mut agent);
    options.define_agent("a", agent)
}

/// All that a version is told, or why it is refused.
fn told(options: &SessionOptions, version: Version) -> Result<String, String> {
    let known = Capabilities::of(version);
    let (resume, fork, fork_at) = match options.origin.clone() {
        Origin::Resume(id) => (Some(id), false, None),
        Origin::Fork(id) => (Some(id), true, None),
        Origin::ForkAt { session, line } => (Some(session), true, Some(line)),
        _ => (None, false, None),
    };
    let spawn = Spawn { resume, fork, fork_at, ..Spawn::default() };
    check_version(options, &spawn, &known).map_err(|error| error.to_string())?;
    let new_id = if let Origin::Named(id) = &options.origin { Some(id.clone()) } else { None };
    let (named, files) = start_files::write(options).map_err(|error| error.to_string())?;
    let start = Start { spawn: &spawn, new_id: new_id.as_ref(), project_settings: true, files: &named };
    let args = arguments(options, &start, &|flag| known.has_flag(flag)).map_err(|flags| flags.join(" "))?;
    let files: Vec<String> = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let variables = (options.spec.file_checkpointing, options.question_previews);
    Ok(format!("{args:?} {files:?} {:?} {variables:?}", introduction(options)))
}

/// The heart of it: what a version cannot do is refused by name, and what it can do reaches it.
#[test]
fn no_option_is_dropped_silently_on_any_version() {
    let mut refused = 0;
    for version in EXAMINED {
        let plain = told(&SessionOptions::new(), version).unwrap();
        for (name, set) in each_option() {
            match told(&set(SessionOptions::new()), version) {
                Ok(told) => assert_ne!(told, plain, "{version} does nothing for {name}"),
                Err(error) => {
                    refused += 1;
                    assert!(
                        error.starts_with("--") || error.contains(&version.to_string()),
                        "{name}: {error}"
                    );
                }
            }
            // It is known before the process is started, and not found out by it.
            let is_newer = told(&set(SessionOptions::new()), EXAMINED[0]).is_err();
            let assumed = ["setting_sources", "external_mcp_server"];
            assert!(
                !is_newer || depends_on_version(&set(SessionOptions::new())) || assumed.contains(&name),
                "{name}"
            );
        }
        if version == EXAMINED[5] {
            continue;
        }
        assert!(refused > 0, "{version} has everything");
    }
    for (name, set) in each_option() {
        assert!(
            told(&set(SessionOptions::new()), EXAMINED[5]).is_ok(),
            "{name} is refused on the newest version"
        );
    }
}
