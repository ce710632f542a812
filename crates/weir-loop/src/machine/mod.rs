//! The loop as a state machine: pure, synchronous, without a clock.
//!
//! The driver tells it what happened ([`Event`]) and does what it wants done ([`Action`]), after it has written the
//! state down. So whatever was being done when the program is killed is known to the next start, and each step can
//! be done again: it is either recognised as done, or done from the same beginning.

mod action;
mod conclude;
mod event;
mod resume;
mod schedule;
mod skip;
mod steps;
#[cfg(test)]
mod tests;

pub use action::{Action, AgentOrder};
pub use event::Event;

use crate::config::Config;
use crate::event::LoopEvent;
use crate::news::News;
use crate::state::{Changed, RunEnd, RunState, RunStatus, TaskRecord, TaskState};
use crate::tasks::TaskId;

/// What was asked for on the command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// End after one task.
    pub once: bool,
    /// End when this task is done or given up.
    pub until: Option<TaskId>,
}

/// The loop.
pub struct Machine {
    state: RunState,
    config: Config,
    wanted: Wanted,
    /// Makes names for sessions.
    new_id: Box<dyn FnMut() -> String + Send>,
    /// Why the run is to end when nothing is being done any more.
    stopping: Option<RunEnd>,
    /// Whether the list was asked for and has not come.
    list_wanted: bool,
    /// When time was last looked at. None while none is to be counted.
    last_seen: Option<i64>,
    finished: bool,
    /// What has changed since somebody asked.
    changed: Changed,
    actions: Vec<Action>,
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
    /// The loop over this state, which may come from an earlier start.
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
            list_wanted: false,
            last_seen: None,
            finished: false,
            changed: Changed::default(),
            actions: Vec::new(),
        }
    }

    /// The state, to be written down.
    pub fn state(&self) -> &RunState {
        &self.state
    }

    /// The state, when the run is over.
    pub fn into_state(self) -> RunState {
        self.state
    }

    /// What has changed since this was asked for the last time.
    pub fn take_changed(&mut self) -> Changed {
        self.changed.take()
    }

    /// Whether the run is over.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Takes an event at a time, in milliseconds since 1970, and says what is to be done, in order. The state must be
    /// written down before any of it is.
    pub fn handle(&mut self, now: i64, event: Event) -> Vec<Action> {
        self.count_time(now);
        match event {
            // Also when all else is over.
            Event::Notified { id } => self.state.outbox.retain(|news| news.id != id),
            event if !self.finished => self.take(now, event),
            _ => {}
        }
        if self.stopping == Some(RunEnd::Interrupted) {
            self.finish_if_idle(now);
        }
        self.state.updated_at = now;
        std::mem::take(&mut self.actions)
    }

    fn take(&mut self, now: i64, event: Event) {
        match event {
            Event::Start => self.start(now),
            Event::Tick => self.tick(now),
            Event::Tasks(tasks) => self.tasks_read(now, tasks),
            Event::TasksUnchanged => {
                self.list_wanted = false;
                self.schedule(now);
            }
            Event::Prepared { task, head, tree } => self.prepared(&task, head, tree),
            Event::Restored { task } => self.restored(&task),
            Event::Gates { task, results } => self.gates_ran(now, &task, results),
            Event::AgentEnded { task, run } => self.agent_ended(now, &task, run),
            Event::Recovered { task, run } => self.recovered(now, &task, run),
            Event::Seen { task, tree } => self.seen(&task, tree),
            Event::Inspected { task, work } => self.inspected(now, &task, work),
            Event::CommitMade { task, commit, parent } => self.commit_made(&task, commit, parent),
            Event::NotMerged { task, why, output } => self.not_merged(&task, &why, output),
            Event::Advanced { task } => self.advanced(now, &task),
            Event::Shelved { task, kept } => self.shelved(&task, kept),
            Event::Cleared { task } => self.cleared(now, &task),
            Event::Asked(question) => self.asked(question),
            Event::AskEnded { id, by, answers } => self.ask_ended(&id, by, answers),
            Event::Notified { .. } => {}
            Event::Skip(task) => self.skip(now, &task),
            Event::Retry(task) => self.retry(now, &task),
            Event::Interrupt => self.interrupt(now),
            Event::Broken { why } => {
                self.stop(RunEnd::Error { why });
                self.finish_broken(now);
            }
        }
    }

    /// Time counts while something is done, and not while somebody else is waited for.
    fn count_time(&mut self, now: i64) {
        if let Some(before) = self.last_seen
            && self.state.wait.is_none()
        {
            let elapsed = u64::try_from(now - before).unwrap_or(0);
            let RunState { tasks, questions, active_ms, .. } = &mut self.state;
            if questions.is_empty() {
                *active_ms += elapsed;
            }
            // Written down with the next thing that happens to the task.
            for record in tasks.iter_mut().filter(|record| record.state == TaskState::Active) {
                if questions.iter().all(|question| question.task != record.task.id) {
                    record.active_ms += elapsed;
                }
            }
        }
        self.last_seen = Some(now);
    }

    /// Tells those who watch, and those who do not. What is told to the latter is written down first, and stays until
    /// it was.
    fn tell(&mut self, event: LoopEvent) {
        let news = News::of(&event, &self.state.run_id, &self.config.notify, &mut self.new_id);
        self.actions.push(Action::Tell(event));
        if let Some(news) = news {
            self.state.outbox.push(news.clone());
            self.actions.push(Action::Notify(news));
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

    fn active(&self) -> impl Iterator<Item = &TaskRecord> {
        self.state.tasks.iter().filter(|record| record.state == TaskState::Active)
    }

    /// The run is to end, for this reason. The first one counts.
    fn stop(&mut self, end: RunEnd) {
        let end = self.stopping.get_or_insert(end);
        if end.outlives_a_kill() {
            self.state.halting = Some(end.clone());
        }
    }

    fn interrupt(&mut self, now: i64) {
        // Somebody who is there wants to know that it was they.
        self.stopping = Some(RunEnd::Interrupted);
        self.act(Action::StopAgents);
        // A wait is written down, and goes on with the next start.
        self.finish_if_idle(now);
    }

    fn finish(&mut self, now: i64, end: RunEnd) {
        if self.finished {
            return;
        }
        self.finished = true;
        self.state.status = RunStatus::Ended { end: end.clone(), at: now };
        self.state.is_unreported = true;
        self.state.halting = None;
        // They are asked again when their task goes on.
        self.state.questions.clear();
        let count = |state| self.state.count(state);
        let event = LoopEvent::RunEnded {
            end: end.clone(),
            budget: self.state.budget(),
            done: count(TaskState::Done),
            failed: count(TaskState::Failed),
            pending: count(TaskState::Pending) + count(TaskState::Active),
        };
        self.tell(event);
        self.act(Action::Finish(end));
    }

    /// The driver itself cannot go on. What is being done stays as it is, for the next start.
    fn finish_broken(&mut self, now: i64) {
        self.act(Action::StopAgents);
        if let Some(end) = self.stopping.clone() {
            self.finish(now, end);
        }
    }
}
