//! To-do lists: `TodoWrite` in the older version, `TaskCreate` and related tools in the newer one.

use super::Call;
use super::outcome::Outcome;
use crate::json::Json;
use crate::sim::Sim;
use crate::{array, object};

/// Replaces the list.
pub(super) fn write(sim: &Sim, call: &Call) -> Outcome {
    let todos = call.input.get("todos").cloned().unwrap_or_else(|| array![]);
    let old = std::mem::replace(&mut sim.state().todos, todos.clone());
    let text = "Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress. Please proceed with the current tasks if applicable";
    Outcome::text(text, object! { "oldTodos" => old, "newTodos" => todos })
}

pub(super) fn create(sim: &Sim, call: &Call) -> Outcome {
    let text = |key| call.input.str_of(key).unwrap_or_default();
    let mut state = sim.state();
    let id = (state.todo_tasks.len() + 1).to_string();
    let task =
        object! { "id" => id.as_str(), "subject" => text("subject"), "description" => text("description") };
    state.todo_tasks.push(
        task.clone()
            .with_all(object! { "status" => "pending", "blocks" => array![], "blockedBy" => array![] }),
    );
    Outcome::text(format!("Task #{id} created successfully: {}", text("subject")), object! { "task" => task })
}

pub(super) fn update(sim: &Sim, call: &Call) -> Outcome {
    let id = call.input.str_of("taskId").unwrap_or_default();
    let mut state = sim.state();
    let Some(task) = state.todo_tasks.iter_mut().find(|task| task.str_of("id") == Some(id)) else {
        return Outcome::failure(format!("Task #{id} not found"));
    };
    let mut fields: Vec<&str> = Vec::new();
    let mut change = None;
    for key in ["subject", "description", "activeForm"] {
        if let Some(text) = call.input.str_of(key) {
            task.set(key, text);
            fields.push(key);
        }
    }
    for (key, field) in [("addBlocks", "blocks"), ("addBlockedBy", "blockedBy")] {
        if let Some(more) = call.input.get(key) {
            task.set(field, more.clone());
            fields.push(field);
        }
    }
    if let Some(status) = call.input.str_of("status") {
        let from = task.str_of("status").unwrap_or("pending").to_owned();
        change = Some(object! { "from" => from, "to" => status });
        task.set("status", status);
        fields.push(if status == "deleted" { "deleted" } else { "status" });
    }
    let structured = object! { "success" => true, "taskId" => id, "updatedFields" => fields.clone() };
    let outcome = Outcome::text(
        format!("Updated task #{id} {}", fields.join(", ")),
        structured.with_some("statusChange", change),
    );
    state.todo_tasks.retain(|task| task.str_of("status") != Some("deleted"));
    outcome
}

pub(super) fn list(sim: &Sim) -> Outcome {
    let state = sim.state();
    let done = |id: &Json| {
        state
            .todo_tasks
            .iter()
            .any(|task| task.get("id") == Some(id) && task.str_of("status") == Some("completed"))
    };
    let (mut lines, mut tasks) = (Vec::new(), Vec::new());
    for task in &state.todo_tasks {
        let text = |key| task.str_of(key).unwrap_or_default();
        lines.push(format!("#{} [{}] {}", text("id"), text("status"), text("subject")));
        let waits: Vec<Json> = task.items_of("blockedBy").iter().filter(|id| !done(id)).cloned().collect();
        tasks.push(object! { "id" => text("id"), "subject" => text("subject"), "status" => text("status"), "blockedBy" => waits });
    }
    let text = if lines.is_empty() { "No tasks found".to_owned() } else { lines.join("\n") };
    Outcome::text(text, object! { "tasks" => tasks })
}

pub(super) fn get(sim: &Sim, call: &Call) -> Outcome {
    let id = call.input.str_of("taskId").unwrap_or_default();
    let state = sim.state();
    let Some(task) = state.todo_tasks.iter().find(|task| task.str_of("id") == Some(id)) else {
        return Outcome::failure(format!("Task #{id} not found"));
    };
    let text = |key| task.str_of(key).unwrap_or_default();
    let mut lines = vec![
        format!("Task #{id}: {}", text("subject")),
        format!("Status: {}", text("status")),
        format!("Description: {}", text("description")),
    ];
    let blockers: Vec<String> =
        task.items_of("blockedBy").iter().filter_map(Json::as_str).map(|id| format!("#{id}")).collect();
    if !blockers.is_empty() {
        lines.push(format!("Blocked by: {}", blockers.join(", ")));
    }
    Outcome::text(lines.join("\n"), object! { "task" => task })
}
