//! Our messages: queued, written, answered.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use weir_process::Version;
use weir_transcript::{HostEvent, Said, Turn, TurnCause, TurnState};
use weir_wire::{
    HostRequest, MessageId, Outgoing, OutgoingBlock, OutgoingContent, OutgoingMessage, TextHandling,
};

use super::action::{Action, Reply, TurnEnd};
use super::control::Purpose;
use super::event::{Now, SendMode, Ticket};
use super::life::Waits;
use super::{Machine, Sink};
use crate::error::SessionError;

/// The first version that leaves text alone if it is marked as composed by a client.
const HONOURS_INERT_MARK: Version = Version::new(2, 1, 248);

/// The oldest examined version that takes a message without answering it; 2.1.61 answers it.
const TAKES_NOTES: Version = Version::new(2, 1, 197);

/// Our messages that are not finished yet.
#[derive(Debug, Default)]
pub(super) struct Messages {
    queued: VecDeque<Queued>,
    /// Written to the CLI and not answered yet.
    written: Vec<Written>,
    /// How many messages this process was sent.
    sent: usize,
    /// Why the process ends, while that is being recorded. Boxed, as it is rare and large.
    end: Option<Box<SessionError>>,
    /// Whether the CLI reports which messages it answers, which is known after the first. Without that, a
    /// message sent into a running turn could not be told from a queued one, so it waits here.
    are_named: bool,
}

#[derive(Debug)]
struct Queued {
    message: OutgoingMessage,
    mode: SendMode,
    waits: Waits,
    /// Whether a process died before it could be written. That may happen once; twice means that the process
    /// never reads.
    is_second_try: bool,
}

impl Queued {
    fn is(&self, id: &MessageId) -> bool {
        self.message.uuid.as_ref() == Some(id)
    }
}

#[derive(Debug)]
struct Written {
    id: MessageId,
    at: Instant,
    is_second_try: bool,
    /// Whether the CLI has reported that the turn answering it has begun.
    has_begun: bool,
    /// Whether it was interrupted. It then counts as unanswered, whatever the CLI reports.
    is_interrupted: bool,
}

impl Messages {
    pub(super) fn has_queued(&self) -> bool {
        !self.queued.is_empty()
    }

    pub(super) fn has_unanswered(&self) -> bool {
        !self.written.is_empty()
    }

    /// Whether the running process was sent a message.
    pub(super) fn has_sent(&self) -> bool {
        self.sent > 0
    }

    pub(super) fn oldest_written(&self) -> Option<Instant> {
        self.written.iter().map(|written| written.at).min()
    }

    pub(super) fn process_ends_with(&mut self, error: SessionError) {
        self.end = Some(Box::new(error));
    }

    /// Releases unused memory.
    pub(super) fn release_memory(&mut self) {
        self.queued.shrink_to_fit();
        self.written.shrink_to_fit();
    }

    /// The CLI has referred to a message by its id.
    pub(super) fn mark_named(&mut self) {
        self.are_named = true;
    }

    pub(super) fn process_is_gone(&mut self) {
        self.end = None;
        self.sent = 0;
        for queued in &mut self.queued {
            queued.waits = Waits::ForThisProcess;
        }
    }

    pub(super) fn is_known(&self, id: &MessageId) -> bool {
        self.written.iter().any(|written| written.id == *id) || self.queued.iter().any(|queued| queued.is(id))
    }

    fn take_written(&mut self, id: &MessageId) -> Option<Written> {
        let place = self.written.iter().position(|written| written.id == *id)?;
        Some(self.written.remove(place))
    }

    /// The turn that answers a message has begun.
    pub(super) fn mark_begun(&mut self, id: &MessageId) {
        for written in self.written.iter_mut().filter(|written| written.id == *id) {
            written.has_begun = true;
        }
    }

    /// The first message in the queue.
    #[cfg(test)]
    pub(super) fn first_queued(&self) -> Option<&MessageId> {
        self.queued.front().and_then(|queued| queued.message.uuid.as_ref())
    }

    /// Marks everything written as interrupted.
    pub(super) fn mark_interrupted(&mut self) {
        for written in &mut self.written {
            written.is_interrupted = true;
        }
    }

    /// Messages that the CLI has received and not begun, if it can be told to cancel them.
    pub(super) fn not_begun(&self) -> Vec<MessageId> {
        let waiting = self.written.iter().filter(|written| self.are_named && !written.has_begun);
        waiting.map(|written| written.id.clone()).collect()
    }
}

/// Why a message has no answer: interrupted, or else this error.
fn interrupted_or(is_interrupted: bool, error: SessionError) -> SessionError {
    if is_interrupted { SessionError::Interrupted } else { error }
}

impl Machine {
    pub(super) fn send(
        &mut self,
        ticket: Ticket,
        message: OutgoingMessage,
        mode: SendMode,
        sink: &mut dyn Sink,
    ) {
        let Some(id) = message.uuid.clone() else {
            return self.reply(ticket, Err(SessionError::BadAnswer("the message has no id".into())));
        };
        if self.life.is_stopping() || self.life.is_over() {
            return self.reply(ticket, Err(SessionError::Stopped));
        }
        if self.messages.is_known(&id) {
            let reason =
                "a message with this id is already waiting for its answer; give each message its own id";
            return self.reply(ticket, Err(SessionError::BadAnswer(reason.into())));
        }
        if let Some(error) = self.exhausted() {
            return self.reply(ticket, Err(error));
        }
        self.record(queued_event(id, &message.content), sink);
        let waits = self.life.waits();
        self.messages.queued.push_back(Queued { message, mode, waits, is_second_try: false });
        self.reply(ticket, Ok(Reply::Accepted));
    }

    /// Writes the messages that may be written now.
    pub(super) fn write_messages(&mut self, now: Now, sink: &mut dyn Sink) {
        while self.life.takes_messages() && !self.is_braking() {
            let Some(place) = self.next_to_write() else { return };
            if self.drop_exhausted_queue(sink) {
                return;
            }
            let Some(Queued { mut message, is_second_try, .. }) = self.messages.queued.remove(place) else {
                return;
            };
            let Some(id) = message.uuid.clone() else { continue };
            if message.is_note && !self.takes_notes() {
                let error = SessionError::NotSupported { what: "a note without an answer" };
                self.record(not_sent(&id, &error), sink);
                self.actions.push(Action::MessageEnded(id, Err(error)));
                continue;
            }
            message.session_id.clone_from(&self.view().session.id);
            if message.handling == TextHandling::Escaped && self.honours_inert_mark() {
                message.handling = TextHandling::Marked;
            }
            self.messages.written.push(Written {
                id: id.clone(),
                at: now.instant,
                is_second_try,
                has_begun: false,
                is_interrupted: false,
            });
            self.messages.sent += 1;
            self.watchdog.restart(now.instant);
            // Recorded first: a message that is not in the log was not sent.
            self.record(HostEvent::MessageSent { message: id }, sink);
            self.actions.push(Action::Write(Outgoing::User(message)));
        }
    }

    /// Whether the running process leaves text alone if its line says so. A process that has not reported its
    /// version is not relied upon: its text is escaped.
    fn honours_inert_mark(&self) -> bool {
        self.introduced_version().is_some_and(|version| version >= HONOURS_INERT_MARK)
    }

    /// The version that the running process reported before its first turn; 2.1.197 and older ones do not.
    fn introduced_version(&self) -> Option<Version> {
        let version = self.introduction().get("claude_code_version").and_then(|version| version.as_str());
        version.and_then(Version::parse)
    }

    /// Whether the running process takes a note without answering it. One whose version is not known yet could answer.
    fn takes_notes(&self) -> bool {
        let reported = || {
            let version = self.view().session.version.as_deref().filter(|_| self.messages.has_sent());
            version.and_then(Version::parse)
        };
        self.introduced_version().or_else(reported).is_some_and(|version| version >= TAKES_NOTES)
    }

    /// The process died before it received this message, so the message waits for the next one.
    pub(super) fn unwritten(&mut self, mut message: OutgoingMessage, sink: &mut dyn Sink) {
        let Some(id) = message.uuid.clone() else { return };
        if message.handling == TextHandling::Marked {
            // The next process may be another version.
            message.handling = TextHandling::Escaped;
        }
        let Some(written) = self.messages.take_written(&id) else { return };
        self.messages.sent = self.messages.sent.saturating_sub(1);
        if written.is_interrupted {
            // The process never received it, and the next one must not.
            return self.take_back(id, sink);
        }
        let waits = if written.is_second_try { Waits::ForThisProcess } else { Waits::ForNextProcess };
        self.record(queued_event(id, &message.content), sink);
        let queued = Queued { message, mode: SendMode::Queue, waits, is_second_try: true };
        self.messages.queued.push_front(queued);
    }

    /// The message that may be written now. A queued message does not hold up one that is sent into the turn.
    fn next_to_write(&self) -> Option<usize> {
        if self.is_busy() {
            let mut queued = self.messages.queued.iter();
            return queued
                .position(|queued| queued.mode == SendMode::Steer)
                .filter(|_| self.messages.are_named);
        }
        let is_used_up = !self.settings.keep_process && self.messages.has_sent();
        (!self.messages.queued.is_empty() && !is_used_up).then_some(0)
    }

    /// Fails all queued messages if no more may be spent. Returns whether there were any.
    pub(super) fn drop_exhausted_queue(&mut self, sink: &mut dyn Sink) -> bool {
        let Some(error) = self.exhausted().filter(|_| self.messages.has_queued()) else { return false };
        self.drop_queue(&error, true, sink);
        true
    }

    /// Cancels the message that would be written next: it is the current turn if none has begun. Returns
    /// whether there was one.
    pub(super) fn take_back_next(&mut self, sink: &mut dyn Sink) -> bool {
        let Some(id) = self.messages.queued.pop_front().and_then(|queued| queued.message.uuid) else {
            return false;
        };
        self.take_back(id, sink);
        true
    }

    /// Cancels an interrupted message that the CLI never received.
    fn take_back(&mut self, id: MessageId, sink: &mut dyn Sink) {
        self.record(HostEvent::MessageCancelled { message: id.clone() }, sink);
        self.actions.push(Action::MessageEnded(id, Err(SessionError::Interrupted)));
    }

    pub(super) fn cancel(&mut self, now: Now, ticket: Ticket, id: &MessageId, sink: &mut dyn Sink) {
        let place = self.messages.queued.iter().position(|queued| queued.is(id));
        if let Some(place) = place {
            self.messages.queued.remove(place);
            self.record(HostEvent::MessageCancelled { message: id.clone() }, sink);
            self.actions.push(Action::MessageEnded(id.clone(), Err(SessionError::Cancelled)));
            return self.reply(ticket, Ok(Reply::Done));
        }
        let is_written = self.messages.written.iter().any(|written| written.id == *id);
        if !is_written || !self.life.is_ready() {
            return self.reply(ticket, Err(SessionError::NotCancellable));
        }
        if !self.messages.are_named {
            return self.reply(ticket, Err(SessionError::NotSupported { what: "cancelling a sent message" }));
        }
        let request = HostRequest::CancelMessage { message: id.clone() };
        self.ask_cli(now, Purpose::Cancel(ticket, id.clone()), request);
    }

    /// The CLI confirms that it has cancelled a message. It may already have said so in its stream.
    pub(super) fn message_taken_back(&mut self, id: &MessageId, sink: &mut dyn Sink) {
        if self.messages.is_known(id) {
            self.record(HostEvent::MessageCancelled { message: id.clone() }, sink);
            self.message_withdrawn(id);
        }
    }

    /// The CLI has cancelled a message.
    pub(super) fn message_withdrawn(&mut self, id: &MessageId) {
        self.message_dropped(id, SessionError::Cancelled);
    }

    /// The CLI will not answer a message, for this reason.
    pub(super) fn message_dropped(&mut self, id: &MessageId, error: SessionError) {
        let Some(written) = self.messages.take_written(id) else { return };
        // If we made the CLI drop it, our reason is the better one.
        let error = match self.timed_out() {
            Some(timed_out) => timed_out,
            None if self.life.is_stopping() => SessionError::Stopped,
            None => interrupted_or(written.is_interrupted, error),
        };
        self.actions.push(Action::MessageEnded(id.clone(), Err(error)));
    }

    /// Messages that were never written fail for this reason: all of them, or only those that waited for this
    /// process.
    pub(super) fn drop_queue(&mut self, error: &SessionError, all: bool, sink: &mut dyn Sink) {
        let is_dropped = |queued: &Queued| all || queued.waits == Waits::ForThisProcess;
        let (dropped, kept): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.messages.queued).into_iter().partition(is_dropped);
        self.messages.queued = kept;
        for Queued { message, .. } in dropped {
            let Some(id) = message.uuid else { continue };
            self.record(not_sent(&id, error), sink);
            self.actions.push(Action::MessageEnded(id, Err(error.clone())));
        }
    }

    /// The process is gone: what it did with these is unknown.
    pub(super) fn lose_written(&mut self, error: &SessionError) {
        for written in std::mem::take(&mut self.messages.written) {
            let error = interrupted_or(written.is_interrupted, error.clone());
            self.actions.push(Action::MessageEnded(written.id, Err(error)));
        }
    }

    pub(super) fn turn_ended(&mut self, turn: Turn) {
        if turn.state == TurnState::Interrupted {
            self.control.turn_interrupted();
        }
        let text = self.text_of(&turn);
        let error = match &self.messages.end {
            // No result has arrived, and none will.
            Some(end) if turn.result.is_none() => Some(with_text(end, &text)),
            _ if self.watchdog.has_fired() => self.timed_out(),
            // What came after the failure cannot be used: it is not in the log, or belongs to another session.
            _ => self.life.failure().cloned(),
        };
        if turn.messages.is_empty() && turn.state == TurnState::Failed {
            let error = turn.result.as_ref().map(weir_transcript::TurnResult::error);
            self.life.set_complaint(error);
        }
        let is_unasked = turn.messages.is_empty() && matches!(turn.cause, TurnCause::Unasked { .. });
        let end = Arc::new(TurnEnd {
            session_id: self.view().session.id.clone(),
            total_cost_usd: self.view().cost.usd,
            text,
            turn,
        });
        for id in &end.turn.messages {
            if let Some(written) = self.messages.take_written(id) {
                let error = error.clone().map(|error| interrupted_or(written.is_interrupted, error));
                let result = error.map_or_else(|| Ok(Arc::clone(&end)), Err);
                self.actions.push(Action::MessageEnded(id.clone(), result));
            }
        }
        if is_unasked && end.turn.state != TurnState::Empty {
            self.actions.push(Action::UnaskedTurnEnded(end));
        }
    }

    fn timed_out(&self) -> Option<SessionError> {
        let (phase, after) = self.watchdog.fired()?;
        Some(SessionError::TimedOut { phase, after, stderr: String::new() })
    }

    /// The result's text, or what the main agent said in the turn.
    fn text_of(&self, turn: &Turn) -> String {
        if let Some(text) = turn.result.as_ref().and_then(|result| result.text.clone()) {
            return text;
        }
        self.view().texts_of(turn.id).collect::<Said>().into_text()
    }

    /// The error if no more may be spent.
    fn exhausted(&self) -> Option<SessionError> {
        let limit = self.settings.max_cost_usd?;
        let spent = self.view().cost.usd.unwrap_or(0.0);
        (spent >= limit).then_some(SessionError::BudgetExhausted { spent, limit })
    }
}

fn with_text(error: &SessionError, said: &str) -> SessionError {
    match error.clone() {
        SessionError::Died { exit, reason, stderr, .. } => {
            let text = Some(said.to_owned()).filter(|text| !text.is_empty());
            SessionError::Died { exit, reason, stderr, text }
        }
        other => other,
    }
}

/// The event that records a message: its text, and how much is attached to it.
fn queued_event(message: MessageId, content: &OutgoingContent) -> HostEvent {
    let (mut images, mut documents) = (0, 0);
    let text = match content {
        OutgoingContent::Text(text) => text.clone(),
        OutgoingContent::Blocks(blocks) => {
            let mut texts: Vec<&str> = Vec::new();
            for block in blocks {
                match block {
                    OutgoingBlock::Text(text) => texts.push(text),
                    OutgoingBlock::Image { .. } => images += 1,
                    OutgoingBlock::ImageUrl { .. }
                    | OutgoingBlock::Document { .. }
                    | OutgoingBlock::DocumentUrl { .. } => documents += 1,
                }
            }
            texts.join("\n")
        }
    };
    HostEvent::MessageQueued { message, text, images, documents }
}

/// The event to record for a message that was never written.
fn not_sent(id: &MessageId, error: &SessionError) -> HostEvent {
    match error {
        SessionError::Cancelled | SessionError::Stopped | SessionError::Interrupted => {
            HostEvent::MessageCancelled { message: id.clone() }
        }
        _ => HostEvent::MessageFailed { message: id.clone(), error: error.to_string() },
    }
}
