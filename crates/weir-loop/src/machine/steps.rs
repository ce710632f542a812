//! The steps of one task, in order.

use super::skip::left_out;
use super::{Action, AgentOrder, Machine};
use crate::agent::{AgentEnd, AgentRun};
use crate::event::LoopEvent;
use crate::judge::{judge_gates, judge_run, judge_work};
use crate::outcome::{Failure, GateResult, Inspection, Outcome};
use crate::state::{Attempt, Baseline, OpenQuestion, RunEnd, Step};
use crate::tasks::TaskId;

impl Machine {
    pub(super) fn set_step(&mut self, id: &TaskId, step: Step) {
        if let Some(record) = self.record_mut(id) {
            record.step = Some(step);
        }
    }

    pub(super) fn prepared(&mut self, id: &TaskId, head: String, tree: String) {
        let known = self.state.baseline.as_ref().filter(|baseline| baseline.commit == head);
        let known = known.map(|baseline| baseline.gates.clone());
        let no_gates = self.config.gates.is_empty();
        let Some(record) = self.record_mut(id) else { return };
        let number = if record.is_requeued { record.counted() + 1 } else { 1 };
        record.base = Some(head);
        if record.is_unwanted {
            return self.leave_out(id);
        }
        match known {
            Some(gates) => {
                record.before = gates;
                self.begin_session(id, number, tree, false, false);
            }
            None if no_gates => self.begin_session(id, number, tree, false, false),
            None => {
                record.step = Some(Step::GatesBefore { tree });
                self.act(Action::RunGates(id.clone()));
            }
        }
    }

    /// Starts a session. `again` if an earlier one for the same attempt was cut off.
    pub(super) fn begin_session(
        &mut self,
        id: &TaskId,
        number: u32,
        tree: String,
        retried: bool,
        again: bool,
    ) {
        if self.state.paused.is_some() {
            // It begins when a person allows it.
            return self.set_step(id, Step::Restoring { number, tree, retried });
        }
        let session_id = (self.new_id)();
        let (run, task) = (self.state.limits.clone(), self.limits_of(id));
        let budget = self.state.counted_budget();
        let Some(record) = self.record_mut(id) else { return };
        record.step = Some(Step::Agent { number, session_id: session_id.clone(), tree, retried });
        // The last attempt that counts says what was wrong; a session that was cut off does not.
        let last = record.attempts.iter().rev().find(|attempt| attempt.counted);
        let failure = last.filter(|_| number > 1).and_then(|attempt| attempt.failure.as_deref().cloned());
        // Its work passed the gates, and could not be merged.
        let failure = failure.or_else(|| record.failure.as_deref().filter(|_| record.is_requeued).cloned());
        let broken = record.before.iter().filter(|gate| !gate.passed).map(|gate| gate.name.clone()).collect();
        let left = (task.cost_usd - record.cost_usd()).min(run.cost_usd - budget.cost_usd);
        let left_of_run = run.wall_time.as_millis().saturating_sub(budget.active_ms);
        let left_of_task = task.wall_time.as_millis().saturating_sub(record.active_ms);
        let order = AgentOrder {
            task: id.clone(),
            number,
            session_id: session_id.clone(),
            failure,
            broken,
            // At least a cent: with nothing left the CLI would not even start.
            max_cost_usd: left.max(0.01),
            timeout_ms: left_of_task.min(left_of_run).max(1000),
        };
        self.tell(LoopEvent::AttemptStarted { task: id.clone(), number, session_id, again });
        self.act(Action::RunAgent(order));
    }

    pub(super) fn gates_ran(&mut self, now: i64, id: &TaskId, results: Vec<GateResult>) {
        let Some(step) = self.record(id).and_then(|record| record.step.clone()) else { return };
        let is_before = matches!(step, Step::GatesBefore { .. });
        let when = if is_before { "before" } else { "after" };
        self.tell(LoopEvent::Gates { task: id.clone(), when, results: results.clone() });
        match step {
            Step::GatesBefore { .. } if self.is_unwanted(id) => self.leave_out(id),
            Step::GatesBefore { tree } => {
                let Some(record) = self.record_mut(id) else { return };
                record.before.clone_from(&results);
                let commit = record.base.clone().unwrap_or_default();
                let number = if record.is_requeued { record.counted() + 1 } else { 1 };
                self.state.baseline = Some(Baseline { commit, gates: results });
                self.begin_session(id, number, tree, false, false);
            }
            Step::GatesAfter { number, run, .. } if self.is_unwanted(id) => {
                self.attempt_failed(now, id, number, &run, left_out(), None);
            }
            Step::GatesAfter { number, run, work } => {
                let before = self.record(id).map(|record| record.before.clone()).unwrap_or_default();
                match judge_gates(&before, &results, self.config.already_broken) {
                    Some(failure) => self.attempt_failed(now, id, number, &run, failure, Some(&work.tree)),
                    None => self.gates_passed(now, id, number, run, work, results),
                }
            }
            _ => {}
        }
    }

    pub(super) fn agent_ended(&mut self, now: i64, id: &TaskId, run: Box<AgentRun>) {
        let Some(Step::Agent { number, tree, retried, .. }) =
            self.record(id).and_then(|record| record.step.clone())
        else {
            return;
        };
        if run.rate_limit.is_some() {
            self.state.plan.clone_from(&run.rate_limit);
        }
        let is_over = |question: &mut OpenQuestion| question.task == *id;
        for question in self.state.questions.extract_if(.., is_over).collect::<Vec<_>>() {
            self.tell(LoopEvent::AskEnded { id: question.id, by: None });
        }
        for warning in &run.warnings {
            self.tell(LoopEvent::Warning { text: format!("task {id}: {warning}") });
        }
        let judged = judge_run(&run);
        let is_cut_off =
            |failure: &Failure| matches!(failure.outcome, Outcome::Interrupted | Outcome::RateLimited);
        if run.tools > 0 || !judged.as_ref().is_some_and(is_cut_off) {
            // The session got through, so the limit that was waited for is over.
            self.state.waited_ms = 0;
        }
        if self.is_unwanted(id) {
            // The attempt is recorded, and counts only if the session ended by itself.
            let counted = !judged.as_ref().is_some_and(is_cut_off);
            self.push_attempt(now, id, number, &run, Some(judged.unwrap_or_else(left_out)), counted);
            return self.leave_out(id);
        }
        match judged {
            Some(failure) if is_cut_off(&failure) => {
                self.cut_off(now, id, &run, failure);
            }
            Some(failure) => {
                if let AgentEnd::NotStarted { why } = &run.end {
                    // The next session would not start either. Nothing was spent, so the task stays as it was.
                    self.stop(RunEnd::NotStarted { why: why.clone() });
                    self.set_step(id, Step::Restoring { number, tree, retried });
                    return self.finish_if_idle(now);
                }
                if !retried && is_worth_a_retry(&run, &failure) {
                    // Not counted, because nothing was done.
                    self.push_attempt(now, id, number, &run, Some(failure), false);
                    self.set_step(id, Step::Restoring { number, tree, retried: true });
                    return self.put_back(id);
                }
                self.attempt_failed(now, id, number, &run, failure, None);
            }
            None => {
                let base = self.record(id).and_then(|record| record.base.clone()).unwrap_or_default();
                self.set_step(id, Step::Inspecting { number, tree, retried, run, seen: None });
                self.act(Action::Inspect { task: id.clone(), base, seen: None });
            }
        }
    }

    /// Notes the tree before anything in it is restored: afterwards it no longer shows what was changed.
    pub(super) fn seen(&mut self, id: &TaskId, tree: String) {
        let Some(record) = self.record_mut(id) else { return };
        let base = record.base.clone().unwrap_or_default();
        if let Some(Step::Inspecting { seen, .. }) = &mut record.step {
            *seen = Some(tree.clone());
            self.act(Action::Inspect { task: id.clone(), base, seen: Some(tree) });
        }
    }

    pub(super) fn inspected(&mut self, now: i64, id: &TaskId, work: Inspection) {
        let Some(Step::Inspecting { number, run, .. }) =
            self.record(id).and_then(|record| record.step.clone())
        else {
            return;
        };
        let unwanted = self.is_unwanted(id).then(left_out);
        if let Some(failure) = unwanted.or_else(|| judge_work(&run, &work)) {
            return self.attempt_failed(now, id, number, &run, failure, Some(&work.tree));
        }
        if !work.nested.is_empty() {
            let text = format!(
                "{}: a separate repository or worktree, so its files are not in the commit of task {id}",
                work.nested.join(", ")
            );
            self.tell(LoopEvent::Warning { text });
        }
        if self.config.gates.is_empty() {
            return self.gates_passed(now, id, number, run, Box::new(work), Vec::new());
        }
        self.set_step(id, Step::GatesAfter { number, run, work: Box::new(work) });
        self.act(Action::RunGates(id.clone()));
    }

    /// Records a session. This is the only place where anything is counted.
    pub(super) fn push_attempt(
        &mut self,
        now: i64,
        id: &TaskId,
        number: u32,
        run: &AgentRun,
        failure: Option<Failure>,
        counted: bool,
    ) {
        let outcome = failure.as_ref().map_or(Outcome::Done, |failure| failure.outcome);
        let event = LoopEvent::AttemptEnded {
            task: id.clone(),
            number,
            outcome,
            reason: failure.as_ref().map(|failure| failure.reason.clone()),
            cost_usd: run.cost_usd,
            counted,
            denials: failure.as_ref().map(|failure| failure.denials.clone()).unwrap_or_default(),
        };
        let has_begun = run.setup.is_some() || run.tokens > 0 || run.tools > 0;
        let attempt = Attempt {
            counted,
            cut_off: !counted && has_begun && outcome == Outcome::Interrupted,
            failure: failure.map(Box::new),
            // For a successful session it is in the receipt.
            setup: run.setup.clone().filter(|_| outcome != Outcome::Done),
            ..Attempt::of(now, number, outcome, run)
        };
        if let Some(record) = self.record_mut(id) {
            // Most tasks have one attempt, and a vector would reserve space for four.
            record.attempts.reserve_exact(1);
            record.attempts.push(attempt);
        }
        self.tell(event);
    }
}

/// Whether a session may be repeated: it crashed or its output was unusable, and no tool had run. A session in which a
/// tool has run is never repeated.
fn is_worth_a_retry(run: &AgentRun, failure: &Failure) -> bool {
    let is_unusable =
        failure.outcome == Outcome::Crashed || run.api_error_status.is_some_and(|status| status >= 500);
    run.tools == 0 && is_unusable
}
