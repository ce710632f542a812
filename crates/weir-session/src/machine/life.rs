//! The process behind the conversation: when it starts, when it is ready, and how it ends.

use std::time::{Duration, Instant};

use weir_process::Exit;
use weir_transcript::{HostEvent, Sink};
use weir_wire::{HostRequest, SessionId};

use super::action::{Action, Reply, Spawn};
use super::control::Purpose;
use super::event::{Now, Ticket};
use super::{Machine, Noticed};
use crate::error::SessionError;

/// When the last background task has ended, the CLI begins a turn by itself. It says so only when it does, and old
/// versions do not do it, so it is given this long.
const WAKE_UP: Duration = Duration::from_secs(1);

/// The process, and what is wanted of it.
#[derive(Debug)]
pub(super) struct Life {
    state: State,
    /// The session to begin with, where one was named.
    resume: Option<SessionId>,
    /// Whether a process of ours has said which session it is. From then on that is the one to go on with.
    is_named: bool,
    /// The session that the process which is being started goes on with, and not with a copy of it.
    spawning: Option<SessionId>,
    /// Who waits for the process to be ready.
    starting: Vec<Ticket>,
    /// Who waits until nothing runs.
    settling: Vec<Ticket>,
    /// Who waits for the end of the process.
    closing: Vec<Ticket>,
    /// Whether the process is to end when its turn has.
    close: bool,
    /// Whether the session is to end.
    stop: bool,
    /// When the process is ended although its turn has not.
    escalate_at: Option<Instant>,
    /// Until when a turn may begin that nobody asked for.
    wakes_until: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Absent,
    /// It is being started.
    Starting,
    /// It runs and was asked whether it is ready.
    Initialising,
    Ready,
    /// Its input is closed, or it is being killed.
    Ending,
    Over,
}

impl Life {
    pub(super) fn new(resume: Option<SessionId>) -> Self {
        Self {
            state: State::Absent,
            resume,
            is_named: false,
            spawning: None,
            starting: Vec::new(),
            settling: Vec::new(),
            closing: Vec::new(),
            close: false,
            stop: false,
            escalate_at: None,
            wakes_until: None,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.state == State::Over
    }

    pub(super) fn has_process(&self) -> bool {
        !matches!(self.state, State::Absent | State::Over)
    }

    pub(super) fn is_starting(&self) -> bool {
        matches!(self.state, State::Starting | State::Initialising)
    }

    pub(super) fn is_ready(&self) -> bool {
        self.state == State::Ready
    }

    /// Whether there is a process that is not being ended.
    pub(super) fn is_alive(&self) -> bool {
        matches!(self.state, State::Starting | State::Initialising | State::Ready)
    }

    /// Whether messages can be written.
    pub(super) fn takes_messages(&self) -> bool {
        self.is_ready() && !self.close && !self.stop && self.escalate_at.is_none()
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stop
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.escalate_at.filter(|_| self.is_alive())
    }

    pub(super) fn escalate_at(&mut self, at: Instant) {
        let sooner = self.escalate_at.map_or(at, |before| before.min(at));
        self.escalate_at = Some(sooner);
    }

    /// The CLI has said which session this is.
    pub(super) fn is_named(&mut self) {
        self.is_named = true;
    }

    pub(super) fn settle(&mut self, ticket: Ticket) {
        self.settling.push(ticket);
    }

    pub(super) fn close(&mut self, ticket: Ticket) {
        self.closing.push(ticket);
        self.close = true;
    }

    /// No turn has begun by itself, and none will.
    pub(super) fn expire_wake_up(&mut self, now: Now) {
        self.wakes_until.take_if(|until| *until <= now.instant);
    }

    /// The process has nothing to do and is ended; the next message starts another one.
    pub(super) fn end_quietly(&mut self) {
        self.close = true;
    }
}

impl Machine {
    pub(super) fn start(&mut self, ticket: Ticket) {
        if self.life.stop {
            return self.reply(ticket, Err(SessionError::Stopped));
        }
        self.life.starting.push(ticket);
    }

    pub(super) fn stop(&mut self, ticket: Ticket, sink: &mut Sink<'_>) {
        self.life.closing.push(ticket);
        self.life.stop = true;
        self.drop_queue(&SessionError::Stopped, sink);
    }

    /// Notes whether the CLI may be about to begin a turn by itself.
    pub(super) fn expect_wake_up(&mut self, now: Now, lost_tasks: bool, noticed: &Noticed) {
        if noticed.began {
            self.life.wakes_until = None;
        }
        let goes_on = self.life.wakes_until.is_some() && !noticed.ended.is_empty();
        if lost_tasks || goes_on {
            self.life.wakes_until = Some(now.instant + WAKE_UP);
        }
    }

    /// When it matters that no such turn has begun.
    pub(super) fn wake_up_deadline(&self) -> Option<Instant> {
        let does_matter = !self.life.settling.is_empty() || !self.settings.keep_process;
        self.life.wakes_until.filter(|_| does_matter && !self.is_busy())
    }

    pub(super) fn process_started(&mut self, now: Now, sink: &mut Sink<'_>) {
        self.life.state = State::Initialising;
        self.watchdog.heard(now.instant);
        let resumes = self.life.spawning.take();
        self.record(HostEvent::ProcessStarted { resumes }, sink);
        match self.settings.initialize.clone() {
            Some(request) => self.ask_cli(now, Purpose::Initialize, HostRequest::Initialize(request)),
            None => self.ready(),
        }
    }

    pub(super) fn start_failed(&mut self, error: SessionError, sink: &mut Sink<'_>) {
        let error = if self.life.stop { SessionError::Stopped } else { error };
        self.watchdog.take_fired();
        self.give_up(&error, sink);
        self.process_is_gone();
    }

    /// Nobody waits for a process any more.
    fn give_up(&mut self, error: &SessionError, sink: &mut Sink<'_>) {
        for ticket in std::mem::take(&mut self.life.starting) {
            self.reply(ticket, Err(error.clone()));
        }
        self.drop_queue(error, sink);
    }

    fn process_is_gone(&mut self) {
        self.life.escalate_at = None;
        self.life.wakes_until = None;
        self.life.close = false;
        self.life.state = if self.life.stop { State::Over } else { State::Absent };
        self.messages.process_is_gone();
        self.tell_ended();
    }

    /// The CLI answered, or cannot be asked.
    pub(super) fn ready(&mut self) {
        if self.life.state != State::Initialising {
            return;
        }
        self.life.state = State::Ready;
        for ticket in std::mem::take(&mut self.life.starting) {
            self.reply(ticket, Ok(Reply::Done));
        }
    }

    pub(super) fn process_exited(&mut self, exit: Exit, stderr: String, sink: &mut Sink<'_>) {
        let error = self.end_of_process(exit, &stderr);
        let event = HostEvent::ProcessExited { code: exit.code, signal: exit.signal, stderr };
        self.messages.process_ends_with(error.clone());
        self.record(event, sink);
        self.lose_written(&error);
        self.fail_requests(&error);
        self.forget_asks();
        // A CLI that ends by itself before it took a message would do so again, for ever. One that we ended
        // because somebody wanted it closed is no reason to disappoint those who wait for the next.
        if self.life.stop || !self.life.close && !self.messages.was_any_written() {
            self.give_up(&error, sink);
        }
        self.process_is_gone();
    }

    /// Why the waiting is in vain, as far as it was a process that ended it.
    fn end_of_process(&mut self, exit: Exit, stderr: &str) -> SessionError {
        if let Some((phase, after)) = self.watchdog.take_fired() {
            return SessionError::TimedOut { phase, after, stderr: stderr.to_owned() };
        }
        if self.life.stop {
            return SessionError::Stopped;
        }
        SessionError::Died { exit, stderr: stderr.to_owned(), text: None }
    }

    /// Starts a process if one is needed, and ends the one that is not.
    pub(super) fn start_or_end(&mut self, now: Now, sink: &mut Sink<'_>) {
        if self.life.state == State::Absent {
            // No process is started for what will not be sent.
            self.drops_exhausted_queue(sink);
        }
        match self.life.state {
            State::Absent if self.life.stop => {
                self.life.state = State::Over;
                self.tell_ended();
            }
            State::Absent if self.messages.is_any_queued() || !self.life.starting.is_empty() => {
                self.life.state = State::Starting;
                self.life.close = false;
                self.watchdog.heard(now.instant);
                let spawn = self.next_spawn();
                self.life.spawning = spawn.resume.clone().filter(|_| !spawn.fork);
                self.actions.push(Action::Spawn(spawn));
            }
            State::Absent => {
                self.life.close = false;
                self.tell_ended();
            }
            State::Ready if !self.life.starting.is_empty() => {
                for ticket in std::mem::take(&mut self.life.starting) {
                    self.reply(ticket, Ok(Reply::Done));
                }
                self.end_if_wanted(now, sink);
            }
            State::Starting | State::Initialising | State::Ready => self.end_if_wanted(now, sink),
            State::Ending => {}
            State::Over => self.tell_ended(),
        }
    }

    fn end_if_wanted(&mut self, now: Now, sink: &mut Sink<'_>) {
        let is_due = self.life.escalate_at.is_some_and(|at| at <= now.instant);
        if !self.settings.keep_process
            && self.life.is_ready()
            && self.messages.was_any_written()
            && self.is_settled()
        {
            // It has had its message; the next one gets another process.
            self.life.close = true;
        }
        let is_busy = self.is_busy();
        if self.life.escalate_at.is_some() && !is_busy && !self.life.is_starting() {
            // The interrupt has helped.
            self.life.escalate_at = None;
            self.watchdog.take_fired();
        }
        let wants_end = self.life.stop || self.life.close;
        if is_due && (is_busy || self.life.is_starting())
            || wants_end && (!is_busy || self.life.is_starting())
        {
            self.life.state = State::Ending;
            self.actions.push(Action::End);
        } else if self.life.stop && self.life.escalate_at.is_none() {
            self.stop_turn(now, sink);
        }
    }

    /// Which session the next process goes on with. Only the first begins a copy: that has a name of its own then.
    fn next_spawn(&self) -> Spawn {
        match self.life.resume.clone().filter(|_| !self.life.is_named) {
            Some(resume) => Spawn { resume: Some(resume), fork: self.settings.fork },
            None => Spawn { resume: self.view().session.id.clone(), fork: false },
        }
    }

    /// Whether something runs that a message would disturb.
    pub(super) fn is_busy(&self) -> bool {
        use weir_transcript::Status;
        self.messages.is_any_written()
            || matches!(self.view().status, Status::Running | Status::Compacting | Status::WaitingForPerson)
    }

    /// Whether nothing runs, in the background either, and nothing is about to.
    fn is_settled(&self) -> bool {
        !self.is_busy() && self.view().tasks.is_empty() && self.life.wakes_until.is_none()
    }

    pub(super) fn tell_settled(&mut self) {
        let is_settled = self.is_settled() && !self.messages.is_any_queued() && !self.life.is_starting();
        if is_settled || self.life.is_over() {
            for ticket in std::mem::take(&mut self.life.settling) {
                self.reply(ticket, Ok(Reply::Done));
            }
        }
    }

    fn tell_ended(&mut self) {
        for ticket in std::mem::take(&mut self.life.closing) {
            self.reply(ticket, Ok(Reply::Done));
        }
    }
}
