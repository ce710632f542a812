//! What the model says without a script: a demonstration that anyone can try without an account.
//!
//! The persona says plainly that it is simulated. It reacts to a few words, uses real tools, asks questions if the
//! host can answer, and talks at a natural pace (`SIMULATED_CLAUDE_PACE`, 0 for no delay). It only produces steps;
//! the rest of the CLI plays them like those of a script.

mod scene;
mod short;
mod tour;

use std::time::Duration;

use scene::Scene;

use super::agent::Agent;
use super::sim::Sim;
use crate::json::Json;
use crate::script::Step;

/// The step after this many responses to the last message.
pub(crate) fn step(sim: &Sim, agent: &Agent, messages: &[Json], answers: usize) -> Step {
    let scene = Scene::new(sim, messages);
    let steps = if agent.is_main() { main_steps(&scene) } else { short::sub_agent(&scene) };
    let step = steps.into_iter().nth(answers).unwrap_or_else(|| Step::text("That is all I have prepared."));
    at_pace(step, sim.settings.pace)
}

fn main_steps(scene: &Scene) -> Vec<Step> {
    let has = |words: &[&str]| words.iter().any(|word| scene.prompt.contains(word));
    match () {
        () if scene.prompt.starts_with("<task-notification>") => short::task_ended(),
        () if has(&["fail", "error", "break"]) => short::fail(),
        () if has(&["question", "ask me", "choose"]) => short::question(scene),
        () if has(&["background"]) => short::background(),
        () if has(&["agent", "parallel", "delegate"]) => short::agents(),
        () if has(&["todo", "to do", "task list"]) => short::todos(scene),
        () if has(&["plan"]) => short::plan(scene),
        () if has(&["edit", "write", "file", "change", "fix"]) => short::edit(scene),
        () if has(&["long", "essay", "much"]) => short::long(),
        () if has(&["help", "what can you", "who are you"]) => short::help(),
        () if scene.first || has(&["tour", "demo", "show"]) => tour::steps(scene),
        () => short::small_talk(scene),
    }
}

/// Words at a natural reading pace.
fn at_pace(mut step: Step, pace: f64) -> Step {
    if step.word_delay.is_zero() {
        step.word_delay = Duration::from_millis(28);
    }
    if step.sleep.is_zero() {
        step.sleep = Duration::from_millis(350);
    }
    step.word_delay = step.word_delay.mul_f64(pace);
    step.sleep = step.sleep.mul_f64(pace);
    step
}
