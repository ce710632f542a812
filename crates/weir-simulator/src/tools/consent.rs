//! Whether a call may run: hooks, rules, and finally the user.

use std::sync::Arc;

use super::{Call, REJECTED};
use crate::agent::Agent;
use crate::cancel::Stop;
use crate::hooks;
use crate::host::AskError;
use crate::json::Json;
use crate::ledger::Tokens;
use crate::lines;
use crate::misbehave::Misbehaviour;
use crate::object;
use crate::permissions::{self, Decision, Facts, Question, Rules};
use crate::sim::Sim;

/// The decision about a call.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Consent {
    /// It may run, with these arguments.
    Granted { input: Json, meta: Json },
    /// It may not run.
    Refused { text: String, meta: Json },
    /// It was stopped before there was a decision; with a text if the model is told more than usual.
    Stopped { reason: Stop, text: Option<String> },
}

/// The part of `tool_result_meta` that says who decided.
fn decision(decision: &str, source: &str, reason: Option<&str>) -> Json {
    object! { "decision" => decision, "source" => source }.with_some("reason_type", reason)
}

pub(super) fn obtain(sim: &Arc<Sim>, agent: &Agent, call: &Call) -> Consent {
    let details = object! { "tool_name" => call.name.as_str(), "tool_input" => &call.input, "tool_use_id" => call.id.as_str() };
    let verdict = hooks::fire(sim, agent, "PreToolUse", Some(&call.name), &details);
    if let Err(reason) = agent.cancel.check() {
        return Consent::Stopped { reason, text: None };
    }
    let input = verdict.updated_input.unwrap_or_else(|| call.input.clone());
    if let Some(text) = verdict.denied {
        if !sim.profile.is_old() {
            deny(sim, call, &input);
        }
        let decided = decision("reject", "hook", Some("hook"));
        return Consent::Refused { text, meta: meta(call, Some("permission-rule"), Some(decided)) };
    }
    if verdict.allowed {
        return Consent::Granted {
            input,
            meta: meta(call, None, Some(decision("accept", "hook", Some("hook")))),
        };
    }
    if call.name == "Bash" && sim.profile.is_old() {
        ask_about_prefix(sim, input.str_of("command").unwrap_or_default());
    }
    match decide(sim, &call.name, &input) {
        Decision::Allow(reason) => {
            Consent::Granted { input, meta: meta(call, None, Some(decision("accept", "config", reason))) }
        }
        Decision::Deny { message, reason } => {
            deny(sim, call, &input);
            denied_line(sim, agent, call, &message, reason);
            let decided = decision("reject", "config", reason);
            Consent::Refused { text: message, meta: meta(call, Some("permission-rule"), Some(decided)) }
        }
        Decision::Ask(question) if sim.options.host_permissions => ask(sim, agent, call, &input, &question),
        Decision::Ask(question) => {
            deny(sim, call, &input);
            denied_line(sim, agent, call, &question.unanswered, None);
            let decided = decision("reject", "config", None);
            Consent::Refused {
                text: question.unanswered,
                meta: meta(call, Some("user-rejected"), Some(decided)),
            }
        }
    }
}

/// The older version has a small model check commands it does not know, part by part.
fn ask_about_prefix(sim: &Sim, command: &str) {
    let usual = Tokens { input: 100, output: 50, ..Tokens::default() };
    for _ in 0..permissions::unknown_parts(command, &sim.profile) {
        sim.ledger().charge(&sim.profile, sim.profile.small_model(), usual);
    }
}

fn decide(sim: &Sim, tool: &str, input: &Json) -> Decision {
    let (mode, rules, plan_file) = {
        let state = sim.state();
        let given = Rules::new(&sim.options.allowed_tools, &sim.options.disallowed_tools);
        (state.mode.clone(), given.with(&state.rules), state.plan_file.clone())
    };
    let mut folders: Vec<_> =
        sim.options.add_dirs.iter().map(|folder| permissions::resolve(sim.cwd(), folder)).collect();
    folders.push(sim.project_dir());
    folders.push(sim.task_dir());
    let facts = Facts {
        profile: &sim.profile,
        mode: &mode,
        rules: &rules,
        cwd: sim.cwd(),
        folders: &folders,
        plan_file: plan_file.as_deref(),
    };
    permissions::decide(tool, input, facts)
}

/// Records a refusal for the result.
fn deny(sim: &Sim, call: &Call, input: &Json) {
    let denial = object! { "tool_name" => call.name.as_str(), "tool_use_id" => call.id.as_str(), "tool_input" => input };
    sim.state().denials.push(denial);
}

fn denied_line(sim: &Sim, agent: &Agent, call: &Call, message: &str, reason: Option<&str>) {
    if !sim.profile.is_old() {
        let denied = object! { "tool_name" => call.name.as_str(), "tool_use_id" => call.id.as_str() }
            .with_some("decision_reason_type", reason)
            .with("message", message);
        sim.out.line(&lines::system(sim, &agent.ids, "permission_denied", denied));
    }
}

fn meta(call: &Call, not_run: Option<&str>, decided: Option<Json>) -> Json {
    object! { "id" => call.id.as_str() }
        .with_some("non_execution_kind", not_run)
        .with_some("permission_decision", decided)
}

fn request(sim: &Sim, call: &Call, input: &Json, question: &Question) -> Json {
    let new = !sim.profile.is_old();
    let mut request = object! { "subtype" => "can_use_tool", "tool_name" => call.name.as_str() };
    let served = crate::mcp::split_name(&call.name);
    if new {
        if let Some((server, _)) = served {
            request.set("mcp_server", object! { "name" => server, "source" => "sdk" });
        }
        request.set("display_name", served.map_or_else(|| call.name.clone(), |(_, tool)| capitalised(tool)));
    }
    request.set("input", input);
    if new && !question.interaction && served.is_none() {
        request = request.with_some("description", description(call, input));
    }
    request = request
        .with_some("permission_suggestions", question.suggestions.as_ref())
        .with_some("blocked_path", question.blocked_path.as_deref())
        .with_some("decision_reason", question.reason)
        .with_some("decision_reason_type", question.reason_type);
    if new && question.policy_ask_only {
        request.set("server_policy_ask_only", true);
    }
    request.set("tool_use_id", call.id.as_str());
    if new && question.interaction {
        request.set("requires_user_interaction", true);
    }
    let more = sim.misbehaviour(|misbehaviour| match misbehaviour {
        Misbehaviour::AskWith(members) => Some(members.clone()),
        _ => None,
    });
    for (name, value) in more.iter().flat_map(Json::members) {
        request.set(name, value);
    }
    request
}

fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + letters.as_str())
}

/// A short description for the user who decides.
fn description(call: &Call, input: &Json) -> Option<String> {
    let file = |key| {
        let name = input.str_of(key)?.rsplit('/').next()?;
        Some(name.to_owned())
    };
    match call.name.as_str() {
        "Bash" => input.str_of("description").or_else(|| input.str_of("command")).map(str::to_owned),
        "WebFetch" => input.str_of("url").map(str::to_owned),
        "NotebookEdit" => file("notebook_path"),
        _ => file("file_path"),
    }
}

fn ask(sim: &Arc<Sim>, agent: &Agent, call: &Call, input: &Json, question: &Question) -> Consent {
    let request = request(sim, call, input, question);
    let answer = match sim.host.ask(&sim.out, &agent.ids.uuid(), request, &agent.cancel) {
        Ok(answer) => answer,
        Err(AskError::Stopped(reason)) => {
            deny(sim, call, input);
            let text = sim.profile.is_old().then(|| "Tool permission request failed: AbortError".to_owned());
            return Consent::Stopped { reason, text };
        }
        Err(error) => {
            deny(sim, call, input);
            let why = match error {
                AskError::Refused(why) => why,
                _ => "Tool permission stream closed before response received".to_owned(),
            };
            let text = format!("Tool permission request failed: Error: {why}");
            return Consent::Refused { text, meta: meta(call, Some("user-rejected"), None) };
        }
    };
    if answer.str_of("behavior") == Some("allow") {
        update_permissions(sim, agent, answer.get("updatedPermissions").unwrap_or(&Json::Null));
        let input = answer
            .get("updatedInput")
            .filter(|input| input.is_object())
            .cloned()
            .unwrap_or_else(|| input.clone());
        return Consent::Granted {
            input,
            meta: meta(call, None, Some(decision("accept", "user_temporary", None))),
        };
    }
    deny(sim, call, input);
    let message = answer.str_of("message").unwrap_or(REJECTED).to_owned();
    if answer.is_true("interrupt") {
        let text = sim.profile.is_old().then_some(message);
        return Consent::Stopped { reason: Stop::Interrupt, text };
    }
    let decided = decision("reject", "user_reject", None);
    Consent::Refused { text: message, meta: meta(call, Some("permission-rule"), Some(decided)) }
}

/// Applies the host's changes to the rules or the mode.
fn update_permissions(sim: &Sim, agent: &Agent, updates: &Json) {
    for update in updates.items() {
        match update.str_of("type") {
            Some("setMode") => {
                let mode = update.str_of("mode").unwrap_or("default");
                sim.state().set_mode(mode);
                if !sim.profile.is_old() {
                    let status = object! { "status" => Json::Null, "permissionMode" => mode };
                    sim.out.line(&lines::system(sim, &agent.ids, "status", status));
                }
            }
            Some("addRules") => {
                let allow = update.str_of("behavior") != Some("deny");
                for rule in update.items_of("rules") {
                    let (tool, content) =
                        (rule.str_of("toolName").unwrap_or_default(), rule.str_of("ruleContent"));
                    sim.state().rules.add(tool, content, allow);
                }
            }
            _ => {}
        }
    }
}
