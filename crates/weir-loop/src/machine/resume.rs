//! Resumes what was in progress when the program was stopped or killed.

use super::{Action, Machine};
use crate::agent::{AgentEnd, AgentRun};
use crate::event::LoopEvent;
use crate::outcome::{Failure, Outcome};
use crate::state::Step;
use crate::tasks::TaskId;

impl Machine {
    /// Repeats the step of a task. It is either recognised as done, or done again from the same starting point.
    pub(super) fn resume(&mut self, id: &TaskId) {
        self.learn_again(id);
        if self.is_unwanted(id) && self.can_be_left_out_at_once(id) {
            return self.leave_out(id);
        }
        let Some(record) = self.record(id) else { return };
        let task = id.clone();
        let base = record.base.clone().unwrap_or_default();
        let action = match record.step.clone() {
            None | Some(Step::Preparing) => Action::Prepare(task),
            Some(Step::GatesBefore { .. } | Step::GatesAfter { .. }) => Action::RunGates(task),
            Some(Step::Agent { session_id, .. }) => Action::Recover { task, session_id },
            Some(Step::Restoring { .. }) => return self.put_back(id),
            Some(Step::Reviewing { session_id: Some(session_id), .. }) => {
                Action::Recover { task, session_id }
            }
            Some(Step::Reviewing { .. }) => return self.begin_review(id),
            Some(Step::Inspecting { seen, .. }) => Action::Inspect { task, base, seen },
            Some(Step::Merging { .. }) => return,
            Some(Step::Committing { merges, .. }) => {
                Action::MakeCommit { on_branch: self.state.parallel > 1 && merges.is_none(), task, merges }
            }
            Some(Step::Advancing { commit, parent, .. }) => Action::Advance { task, commit, parent },
            Some(Step::Shelving { failure }) => Action::Shelve { task, failure },
            Some(Step::Clearing { kept, .. }) => Action::Clear { task, kept },
        };
        self.act(action);
    }

    /// What the last session learned is recorded after the session was counted, so a kill may have come in between.
    fn learn_again(&mut self, id: &TaskId) {
        let last = self.record(id).and_then(|record| record.attempts.last());
        // A session that was cut off is repeated, and records its own lessons.
        let known = last
            .filter(|attempt| attempt.counted)
            .and_then(|attempt| attempt.session_id.clone().zip(attempt.log.as_deref().map(Into::into)));
        if let Some((key, log)) = known {
            self.act(Action::LearnAgain { task: id.clone(), key, log });
        }
    }

    /// Restores a workspace, unless a wait is not over.
    pub(super) fn put_back(&mut self, id: &TaskId) {
        if let Some(limit) = self.state.limit_reached() {
            self.stop(crate::state::RunEnd::Limit { limit });
        }
        let is_waiting = self.is_held() || self.stopping.is_some();
        if let Some(Step::Restoring { tree, .. }) = self.record(id).and_then(|record| record.step.clone())
            && !is_waiting
        {
            self.act(Action::Restore { task: id.clone(), tree });
        }
    }

    /// The log of the session was read. If the session ended, its work is there and is judged, so nothing is done
    /// twice.
    pub(super) fn recovered(&mut self, now: i64, id: &TaskId, run: Option<Box<AgentRun>>) {
        if let Some(Step::Reviewing { session_id, .. }) =
            self.record(id).and_then(|record| record.step.as_ref())
        {
            let session_id = session_id.clone();
            let none =
                || Box::new(AgentRun { end: AgentEnd::Interrupted, session_id, ..AgentRun::default() });
            return self.reviewed(now, id, *run.unwrap_or_else(none));
        }
        match run {
            Some(run) => self.agent_ended(now, id, run),
            None => {
                let Some(Step::Agent { session_id, .. }) =
                    self.record(id).and_then(|record| record.step.clone())
                else {
                    return;
                };
                // What it had spent is unknown.
                let run = AgentRun {
                    end: AgentEnd::Interrupted,
                    session_id: Some(session_id),
                    ..AgentRun::default()
                };
                self.agent_ended(now, id, Box::new(run));
            }
        }
    }

    /// A session was cut off: it does not count, and the task starts again from the same tree.
    pub(super) fn cut_off(&mut self, now: i64, id: &TaskId, run: &AgentRun, failure: Failure) {
        let Some(Step::Agent { number, tree, retried, .. }) =
            self.record(id).and_then(|record| record.step.clone())
        else {
            return;
        };
        let outcome = failure.outcome;
        let reason = failure.reason.clone();
        self.push_attempt(now, id, number, run, Some(failure), false);
        self.set_step(id, Step::Restoring { number, tree, retried });
        if outcome == Outcome::RateLimited {
            self.wait_for_limit(now, run, reason);
        }
        let is_interrupted = self.stopping.is_some();
        if !self.is_held() && !is_interrupted {
            self.put_back(id);
        }
        self.schedule(now);
    }

    pub(super) fn wait_for_limit(&mut self, now: i64, run: &AgentRun, reason: String) {
        let resets_at =
            run.rate_limit.as_ref().filter(|limit| limit.rejected).and_then(|limit| limit.resets_at);
        let until = match resets_at {
            Some(seconds) => i64::try_from(seconds).unwrap_or(i64::MAX / 1000).saturating_mul(1000),
            None => {
                now.saturating_add(super::schedule::millis(self.config.rate_limit.unknown_wait.as_millis()))
            }
        };
        self.wait(now, until, reason);
    }

    /// The workspace is back to what it was before the session that was cut off.
    pub(super) fn restored(&mut self, id: &TaskId) {
        let Some(Step::Restoring { number, tree, retried }) =
            self.record(id).and_then(|record| record.step.clone())
        else {
            return;
        };
        if self.is_unwanted(id) {
            return self.leave_out(id);
        }
        // A session is repeated only if one was cut off; otherwise the run was paused before it began.
        let again =
            self.record(id).and_then(|record| record.attempts.last()).is_some_and(|last| !last.counted);
        self.begin_session(id, number, tree, retried, again);
    }

    pub(super) fn asked(&mut self, question: crate::state::OpenQuestion) {
        self.state.questions.push(question.clone());
        self.tell(LoopEvent::Asked(question));
    }

    pub(super) fn ask_ended(&mut self, id: &str, by: Option<String>, answers: Vec<(String, String)>) {
        let Some(place) = self.state.questions.iter().position(|question| question.id == id) else { return };
        let question = self.state.questions.remove(place);
        // If the session has to start again, the same question is not asked a second time.
        if let Some(record) = self.record_mut(&question.task) {
            record.answers.extend(answers);
        }
        self.tell(LoopEvent::AskEnded { id: question.id, by });
    }
}
