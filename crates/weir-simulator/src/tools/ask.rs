//! Tools that ask the user: `AskUserQuestion` and plan mode.

use std::path::PathBuf;
use std::sync::Arc;

use super::Call;
use super::outcome::{Outcome, Shape};
use crate::agent::Agent;
use crate::json::Json;
use crate::lines;
use crate::object;
use crate::sim::Sim;

/// The host's answers are in the arguments it returned.
pub(super) fn question(sim: &Sim, call: &Call) -> Outcome {
    let answers = call.input.get("answers").cloned().unwrap_or_else(|| object! {});
    let given: Vec<String> = answers
        .members()
        .iter()
        .map(|(question, answer)| {
            format!(
                "\"{question}\"=\"{}\"",
                answer.as_str().map_or_else(|| answer.to_string(), str::to_owned)
            )
        })
        .collect();
    let given = given.join(", ");
    let text = if sim.profile.is_old() {
        format!(
            "User has answered your questions: {given}. You can now continue with the user's answers in mind."
        )
    } else {
        format!(
            "Your questions have been answered: {given}. You can now continue with these answers in mind."
        )
    };
    let questions = call.input.get("questions").cloned().unwrap_or(Json::Null);
    let structured = object! { "questions" => questions, "answers" => answers };
    Outcome::Success { content: Json::String(text), structured, shape: Shape::IdLast }
}

/// The session's plan file. Its name is chosen once.
pub(crate) fn plan_file(sim: &Sim) -> PathBuf {
    let mut state = sim.state();
    let folder = sim.settings.config_dir.join("plans");
    let name = sim.ids.fork("plan").base36(8);
    state.plan_file.get_or_insert_with(|| folder.join(format!("plan-{name}.md"))).clone()
}

/// The plan, if it was written to its file.
pub(super) fn written_plan(sim: &Sim) -> Option<String> {
    std::fs::read_to_string(plan_file(sim)).ok()
}

/// Leaves plan mode after approval: restores the mode before the plan, unless the host has set another.
pub(super) fn exit_plan_mode(sim: &Arc<Sim>, agent: &Agent) -> Outcome {
    let next = {
        let mut state = sim.state();
        let before = state.mode_before_plan.take().unwrap_or_else(|| "default".to_owned());
        let was_plan = state.mode == "plan";
        was_plan.then(|| {
            state.set_mode(&before);
            before
        })
    };
    if let Some(mode) = next.filter(|_| !sim.profile.is_old()) {
        let mode = object! { "status" => Json::Null, "permissionMode" => mode };
        sim.out.line(&lines::system(sim, &agent.ids, "status", mode));
    }
    let path = plan_file(sim).display().to_string();
    let plan = written_plan(sim);
    let text = match &plan {
        Some(plan) => format!(
            "User has approved your plan. You can now start coding. Start with updating your todo list if applicable\n\nYour plan has been saved to: {path}\nYou can refer back to it if needed during implementation.\n\n## Approved Plan:\n{plan}"
        ),
        None => "User has approved exiting plan mode. You can now proceed.".to_owned(),
    };
    let structured = object! { "plan" => plan, "isAgent" => false, "filePath" => path };
    Outcome::Success { content: Json::String(text), structured, shape: Shape::IdLast }
}

/// Enters plan mode at the model's request.
pub(super) fn enter_plan_mode(sim: &Sim, agent: &Agent) -> Outcome {
    sim.state().set_mode("plan");
    if !sim.profile.is_old() {
        let mode = object! { "status" => Json::Null, "permissionMode" => "plan" };
        sim.out.line(&lines::system(sim, &agent.ids, "status", mode));
    }
    Outcome::text("Entered plan mode.", object! { "message" => "Entered plan mode." })
}
