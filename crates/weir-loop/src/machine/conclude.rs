//! The end of an attempt, and of a task.

use super::{Action, Machine};
use crate::agent::AgentRun;
use crate::config::OnDenial;
use crate::event::LoopEvent;
use crate::limits::{LimitTable as _, TaskLimits, Unit};
use crate::outcome::{Failure, GateResult, Inspection, Outcome};
use crate::state::{Baseline, Receipt, Review, RunEnd, Step, TaskRecord, TaskState};
use crate::tasks::TaskId;

/// This many consecutive tasks with the same failure end the run: the problem is not in the tasks.
const MAX_SAME_FAILURES: usize = 3;

impl Machine {
    #[expect(clippy::too_many_arguments, reason = "all of it goes into the receipt")]
    pub(super) fn attempt_succeeded(
        &mut self,
        now: i64,
        id: &TaskId,
        number: u32,
        run: &AgentRun,
        work: Box<Inspection>,
        gates: Vec<GateResult>,
        review: Option<Review>,
    ) {
        self.push_attempt(now, id, number, run, None, true);
        self.learn(id, run);
        let Some(record) = self.record_mut(id) else { return };
        record.receipt = Some(Box::new(Receipt { review, ..receipt(record, run, &work, &gates) }));
        record.step = Some(Step::Committing { work, merges: None });
        let on_branch = self.state.parallel > 1;
        if !on_branch {
            // The gates have just run on what will be committed. The commit id is filled in once it is known.
            self.state.baseline = Some(Baseline { commit: String::new(), gates });
        }
        self.act(Action::MakeCommit { task: id.clone(), on_branch, merges: None });
    }

    fn learn(&mut self, id: &TaskId, run: &AgentRun) {
        if let Some(key) = run.session_id.clone() {
            self.act(Action::Learn { task: id.clone(), key, text: run.text.clone() });
        }
    }

    pub(super) fn commit_made(&mut self, id: &TaskId, commit: String, parent: String) {
        let Some(Step::Committing { work, merges }) = self.record(id).and_then(|record| record.step.clone())
        else {
            return;
        };
        if self.state.parallel > 1 && merges.is_none() {
            // The commit is on the task's own branch.
            self.set_step(id, Step::Merging { commit, work });
            return self.merge_next();
        }
        self.set_step(id, Step::Advancing { commit: commit.clone(), parent: parent.clone(), work });
        self.act(Action::Advance { task: id.clone(), commit, parent });
    }

    /// Merges in the order of the list, one at a time.
    pub(super) fn merge_next(&mut self) {
        let mut found = None;
        for record in self.active() {
            match &record.step {
                Some(Step::Merging { commit, work }) => {
                    found = Some((record.task.id.clone(), commit.clone(), work.clone()));
                    break;
                }
                // A parked task does not hold up the others.
                Some(Step::Restoring { .. }) if self.is_held() => {}
                // A task earlier in the list, or one being merged: wait for it.
                _ => return,
            }
        }
        let Some((task, commit, work)) = found else { return };
        if self.stopping == Some(RunEnd::Interrupted) {
            return;
        }
        self.set_step(&task, Step::Committing { work, merges: Some(commit.clone()) });
        self.act(Action::MakeCommit { task, on_branch: false, merges: Some(commit) });
    }

    /// The work conflicts with what was merged before it, or the gates fail on both: it is done again on that, once.
    pub(super) fn not_merged(&mut self, id: &TaskId, why: &str, output: String) {
        let Some(record) = self.record(id) else { return };
        let Some(Step::Committing { merges: Some(commit), .. }) = record.step.clone() else { return };
        let is_last = record.is_requeued || self.is_unwanted(id) || self.stopping.is_some();
        if is_last || self.state.limit_reached().is_some() {
            return self.shelve(id, Failure::new(Outcome::Failed, why, output));
        }
        let output =
            format!("{output}\n\nThe work of that attempt is the commit {commit}: `git show {commit}`.");
        self.tell(LoopEvent::Warning {
            text: format!("task {id}: {why}; it is tried once more, on what was merged before it"),
        });
        let Some(record) = self.record_mut(id) else { return };
        record.is_requeued = true;
        record.failure = Some(Box::new(Failure::new(Outcome::Failed, why, output)));
        record.receipt = None;
        record.before = Vec::new();
        record.base = None;
        record.step = Some(Step::Preparing);
        self.act(Action::Prepare(id.clone()));
    }

    pub(super) fn advanced(&mut self, now: i64, id: &TaskId, ticked: bool, branch: Option<String>) {
        let Some(Step::Advancing { commit, parent, .. }) =
            self.record(id).and_then(|record| record.step.clone())
        else {
            return;
        };
        if let Some(baseline) = self.state.baseline.as_mut().filter(|baseline| baseline.commit.is_empty()) {
            baseline.commit.clone_from(&commit);
        }
        let Some(record) = self.record_mut(id) else { return };
        record.state = TaskState::Done;
        record.task.done = ticked;
        // Of a finished task only the receipt is kept, because a list of thousands stays in memory during the run.
        record.step = None;
        record.slot = None;
        record.base = None;
        record.before = Vec::new();
        record.failure = None;
        record.is_requeued = false;
        if let Some(receipt) = &mut record.receipt {
            receipt.commit.clone_from(&commit);
            receipt.parent = parent;
            receipt.branch = branch;
        }
        let cost_usd = record.receipt.as_ref().and_then(|receipt| receipt.cost_usd);
        let checked = !record.is_done_unchecked();
        self.tell(LoopEvent::TaskDone { task: id.clone(), commit, cost_usd, checked });
        self.task_ended(now);
    }

    /// An attempt did not succeed: tries again with what is known now, or gives the task up. `tree` is the work, if it
    /// was inspected.
    pub(super) fn attempt_failed(
        &mut self,
        now: i64,
        id: &TaskId,
        number: u32,
        run: &AgentRun,
        failure: Failure,
        tree: Option<&str>,
    ) {
        self.push_attempt(now, id, number, run, Some(failure.clone()), true);
        self.learn(id, run);
        if self.is_unwanted(id) {
            return self.leave_out(id);
        }
        let limits = self.limits_of(id);
        let Some(record) = self.record(id) else { return };
        let same = record.attempts.iter().filter(|attempt| attempt.counted);
        let same = same
            .filter(|attempt| attempt.failure.as_ref().is_some_and(|f| f.fingerprint == failure.fingerprint));
        let is_stuck = same.count() >= limits.same_failure as usize;
        let over = over_task_limits(record, &limits, failure.outcome);
        // Only a failure of the loop's own checks is worth another attempt; a failure of the session itself is not.
        let tree = tree.filter(|_| failure.outcome == Outcome::Failed);
        if let (Some(tree), false, None) = (tree, is_stuck || record.counted() >= limits.attempts, &over) {
            // Limits are checked only after the attempt was judged.
            if let Some(limit) = self.state.limit_reached() {
                self.stop(RunEnd::Limit { limit });
            }
            self.stop_in_time(now);
            if self.stopping.is_some() {
                // The next start resumes with the next attempt, on top of this one's work.
                self.set_step(
                    id,
                    Step::Restoring { number: number + 1, tree: tree.to_owned(), retried: false },
                );
                return self.finish_if_idle(now);
            }
            return self.begin_session(id, number + 1, tree.to_owned(), false, false);
        }
        let failure = over.map_or(failure, |why| Failure::new(Outcome::Budget, why, ""));
        self.shelve(id, failure);
    }

    pub(super) fn shelve(&mut self, id: &TaskId, failure: Failure) {
        let failure = Box::new(failure);
        self.set_step(id, Step::Shelving { failure: failure.clone() });
        self.act(Action::Shelve { task: id.clone(), failure });
    }

    /// The work is safe, so the workspace may be cleaned. If both were one step, a kill in between would make the next
    /// start keep a half-cleaned workspace.
    pub(super) fn shelved(&mut self, id: &TaskId, kept: Option<String>) {
        let Some(Step::Shelving { failure }) = self.record(id).and_then(|record| record.step.clone()) else {
            return;
        };
        self.set_step(id, Step::Clearing { failure, kept: kept.clone() });
        self.act(Action::Clear { task: id.clone(), kept });
    }

    pub(super) fn cleared(&mut self, now: i64, id: &TaskId) {
        let Some(Step::Clearing { failure, kept }) = self.record(id).and_then(|record| record.step.clone())
        else {
            return;
        };
        let Some(record) = self.record_mut(id) else { return };
        record.step = None;
        record.slot = None;
        record.receipt = None;
        record.kept.clone_from(&kept);
        if std::mem::take(&mut record.is_unwanted) {
            record.state = TaskState::Skipped;
            self.tell(LoopEvent::TaskSkipped { task: id.clone(), kept });
            return self.task_ended(now);
        }
        record.state = TaskState::Failed;
        record.failure = Some(failure.clone());
        let event = match failure.outcome {
            Outcome::Stopped => LoopEvent::TaskStopped { task: id.clone(), kept },
            outcome => {
                LoopEvent::TaskFailed { task: id.clone(), outcome, reason: failure.reason.clone(), kept }
            }
        };
        self.tell(event);
        if failure.outcome == Outcome::Denied && self.config.permissions.on_denial == OnDenial::Halt {
            self.stop(RunEnd::Denied { task: id.clone() });
        }
        // A task that a person stopped says nothing about the next one.
        if failure.outcome != Outcome::Stopped && self.is_repeated_failure(&failure.fingerprint) {
            self.stop(RunEnd::SameFailure { reason: failure.reason.clone() });
        }
        self.task_ended(now);
    }

    /// Whether the last tasks all failed in this way.
    fn is_repeated_failure(&self, fingerprint: &str) -> bool {
        let mut ended: Vec<&TaskRecord> = self
            .state
            .tasks
            .iter()
            .filter(|record| !record.attempts.is_empty() && record.step.is_none())
            .collect();
        ended.sort_by_key(|record| record.attempts.last().map_or(0, |attempt| attempt.ended_at));
        let last = ended.iter().rev().take(MAX_SAME_FAILURES);
        let is_same = |record: &&&TaskRecord| {
            record.state == TaskState::Failed
                && record.failure.as_ref().is_some_and(|f| f.fingerprint == fingerprint)
        };
        last.filter(is_same).count() >= MAX_SAME_FAILURES
    }

    fn task_ended(&mut self, now: i64) {
        self.state.once = self.state.once.map(|ended| ended.saturating_add(1));
        self.merge_next();
        if self.stopping.is_some() {
            return self.finish_if_idle(now);
        }
        let is_merging = self.active().any(|record| {
            matches!(record.step, Some(Step::Committing { merges: Some(_), .. } | Step::Advancing { .. }))
        });
        if is_merging {
            // The list is being written; it is read once that is done.
            return self.schedule(now);
        }
        self.request_list();
    }
}

/// The limit of the task that keeps it from another attempt, if any.
fn over_task_limits(record: &TaskRecord, limits: &TaskLimits, outcome: Outcome) -> Option<String> {
    // A session that timed out already says so itself.
    let counts = |unit| unit != Unit::Time || outcome != Outcome::TimedOut;
    let (limit, used, max) = limits.reached(record).find(|(limit, ..)| counts(limit.unit))?;
    Some(limit.reached_words(used, max))
}

fn receipt(record: &TaskRecord, run: &AgentRun, work: &Inspection, gates: &[GateResult]) -> Receipt {
    let known = record.attempts.iter().any(|attempt| attempt.cost_usd.is_some());
    let mut models: Vec<String> =
        record.attempts.iter().flat_map(|attempt| &attempt.models).map(|model| model.model.clone()).collect();
    models.sort();
    models.dedup();
    Receipt {
        commit: String::new(),
        parent: String::new(),
        branch: None,
        cost_usd: known.then(|| record.cost_usd()),
        tokens: record.tokens(),
        duration_ms: record.took_ms(),
        turns: run.turns,
        attempts: record.counted(),
        models,
        session_id: run.session_id.clone(),
        log: record.attempts.last().and_then(|attempt| attempt.log.clone()),
        gates: gates.iter().map(|gate| (gate.name.clone(), gate.took_ms)).collect(),
        gate_output: gates.iter().map(|gate| gate.output.clone()).collect(),
        diff: (work.files, work.added, work.removed),
        review: None,
        touched: work.touched.clone(),
        setup: run.setup.clone(),
    }
}
