//! The loop as a state machine: pure, synchronous, without a clock.
//!
//! The driver reports what happened ([`Event`]) and performs the requested [`Action`]s, after it has saved the state.
//! So the next start knows what was in progress when the program was killed, and each step can be repeated: it is
//! either recognised as done, or done again from the same starting point.

mod action;
mod conclude;
mod event;
mod pause;
mod resume;
mod review;
mod schedule;
mod skip;
mod steps;
#[cfg(test)]
mod tests;

pub use action::{Action, AgentOrder, ReviewOrder};
pub use event::Event;

use weir_base::time::duration_text;

use crate::config::Config;
use crate::event::LoopEvent;
use crate::limits::TaskLimits;
use crate::notification::Notification;
use crate::state::{Changed, Line, RunEnd, RunState, RunStatus, TaskRecord, TaskState};
use crate::tasks::TaskId;

/// What was requested on the command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// End after one task.
    pub once: bool,
    /// End when this task is done or given up.
    pub until: Option<TaskId>,
    /// Begin no session before this time, in milliseconds since 1970.
    pub start_at: Option<i64>,
    /// Begin no session after this time.
    pub stop_at: Option<i64>,
}

/// The loop.
pub struct Machine {
    state: RunState,
    config: Config,
    wanted: Wanted,
    /// Creates session ids.
    new_id: Box<dyn FnMut() -> String + Send>,
    /// Why the run ends as soon as nothing is in progress.
    stopping: Option<RunEnd>,
    /// Whether the list was requested and has not been read yet.
    list_requested: bool,
    /// When time was last counted. `None` before the first event.
    last_seen: Option<i64>,
    finished: bool,
    last_check: LastCheck,
    /// Whether the list was read again when everything seemed to be done.
    is_list_confirmed: bool,
    /// What has changed since [`Machine::take_changed`].
    changed: Changed,
    actions: Vec<Action>,
}

/// The check of the last commit at the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum LastCheck {
    /// Not yet made.
    #[default]
    Open,
    Running,
    Made,
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine")
            .field("state", &self.state)
            .field("stopping", &self.stopping)
            .finish_non_exhaustive()
    }
}

impl Machine {
    /// A loop with this state, which may come from an earlier start.
    pub fn new(
        state: RunState,
        config: Config,
        wanted: Wanted,
        new_id: impl FnMut() -> String + Send + 'static,
    ) -> Self {
        Self {
            state,
            config,
            wanted,
            new_id: Box::new(new_id),
            stopping: None,
            list_requested: false,
            last_seen: None,
            finished: false,
            last_check: LastCheck::default(),
            is_list_confirmed: false,
            changed: Changed::default(),
            actions: Vec::new(),
        }
    }

    /// The state, to be saved.
    pub fn state(&self) -> &RunState {
        &self.state
    }

    /// The state, when the run is over.
    pub fn into_state(self) -> RunState {
        self.state
    }

    /// What has changed since the last call.
    pub fn take_changed(&mut self) -> Changed {
        self.changed.take()
    }

    /// Whether the run is over.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Handles an event at a time in milliseconds since 1970, and returns the actions to perform, in order. The state
    /// must be saved before the first of them.
    pub fn handle(&mut self, now: i64, event: Event) -> Vec<Action> {
        if let Event::Slept(ms) = &event {
            self.last_seen =
                self.last_seen.map(|seen| seen.saturating_add(i64::try_from(*ms).unwrap_or(0)).min(now));
        }
        self.count_time(now);
        match event {
            // Also after the run has finished.
            Event::Notified { id } => self.state.outbox.retain(|notification| notification.id != id),
            event if !self.finished => self.dispatch(now, event),
            _ => {}
        }
        if self.stopping == Some(RunEnd::Interrupted) || (self.stopping.is_some() && self.is_resting()) {
            self.finish_if_idle(now);
        }
        self.state.updated_at = now;
        std::mem::take(&mut self.actions)
    }

    fn dispatch(&mut self, now: i64, event: Event) {
        match event {
            Event::Start => self.start(now),
            Event::Tick => self.tick(now),
            Event::Tasks(tasks) => self.tasks_read(now, tasks),
            Event::TasksUnchanged => {
                self.list_requested = false;
                self.schedule(now);
            }
            Event::Prepared { task, head, tree, line, notes } => {
                self.move_line(line, notes);
                self.prepared(&task, head, tree);
            }
            Event::LastChecked { problem } => self.last_checked(now, problem),
            Event::Restored { task } => self.restored(&task),
            Event::Gates { task, results } => self.gates_ran(now, &task, results),
            Event::AgentEnded { task, run } => self.agent_ended(now, &task, run),
            Event::Recovered { task, run } => self.recovered(now, &task, run),
            Event::Reviewed { task, run } => self.reviewed(now, &task, *run),
            Event::Seen { task, tree } => self.seen(&task, tree),
            Event::Inspected { task, work } => self.inspected(now, &task, work),
            Event::CommitMade { task, commit, parent } => self.commit_made(&task, commit, parent),
            Event::NotMerged { task, why, output } => self.not_merged(&task, &why, output),
            Event::Advanced { task, line, ticked, branch, notes } => {
                self.move_line(line, notes);
                self.advanced(now, &task, ticked, branch);
            }
            Event::Shelved { task, kept } => self.shelved(&task, kept),
            Event::Cleared { task } => self.cleared(now, &task),
            Event::Asked(question) => self.asked(question),
            Event::AskEnded { id, by, answers } => self.ask_ended(&id, by, answers),
            Event::Notified { .. } => {}
            Event::Skip(task) => self.skip(now, &task),
            Event::Retry(task) => self.retry(now, &task),
            Event::Pause { by } => self.pause(now, by),
            Event::Unpause { by } => self.unpause(now, by),
            Event::Clock => {
                let active: Vec<TaskId> = self.active().map(|record| record.task.id.clone()).collect();
                active.iter().for_each(|id| self.changed.add(id));
            }
            Event::Slept(ms) => {
                let text = format!(
                    "the machine was asleep for {}, which does not count as time at work",
                    duration_text(ms)
                );
                self.tell(LoopEvent::Warning { text });
            }
            Event::Interrupt => self.interrupt(now),
            Event::Broken { why } => {
                self.stop(RunEnd::Error { why });
                self.finish_broken(now);
            }
        }
    }

    /// Notes where the run's commits and the branch are.
    fn move_line(&mut self, line: Option<Line>, notes: Vec<String>) {
        if line.is_some() {
            self.state.line = line;
        }
        for text in notes {
            self.tell(LoopEvent::Warning { text });
        }
    }

    /// Counts working time, which excludes waiting for a rate limit or a person.
    fn count_time(&mut self, now: i64) {
        if let Some(before) = self.last_seen
            && self.state.wait.is_none()
            && !self.is_resting()
        {
            let elapsed = u64::try_from(now - before).unwrap_or(0);
            let RunState { tasks, questions, active_ms, .. } = &mut self.state;
            if questions.is_empty() {
                *active_ms += elapsed;
            }
            // Saved with the next change to the task.
            for record in tasks.iter_mut().filter(|record| record.state == TaskState::Active) {
                if questions.iter().all(|question| question.task != record.task.id) {
                    record.active_ms += elapsed;
                }
            }
        }
        self.last_seen = Some(now);
    }

    /// Sends an event to viewers, and a notification if one is due. The notification stays in the saved outbox until it
    /// was sent.
    fn tell(&mut self, event: LoopEvent) {
        let notification =
            Notification::of(&event, &self.state.run_id, &self.config.notify, &mut self.new_id);
        self.actions.push(Action::Tell(event));
        if let Some(notification) = notification {
            self.state.outbox.push(notification.clone());
            self.actions.push(Action::Notify(notification));
        }
    }

    fn act(&mut self, action: Action) {
        self.actions.push(action);
    }

    fn record(&self, id: &TaskId) -> Option<&TaskRecord> {
        self.state.task(id)
    }

    fn record_mut(&mut self, id: &TaskId) -> Option<&mut TaskRecord> {
        self.changed.add(id);
        self.state.tasks.iter_mut().find(|record| record.task.id == *id)
    }

    /// The limits of a task: those of all tasks, and its own.
    fn limits_of(&self, id: &TaskId) -> TaskLimits {
        let limits = &self.state.task_limits;
        self.record(id).map_or_else(|| limits.clone(), |record| record.task.options.limits(limits))
    }

    fn active(&self) -> impl Iterator<Item = &TaskRecord> {
        self.state.tasks.iter().filter(|record| record.state == TaskState::Active)
    }

    /// Lets the run end for this reason. The first reason counts.
    fn stop(&mut self, end: RunEnd) {
        let end = self.stopping.get_or_insert(end);
        if end.outlives_a_kill() {
            self.state.halting = Some(end.clone());
        }
    }

    fn interrupt(&mut self, now: i64) {
        // Replaces any other reason: the person who interrupts expects to see that as the cause.
        self.stopping = Some(RunEnd::Interrupted);
        self.act(Action::StopAgents);
        // A wait is part of the state, and continues with the next start.
        self.finish_if_idle(now);
    }

    fn finish(&mut self, now: i64, end: RunEnd) {
        if self.finished {
            return;
        }
        self.finished = true;
        if !end.can_resume() {
            self.state.paused = None;
        }
        self.state.status = RunStatus::Ended { end: end.clone(), at: now };
        self.state.is_unreported = true;
        self.state.halting = None;
        // They are asked again when their task resumes.
        self.state.questions.clear();
        let count = |state| self.state.count(state);
        let is_unchecked = |record: &&TaskRecord| record.is_done_unchecked();
        let event = LoopEvent::RunEnded {
            unchecked: self.state.tasks.iter().filter(is_unchecked).count(),
            end: end.clone(),
            budget: self.state.budget(),
            done: count(TaskState::Done),
            failed: count(TaskState::Failed),
            pending: count(TaskState::Pending) + count(TaskState::Active),
        };
        self.tell(event);
        self.act(Action::Finish(end));
    }

    /// The driver cannot continue. What is in progress stays as it is, for the next start.
    fn finish_broken(&mut self, now: i64) {
        self.act(Action::StopAgents);
        if let Some(end) = self.stopping.clone() {
            self.finish(now, end);
        }
    }
}
