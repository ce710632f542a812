//! Tools: from a call to its result.
//!
//! Each call passes the same steps: does the tool exist, are its arguments valid, may it run, what is its result.
//! Files are really changed and commands really run, in the folder where the CLI was started.

mod arguments;
mod ask;
mod bash;
mod consent;
mod files;
mod image;
mod notebook;
mod outcome;
pub(crate) mod patch;
mod search;
pub(crate) mod shell;
pub(crate) mod structured;
mod subagent;
mod todo;

use std::sync::Arc;

pub(crate) use ask::plan_file;
use consent::Consent;
pub(crate) use outcome::Outcome;
pub(crate) use subagent::announce;

use super::agent::{Agent, Identity};
use super::cancel::Stop;
use super::hooks;
use super::host::AskError;
use super::mcp;
use super::sim::Sim;
use crate::json::Json;
use crate::object;

/// What the model is told about a call that the user rejected.
pub(crate) const REJECTED: &str = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed.";

/// Added if the call was already running.
const STOPPED_WHILE_RUNNING: &str = " Correction to the text above: this call was stopped while running, not refused before it ran. It may have run in part or in full, and its changes may have been written. No permission prompt was involved. Work it started elsewhere (a remote command, a background process) may still be running, so check before starting the same work again. The instruction to stop and wait still stands.";

/// A call of a tool.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) input: Json,
    /// The sub-agent that the call starts, which was already announced.
    pub(crate) starts: Option<Identity>,
}

/// A call's result, ready to be written.
#[derive(Debug, Clone)]
pub(crate) struct Finished {
    pub(crate) block: Json,
    pub(crate) structured: Json,
    pub(crate) meta: Option<Json>,
    /// Why the turn is over.
    pub(crate) stopped: Option<Stop>,
}

/// The arguments as they appear in the model's message.
pub(crate) fn shown_input(sim: &Sim, name: &str, input: &Json) -> Json {
    match name {
        "Edit" => files::shown_edit_input(input),
        "ExitPlanMode" if !sim.profile.is_old() && input.get("plan").is_none() => plan_input(sim),
        "ExitPlanMode" if sim.profile.is_old() && input.get("plan").is_none() => {
            object! {}.with_some("plan", ask::written_plan(sim))
        }
        _ => input.clone(),
    }
}

fn plan_input(sim: &Sim) -> Json {
    match ask::written_plan(sim) {
        Some(plan) => object! { "plan" => plan, "planFilePath" => plan_file(sim).display().to_string() },
        None => object! {},
    }
}

/// The arguments as the tool receives them and as the host sees them in requests.
fn full_input(sim: &Sim, call: &Call) -> Json {
    match call.name.as_str() {
        "Edit" => files::full_edit_input(&call.input),
        // The newer version omits the plan unless it was written to its file.
        "ExitPlanMode" if !sim.profile.is_old() => plan_input(sim),
        "ExitPlanMode" => shown_input(sim, &call.name, &call.input),
        _ => call.input.clone(),
    }
}

/// Whether calls of a tool may run concurrently.
pub(crate) fn runs_concurrently(sim: &Sim, call: &Call) -> bool {
    match call.name.as_str() {
        "Task" | "Agent" | "Read" | "Glob" | "Grep" | "WebFetch" | "WebSearch" => true,
        "Bash" => {
            super::permissions::only_reads(call.input.str_of("command").unwrap_or_default(), &sim.profile)
        }
        _ => false,
    }
}

/// Executes a call. `is_first` marks the first call of a message.
pub(crate) fn execute(sim: &Arc<Sim>, agent: &Agent, call: &Call, is_first: bool) -> Finished {
    if let Err(reason) = agent.cancel.check() {
        // Whether the first command was already running is a matter of microseconds, and must not show.
        return stopped(sim, call, reason, None, is_first && call.name == "Bash" && !sim.profile.is_old());
    }
    if let Some(outcome) = wrong_call(sim, agent, call) {
        return finished(call, &outcome, None);
    }
    let call = Call { input: full_input(sim, call), ..call.clone() };
    let (input, meta) = match consent::obtain(sim, agent, &call) {
        Consent::Granted { input, meta } => (input, meta),
        Consent::Refused { text, meta } => return finished(&call, &Outcome::failure(text), Some(meta)),
        Consent::Stopped { reason, text } => return stopped(sim, &call, reason, text, false),
    };
    let call = Call { input, ..call };
    let outcome = run(sim, agent, &call);
    if let Outcome::Stopped(reason) = outcome {
        let text = if mcp::split_name(&call.name).is_some() {
            "MCP error -32001: AbortError: This operation was aborted"
        } else {
            "Exit code 137\n[Request interrupted by user for tool use]"
        };
        let text = sim.profile.is_old().then(|| text.to_owned());
        return stopped(sim, &call, reason, text, true);
    }
    let details = object! {
        "tool_name" => call.name.as_str(),
        "tool_input" => &call.input,
        "tool_response" => outcome.structured(),
        "tool_use_id" => call.id.as_str(),
    };
    if matches!(outcome, Outcome::Success { .. }) {
        hooks::fire(sim, agent, "PostToolUse", Some(&call.name), &details);
    }
    finished(&call, &outcome, Some(meta))
}

fn finished(call: &Call, outcome: &Outcome, meta: Option<Json>) -> Finished {
    Finished { block: outcome.block(&call.id), structured: outcome.structured(), meta, stopped: None }
}

/// The result of a call that was stopped.
fn stopped(sim: &Sim, call: &Call, reason: Stop, text: Option<String>, while_running: bool) -> Finished {
    if reason == Stop::Terminate && call.name == "Bash" {
        // Whether the command was already running is a matter of microseconds, and must not show.
        return Finished {
            stopped: Some(reason),
            ..finished(call, &Outcome::failure("Exit code 137"), None)
        };
    }
    let mut outcome = Outcome::Stopped(reason);
    if let Some(text) = text {
        outcome = Outcome::failure(text);
    } else if while_running && reason == Stop::Interrupt && !sim.profile.is_old() {
        let text = format!("{REJECTED}{STOPPED_WHILE_RUNNING}");
        let block = Outcome::failure(text).block(&call.id);
        let meta = object! { "id" => call.id.as_str(), "non_execution_kind" => "user-rejected" };
        return Finished { block, structured: outcome.structured(), meta: Some(meta), stopped: Some(reason) };
    }
    let meta = object! { "id" => call.id.as_str(), "non_execution_kind" => "user-rejected" };
    Finished { stopped: Some(reason), ..finished(call, &outcome, Some(meta)) }
}

/// Whether a tool exists. The newer version knows `Task` by both of its names.
pub(crate) fn exists(sim: &Sim, name: &str) -> bool {
    let listed = if name == "Agent" && !sim.profile.is_old() { "Task" } else { name };
    sim.tools().iter().any(|tool| tool == listed)
}

/// What is wrong with a call, checked before asking for permission.
fn wrong_call(sim: &Sim, agent: &Agent, call: &Call) -> Option<Outcome> {
    let name = call.name.as_str();
    let is_agent_call = matches!(name, "Task" | "Agent");
    if !exists(sim, name) || is_agent_call && !agent.is_main() && !sim.profile.nests_agents() {
        let mut text = format!("Error: No such tool available: {name}");
        if !sim.profile.is_old() {
            match name {
                "Glob" => text.push_str(". Glob is not available in this session — find files with `find` via the Bash tool instead."),
                "Grep" => text.push_str(". Grep is not available in this session — search file contents with `grep` via the Bash tool instead."),
                _ if sim.profile.tools().contains(&name) || name == "TodoWrite" => {
                    text.push_str(&format!(". {name} is disabled for this session, in subagents as well as here."));
                }
                _ => {}
            }
        }
        return Some(Outcome::BadCall { structured: text.clone(), text });
    }
    if let Some(outcome) = arguments::check(name, &call.input) {
        return Some(outcome);
    }
    files::check(sim, call).map(Outcome::bad_call)
}

fn run(sim: &Arc<Sim>, agent: &Agent, call: &Call) -> Outcome {
    match call.name.as_str() {
        "Bash" => bash::run(sim, agent, call),
        "Read" => files::read(sim, call),
        "Write" => files::write(sim, call),
        "Edit" => files::edit(sim, call),
        "NotebookEdit" => notebook::edit(sim, agent, call),
        "Glob" => search::glob(sim, call),
        "Grep" => search::grep(sim, call),
        "TodoWrite" => todo::write(sim, call),
        "TaskCreate" => todo::create(sim, call),
        "TaskUpdate" => todo::update(sim, call),
        "TaskList" => todo::list(sim),
        "TaskGet" => todo::get(sim, call),
        "Task" | "Agent" => subagent::run(sim, agent, call),
        "AskUserQuestion" => ask::question(sim, call),
        "ExitPlanMode" => ask::exit_plan_mode(sim, agent),
        "EnterPlanMode" => ask::enter_plan_mode(sim, agent),
        "TaskStop" | "KillShell" => stop_task(sim, agent, call),
        structured::NAME => structured::run(sim, call),
        "WebFetch" => {
            let domain = super::permissions::domain_of(call.input.str_of("url").unwrap_or_default());
            Outcome::failure(format!(
                "Unable to verify if domain {domain} is safe to fetch. This may be due to network restrictions or enterprise security policies blocking claude.ai."
            ))
        }
        name if name.starts_with("mcp__") => match mcp::call(sim, agent, name, &call.input, &call.id) {
            Ok(content) => Outcome::blocks(content.clone(), content),
            Err(AskError::Stopped(reason)) => Outcome::Stopped(reason),
            Err(AskError::Refused(error)) => Outcome::failure(error),
            Err(AskError::Closed) => Outcome::failure("the host is gone"),
        },
        name => Outcome::failure(format!("The simulated CLI does not have the tool {name}.")),
    }
}

fn stop_task(sim: &Sim, agent: &Agent, call: &Call) -> Outcome {
    let id = call.input.str_of("task_id").or_else(|| call.input.str_of("shell_id")).unwrap_or_default();
    if sim.tasks.stop(sim, &agent.ids, id) {
        let text = format!("Successfully stopped task: {id}");
        return Outcome::text(text.clone(), object! { "message" => text, "task_id" => id });
    }
    Outcome::failure(format!("No task found with ID: {id}"))
}
