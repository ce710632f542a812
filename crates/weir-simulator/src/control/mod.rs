//! Control requests from the host. They are answered on the reading thread, even while a turn runs.

mod answers;

use std::sync::Arc;

use super::cancel::Stop;
use super::ids::Ids;
use super::lines;
use super::mcp::{self, Server};
use super::misbehave::{Misbehaviour, Point};
use super::rewind;
use super::sim::Sim;
use crate::json::Json;
use crate::object;

/// The response to a request.
enum Reply {
    /// Success, with or without a body.
    Success(Option<Json>),
    Error {
        text: String,
        code: Option<&'static str>,
    },
    /// None: it was answered already, or never will be.
    None,
}

fn success(body: Json) -> Reply {
    Reply::Success(Some(body))
}

fn error(text: impl Into<String>, code: &'static str) -> Reply {
    Reply::Error { text: text.into(), code: Some(code) }
}

fn result(answer: Result<Json, &str>) -> Reply {
    answer.map_or_else(|text| Reply::Error { text: text.to_owned(), code: None }, success)
}

/// Answers a request.
pub(crate) fn handle(sim: &Arc<Sim>, ids: &Arc<Ids>, line: &Json) {
    let id = line.str_of("request_id").unwrap_or_default();
    let request = line.get("request").unwrap_or(&Json::Null);
    let subtype = request.str_of("subtype").unwrap_or_default();
    if subtype == "interrupt" {
        return interrupt(sim, ids, id);
    }
    let answer = match answer(sim, ids, subtype, request) {
        Reply::Success(body) => lines::control_success(id, body),
        Reply::Error { text, code } => lines::control_error(id, &text, code),
        Reply::None => return,
    };
    sim.respond(&answer);
    after(sim, ids, id, subtype, request);
}

fn answer(sim: &Arc<Sim>, ids: &Arc<Ids>, subtype: &str, request: &Json) -> Reply {
    match subtype {
        "initialize" => initialize(sim, ids, request),
        "set_permission_mode" => set_mode(sim, request),
        "set_model" => set_model(sim, ids, request),
        "mcp_message" => {
            mcp::handle_message(sim, ids, request);
            Reply::Success(None)
        }
        "set_max_thinking_tokens" => Reply::Success(None),
        "mcp_status" => success(answers::mcp_status(sim)),
        "rewind_files" => result(rewind::files(sim, request)),
        _ if !sim.profile.refuses_unknown_requests() => Reply::None,
        "get_session_cost" => success(object! { "text" => sim.ledger().summary() }),
        "get_context_usage" => success(answers::context_usage(sim)),
        "get_usage" => success(answers::usage(sim)),
        "list_models" => success(object! { "models" => sim.profile.models() }),
        "get_settings" => success(object! { "effective" => object! {} }),
        "stop_task" => {
            let task = request.str_of("task_id").unwrap_or_default();
            sim.tasks.stop(sim, ids, task);
            success(object! {})
        }
        "cancel_async_message" => {
            let uuid = request.str_of("message_uuid").unwrap_or_default();
            let cancelled = sim.queue.withdraw(uuid);
            if cancelled {
                sim.out.line(&lines::lifecycle(sim, ids, uuid, "cancelled"));
            }
            success(object! { "cancelled" => cancelled })
        }
        "rename_session" => {
            let title = request.str_of("title").unwrap_or_default();
            sim.out.line(&lines::system(sim, ids, "session_title_changed", object! { "title" => title }));
            success(object! {})
        }
        "rewind_conversation" => result(rewind::conversation(sim, request)),
        "claim_session" => claim(sim, ids, request),
        "end_session" => success(object! {}),
        _ => error(format!("Unsupported control request subtype: {subtype}"), "unsupported_request"),
    }
}

/// What happens after the response was written.
fn after(sim: &Arc<Sim>, ids: &Arc<Ids>, id: &str, subtype: &str, request: &Json) {
    match subtype {
        "initialize" if !sim.profile.is_old() => {
            let (sim, ids) = (Arc::clone(sim), ids.fork("servers"));
            std::thread::spawn(move || mcp::connect(&sim, &ids));
        }
        "set_permission_mode" if sim.profile.is_old() => {
            // The older version answers this one twice.
            sim.respond(&lines::control_success(id, None));
        }
        "set_permission_mode" => mode_changed(sim, ids, request),
        "end_session" if !sim.profile.is_old() => sim.queue.end_after_turn(None),
        _ => {}
    }
}

/// Reports the current mode, if it is the requested one.
fn mode_changed(sim: &Sim, ids: &Ids, request: &Json) {
    let mode = sim.state().mode.clone();
    if request.str_of("mode") == Some(&mode) {
        let status = object! { "status" => Json::Null, "permissionMode" => mode };
        sim.out.line(&lines::system(sim, ids, "status", status));
    }
}

fn initialize(sim: &Sim, ids: &Ids, request: &Json) -> Reply {
    if sim.silence(Point::Initialize) {
        return Reply::None;
    }
    super::turn::crash(sim, Point::Initialize);
    let mut state = sim.state();
    state.hooks.add(request.get("hooks").unwrap_or(&Json::Null));
    state.schema = request.get("jsonSchema").filter(|schema| schema.is_object()).cloned();
    for name in request.items_of("sdkMcpServers").iter().filter_map(Json::as_str) {
        if !state.servers.iter().any(|server| server.name == name) {
            state.servers.push(Server::new(name));
        }
    }
    if let Some(Json::Object(agents)) = request.get("agents") {
        state.agents = agents.iter().map(|(name, _)| name.clone()).collect();
    }
    if !sim.profile.is_old() {
        state.forward_subagent_text |= request.is_true("forwardSubagentText");
    }
    drop(state);
    if let Some(title) = request.str_of("title").filter(|_| !sim.profile.is_old()) {
        sim.out.line(&lines::system(sim, ids, "session_title_changed", object! { "title" => title }));
    }
    success(answers::initialize(sim))
}

/// Becomes the process of a session.
fn claim(sim: &Sim, ids: &Ids, request: &Json) -> Reply {
    let refused = |reason: &str| Reply::Error { text: reason.to_owned(), code: None };
    let Ok(cwd) = std::path::Path::new(request.str_of("cwd").unwrap_or_default()).canonicalize() else {
        return refused("cwd_not_found: the claim cwd does not exist or is not accessible");
    };
    let mode = request.str_of("permission_mode").unwrap_or_default().to_owned();
    if mode == "bypassPermissions" && !sim.options.skip_permissions {
        return refused("permission_mode_not_claimable: bypassPermissions is not available");
    }
    if !sim.claim(cwd) {
        return refused(
            "not_a_spare: claim_session is only accepted by a process started with --await-claim that has not been claimed yet",
        );
    }
    let mut state = sim.state();
    if !mode.is_empty() {
        state.mode = mode;
    }
    if let Some(Json::Object(agents)) = request.get("agents") {
        state.agents = agents.iter().map(|(name, _)| name.clone()).collect();
    }
    drop(state);
    if let Some(title) = request.str_of("title") {
        sim.out.line(&lines::system(sim, ids, "session_title_changed", object! { "title" => title }));
    }
    success(object! {
        "status" => "ok",
        "cwd" => sim.cwd_text(),
        "session_id" => sim.session_id(),
        "sdk_mcp_settled" => true,
    })
}

fn set_mode(sim: &Sim, request: &Json) -> Reply {
    let mode = request.str_of("mode").unwrap_or_default();
    if !sim.profile.is_old() {
        let known = ["acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"];
        if !known.contains(&mode) {
            return error(
                format!("Cannot set permission mode: must be one of {}", known.join(", ")),
                "invalid_mode",
            );
        }
        if mode == "bypassPermissions" && !sim.options.skip_permissions {
            let text = "Cannot set permission mode to bypassPermissions because the session was not launched with --dangerously-skip-permissions";
            return error(text, "bypass_not_launched");
        }
    }
    sim.state().set_mode(mode);
    success(object! { "mode" => mode })
}

fn set_model(sim: &Sim, ids: &Ids, request: &Json) -> Reply {
    let asked = request.str_of("model");
    let model = sim.profile.resolve_model(asked.unwrap_or("default"));
    sim.state().model.clone_from(&model);
    if sim.profile.is_old() {
        return Reply::Success(None);
    }
    // It becomes part of the conversation, if there is one.
    if sim.has_seen_messages() {
        let said = format!("<local-command-stdout>Set model to `{model}`</local-command-stdout>");
        sim.out.line(&lines::replay(
            sim,
            &Json::from(said),
            &ids.uuid(),
            true,
            object! { "isReplay" => true },
        ));
    }
    success(object! { "model" => model })
}

/// Stops what is running. First requests to the host are withdrawn, then comes the response, then the end of the
/// turn.
fn interrupt(sim: &Sim, ids: &Ids, id: &str) {
    if sim.misbehaves(&Misbehaviour::IgnoreInterrupt) {
        return;
    }
    let current = sim.queue.current();
    if current.is_some() {
        sim.host.announce_cancel(&sim.out, ids);
    }
    let body = object! { "still_queued" => sim.queue.waiting() };
    sim.respond(&lines::control_success(id, (!sim.profile.is_old()).then_some(body)));
    match current {
        Some(current) => current.cancel(Stop::Interrupt),
        // The newer version ignores it, except before its first turn.
        None => sim.queue.interrupt_next(sim.profile.coalesces()),
    }
}
