//! The process behind the session: when it starts, when it is ready, and when it is to end.

mod ending;

use std::time::{Duration, Instant};

use serde_json::Value;
use weir_transcript::{EntryId, HostEvent};
use weir_wire::{CliSessionId, HostRequest};

use super::action::{Action, Reply, Spawn};
use super::control::Purpose;
use super::event::{Now, Ticket};
use super::{Machine, MachineSettings, Noticed, Phase, Sink};
use crate::error::SessionError;

/// When the last background task has ended, the CLI begins a turn by itself. It does not announce this, and old
/// versions do not do it, so it is given this much time.
const WAKE_UP: Duration = Duration::from_secs(1);

/// The process, and what is planned for it.
#[derive(Debug)]
pub(super) struct Life {
    state: State,
    plan: Plan,
    /// The session to resume at first, if one was given.
    resume: Option<CliSessionId>,
    /// Whether one of our processes has reported the session id. From then on that is the one to resume.
    is_named: bool,
    /// Callers waiting for the process to be ready. Those that came while one was ending wait for the next.
    starting: Vec<(Ticket, Waits)>,
    /// Callers waiting until nothing is running.
    settling: Vec<Ticket>,
    /// Callers waiting for the process to end.
    closing: Vec<Ticket>,
    /// The newest entry when the process was started: later ones come from this process.
    started_after: Option<EntryId>,
    /// An error that the process reported in a result that answers no message.
    complaint: Option<Box<str>>,
    /// The unexpected working directory that was already reported.
    reported_cwd: Option<String>,
    /// When the process is ended even if its turn has not.
    escalate_at: Option<Instant>,
    /// Until when the CLI may begin a turn by itself.
    wakes_until: Option<Instant>,
    /// The CLI says that it is at work. Only newer versions say so.
    says_it_works: bool,
}

/// Which process a caller waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    /// The current one, or one started for the caller. If it dies at once, so would the next.
    ForThisProcess,
    /// The one after the process that is ending.
    ForNextProcess,
}

/// The state of the process, with what is only true in that state.
#[derive(Debug)]
enum State {
    Absent,
    /// It is being started.
    Starting {
        /// The session that it resumes directly, rather than as a fork.
        resumes: Option<CliSessionId>,
    },
    /// Running and asked whether it is ready.
    Initialising,
    /// It has reported that it is ready, or was not asked.
    Ready,
    /// Its input is closed, or it is being killed.
    Ending(Ending),
    /// The session is over: there will be no other process.
    Over,
}

/// The end of a process that still runs.
#[derive(Debug)]
struct Ending {
    cause: EndCause,
    /// Whether it has reported that it is ready, or was not asked.
    has_answered: bool,
    /// Whether it is ended because its turn did not end in time.
    has_ignored_interrupt: bool,
}

/// Why a process ends.
#[derive(Debug)]
enum EndCause {
    /// On request.
    Requested,
    /// By itself, or because it took too long.
    Unwanted,
    /// Because of this failure. Boxed, as it is rare and large.
    Failed(Box<SessionError>),
}

/// What is to become of the process. Each plan includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Plan {
    Keep,
    /// Replace it once nothing is running, not even in the background.
    Renew,
    /// End it after its turn.
    Close,
    /// End it and the session.
    Stop,
    /// End it and the session without waiting for anything.
    Kill,
}

impl Life {
    pub(super) fn new(resume: Option<CliSessionId>) -> Self {
        Self {
            state: State::Absent,
            plan: Plan::Keep,
            resume,
            is_named: false,
            starting: Vec::new(),
            settling: Vec::new(),
            closing: Vec::new(),
            started_after: None,
            complaint: None,
            reported_cwd: None,
            escalate_at: None,
            wakes_until: None,
            says_it_works: false,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    pub(super) fn has_process(&self) -> bool {
        !matches!(self.state, State::Absent | State::Over)
    }

    pub(super) fn is_starting(&self) -> bool {
        matches!(self.state, State::Starting { .. } | State::Initialising)
    }

    pub(super) fn is_ready(&self) -> bool {
        matches!(self.state, State::Ready)
    }

    /// Whether there is a process that is not being ended.
    pub(super) fn is_alive(&self) -> bool {
        matches!(self.state, State::Starting { .. } | State::Initialising | State::Ready)
    }

    pub(super) fn is_ending(&self) -> bool {
        matches!(self.state, State::Ending(_))
    }

    pub(super) fn has_ignored_interrupt(&self) -> bool {
        matches!(&self.state, State::Ending(ending) if ending.has_ignored_interrupt)
    }

    /// Whether messages can be written.
    pub(super) fn takes_messages(&self) -> bool {
        self.is_ready() && self.plan == Plan::Keep && self.escalate_at.is_none()
    }

    pub(super) fn has_answered(&self) -> bool {
        match &self.state {
            State::Ready => true,
            State::Ending(ending) => ending.has_answered,
            State::Absent | State::Starting { .. } | State::Initialising | State::Over => false,
        }
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.plan >= Plan::Stop
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.escalate_at.filter(|_| self.is_alive())
    }

    /// Whether it is to end without waiting.
    pub(super) fn is_killing(&self) -> bool {
        self.plan == Plan::Kill
    }

    pub(super) fn escalate_at(&mut self, at: Instant) {
        let sooner = self.escalate_at.map_or(at, |before| before.min(at));
        self.escalate_at = Some(sooner);
    }

    /// The CLI has reported the session id.
    pub(super) fn mark_named(&mut self) {
        self.is_named = true;
    }

    pub(super) fn has_name(&self) -> bool {
        self.is_named
    }

    /// The process has reported an error that belongs to no message.
    pub(super) fn set_complaint(&mut self, error: Option<String>) {
        self.complaint = error.map(String::into_boxed_str);
    }

    /// Why the process must end, if it must.
    pub(super) fn failure(&self) -> Option<&SessionError> {
        match &self.state {
            State::Ending(Ending { cause: EndCause::Failed(error), .. }) => Some(error),
            _ => None,
        }
    }

    /// Which process a new caller waits for.
    pub(super) fn waits(&self) -> Waits {
        if self.is_ending() { Waits::ForNextProcess } else { Waits::ForThisProcess }
    }

    /// The process no longer reads. Messages from now on are for the next one.
    pub(super) fn process_is_ending(&mut self) {
        if self.is_alive() {
            self.begin_ending(EndCause::Unwanted, false);
        }
    }

    fn begin_ending(&mut self, cause: EndCause, has_ignored_interrupt: bool) {
        let has_answered = self.has_answered();
        self.state = State::Ending(Ending { cause, has_answered, has_ignored_interrupt });
    }

    /// Adopts a plan, unless there is one that includes it.
    fn plan(&mut self, plan: Plan) {
        self.plan = self.plan.max(plan);
    }

    /// Forgets the plans for a process that is gone. A session that is to end still is.
    fn forget_plan(&mut self) {
        if !self.is_stopping() {
            self.plan = Plan::Keep;
        }
    }

    pub(super) fn settle(&mut self, ticket: Ticket) {
        self.settling.push(ticket);
    }

    pub(super) fn close(&mut self, ticket: Ticket) {
        self.closing.push(ticket);
        self.plan(Plan::Close);
    }

    /// Until when the CLI may begin a turn by itself.
    pub(super) fn wakes_until(&self) -> Option<Instant> {
        self.wakes_until
    }

    /// The CLI says whether it is at work. If it is not, it is not about to begin a turn either: this comes after
    /// everything that it held back.
    pub(super) fn heard_of_work(&mut self, works: bool) {
        self.says_it_works = works;
        if !works {
            self.wakes_until = None;
        }
    }

    /// Clears the time in which the CLI may begin a turn by itself, once it has passed.
    pub(super) fn expire_wake_up(&mut self, now: Now) {
        self.wakes_until.take_if(|until| *until <= now.instant);
    }

    /// Ends an idle process; the next message starts another one.
    pub(super) fn end_quietly(&mut self) {
        self.plan(Plan::Close);
    }
}

impl Machine {
    pub(super) fn start(&mut self, ticket: Ticket) {
        if self.life.is_stopping() {
            return self.reply(ticket, Err(SessionError::Stopped));
        }
        let waits = self.life.waits();
        self.life.starting.push((ticket, waits));
    }

    /// The process ended because it does not know the handshake. No caller has to fail: the next one is started
    /// without it.
    pub(super) fn too_old(&mut self) {
        self.life.plan(Plan::Close);
        self.watchdog.take_fired();
    }

    pub(super) fn close_if_idle(&mut self, ticket: Ticket) {
        if self.is_occupied() || !self.life.starting.is_empty() {
            return self.reply(ticket, Ok(Reply::Busy));
        }
        self.life.close(ticket);
    }

    pub(super) fn reconfigured(&mut self, now: Now, settings: MachineSettings, replace: bool) {
        let (resume, fork) = (self.settings.resume.take(), self.settings.fork);
        let fork_at = self.settings.fork_at.take();
        self.fold.set_options(settings.fold.clone());
        self.settings = MachineSettings { resume, fork, fork_at, ..settings };
        if self.life.plan <= Plan::Renew {
            self.life.plan = if replace && self.life.is_alive() { Plan::Renew } else { Plan::Keep };
        }
        if self.phase() == Phase::Idle {
            // A caller that reconfigures a session is about to use it.
            self.watchdog.restart(now.instant);
        }
    }

    pub(super) fn stop(&mut self, ticket: Ticket, sink: &mut dyn Sink) {
        self.life.closing.push(ticket);
        self.life.plan(Plan::Stop);
        self.drop_queue(&SessionError::Stopped, true, sink);
    }

    /// Like `stop`, but at once: no turn is interrupted first.
    pub(super) fn kill(&mut self, now: Now, ticket: Ticket, sink: &mut dyn Sink) {
        self.stop(ticket, sink);
        self.life.plan(Plan::Kill);
        self.life.escalate_at(now.instant);
    }

    /// Records whether the CLI may be about to begin a turn by itself.
    pub(super) fn expect_wake_up(&mut self, now: Now, lost_tasks: bool, noticed: &Noticed) {
        if noticed.began {
            self.life.wakes_until = None;
        }
        let goes_on = self.life.wakes_until.is_some() && !noticed.ended.is_empty();
        if lost_tasks || goes_on {
            self.life.wakes_until = Some(now.instant + WAKE_UP);
        }
    }

    /// The end of that time, if anything depends on it.
    pub(super) fn wake_up_deadline(&self) -> Option<Instant> {
        let does_matter =
            !self.life.settling.is_empty() || self.life.plan == Plan::Renew || !self.settings.keep_process;
        self.life.wakes_until.filter(|_| does_matter && !self.is_busy())
    }

    pub(super) fn process_started(
        &mut self,
        now: Now,
        too_old: bool,
        introduction: Option<Box<Value>>,
        sink: &mut dyn Sink,
    ) {
        let starting = std::mem::replace(&mut self.life.state, State::Initialising);
        let resumes = if let State::Starting { resumes } = starting { resumes } else { None };
        // What the previous process reported about itself does not apply to this one.
        let is_introduced = introduction.is_some();
        self.asks.set_introduction(introduction.map(|answer| *answer).unwrap_or_default());
        self.watchdog.restart(now.instant);
        self.life.started_after = self.view().entries.last().map(|entry| entry.id);
        self.record(HostEvent::ProcessStarted { resumes }, sink);
        match self.settings.greeting.request().filter(|_| !too_old && !is_introduced) {
            Some(request) => self.ask_cli(now, Purpose::Initialize, HostRequest::Initialize(request)),
            None => self.ready(),
        }
    }

    /// Reports each working directory that differs from the requested one, once.
    pub(super) fn check_folder(&mut self, sink: &mut dyn Sink) {
        let (Some(asked), Some(cwd)) = (&self.settings.cwd, &self.view().session.cwd) else { return };
        if cwd == asked {
            self.life.reported_cwd = None;
        } else if self.life.reported_cwd.as_ref() != Some(cwd) {
            let message = format!("the CLI works in {cwd}, but was asked to work in {asked}");
            self.life.reported_cwd = Some(cwd.clone());
            self.record(HostEvent::Warning { message }, sink);
        }
    }

    /// The CLI answered, or cannot be asked.
    pub(super) fn ready(&mut self) {
        match &mut self.life.state {
            State::Initialising => self.life.state = State::Ready,
            State::Ending(ending) => ending.has_answered = true,
            State::Absent | State::Starting { .. } | State::Ready | State::Over => {}
        }
    }

    /// Replies to callers waiting for a process, unless it is about to be replaced.
    fn tell_started(&mut self) {
        if self.life.plan != Plan::Renew {
            for (ticket, _) in std::mem::take(&mut self.life.starting) {
                self.reply(ticket, Ok(Reply::Done));
            }
        }
    }

    /// Starts a process if one is needed, and ends one that is not.
    pub(super) fn start_or_end(&mut self, now: Now, sink: &mut dyn Sink) {
        if matches!(self.life.state, State::Absent) {
            // No process is started for messages that will not be sent.
            self.drop_exhausted_queue(sink);
        }
        match &self.life.state {
            State::Absent if self.life.is_stopping() => {
                self.life.state = State::Over;
                self.tell_ended();
            }
            State::Absent if self.messages.has_queued() || !self.life.starting.is_empty() => {
                self.life.forget_plan();
                self.watchdog.restart(now.instant);
                let spawn = self.next_spawn();
                self.life.state = State::Starting { resumes: spawn.resume.clone().filter(|_| !spawn.fork) };
                self.actions.push(Action::Spawn(spawn));
            }
            State::Absent => {
                self.life.forget_plan();
                self.tell_ended();
            }
            State::Starting { .. } | State::Initialising => self.end_if_wanted(now, sink),
            State::Ready => {
                self.tell_started();
                self.end_if_wanted(now, sink);
            }
            State::Ending(_) => {}
            State::Over => self.tell_ended(),
        }
    }

    fn end_if_wanted(&mut self, now: Now, sink: &mut dyn Sink) {
        let is_due = self.life.escalate_at.is_some_and(|at| at <= now.instant);
        if !self.settings.keep_process
            && self.life.is_ready()
            && self.messages.has_sent()
            && self.is_settled()
        {
            // It has had its message; the next one gets another process.
            self.life.plan(Plan::Close);
        }
        if self.life.plan == Plan::Renew && self.life.is_ready() && self.is_settled() {
            self.life.plan(Plan::Close);
        }
        let is_busy = self.is_busy();
        if self.life.escalate_at.is_some() && !is_busy && !self.life.is_starting() {
            // The interrupt has worked.
            self.life.escalate_at = None;
            self.watchdog.take_fired();
        }
        let wants_end = self.life.plan >= Plan::Close;
        let must_end = is_due && (is_busy || self.life.is_starting());
        if must_end || wants_end && (!is_busy || self.life.is_starting()) {
            let is_requested = wants_end && !self.watchdog.has_fired();
            let cause = if is_requested { EndCause::Requested } else { EndCause::Unwanted };
            self.life.begin_ending(cause, must_end);
            self.actions.push(Action::End);
        } else if self.life.is_stopping() && self.life.escalate_at.is_none() {
            self.stop_turn(now, sink);
        }
    }

    /// Which session the next process resumes. Only the first one forks: the fork then has its own id.
    ///
    /// A session that is not kept on disk is lost with its process. The next process starts over from where the
    /// first began, and the CLI gives it another id, which shows that it is not the same session.
    fn next_spawn(&self) -> Spawn {
        if self.life.is_named && !self.settings.persistence {
            let resume = self.life.resume.clone();
            let fork_at = self.settings.fork_at.clone();
            return Spawn { fork: resume.is_some(), fork_at, resume, afresh: true };
        }
        match self.life.resume.clone().filter(|_| !self.life.is_named) {
            Some(resume) => Spawn {
                resume: Some(resume),
                fork: self.settings.fork,
                fork_at: self.settings.fork_at.clone(),
                afresh: false,
            },
            None => Spawn { resume: self.view().session.id.clone(), ..Spawn::default() },
        }
    }

    /// Whether anything is running that a message would disturb.
    pub(super) fn is_busy(&self) -> bool {
        self.messages.has_unanswered() || self.view().status.is_in_turn()
    }

    /// Whether nothing is running, not even in the background, and nothing is about to.
    fn is_settled(&self) -> bool {
        !self.is_busy()
            && !self.life.says_it_works
            && !self.view().has_background_work()
            && self.life.wakes_until.is_none()
    }

    pub(super) fn tell_settled(&mut self) {
        let is_settled = self.is_settled() && !self.messages.has_queued() && !self.life.is_starting();
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
