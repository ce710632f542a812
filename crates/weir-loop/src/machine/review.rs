//! The review of work that has passed the gates, by a second session that can only read.

use super::{Action, Machine, ReviewOrder};
use crate::agent::AgentRun;
use crate::judge::{judge_review, judge_run};
use crate::outcome::{Failure, GateResult, Inspection, Outcome};
use crate::state::{Attempt, Review, RunEnd, Step, last_words};
use crate::tasks::TaskId;

impl Machine {
    /// The work has passed the gates: lets it be reviewed, if that is wanted.
    pub(super) fn gates_passed(
        &mut self,
        now: i64,
        id: &TaskId,
        number: u32,
        run: Box<AgentRun>,
        work: Box<Inspection>,
        gates: Vec<GateResult>,
    ) {
        if self.config.review.is_none() {
            return self.attempt_succeeded(now, id, number, &run, work, gates, None);
        }
        self.set_step(id, Step::Reviewing { number, run, work, gates, session_id: None });
        self.begin_review(id);
    }

    /// Begins the review, unless a wait is not over, or the run is to end.
    pub(super) fn begin_review(&mut self, id: &TaskId) {
        if let Some(limit) = self.state.limit_reached() {
            self.stop(RunEnd::Limit { limit });
        }
        if self.is_held() || self.stopping.is_some() {
            return;
        }
        let new_id = (self.new_id)();
        let (run, task) = (self.state.limits.clone(), self.limits_of(id));
        let budget = self.state.counted_budget();
        let Some(record) = self.record_mut(id) else { return };
        let left = (task.cost_usd - record.cost_usd()).min(run.cost_usd - budget.cost_usd);
        let Some(Step::Reviewing { session_id, .. }) = &mut record.step else { return };
        *session_id = Some(new_id.clone());
        // At least a cent: with nothing left the CLI would not even start.
        let order = ReviewOrder { task: id.clone(), session_id: new_id, max_cost_usd: left.max(0.01) };
        self.act(Action::Review(order));
    }

    /// Begins a review that has waited.
    pub(super) fn continue_review(&mut self, id: &TaskId) {
        let step = self.record(id).and_then(|record| record.step.as_ref());
        if matches!(step, Some(Step::Reviewing { session_id: None, .. })) {
            self.begin_review(id);
        }
    }

    /// The review has ended.
    pub(super) fn reviewed(&mut self, now: i64, id: &TaskId, review: AgentRun) {
        let Some(Step::Reviewing { number, run, work, gates, .. }) =
            self.record(id).and_then(|record| record.step.clone())
        else {
            return;
        };
        let failure = judge_run(&review);
        let outcome = failure.as_ref().map_or(Outcome::Done, |failure| failure.outcome);
        if let Some(record) = self.record_mut(id) {
            record.attempts.push(Attempt {
                is_review: review.setup.is_some() || review.tokens > 0 || review.tools > 0,
                failure: failure.clone().map(Box::new),
                ..Attempt::of(now, number, outcome, &review)
            });
        }
        if self.is_unwanted(id) {
            return self.leave_out(id);
        }
        if let Some(failure) = failure
            .as_ref()
            .filter(|failure| matches!(failure.outcome, Outcome::Interrupted | Outcome::RateLimited))
        {
            // It begins again when the wait is over, or with the next start.
            self.set_step(id, Step::Reviewing { number, run, work, gates, session_id: None });
            if failure.outcome == Outcome::RateLimited {
                self.wait_for_limit(now, &review, failure.reason.clone());
            } else if self.stopping.is_none() {
                self.begin_review(id);
            }
            return self.schedule(now);
        }
        let verdict = failure.map_or_else(|| judge_review(&review.text), Err);
        match verdict {
            Ok(()) => {
                let review =
                    Review { approves: true, said: last_words(&review.text), session_id: review.session_id };
                self.attempt_succeeded(now, id, number, &run, work, gates, Some(review));
            }
            Err(failure) => {
                let reason = format!("the review: {}", failure.reason);
                let failure = Failure::new(Outcome::Failed, reason, failure.output);
                self.attempt_failed(now, id, number, &run, failure, Some(&work.tree));
            }
        }
    }
}
