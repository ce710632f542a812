//! The thin shell around the machine: it selects, calls and acts, and decides nothing.
//!
//! One task for each session. It reads whatever the CLI has written in one go, hands the lines to the machine
//! one by one, and does what the machine wants done. Nobody can make it wait: callers are told by channels that
//! never block, followers have queues that overflow, handlers run in tasks of their own.

mod ending;
mod launcher;
mod our_side;
mod perform;
mod starting;

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::SystemTime;

use tokio::sync::oneshot;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, Sleep};
use weir_process::{Handle, Input, LogPaths, Output, Stderr};
use weir_transcript::{Change, HostEvent, View};
use weir_wire::{Decoder, MessageId, OutgoingMessage, RequestId};

use crate::ask::Decision;
use crate::calls::Calls;
use crate::error::SessionError;
use crate::feed::{Feed, Updates};
use crate::fingerprint::Fingerprint;
use crate::machine::{Action, Command, Event, Machine, Now, Reply, Spawn, Ticket, TurnEnd};
use crate::observer::Observer;
use crate::options::SessionOptions;
pub(crate) use launcher::Launcher;
use launcher::{Starting, Step};
use our_side::Deciders;
pub(crate) use our_side::OurSide;

/// What a caller waits for.
pub(crate) type ReplySender = oneshot::Sender<Result<Reply, SessionError>>;
/// What somebody who sent a message waits for.
pub(crate) type TurnSender = oneshot::Sender<Result<Arc<TurnEnd>, SessionError>>;

/// What callers send to the driver.
pub(crate) enum Call {
    /// A command, made once its ticket is known.
    Command(Box<dyn FnOnce(Ticket) -> Command + Send>, ReplySender),
    /// A command that sends a message, and who waits for its answer.
    Send(Box<dyn FnOnce(Ticket) -> Command + Send>, ReplySender, MessageId, TurnSender),
    /// Somebody wants to follow.
    Follow(oneshot::Sender<Updates>),
    /// Somebody wants to see the view.
    View(oneshot::Sender<Box<View>>),
    /// Other options count from now on; their fingerprint, where it is known.
    Reconfigure(Box<SessionOptions>, Option<Fingerprint>),
    /// Somebody wants to know about the process.
    Facts(oneshot::Sender<Facts>),
}

/// What is known of the process at the moment.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Facts {
    /// The CLI's process id, while it runs.
    pub pid: Option<u32>,
    /// Its raw logs, or those of the last process.
    pub logs: Option<LogPaths>,
    /// Why a raw log of it is not whole, or was not made, in words.
    pub log_error: Option<String>,
    /// What the CLI said of itself at the start: commands, models, account.
    pub introduction: serde_json::Value,
    /// How many processes were started so far.
    pub processes: u64,
}

/// The same, as small as it can be kept.
#[derive(Default)]
struct Known {
    pid: Option<u32>,
    processes: u64,
    logs: Option<Box<LogPaths>>,
    log_error: Option<Box<str>>,
}

/// The driver of one session.
pub(crate) struct Driver {
    // Dropped in this order: first the process ends, then the rest of what it wrote is read, then its locks are free.
    /// The process itself; taken out while it is being ended.
    handle: Option<Handle>,
    /// The streams of the process, while there is one.
    streams: Option<Streams>,
    machine: Machine,
    decoder: Decoder,
    /// Gone when the session is over.
    launcher: Option<Launcher>,
    /// A process that is being started, and what for.
    starting: Option<(Starting, Spawn)>,
    /// What the process was started with, where that may no longer be what the next one is started with.
    running: Option<Fingerprint>,
    /// Whether the process is to be ended.
    must_end: bool,
    /// Whether there was something to do when we last looked.
    was_occupied: bool,
    facts: Known,
    calls: Calls,
    /// Whether anybody holds the session.
    is_held: bool,
    next_ticket: u64,
    tickets: BTreeMap<Ticket, ReplySender>,
    /// Who waits for the answer to a message that is not accepted yet.
    applicants: BTreeMap<Ticket, (MessageId, TurnSender)>,
    waiters: BTreeMap<MessageId, TurnSender>,
    deciders: Deciders,
    /// Handlers that decide, while there are any.
    deciding: Option<JoinSet<Decision>>,
    /// Which request each running handler decides.
    asked: Vec<(RequestId, AbortHandle)>,
    outlet: Outlet,
    /// For the machine's deadline. Kept from one to the next, because most lines move it a little.
    alarm: Option<Pin<Box<Sleep>>>,
}

/// The streams of a process.
struct Streams {
    output: Output,
    input: Input,
    /// None once it has ended. Nobody listens to it unless there is an observer.
    stderr: Option<Stderr>,
    /// Messages that may not have been written yet, and where in the input each begins.
    unwritten: Vec<(u64, OutgoingMessage)>,
}

/// Where changes go.
struct Outlet {
    observer: Option<Box<dyn Observer>>,
    feed: Feed,
}

impl Outlet {
    fn change(&mut self, view: &View, change: &Change<'_>) {
        if let Some(observer) = &mut self.observer {
            observer.change(view, change);
        }
        if self.feed.is_followed() {
            self.feed.change(change);
        }
    }

    fn pause(&mut self, view: &View) {
        if let Some(observer) = &mut self.observer {
            observer.pause();
        }
        self.feed.publish(view);
    }

    fn stderr(&mut self, text: String) {
        if let Some(observer) = &mut self.observer {
            observer.host(&HostEvent::Stderr { text });
        }
    }
}

/// What woke the driver.
enum Woken {
    Call(Option<Call>),
    Output(std::io::Result<bool>),
    Flushed(std::io::Result<()>),
    Stderr(Option<weir_process::StderrText>),
    Started(Box<Step>),
    Exited,
    Decided(tokio::task::Id, Decision),
    Time,
}

impl Driver {
    pub(crate) fn new(machine: Machine, launcher: Launcher, calls: Calls, side: OurSide) -> Self {
        let mut deciders = Deciders::default();
        let observer = deciders.take(side, &calls);
        Self {
            machine,
            decoder: Decoder::new(),
            launcher: Some(launcher),
            starting: None,
            running: None,
            must_end: false,
            was_occupied: false,
            streams: None,
            handle: None,
            facts: Known::default(),
            calls,
            is_held: true,
            next_ticket: 0,
            tickets: BTreeMap::new(),
            applicants: BTreeMap::new(),
            waiters: BTreeMap::new(),
            deciders,
            deciding: None,
            asked: Vec::new(),
            outlet: Outlet { observer, feed: Feed::default() },
            alarm: None,
        }
    }

    /// Runs until the session is over. Boxed, so that the task of a session is small: it would hold the driver
    /// twice otherwise.
    pub(crate) async fn run(mut self: Box<Self>) {
        self.tell(Event::Began);
        while !self.machine.is_over() {
            self.perform();
            if self.must_end && self.handle.is_some() {
                self.end_process().await;
                continue;
            }
            self.outlet.pause(self.machine.view());
            self.rest();
            if self.machine.is_over() {
                break;
            }
            let woken = self.wait().await;
            self.woken(woken);
        }
        // The end belongs into the log, before the log is let go and before anybody hears of it.
        let last = self.machine.take_actions().into_iter();
        let (records, replies): (Vec<Action>, Vec<Action>) =
            last.partition(|action| matches!(action, Action::Record(_)));
        for record in records {
            self.act(record);
        }
        self.outlet.pause(self.machine.view());
        // Whoever hears that it is over finds the locks free and the observer gone.
        self.launcher = None;
        self.outlet.observer = None;
        // Whoever came too late hears that it is over.
        self.calls.close();
        self.show();
        for reply in replies {
            self.act(reply);
        }
        while let Some(call) = self.calls.try_recv() {
            self.call(call);
        }
        self.perform();
    }

    /// Gives back what is not needed while there is nothing to do.
    fn rest(&mut self) {
        let is_occupied = self.machine.is_occupied();
        if self.was_occupied && !is_occupied {
            self.decoder.rest();
            self.machine.rest();
            give_back(&mut self.tickets);
            give_back(&mut self.applicants);
            give_back(&mut self.waiters);
            self.asked.shrink_to_fit();
            self.deciding.take_if(|deciding| deciding.is_empty());
        }
        self.was_occupied = is_occupied;
    }

    /// Wakes us when the machine's time has come.
    fn set_alarm(&mut self) {
        let deadline = self.machine.deadline().map(Instant::from_std);
        match (deadline, &mut self.alarm) {
            (None, alarm) => *alarm = None,
            (Some(deadline), Some(alarm)) if alarm.deadline() == deadline => {}
            (Some(deadline), Some(alarm)) => alarm.as_mut().reset(deadline),
            (Some(deadline), alarm) => *alarm = Some(Box::pin(tokio::time::sleep_until(deadline))),
        }
    }

    /// Its future is what a session that waits is made of, so what is large and seldom there is boxed.
    async fn wait(&mut self) -> Woken {
        self.set_alarm();
        let (Some(Streams { output, input, stderr, .. }), Some(handle)) =
            (&mut self.streams, &mut self.handle)
        else {
            return tokio::select! {
                started = started(&mut self.starting) => Woken::Started(Box::new(started)),
                call = self.calls.recv(), if self.is_held => Woken::Call(call),
                () = rings(&mut self.alarm) => Woken::Time,
            };
        };
        let is_open = !output.is_ended();
        let wants_flush = input.wants_flush();
        let stderr = stderr.as_mut().filter(|_| self.outlet.observer.is_some());
        tokio::select! {
            // In no fixed order: a CLI that never stops writing must not keep callers waiting, nor they it.
            filled = output.fill(), if is_open => Woken::Output(filled),
            decided = decided(&mut self.deciding) => decided,
            flushed = input.flush(), if wants_flush => Woken::Flushed(flushed),
            call = self.calls.recv(), if self.is_held => Woken::Call(call),
            text = next_text(stderr) => Woken::Stderr(text),
            _ = handle.wait() => Woken::Exited,
            () = rings(&mut self.alarm) => Woken::Time,
        }
    }

    fn decided(&mut self, task: tokio::task::Id, decision: Decision) {
        if let Some(place) = self.asked.iter().position(|(_, abort)| abort.id() == task) {
            let (request, _) = self.asked.swap_remove(place);
            self.tell(Event::Decided { request, decision });
        }
    }

    fn woken(&mut self, woken: Woken) {
        match woken {
            Woken::Output(Ok(true)) => {
                self.bytes();
                self.lines();
            }
            Woken::Output(Ok(false) | Err(_)) | Woken::Exited => {
                self.lines();
                self.is_ending();
            }
            Woken::Call(Some(call)) => self.call(call),
            // Nobody holds the session any more.
            Woken::Call(None) => {
                self.is_held = false;
                self.tell(Event::Command(Command::Stop { ticket: Ticket(0) }));
            }
            Woken::Started(step) => self.stepped(*step),
            Woken::Flushed(Ok(())) => self.flushed(),
            // The CLI does not read any more: it is ending, or has to be.
            Woken::Flushed(Err(_)) => self.is_ending(),
            Woken::Stderr(Some(text)) => self.outlet.stderr(text.text),
            Woken::Stderr(None) => {
                if let Some(streams) = &mut self.streams {
                    streams.stderr = None;
                }
            }
            Woken::Decided(task, decision) => self.decided(task, decision),
            Woken::Time => self.tell(Event::Tick),
        }
    }

    /// The process reads no more, or writes no more, or is gone: it is ended, and the machine must know before anybody
    /// calls again.
    fn is_ending(&mut self) {
        self.check_logs();
        self.must_end = true;
        self.tell(Event::Ending);
    }

    /// Everything that was queued for the CLI is written.
    fn flushed(&mut self) {
        if let Some(streams) = &mut self.streams {
            streams.unwritten = Vec::new();
        }
    }

    /// Says once that a raw log has failed.
    fn check_logs(&mut self) {
        let error = self.streams.as_mut().and_then(|streams| streams.output.take_log_error());
        if let Some(error) = error {
            self.facts.log_error = Some(error.to_string().into());
            let required = self.launcher.as_ref().is_some_and(Launcher::requires_log);
            self.tell(Event::LogFailed { error: Arc::new(error), required });
        }
    }

    /// Shows what was read to those who want every byte.
    fn bytes(&mut self) {
        if let (Some(streams), Some(observer)) = (&self.streams, &mut self.outlet.observer) {
            observer.bytes(streams.output.chunk());
        }
    }

    /// Hands every line that was read to the machine.
    fn lines(&mut self) {
        self.check_logs();
        // One look at the clock for all: they came together.
        let now = now();
        while let Some(frame) = self.streams.as_mut().and_then(|streams| streams.output.next_frame()) {
            let line = self.decoder.decode_frame(frame);
            if let Some(observer) = &mut self.outlet.observer {
                observer.line(&line);
            }
            let outlet = &mut self.outlet;
            self.machine.handle(now, Event::Line(&line), &mut |view, change| outlet.change(view, change));
            // At once, so that whoever watches sees what we did where we did it: between two lines.
            self.perform();
        }
    }

    fn tell(&mut self, event: Event<'_>) {
        let outlet = &mut self.outlet;
        self.machine.handle(now(), event, &mut |view, change| outlet.change(view, change));
    }

    fn call(&mut self, call: Call) {
        match call {
            Call::Command(command, reply) => {
                let ticket = self.ticket(reply);
                self.tell(Event::Command(command(ticket)));
            }
            Call::Send(command, reply, message, waiter) => {
                let ticket = self.ticket(reply);
                self.applicants.insert(ticket, (message, waiter));
                self.tell(Event::Command(command(ticket)));
            }
            // Whoever asked may have gone; that is their business.
            Call::Follow(reply) => drop(reply.send(self.outlet.feed.follow(self.machine.view()))),
            Call::View(reply) => drop(reply.send(Box::new(self.machine.view().clone()))),
            Call::Reconfigure(options, fingerprint) => self.reconfigure(*options, fingerprint),
            Call::Facts(reply) => {
                let known = &self.facts;
                drop(reply.send(Facts {
                    pid: known.pid,
                    logs: known.logs.as_deref().cloned(),
                    log_error: known.log_error.as_deref().map(str::to_owned),
                    introduction: self.machine.introduction().clone(),
                    processes: known.processes,
                }));
            }
        }
    }

    /// Lets others see what it is doing. Before anybody is told anything, so that they see at least that.
    fn show(&self) {
        let glance = self.calls.glance();
        glance.set_awaits_person(self.machine.awaits_person());
        glance.set(self.machine.has_process(), self.machine.is_occupied(), self.facts.pid);
        if let Some(id) = &self.machine.view().session.id {
            glance.set_session_id(id);
        }
    }

    fn ticket(&mut self, reply: ReplySender) -> Ticket {
        self.next_ticket += 1;
        let ticket = Ticket(self.next_ticket);
        self.tickets.insert(ticket, reply);
        ticket
    }
}

async fn started(starting: &mut Option<(Starting, Spawn)>) -> Step {
    match starting {
        Some((starting, _)) => starting.await,
        None => std::future::pending().await,
    }
}

async fn next_text(stderr: Option<&mut Stderr>) -> Option<weir_process::StderrText> {
    match stderr {
        Some(stderr) => stderr.next().await,
        None => std::future::pending().await,
    }
}

/// A map that has become empty still has room for a few.
fn give_back<K, V>(map: &mut BTreeMap<K, V>) {
    if map.is_empty() {
        *map = BTreeMap::new();
    }
}

async fn rings(alarm: &mut Option<Pin<Box<Sleep>>>) {
    match alarm {
        Some(alarm) => alarm.as_mut().await,
        None => std::future::pending().await,
    }
}

/// The next decision of a handler; never, while none decides.
async fn decided(deciding: &mut Option<JoinSet<Decision>>) -> Woken {
    let next = poll_fn(|context| match deciding {
        Some(deciding) if !deciding.is_empty() => deciding.poll_join_next_with_id(context),
        _ => Poll::Pending,
    });
    match next.await {
        Some(Ok((task, decision))) => Woken::Decided(task, decision),
        // One that was withdrawn is no longer listed, so this is for one that panicked.
        Some(Err(error)) => Woken::Decided(error.id(), Decision::deny("The host failed while it decided.")),
        None => std::future::pending().await,
    }
}

fn now() -> Now {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let unix_ms = i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX);
    // Tokio's clock, so that tests can stop it.
    Now { instant: Instant::now().into_std(), unix_ms }
}
