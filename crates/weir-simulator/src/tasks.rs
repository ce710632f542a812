//! Background tasks: commands and sub-agents that outlive the call that started them.

use std::sync::{Arc, Mutex};

use super::cancel::{Cancel, Stop};
use super::clock;
use super::ids::Ids;
use super::lines;
use super::lock;
use super::queue::Notice;
use super::sim::Sim;
use crate::json::Json;
use crate::object;

/// A running task.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) run_id: String,
    pub(crate) tool_use_id: String,
    pub(crate) description: String,
    /// The kind of sub-agent; `None` for a command.
    pub(crate) agent: Option<String>,
    pub(crate) cancel: Arc<Cancel>,
}

/// All running tasks.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    running: Mutex<Vec<Task>>,
}

impl Task {
    fn kind(&self) -> &'static str {
        if self.agent.is_some() { "local_agent" } else { "local_bash" }
    }

    fn output_file(&self, sim: &Sim) -> String {
        sim.task_dir().join(format!("{}.output", self.id)).display().to_string()
    }
}

impl Tasks {
    /// Registers a task.
    pub(crate) fn start(&self, sim: &Sim, ids: &Ids, task: Task) {
        sim.queue.task_started(task.agent.is_some());
        lock(&self.running).push(task);
        self.report(sim, ids);
    }

    /// Ends a task that finished by itself. Does nothing if it was stopped.
    pub(crate) fn finish(
        &self,
        sim: &Sim,
        ids: &Ids,
        id: &str,
        succeeded: bool,
        summary: &str,
        usage: Option<Json>,
    ) {
        let Some(task) = self.take(id) else { return };
        if sim.queue.is_ending() {
            return sim.queue.task_ended(task.agent.is_some(), None);
        }
        let status = if succeeded { "completed" } else { "failed" };
        self.settle(sim, ids, &task, status, status, summary, usage);
        let notice = sim.profile.reports_tasks().then(|| Notice {
            text: notification_text(sim, &task, status, summary),
            run_id: task.run_id.clone(),
        });
        sim.queue.task_ended(task.agent.is_some(), notice);
    }

    /// Stops a task on the host's request. Returns whether it existed.
    pub(crate) fn stop(&self, sim: &Sim, ids: &Ids, id: &str) -> bool {
        let Some(task) = self.take(id) else { return false };
        task.cancel.cancel(Stop::Task);
        let summary = task.description.clone();
        self.settle(sim, ids, &task, "killed", "stopped", &summary, None);
        sim.queue.task_ended(task.agent.is_some(), None);
        true
    }

    /// The flag that stops a task.
    pub(crate) fn cancel_of(&self, id: &str) -> Option<Arc<Cancel>> {
        lock(&self.running).iter().find(|task| task.id == id).map(|task| Arc::clone(&task.cancel))
    }

    /// Stops all tasks when the process ends.
    pub(crate) fn stop_all(&self) {
        let flags: Vec<Arc<Cancel>> =
            lock(&self.running).iter().map(|task| Arc::clone(&task.cancel)).collect();
        for flag in flags {
            flag.cancel(Stop::Terminate);
        }
    }

    fn take(&self, id: &str) -> Option<Task> {
        let mut running = lock(&self.running);
        let place = running.iter().position(|task| task.id == id)?;
        Some(running.remove(place))
    }

    #[expect(clippy::too_many_arguments, reason = "they are members of two related lines")]
    fn settle(
        &self,
        sim: &Sim,
        ids: &Ids,
        task: &Task,
        state: &str,
        status: &str,
        summary: &str,
        usage: Option<Json>,
    ) {
        ended_lines(
            sim,
            ids,
            &task.id,
            &task.run_id,
            &task.tool_use_id,
            state,
            status,
            &task.output_file(sim),
            summary,
            usage,
        );
        self.report(sim, ids);
    }

    /// Writes the list of running tasks.
    fn report(&self, sim: &Sim, ids: &Ids) {
        if !sim.profile.reports_tasks() {
            return;
        }
        let running = lock(&self.running);
        let tasks: Vec<Json> = running
            .iter()
            .map(|task| {
                let what = object! { "task_id" => task.id.as_str(), "run_id" => task.run_id.as_str(), "task_type" => task.kind() };
                what.with_some("subagent_type", task.agent.as_deref()).with("description", task.description.as_str())
            })
            .collect();
        sim.out.line(&lines::system(sim, ids, "background_tasks_changed", object! { "tasks" => tasks }));
    }
}

/// The lines that report the end of a task, in the background or not.
#[expect(clippy::too_many_arguments, reason = "they are members of two related lines")]
pub(crate) fn ended_lines(
    sim: &Sim,
    ids: &Ids,
    id: &str,
    run_id: &str,
    tool_use_id: &str,
    state: &str,
    status: &str,
    output_file: &str,
    summary: &str,
    usage: Option<Json>,
) {
    if !sim.profile.reports_tasks() {
        return;
    }
    let patch = object! { "status" => state, "end_time" => clock::milliseconds() };
    let updated = object! { "task_id" => id, "run_id" => run_id, "patch" => patch };
    sim.out.line(&lines::system(sim, ids, "task_updated", updated));
    let notification = object! {
        "task_id" => id,
        "run_id" => run_id,
        "tool_use_id" => tool_use_id,
        "status" => status,
        "output_file" => output_file,
        "summary" => summary,
    };
    sim.out.line(&lines::system(sim, ids, "task_notification", notification.with_some("usage", usage)));
}

/// The notification for the model.
fn notification_text(sim: &Sim, task: &Task, status: &str, summary: &str) -> String {
    format!(
        "<task-notification>\n<task-id>{}</task-id>\n<tool-use-id>{}</tool-use-id>\n<output-file>{}</output-file>\n<status>{status}</status>\n<summary>{summary}</summary>\n</task-notification>",
        task.id,
        task.tool_use_id,
        task.output_file(sim),
    )
}
