//! Decides what is next: a task, a wait, or the end.

use std::collections::BTreeMap;

use super::{Action, LastCheck, Machine};
use crate::config::{NotifyOn, Results};
use crate::event::LoopEvent;
use crate::state::{Paused, RunEnd, RunStatus, Step, TaskRecord, TaskState, Wait};
use crate::tasks::{Readiness, Task, TaskId, readiness};

impl Machine {
    pub(super) fn start(&mut self, now: i64) {
        let resumed = self.state.tasks.iter().any(|task| task.step.is_some() || !task.attempts.is_empty());
        // `--once` also holds after a kill: its one task may already be done.
        let was_killed = self.state.end().is_none() || self.state.is_unreported;
        let ended = self.state.once.filter(|_| was_killed).unwrap_or(0);
        self.state.once = self.wanted.once.then_some(ended);
        // A run that was killed while it was ending still has to end.
        let end = self.state.end().filter(|end| self.state.is_unreported && end.outlives_a_kill());
        self.stopping = self.state.halting.clone().or_else(|| end.cloned());
        self.state.halting = self.stopping.clone();
        if self.state.end().is_some() {
            // A person started it again, so the waiting time starts from zero.
            self.state.waited_ms = 0;
        }
        self.state.status = RunStatus::Running;
        self.state.is_unreported = false;
        self.state.questions.clear();
        self.state.limits = self.config.limits.clone();
        self.state.task_limits = self.config.task_limits.clone();
        if self.active().next().is_none() {
            self.state.parallel = self.config.parallel;
        }
        self.last_seen = Some(now);
        let event = LoopEvent::RunStarted {
            run_id: self.state.run_id.clone(),
            resumed,
            tasks: self.state.tasks.len(),
            done: self.state.count(TaskState::Done),
            limits: self.state.limits.clone(),
            task_limits: self.state.task_limits.clone(),
            budget: self.state.counted_budget(),
        };
        self.tell(event);
        // Questions are asked again, with new notifications.
        self.state.outbox.retain(|notification| notification.kind != NotifyOn::Question);
        for notification in self.state.outbox.clone() {
            self.act(Action::Notify(notification));
        }
        if let Some(at) = self.wanted.start_at.filter(|at| *at > now)
            && self.state.wait.as_ref().is_none_or(|wait| wait.until < at)
        {
            self.state.wait =
                Some(Wait { until: at, since: now, reason: "the time to start (--start-at)".to_owned() });
        }
        if let Some(Paused { by, .. }) = self.state.paused.clone() {
            self.tell(LoopEvent::Paused { by });
        }
        if let Some(Wait { until, reason, .. }) = self.state.wait.clone() {
            self.tell(LoopEvent::Waiting { until, reason });
        }
        let ids: Vec<TaskId> = self.active().map(|record| record.task.id.clone()).collect();
        for id in ids {
            self.resume(&id);
        }
        self.request_list();
        self.tick(now);
    }

    /// Requests the list, which a person may have changed meanwhile.
    pub(super) fn request_list(&mut self) {
        if !std::mem::replace(&mut self.list_requested, true) {
            self.act(Action::ReadTasks);
        }
    }

    pub(super) fn tasks_read(&mut self, now: i64, tasks: Vec<Task>) {
        self.list_requested = false;
        let is_same = |(record, task): (&TaskRecord, &Task)| record.task.id == task.id;
        let is_kept = |record: &TaskRecord| !record.attempts.is_empty() || record.step.is_some();
        let (old, count) = (&self.state.tasks, tasks.len());
        let is_known = old.len() >= count && old.iter().zip(&tasks).all(is_same);
        if !(is_known && old.iter().skip(count).all(is_kept)) {
            self.reorder(&tasks);
        }
        for (record, task) in self.state.tasks.iter_mut().zip(tasks) {
            let state = match record.state {
                // A person has checked or unchecked its box.
                TaskState::Pending if task.done => TaskState::Done,
                TaskState::Done if !task.done && record.receipt.is_none() => TaskState::Pending,
                state => state,
            };
            if record.state == TaskState::Pending && state == TaskState::Done {
                record.is_checked_by_hand = true;
            }
            if record.state != state || record.task != task {
                self.changed.add(&task.id);
                record.state = state;
                record.task = task;
            }
        }
        self.schedule(now);
    }

    /// Puts the records into the order of the list. A task that a person removed from the list keeps its record if it
    /// has attempts or is in progress.
    fn reorder(&mut self, tasks: &[Task]) {
        self.changed.add_list();
        let old = std::mem::take(&mut self.state.tasks);
        let mut old: BTreeMap<TaskId, (usize, TaskRecord)> = old
            .into_iter()
            .enumerate()
            .map(|(place, record)| (record.task.id.clone(), (place, record)))
            .collect();
        for task in tasks {
            let known = old.remove(&task.id).map(|(_, record)| record);
            if known.is_none() {
                self.changed.add(&task.id);
            }
            self.state.tasks.push(known.unwrap_or_else(|| TaskRecord::new(task.clone())));
        }
        let mut left: Vec<(usize, TaskRecord)> = old.into_values().collect();
        left.retain(|(_, record)| !record.attempts.is_empty() || record.step.is_some());
        left.sort_by_key(|(place, _)| *place);
        self.state.tasks.extend(left.into_iter().map(|(_, record)| record));
    }

    pub(super) fn tick(&mut self, now: i64) {
        if let Some(wait) = &self.state.wait {
            if self.stopping.is_some() {
                return self.finish_if_idle(now);
            }
            if now < wait.until {
                let until = wait.until;
                return self.act(Action::WakeAt(until));
            }
            self.state.wait = None;
            self.tell(LoopEvent::WaitEnded);
            let waiting: Vec<TaskId> = self.active().map(|record| record.task.id.clone()).collect();
            for id in waiting {
                self.put_back(&id);
                self.continue_review(&id);
            }
            self.request_list();
        }
    }

    /// Starts the tasks that can start.
    pub(super) fn schedule(&mut self, now: i64) {
        self.merge_next();
        while self.stopping.is_none()
            && self.state.wait.is_none()
            && self.active().count() < self.state.parallel
        {
            if self.is_enough() {
                self.stop(RunEnd::Enough);
                break;
            }
            let Some(id) = self.next_ready().filter(|_| self.state.paused.is_none()) else { break };
            if let Some(limit) = self.state.limit_reached() {
                self.stop(RunEnd::Limit { limit });
                break;
            }
            self.stop_in_time(now);
            if self.stopping.is_some() || self.wait_for_plan(now) {
                break;
            }
            self.begin(&id);
        }
        self.finish_if_idle(now);
    }

    /// Ends the run when the time has come that a person has set.
    pub(super) fn stop_in_time(&mut self, now: i64) {
        if let Some(at) = self.wanted.stop_at.filter(|at| now >= *at) {
            self.stop(RunEnd::TimeIsUp { at });
        }
    }

    /// Whether `--once` or `--until` is fulfilled.
    fn is_enough(&self) -> bool {
        let is_over = |id: &TaskId| {
            self.record(id).is_some_and(|record| {
                matches!(record.state, TaskState::Done | TaskState::Failed | TaskState::Skipped)
            })
        };
        self.state.once.is_some_and(|ended| ended > 0 || self.active().next().is_some())
            || self.wanted.until.as_ref().is_some_and(is_over)
    }

    fn next_ready(&self) -> Option<TaskId> {
        let pending = self.state.tasks.iter().filter(|record| record.state == TaskState::Pending);
        let mut ready = pending.filter(|record| self.readiness(record) == Readiness::Ready);
        ready.next().map(|record| record.task.id.clone())
    }

    /// Whether a task may start.
    pub fn readiness(&self, record: &TaskRecord) -> Readiness {
        readiness(&record.task.needs, |need| match self.record(need).map(|record| record.state) {
            Some(TaskState::Done) => Some(true),
            Some(TaskState::Pending | TaskState::Active) => Some(false),
            Some(TaskState::Failed | TaskState::Skipped) | None => None,
        })
    }

    fn begin(&mut self, id: &TaskId) {
        self.is_list_confirmed = false;
        let taken: Vec<u32> = self.active().filter_map(|record| record.slot).collect();
        let free = (1..u32::MAX).find(|slot| !taken.contains(slot));
        let Some(record) = self.record_mut(id) else { return };
        record.slot = free;
        record.state = TaskState::Active;
        record.step = Some(Step::Preparing);
        let title = record.task.title.clone();
        self.tell(LoopEvent::TaskStarted { task: id.clone(), title });
        self.act(Action::Prepare(id.clone()));
    }

    /// Waits for the next window if the CLI reports that too much of the account's window is used.
    fn wait_for_plan(&mut self, now: i64) -> bool {
        let Some(plan) = &self.state.plan else { return false };
        let used = plan.utilization.unwrap_or(0.0);
        let resets_at =
            plan.resets_at.map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX / 1000) * 1000);
        let Some(until) =
            resets_at.filter(|until| *until > now && used >= self.state.limits.plan_utilization)
        else {
            return false;
        };
        let reason =
            format!("{:.0}% of the account's window is used (limits.plan_utilization)", used * 100.0);
        self.wait(now, until, reason);
        true
    }

    /// Waits until a time plus a margin, or ends the run if that is too long.
    pub(super) fn wait(&mut self, now: i64, until: i64, reason: String) {
        let policy = &self.config.rate_limit;
        let until = until.max(now).saturating_add(millis(policy.margin.as_millis()));
        // A wait that was already announced is not shortened, and not counted again.
        let announced = self.state.wait.as_ref().map_or(now, |wait| wait.until.max(now));
        let until = until.max(announced);
        // Waits with no progress in between count as one, so that a limit that is never lifted ends the run.
        let more = u64::try_from(until - announced).unwrap_or(0);
        let in_a_row = self.state.waited_ms.saturating_add(more);
        if in_a_row > policy.longest_wait.as_millis() {
            return self.stop(RunEnd::WaitTooLong { until });
        }
        if let Some(at) = self.wanted.stop_at.filter(|at| until >= *at) {
            return self.stop(RunEnd::TimeIsUp { at });
        }
        self.state.waited_ms = in_a_row;
        self.state.wait = Some(Wait { until, since: now, reason: reason.clone() });
        self.tell(LoopEvent::Waiting { until, reason });
        self.act(Action::WakeAt(until));
    }

    /// Ends the run if nothing is in progress and nothing can start.
    pub(super) fn finish_if_idle(&mut self, now: i64) {
        let is_waiting = self.state.wait.is_some();
        // A parked task is not being worked on.
        let at_work = self.active().any(|record| !(self.is_parked(record)));
        if at_work || self.finished {
            return;
        }
        let is_last = self.stopping.as_ref().is_none_or(|end| *end == RunEnd::Enough);
        if is_last && self.last_check == LastCheck::Running {
            return;
        }
        if let Some(end) = self.stopping.clone() {
            if is_last && self.begin_last_check() {
                return;
            }
            return self.finish(now, end);
        }
        if is_waiting || self.list_requested || self.active().next().is_some() {
            return;
        }
        if self.state.paused.is_some() && self.next_ready().is_some() {
            return;
        }
        if self.begin_last_check() {
            return;
        }
        if self.state.tasks.iter().any(|record| record.state != TaskState::Done) {
            return self.finish(now, RunEnd::Unfinished);
        }
        if !std::mem::replace(&mut self.is_list_confirmed, true) {
            // A person may have added a task during the last check.
            return self.request_list();
        }
        let open = self.state.tasks.iter().filter(|record| !record.task.done);
        let open: Vec<TaskId> = open.map(|record| record.task.id.clone()).collect();
        let waits = self.state.line.as_ref().is_some_and(|line| line.tip != line.published);
        self.finish(
            now,
            match open.is_empty() {
                true => RunEnd::Completed,
                // Their boxes are checked there.
                false if waits && self.config.git.results == Results::Branches => RunEnd::OnBranches,
                false => RunEnd::BoxesOpen { tasks: open },
            },
        );
    }

    /// Begins the check of the last commit, if it can differ from the check of the last task: caches were kept, or tasks
    /// were merged. Returns whether it has begun.
    fn begin_last_check(&mut self) -> bool {
        let checked = self.state.baseline.as_ref().map(|baseline| &baseline.commit);
        let has_more = self.state.line.as_ref().is_some_and(|line| checked != Some(&line.tip));
        let is_needed = has_more || !self.config.kept_folders().is_empty() || self.state.parallel > 1;
        let has_work = self.state.tasks.iter().any(|record| record.receipt.is_some());
        if self.last_check != LastCheck::Open || !is_needed || !has_work || self.config.gates.is_empty() {
            return false;
        }
        self.last_check = LastCheck::Running;
        self.act(Action::CheckLast);
        true
    }

    pub(super) fn last_checked(&mut self, now: i64, problem: Option<String>) {
        self.last_check = LastCheck::Made;
        if let Some(why) = problem {
            self.stopping = Some(RunEnd::Unconfirmed { why });
        }
        self.finish_if_idle(now);
    }

    /// Whether an active task is on hold until a wait is over or the program is started again.
    pub(super) fn is_parked(&self, record: &TaskRecord) -> bool {
        match record.step {
            Some(Step::Restoring { .. } | Step::Reviewing { session_id: None, .. }) => {
                self.is_held() || self.stopping.is_some()
            }
            // An interrupt does not wait for gates; they run again with the next start.
            Some(
                Step::Preparing | Step::GatesBefore { .. } | Step::GatesAfter { .. } | Step::Merging { .. },
            ) => self.stopping == Some(RunEnd::Interrupted),
            _ => false,
        }
    }
}

pub(super) fn millis(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX / 4)
}
