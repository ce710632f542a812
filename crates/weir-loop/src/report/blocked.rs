//! Finds open tasks that cannot start, and why. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::state::{RunState, TaskState};
use crate::tasks::TaskId;

/// Tasks that cannot start because they need one that was given up, skipped or removed, directly or through other
/// tasks. Each with the task that it needs.
pub fn blocked(run: &RunState) -> BTreeMap<&TaskId, &TaskId> {
    let mut blocked = BTreeMap::new();
    if run.tasks.iter().all(|record| record.task.needs.is_empty()) {
        return blocked;
    }
    let is_given_up = |state| matches!(state, TaskState::Failed | TaskState::Skipped);
    let mut open: BTreeSet<&TaskId> = BTreeSet::new();
    let mut gone: BTreeSet<&TaskId> = BTreeSet::new();
    for record in &run.tasks {
        open.insert(&record.task.id);
        if is_given_up(record.state) {
            gone.insert(&record.task.id);
        }
    }
    loop {
        let before = blocked.len();
        for record in run.tasks.iter().filter(|record| record.state == TaskState::Pending) {
            let id = &record.task.id;
            let why = record.task.needs.iter().find(|need| gone.contains(need) || !open.contains(need));
            if let Some(need) = why.filter(|_| gone.insert(id)) {
                blocked.insert(id, need);
            }
        }
        if blocked.len() == before {
            return blocked;
        }
    }
}
