//! The lines of the stream, with keys in the order of the real CLI.

use super::agent::Agent;
use super::clock;
use super::ids::Ids;
use super::sim::Sim;
use crate::json::Json;
use crate::{array, object};

/// A `system` line: its own members, then the uuid and the session.
pub(crate) fn system(sim: &Sim, ids: &Ids, subtype: &str, members: Json) -> Json {
    object! { "type" => "system", "subtype" => subtype }
        .with_all(members)
        .with("uuid", ids.uuid())
        .with("session_id", sim.session_id())
}

/// A `system` line that has the session before the uuid.
pub(crate) fn status(sim: &Sim, ids: &Ids, subtype: &str, members: Json) -> Json {
    object! { "type" => "system", "subtype" => subtype }
        .with_all(members)
        .with("session_id", sim.session_id())
        .with("uuid", ids.uuid())
}

/// The first members of a line about a message.
fn about_message(sim: &Sim, agent: &Agent, kind: &str, message: Json, uuid: &str) -> Json {
    let mut line = object! { "type" => kind, "message" => message, "parent_tool_use_id" => agent.parent() };
    if !sim.profile.is_old()
        && let Some(identity) = &agent.identity
    {
        line.set("agent_id", identity.task_id.as_str());
    }
    line.set("session_id", sim.session_id());
    line.set("uuid", uuid);
    if sim.profile.timestamps() {
        line.set("timestamp", clock::timestamp());
    }
    line
}

/// The last members of a sub-agent's line.
fn of_agent(sim: &Sim, agent: &Agent, line: Json) -> Json {
    match &agent.identity {
        Some(identity) if !sim.profile.is_old() => line
            .with("subagent_type", identity.kind.as_str())
            .with("task_description", identity.description.as_str()),
        _ => line,
    }
}

/// An `assistant` line.
pub(crate) fn assistant(sim: &Sim, agent: &Agent, message: Json, uuid: &str, extra: Json) -> Json {
    of_agent(sim, agent, about_message(sim, agent, "assistant", message, uuid).with_all(extra))
}

/// A `user` line: tool results, or what the CLI writes on the user's behalf.
pub(crate) fn user(sim: &Sim, agent: &Agent, content: Json, uuid: &str, extra: Json) -> Json {
    let message = object! { "role" => "user", "content" => content };
    of_agent(sim, agent, about_message(sim, agent, "user", message, uuid).with_all(extra))
}

/// A user message that is echoed.
pub(crate) fn replay(sim: &Sim, content: &Json, uuid: &str, timestamp: bool, extra: Json) -> Json {
    let message = object! { "role" => "user", "content" => content };
    let mut line = object! {
        "type" => "user",
        "message" => message,
        "session_id" => sim.session_id(),
        "parent_tool_use_id" => Json::Null,
        "uuid" => uuid,
    };
    if timestamp && sim.profile.timestamps() {
        line.set("timestamp", clock::timestamp());
    }
    line.with_all(extra)
}

/// A `stream_event` line.
pub(crate) fn stream_event(sim: &Sim, agent: &Agent, event: Json, message_id: &str, extra: Json) -> Json {
    let line = object! {
        "type" => "stream_event",
        "event" => event,
        "session_id" => sim.session_id(),
        "parent_tool_use_id" => agent.parent(),
        "uuid" => agent.ids.uuid(),
    };
    if sim.profile.is_old() {
        return line;
    }
    let extra_before_id = extra.get("ttft_ms").is_some() || extra.get("thinking_display").is_some();
    if extra_before_id {
        line.with_all(extra).with("api_message_id", message_id)
    } else {
        line.with("api_message_id", message_id).with_all(extra)
    }
}

/// A `command_lifecycle` line.
pub(crate) fn lifecycle(sim: &Sim, ids: &Ids, message: &str, state: &str) -> Json {
    object! {
        "type" => "command_lifecycle",
        "command_uuid" => message,
        "state" => state,
        "uuid" => ids.uuid(),
        "session_id" => sim.session_id(),
    }
}

/// The success response to a control request from the host.
pub(crate) fn control_success(request_id: &str, response: Option<Json>) -> Json {
    let answer =
        object! { "subtype" => "success", "request_id" => request_id }.with_some("response", response);
    object! { "type" => "control_response", "response" => answer }
}

/// The error response to a control request from the host.
pub(crate) fn control_error(request_id: &str, error: &str, code: Option<&str>) -> Json {
    let answer = object! { "subtype" => "error", "request_id" => request_id, "error" => error }
        .with_some("error_code", code);
    object! { "type" => "control_response", "response" => answer }
}

/// The `init` line.
pub(crate) fn init(sim: &Sim, ids: &Ids, user_messages: &[String]) -> Json {
    let profile = &sim.profile;
    let (session, model, mode) = {
        let state = sim.state();
        (state.session_id.clone(), state.model.clone(), state.mode.clone())
    };
    let named = sim.misbehaves(&super::misbehave::Misbehaviour::OtherSession).then(|| ids.uuid());
    let mut line = object! {
        "type" => "system",
        "subtype" => "init",
        "cwd" => sim.cwd_text(),
        "session_id" => named.unwrap_or(session),
        "tools" => sim.tools(),
        "mcp_servers" => sim.mcp_servers(),
        "model" => model,
        "permissionMode" => mode,
        "slash_commands" => profile.slash_commands(),
    };
    if !profile.is_old() {
        line.set("terminal_slash_commands", array!["doctor", "color", "focus", "reload-plugins"]);
    }
    line = line.with_all(object! {
        "apiKeySource" => sim.settings.api_key_source,
        "claude_code_version" => profile.version.as_str(),
        "output_style" => "default",
        "agents" => sim.agents(),
        "skills" => profile.skills(),
        "plugins" => array![],
    });
    if profile.is_old() {
        return line.with("uuid", ids.uuid());
    }
    let memory = sim.project_dir().join("memory").display().to_string() + "/";
    line = line.with_all(object! {
        "capabilities" => profile.capabilities(),
        "analytics_disabled" => true,
        "product_feedback_disabled" => true,
        "uuid" => ids.uuid(),
        "memory_paths" => object! { "auto" => memory },
        "original_cwd" => sim.cwd_text(),
        "additional_directories" => sim.options.add_dirs.clone(),
        "fast_mode_state" => "off",
        "fast_mode_disabled_reason" => "sdk_opt_in_required",
        "per_turn_effort_active" => true,
        "ultrathink_available" => false,
        "ultrathink_typed_raises" => false,
        "view_mode" => "default",
    });
    if !user_messages.is_empty() {
        line.set("user_message_uuids", user_messages.to_vec());
    }
    line
}
