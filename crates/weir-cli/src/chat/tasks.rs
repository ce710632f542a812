//! `/stop`: lists background tasks, or stops one.

use std::fmt::Write as _;

use weir_transcript::{AgentState, View};
use weir_wire::TaskId;

use super::Chat;
use crate::explain::explain;
use crate::screen::one_line;

/// A background task: the CLI's id for it and a description.
#[derive(Debug, PartialEq, Eq)]
struct Running {
    id: TaskId,
    what: String,
}

impl Chat {
    pub(super) async fn stop_task(&mut self, which: Option<String>) -> anyhow::Result<()> {
        let view = self.session.view().await.unwrap_or_default();
        let running = running(&view);
        let Some(which) = which else { return self.print(&list(&running)) };
        let Some(task) = find(&running, &which) else {
            self.complain(&format!("no background task with the number or id {which}; /stop lists them"));
            return Ok(());
        };
        match self.session.stop_task(&task.id).await {
            Ok(()) => self.print(&format!("Stopping {}.\n", one_line(&task.what, 100))),
            Err(error) => {
                self.complain(&explain(&error, None));
                Ok(())
            }
        }
    }
}

/// All background tasks: agents and others.
fn running(view: &View) -> Vec<Running> {
    let agents = view.agents.iter().filter(|agent| agent.state == AgentState::Running && agent.background);
    let agents = agents.filter_map(|agent| {
        Some(Running { id: agent.task.clone()?, what: format!("agent: {}", agent.description) })
    });
    let mut all: Vec<Running> = agents.collect();
    for task in &view.tasks {
        if all.iter().all(|known| known.id != task.id) {
            all.push(Running { id: task.id.clone(), what: task.description.clone() });
        }
    }
    all
}

/// The task with this number in the list, or with this id.
fn find<'t>(running: &'t [Running], which: &str) -> Option<&'t Running> {
    let by_id = running.iter().find(|task| task.id.as_str() == which);
    let number = || which.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    by_id.or_else(|| running.get(number()?))
}

fn list(running: &[Running]) -> String {
    if running.is_empty() {
        return "No background tasks.\n".to_owned();
    }
    let mut text = String::new();
    for (place, task) in running.iter().enumerate() {
        let id = one_line(task.id.as_str(), 40);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:>4}  {}  ({id})", place + 1, one_line(&task.what, 100));
    }
    text.push_str("/stop N stops one of them.\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_found_by_its_number_and_by_its_id() {
        let task = |id: &str| Running { id: TaskId::new(id), what: "sleep".to_owned() };
        let running = [task("b2"), task("7")];
        assert_eq!(find(&running, "1"), running.first());
        assert_eq!(find(&running, "7"), running.get(1), "an id comes before a number");
        assert_eq!(find(&running, "0"), None);
        assert_eq!(find(&running, "3"), None);
        assert!(list(&running).contains("   2  sleep  (7)") && list(&[]).starts_with("No background"));
    }
}
