//! The end of a process or of its start: the reason, and who is told.

use std::sync::Arc;

use weir_process::{Exit, LogError};
use weir_transcript::{Entry, EntryBody, HostEvent, Notice};

use super::super::action::Action;
use super::super::event::Ticket;
use super::super::{Machine, Sink};
use super::{EndCause, Plan, State, Waits};
use crate::error::SessionError;

/// Maximum number of plain text lines used to explain why a process ended.
const MAX_LINES: usize = 20;

impl Machine {
    pub(in crate::machine) fn log_failed(
        &mut self,
        error: Arc<LogError>,
        required: bool,
        sink: &mut dyn Sink,
    ) {
        self.record(HostEvent::LogFailed { message: error.to_string() }, sink);
        if required {
            self.fail_process(SessionError::Log(error));
        }
    }

    /// Ends the process, for this reason.
    pub(in crate::machine) fn fail_process(&mut self, error: SessionError) {
        let cause = EndCause::Failed(Box::new(error));
        match &mut self.life.state {
            State::Absent | State::Over => {}
            State::Starting { .. } | State::Initialising | State::Ready => {
                self.life.begin_ending(cause, false);
                self.actions.push(Action::End);
            }
            // The first failure counts.
            State::Ending(ending) if matches!(ending.cause, EndCause::Failed(_)) => {}
            State::Ending(ending) => ending.cause = cause,
        }
    }

    pub(in crate::machine) fn start_failed(&mut self, error: SessionError, sink: &mut dyn Sink) {
        let error = match (self.life.is_stopping(), self.watchdog.take_fired()) {
            (true, _) => SessionError::Stopped,
            (false, Some((phase, after))) => SessionError::TimedOut { phase, after, stderr: String::new() },
            (false, None) => self.life.failure().cloned().unwrap_or(error),
        };
        // If it was closed on request before it started, callers waiting for a process need not fail.
        if self.life.plan != Plan::Close {
            self.give_up(&error, true, sink);
        }
        self.process_is_gone();
    }

    /// Fails callers waiting for a process: all of them, or only those that waited for this one.
    fn give_up(&mut self, error: &SessionError, all: bool, sink: &mut dyn Sink) {
        let is_over = |(_, waits): &mut (Ticket, Waits)| all || *waits == Waits::ForThisProcess;
        let over: Vec<(Ticket, Waits)> = self.life.starting.extract_if(.., is_over).collect();
        for (ticket, _) in over {
            self.reply(ticket, Err(error.clone()));
        }
        self.drop_queue(error, all, sink);
    }

    pub(super) fn process_is_gone(&mut self) {
        self.life.escalate_at = None;
        self.life.heard_of_work(false);
        self.life.complaint = None;
        self.life.forget_plan();
        for (_, waits) in &mut self.life.starting {
            *waits = Waits::ForThisProcess;
        }
        self.life.state = if self.life.is_stopping() { State::Over } else { State::Absent };
        self.messages.process_is_gone();
        self.tell_ended();
    }

    pub(in crate::machine) fn process_exited(&mut self, exit: Exit, stderr: String, sink: &mut dyn Sink) {
        let has_failed = self.life.failure().is_some();
        let stderr = if stderr.trim().is_empty() { self.plain_text_of_process() } else { stderr };
        let error = self.end_of_process(exit, &stderr);
        let wanted =
            matches!(&self.life.state, State::Ending(ending) if matches!(ending.cause, EndCause::Requested));
        let event = HostEvent::ProcessExited { code: exit.code, signal: exit.signal, stderr, wanted };
        self.messages.process_ends_with(error.clone());
        self.record(event, sink);
        self.lose_written(&error);
        self.fail_requests(&error);
        self.forget_asks();
        // A CLI that ends by itself before it takes a message would do so again, forever. One that we ended on
        // request is not a reason to fail callers waiting for the next.
        let all = self.life.is_stopping() || has_failed;
        if all || self.life.plan != Plan::Close && !self.messages.has_sent() {
            self.give_up(&error, all, sink);
        }
        self.process_is_gone();
    }

    /// The last plain text that the process printed in place of protocol lines. Some processes explain there
    /// why they end; on a terminal all diagnostics are there.
    fn plain_text_of_process(&self) -> String {
        let is_ours = |entry: &&Arc<Entry>| self.life.started_after.is_none_or(|before| entry.id > before);
        let ours = self.view().entries.iter().rev().take_while(is_ours);
        let mut lines: Vec<&str> = ours
            .filter_map(|entry| match &entry.body {
                EntryBody::Notice { notice: Notice::PlainText { text } } => Some(text.as_str()),
                _ => None,
            })
            .take(MAX_LINES)
            .collect();
        lines.reverse();
        lines.join("\n")
    }

    /// Why the process ended, as the error for those waiting on it.
    fn end_of_process(&mut self, exit: Exit, stderr: &str) -> SessionError {
        if let Some((phase, after)) = self.watchdog.take_fired() {
            return SessionError::TimedOut { phase, after, stderr: stderr.to_owned() };
        }
        if self.life.is_stopping() {
            return SessionError::Stopped;
        }
        if let Some(failure) = self.life.failure() {
            return failure.clone();
        }
        SessionError::Died { exit, reason: self.life.complaint.take(), stderr: stderr.to_owned(), text: None }
    }
}
