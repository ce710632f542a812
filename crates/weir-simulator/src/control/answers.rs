//! The long responses to control requests.

use crate::json::Json;
use crate::sim::Sim;
use crate::{array, object};

/// The response to `initialize`.
pub(super) fn initialize(sim: &Sim) -> Json {
    let profile = &sim.profile;
    let commands: Vec<Json> = profile
        .slash_commands()
        .iter()
        .map(|name| {
            let command = object! { "name" => *name, "description" => format!("The command /{name}"), "argumentHint" => "" };
            if profile.is_old() { command } else { command.with("builtin", true) }
        })
        .collect();
    let mut answer = object! { "commands" => commands };
    if !profile.is_old() {
        let agents = sim
            .agents()
            .into_iter()
            .map(|name| object! { "name" => name.as_str(), "description" => format!("The agent {name}") });
        answer.set("agents", Json::Array(agents.collect()));
    }
    answer = answer.with_all(object! {
        "output_style" => "default",
        "available_output_styles" => array!["default", "Explanatory", "Learning"],
        "models" => profile.models(),
    });
    let account = object! { "tokenSource" => "none", "apiKeySource" => sim.settings.api_key_source };
    if profile.is_old() {
        return answer.with("account", account);
    }
    answer.with("account", account.with("apiProvider", "firstParty")).with_all(object! {
        "pid" => std::process::id(),
        "claude_code_version" => profile.version.as_str(),
        "current_permission_mode" => sim.state().mode.as_str(),
        "fast_mode_state" => "off",
        "fast_mode_disabled_reason" => "sdk_opt_in_required",
        "session_state" => if sim.queue.current().is_some() { "running" } else { "idle" },
        "capabilities" => array!["ui_surface_v1"],
    })
}

/// The response to `mcp_status`.
pub(super) fn mcp_status(sim: &Sim) -> Json {
    let state = sim.state();
    let servers = state.servers.iter().filter(|server| server.connected).map(|server| {
        object! { "name" => server.name.as_str(), "status" => "connected" }
            .with_some("serverInfo", server.info.as_ref())
    });
    object! { "mcpServers" => Json::Array(servers.collect()) }
}

/// The response to `get_context_usage`.
pub(super) fn context_usage(sim: &Sim) -> Json {
    let model = sim.state().model.clone();
    let window = sim.profile.price(&model).context_window;
    let used = 8_107;
    let category = |id: &str, name: &str, tokens: u64, kind: &str| {
        object! { "id" => id, "name" => name, "tokens" => tokens, "color" => "inactive", "kind" => kind }
    };
    object! {
        "categories" => array![
            category("system_prompt", "System prompt", 1_660, "used"),
            category("system_tools", "System tools", 6_447, "used"),
            category("free_space", "Free space", window - used, "free"),
        ],
        "totalTokens" => used,
        "maxTokens" => window,
        "rawMaxTokens" => window,
        "percentage" => used * 100 / window,
        "model" => model,
        "memoryFiles" => array![],
        "mcpTools" => array![],
        "agents" => array![],
        "isAutoCompactEnabled" => true,
    }
}

/// The response to `get_usage`.
pub(super) fn usage(sim: &Sim) -> Json {
    let ledger = sim.ledger();
    let elapsed = u64::try_from(sim.started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let session = object! {
        "total_cost_usd" => ledger.total(),
        "total_duration_ms" => elapsed,
        "model_usage" => ledger.model_usage(&sim.profile),
    };
    object! { "session" => session, "subscription_type" => Json::Null, "rate_limits_available" => false, "rate_limits" => Json::Null }
}
