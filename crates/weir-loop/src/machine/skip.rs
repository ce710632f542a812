//! Skips and retries a task when a person asks for it.

use super::{Action, Machine};
use crate::event::LoopEvent;
use crate::outcome::{Failure, Outcome};
use crate::state::{Step, TaskState};
use crate::tasks::TaskId;

/// The failure of a task that a person skipped.
pub(super) fn left_out() -> Failure {
    Failure::new(Outcome::Interrupted, "a person skipped the task", "")
}

impl Machine {
    /// Skips a task. If it is in progress, that is ended first, and its work is kept as for a task that was given up.
    pub(super) fn skip(&mut self, now: i64, id: &TaskId) {
        let is_parked = self.record(id).is_some_and(|record| self.is_parked(record));
        let Some(record) = self.record_mut(id) else { return };
        match (record.state, &record.step) {
            (TaskState::Pending | TaskState::Failed, _) => {
                record.state = TaskState::Skipped;
                let kept = record.kept.clone();
                self.tell(LoopEvent::TaskSkipped { task: id.clone(), kept });
            }
            // A task that has passed its gates is done.
            (TaskState::Active, Some(Step::Committing { .. } | Step::Advancing { .. })) => {}
            (TaskState::Active, step) => {
                let is_at_work =
                    matches!(step, Some(Step::Agent { .. } | Step::Reviewing { session_id: Some(_), .. }));
                let is_waiting = is_parked || matches!(step, Some(Step::Merging { .. }));
                record.is_unwanted = true;
                if is_at_work {
                    self.act(Action::StopAgent(id.clone()));
                } else if is_waiting {
                    self.leave_out(id);
                }
            }
            (TaskState::Done | TaskState::Skipped, _) => {}
        }
        self.schedule(now);
    }

    /// Retries a task.
    pub(super) fn retry(&mut self, now: i64, id: &TaskId) {
        let Some(record) = self.record_mut(id) else { return };
        if matches!(record.state, TaskState::Failed | TaskState::Skipped) {
            record.state = TaskState::Pending;
            record.failure = None;
            record.step = None;
            record.active_ms = 0;
        }
        self.schedule(now);
    }

    /// Whether a person wants to skip this task, which is in progress.
    pub(super) fn is_unwanted(&self, id: &TaskId) -> bool {
        self.record(id).is_some_and(|record| record.is_unwanted)
    }

    /// Whether, on a resume, the task can be skipped without first ending or recovering anything.
    pub(super) fn can_be_left_out_at_once(&self, id: &TaskId) -> bool {
        let step = self.record(id).and_then(|record| record.step.as_ref());
        matches!(step, Some(Step::GatesBefore { .. } | Step::Restoring { .. } | Step::Merging { .. }))
    }

    /// Keeps the work of a task that a person skips.
    pub(super) fn leave_out(&mut self, id: &TaskId) {
        self.shelve(id, left_out());
    }
}
