//! The session as a state machine: pure, synchronous, without a clock.
//!
//! The driver tells it what happened ([`Event`]) and performs the actions that it requests ([`Action`]). It
//! has the fold, so that the mapping from results to messages is decided in one place, from the same lines
//! that every viewer sees. What happens to the session is told to a [`Sink`], in order.
//!
//! A session outlives its processes: the first message starts one, it may be closed when idle, and the next
//! message starts another one with the session's id.

mod action;
mod asks;
mod brake;
mod control;
mod event;
mod guard;
mod life;
mod messages;
mod settings;
mod sink;
mod watchdog;

#[cfg(test)]
mod tests;

use std::time::Instant;

pub use action::{Action, Reply, Spawn, TurnEnd};
pub use event::{Command, Event, Now, SendMode, Ticket};
pub(crate) use settings::session_fold;
pub use settings::{Greeting, Limits, MachineSettings};
pub use sink::Sink;
pub use watchdog::Phase;

use weir_transcript::{
    Change, EntryBody, Fold, HostEvent, MessageState, RequestState, Status, Turn, TurnState, UserEntry, View,
};
use weir_wire::{Line, MessageId, RequestId};

/// The session.
#[derive(Debug)]
pub struct Machine {
    settings: MachineSettings,
    fold: Box<Fold>,
    life: life::Life,
    messages: messages::Messages,
    control: control::Control,
    asks: asks::Asks,
    brake: brake::Brake,
    /// Callers waiting for the end of a turn that they have interrupted.
    interrupting: Vec<Ticket>,
    watchdog: watchdog::Watchdog,
    actions: Vec<Action>,
}

/// Changes made by a line that the machine reacts to.
#[derive(Debug, Default)]
struct Noticed {
    began: bool,
    /// Whether the session's id, model or the like has changed.
    session: bool,
    ended: Vec<Turn>,
    /// Messages whose turn has begun.
    begun: Vec<MessageId>,
    cancelled: Vec<MessageId>,
    /// Requests that were settled without our answer.
    settled: Vec<RequestId>,
    withdrawn: Vec<RequestId>,
}

impl Noticed {
    fn change(&mut self, change: &Change<'_>) {
        match change {
            Change::TurnAdded(_) => self.began = true,
            Change::Session(_) => self.session = true,
            Change::TurnReplaced(turn) if turn.state != TurnState::Running => {
                self.ended.push(Turn::clone(turn));
            }
            Change::EntryReplaced(entry) => {
                if let EntryBody::User(UserEntry { message: Some(id), delivery, .. }) = &entry.body {
                    match delivery {
                        MessageState::Started => self.begun.push(id.clone()),
                        MessageState::Cancelled => self.cancelled.push(id.clone()),
                        _ => {}
                    }
                }
            }
            Change::Request(request) => match request.state {
                RequestState::Settled => self.settled.push(request.id.clone()),
                RequestState::Cancelled => self.withdrawn.push(request.id.clone()),
                _ => {}
            },
            _ => {}
        }
    }

    fn is_empty(&self) -> bool {
        let requests = self.settled.len() + self.withdrawn.len();
        let messages = self.begun.len() + self.cancelled.len();
        !self.began && self.ended.is_empty() && messages == 0 && requests == 0
    }
}

impl Machine {
    /// A session without a process.
    pub fn new(settings: MachineSettings, now: Now) -> Self {
        let fold = Fold::new(settings.fold.clone());
        Self::with_history(settings, fold, now)
    }

    /// A session without a process that continues a history folded earlier.
    ///
    /// Entries, turns and costs continue from there. If the settings name no session, the one in the history is
    /// used.
    pub fn with_history(settings: MachineSettings, mut history: Fold, now: Now) -> Self {
        history.set_options(settings.fold.clone());
        Self {
            fold: Box::new(history),
            life: life::Life::new(settings.resume.clone()),
            messages: messages::Messages::default(),
            control: control::Control::default(),
            asks: asks::Asks::default(),
            brake: brake::Brake::default(),
            interrupting: Vec::new(),
            watchdog: watchdog::Watchdog::new(now.instant),
            actions: Vec::new(),
            settings,
        }
    }

    /// The current view of the session.
    pub fn view(&self) -> &View {
        self.fold.view()
    }

    /// Whether a log can leave this line out; see [`Fold::is_transient`].
    pub fn is_transient(&self, line: &Line<'_>) -> bool {
        self.fold.is_transient(line)
    }

    /// Exchanges the fold with another one.
    pub(crate) fn swap_fold(&mut self, other: &mut Box<Fold>) {
        std::mem::swap(&mut self.fold, other);
    }

    /// Handles an event. What happens to the session is told to `sink` at once; the resulting actions can then be taken in
    /// order with [`Machine::take_actions`].
    pub fn handle(&mut self, now: Now, event: Event<'_>, sink: &mut dyn Sink) {
        self.fold.set_time(now.unix_ms);
        let phase = self.phase();
        match event {
            Event::Line(line) => return self.line(now, line, sink),
            Event::Began => self.began(sink),
            Event::Reconfigured { settings, replace } => self.reconfigured(now, *settings, replace),
            Event::Started { too_old, introduction } => {
                self.process_started(now, too_old, introduction, sink);
            }
            Event::Ending => self.life.process_is_ending(),
            Event::TooOld => self.too_old(),
            Event::Unwritten(message) => self.unwritten(*message, sink),
            Event::LogFailed { error, required } => self.log_failed(error, required, sink),
            Event::Failed(error) => self.fail_process(error),
            Event::StartFailed(error) => self.start_failed(error, sink),
            Event::Command(command) => self.command(now, command, sink),
            Event::Decided { request, decision } => self.decided(&request, decision, sink),
            Event::Exited { exit, stderr } => self.process_exited(exit, stderr, sink),
            Event::Tick => self.tick(now, sink),
        }
        self.advance(now, sink);
        if self.phase() != phase {
            // The CLI has something new to do, and the time limit for that begins now.
            self.watchdog.restart(now.instant);
        }
    }

    /// Releases memory that is not needed while idle.
    pub fn release_memory(&mut self) {
        self.messages.release_memory();
        self.asks.release_memory();
        self.actions.shrink_to_fit();
        self.fold.release_memory();
    }

    /// Takes the requested actions, in order.
    pub fn take_actions(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }

    /// Whether actions are waiting.
    pub fn has_actions(&self) -> bool {
        !self.actions.is_empty()
    }

    /// Whether there is a process, or one is being started or ended.
    pub fn has_process(&self) -> bool {
        self.life.has_process()
    }

    /// Whether there is something to do: a start, a message, a turn, a background task.
    pub fn is_occupied(&self) -> bool {
        self.is_busy()
            || self.life.is_starting()
            || self.messages.has_queued()
            || self.view().has_background_work()
    }

    /// Whether the running process has reported that it is ready, or was not asked.
    pub fn has_answered(&self) -> bool {
        self.life.has_answered()
    }

    /// Whether the session is to end.
    pub fn is_stopping(&self) -> bool {
        self.life.is_stopping()
    }

    /// Whether it is to end without waiting.
    pub fn is_killing(&self) -> bool {
        self.life.is_killing()
    }

    /// Whether the process is being ended because an interrupt did not work.
    pub fn has_ignored_interrupt(&self) -> bool {
        self.life.has_ignored_interrupt()
    }

    /// Whether the session is over: nothing more will happen.
    pub fn is_over(&self) -> bool {
        self.life.is_over()
    }

    /// The latest time at which [`Event::Tick`] is due.
    pub fn deadline(&self) -> Option<Instant> {
        // Without a process nothing is pending: all waiting callers were answered when it ended.
        if !self.life.is_alive() {
            return None;
        }
        let phase = self.watchdog.deadline(self.phase(), &self.settings.limits);
        let turn = self.messages.oldest_written().zip(self.settings.limits.turn);
        let turn = turn.filter(|_| !self.watchdog.has_fired()).map(|(written, limit)| written + limit);
        let life = [self.life.deadline(), self.wake_up_deadline()];
        let others = [phase, turn, self.control.deadline(), self.asks.deadline()];
        others.into_iter().chain(life).flatten().min()
    }

    fn line(&mut self, now: Now, line: &Line<'_>, sink: &mut dyn Sink) {
        if !self.life.is_starting() {
            self.watchdog.restart(now.instant);
        }
        let had_tasks = self.view().has_background_work();
        let was_named = self.life.has_name();
        let mut noticed = Noticed::default();
        self.fold.line(line, &mut |view, change| {
            noticed.change(change);
            sink.change(view, change);
        });
        self.tell_streamed(sink);
        let lost_tasks = had_tasks && !self.view().has_background_work();
        let message = line.body.message();
        let concerns_us = message.is_some_and(|message| self.protocol_line(now, message, sink));
        if self.life.has_name()
            && (!was_named || noticed.session)
            && let Some(id) = self.view().session.id.clone()
        {
            self.actions.push(Action::Claim(id));
        }
        if concerns_us || lost_tasks || !noticed.is_empty() {
            self.expect_wake_up(now, lost_tasks, &noticed);
            let has_begun = noticed.began || !noticed.begun.is_empty();
            self.noticed(noticed);
            if has_begun {
                self.hold_brake(now, sink);
            }
            self.advance(now, sink);
        }
    }

    /// Closes everything left open in the history: no process can continue it. This is recorded, so that the
    /// same log gives the same view again. Messages waiting for the first process are not part of the history.
    fn began(&mut self, sink: &mut dyn Sink) {
        let view = self.view();
        let has_begun = view.entries.iter().any(|entry| !matches!(entry.body, EntryBody::User(_)))
            || !view.turns.is_empty()
            || view.dropped_entries > 0;
        if has_begun && view.status != Status::Ended {
            self.record(HostEvent::RecordingEnded, sink);
        }
    }

    /// Folds a host event, and tells of it.
    #[expect(clippy::needless_pass_by_value, reason = "every caller creates the event for this call")]
    fn record(&mut self, event: HostEvent, sink: &mut dyn Sink) {
        sink.host_begins();
        let mut noticed = Noticed::default();
        self.fold.host(&event, &mut |view, change| {
            noticed.change(change);
            sink.change(view, change);
        });
        self.tell_streamed(sink);
        sink.host(&event);
        self.noticed(noticed);
    }

    fn tell_streamed(&mut self, sink: &mut dyn Sink) {
        for event in self.fold.take_streamed() {
            sink.streamed(&event);
        }
    }

    fn noticed(&mut self, noticed: Noticed) {
        for message in noticed.begun {
            self.messages.mark_begun(&message);
        }
        for turn in noticed.ended {
            self.turn_ended(turn);
        }
        for message in noticed.cancelled {
            self.message_withdrawn(&message);
        }
        for request in noticed.settled {
            self.settled_elsewhere(&request);
        }
        for request in noticed.withdrawn {
            self.withdrawn(&request);
        }
    }

    fn command(&mut self, now: Now, command: Command, sink: &mut dyn Sink) {
        match command {
            Command::Send { ticket, message, mode } => self.send(ticket, *message, mode, sink),
            Command::Cancel { ticket, message } => self.cancel(now, ticket, &message, sink),
            Command::Interrupt { ticket, only } => self.interrupt(now, ticket, only.as_ref(), sink),
            Command::Request { ticket, request } => self.request(now, ticket, *request),
            Command::Answer { ticket, request, decision, by } => {
                self.answer(ticket, &request, decision, by, sink);
            }
            Command::Start { ticket } => self.start(ticket),
            Command::Settle { ticket } => self.life.settle(ticket),
            Command::Close { ticket } => self.life.close(ticket),
            Command::CloseIfIdle { ticket } => self.close_if_idle(ticket),
            Command::Stop { ticket } => self.stop(ticket, sink),
            Command::Kill { ticket } => self.kill(now, ticket, sink),
        }
    }

    /// Does what has become possible.
    fn advance(&mut self, now: Now, sink: &mut dyn Sink) {
        self.release_brake(now);
        self.start_or_end(now, sink);
        self.tell_interrupted();
        self.write_messages(now, sink);
        self.tell_settled();
    }

    fn tick(&mut self, now: Now, sink: &mut dyn Sink) {
        self.expire_requests(now);
        self.expire_asks(now, sink);
        self.life.expire_wake_up(now);
        self.watch(now, sink);
    }

    fn reply(&mut self, ticket: Ticket, reply: Result<Reply, crate::SessionError>) {
        self.actions.push(Action::Reply(ticket, reply));
    }
}
