//! A person pauses the run: running sessions finish and are judged, and no new one begins.

use super::Machine;
use crate::event::LoopEvent;
use crate::state::Paused;
use crate::tasks::TaskId;

impl Machine {
    pub(super) fn pause(&mut self, now: i64, by: String) {
        if self.state.paused.is_some() {
            return;
        }
        self.state.paused = Some(Paused { since: now, by: by.clone() });
        self.tell(LoopEvent::Paused { by });
    }

    pub(super) fn unpause(&mut self, now: i64, by: String) {
        if self.state.paused.take().is_none() {
            return;
        }
        self.tell(LoopEvent::Unpaused { by });
        let held: Vec<TaskId> = self.active().map(|record| record.task.id.clone()).collect();
        for id in held {
            self.put_back(&id);
            self.continue_review(&id);
        }
        // A person may have changed the list meanwhile.
        self.request_list();
        self.finish_if_idle(now);
    }

    /// Whether no session may begin for now.
    pub(super) fn is_held(&self) -> bool {
        self.state.wait.is_some() || self.state.paused.is_some()
    }

    /// Whether the run is paused and nothing is in progress any more.
    pub(super) fn is_resting(&self) -> bool {
        self.state.paused.is_some() && !self.active().any(|record| !self.is_parked(record))
    }
}
