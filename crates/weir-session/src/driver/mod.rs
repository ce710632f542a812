//! The thin shell around the machine: it waits for events and performs actions, but makes no decisions.
//!
//! There is one task for each session. It reads everything that the CLI has written at once, passes the lines
//! to the machine one by one, and performs the machine's actions. Nothing can block it: callers are answered
//! through channels that never block, viewers have queues that overflow, and handlers run in their own tasks.

mod ending;
mod launcher;
mod machine_cell;
mod our_side;
mod perform;
mod starting;

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use tokio::sync::oneshot;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, Sleep};
use weir_base::time::now_ms;
use weir_process::{Handle, Input, LogPaths, Output, Stderr};
use weir_transcript::{Change, HostEvent, View};
use weir_wire::{Decoder, Line, MessageId, OutgoingMessage, RequestId};

use crate::ask::Decision;
use crate::calls::Calls;
use crate::error::SessionError;
use crate::feed::{Feed, Updates};
use crate::fingerprint::Fingerprint;
use crate::machine::{self, Command, Event, Machine, Now, Reply, Spawn, Ticket, TurnEnd};
use crate::observer::{Observer, Step as ObservedStep};
use crate::options::SessionOptions;
pub(crate) use launcher::Launcher;
use launcher::{Starting, Step};
use machine_cell::MachineCell;
use our_side::Deciders;
pub(crate) use our_side::OurSide;

/// Receives the reply to a call.
pub(crate) type ReplySender = oneshot::Sender<Result<Reply, SessionError>>;
/// Receives the answer to a message.
pub(crate) type TurnSender = oneshot::Sender<Result<Arc<TurnEnd>, SessionError>>;

/// A call from a caller to the driver.
pub(crate) enum Call {
    /// A command, built once its ticket is known.
    Command(Box<dyn FnOnce(Ticket) -> Command + Send>, ReplySender),
    /// A command that sends a message, and the receiver of its answer.
    Send(Box<dyn FnOnce(Ticket) -> Command + Send>, ReplySender, MessageId, TurnSender),
    /// Starts following the session.
    Follow(oneshot::Sender<Updates>),
    /// Requests the current view.
    View(oneshot::Sender<Box<View>>),
    /// Changes the options; with their fingerprint, if known.
    Reconfigure(Box<SessionOptions>, Option<Fingerprint>),
    /// Requests facts about the process.
    Facts(oneshot::Sender<Facts>),
}

/// Current facts about the process.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Facts {
    /// The CLI's process id, while it runs.
    pub pid: Option<u32>,
    /// Its raw logs, or those of the last process.
    pub logs: Option<LogPaths>,
    /// Why one of its raw logs is incomplete or missing, as text for a person.
    pub log_error: Option<String>,
    /// What the CLI reported about itself at startup: commands, models, account.
    pub introduction: serde_json::Value,
    /// Number of processes started so far.
    pub processes: u64,
}

/// The same as [`Facts`], kept as small as possible.
#[derive(Default)]
struct Known {
    pid: Option<u32>,
    processes: u64,
    logs: Option<Box<LogPaths>>,
    log_error: Option<Box<str>>,
}

/// The driver of one session.
pub(crate) struct Driver {
    // Dropped in this order: first the process ends, then the rest of its output is read, then its locks are
    // released.
    /// The process itself; taken out while it is being ended.
    handle: Option<Handle>,
    /// The streams of the process, if there is one.
    streams: Option<Streams>,
    machine: MachineCell,
    decoder: Decoder,
    /// `None` once the session is over.
    launcher: Option<Launcher>,
    /// A process being started, and why.
    starting: Option<(Starting, Spawn)>,
    /// Waits for the end of what was being started when that was given up.
    burying: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// What the process was started with, if that may differ from the next one.
    running: Option<Fingerprint>,
    /// Whether the process is to be ended.
    must_end: bool,
    /// Whether there was something to do at the last check.
    was_occupied: bool,
    facts: Known,
    calls: Calls,
    /// Whether any handle to the session is left.
    is_held: bool,
    next_ticket: u64,
    tickets: BTreeMap<Ticket, ReplySender>,
    /// Receivers of the answers to messages that are not accepted yet.
    unaccepted: BTreeMap<Ticket, (MessageId, TurnSender)>,
    waiters: BTreeMap<MessageId, TurnSender>,
    deciders: Deciders,
    /// Running handlers, if there are any.
    deciding: Option<JoinSet<Decision>>,
    /// The request that each running handler decides.
    asked: Vec<(RequestId, AbortHandle)>,
    listeners: Listeners,
    /// For the machine's deadline. Reused, because most lines move it only a little.
    alarm: Option<Pin<Box<Sleep>>>,
}

/// The streams of a process.
struct Streams {
    output: Output,
    input: Input,
    /// `None` once it has ended. Only read if there is an observer.
    stderr: Option<Stderr>,
    /// Messages that may not have been written yet, with their offsets in the input.
    unwritten: Vec<(u64, OutgoingMessage)>,
}

/// Receivers of changes.
struct Listeners {
    observer: Option<Box<dyn Observer>>,
    feed: Feed,
}

impl Listeners {
    fn change(&mut self, view: &View, change: &Change<'_>) {
        if let Some(observer) = &mut self.observer {
            observer.change(view, change);
        }
        if self.feed.is_followed() {
            self.feed.change(change);
        }
    }

    fn pause(&mut self, machine: &mut MachineCell) {
        if let Some(observer) = &mut self.observer {
            observer.pause();
        }
        if self.feed.has_pending() {
            self.feed.publish(machine.enter().view());
        }
    }

    fn stderr(&mut self, text: String) {
        if let Some(observer) = &mut self.observer {
            observer.host(&HostEvent::Stderr { text });
        }
    }
}

/// The listeners at a point in time, as the machine sees them.
struct Told<'l> {
    listeners: &'l mut Listeners,
    at: i64,
}

impl machine::Sink for Told<'_> {
    fn host_begins(&mut self) {
        if let Some(observer) = &mut self.listeners.observer {
            observer.step(ObservedStep { at: self.at, is_transient: false });
        }
    }

    fn host(&mut self, event: &HostEvent) {
        if let Some(observer) = &mut self.listeners.observer {
            observer.host(event);
        }
    }

    fn change(&mut self, view: &View, change: &Change<'_>) {
        self.listeners.change(view, change);
    }

    fn streamed(&mut self, event: &HostEvent) {
        if let Some(observer) = &mut self.listeners.observer {
            observer.streamed(event);
        }
    }
}

/// The event that woke the driver.
enum Woken {
    Call(Option<Call>),
    Output(std::io::Result<bool>),
    Flushed(std::io::Result<()>),
    Stderr(Option<weir_process::StderrText>),
    Started(Box<Step>),
    Buried,
    Exited,
    Decided(tokio::task::Id, Decision),
    Time,
}

impl Driver {
    pub(crate) fn new(machine: Machine, launcher: Launcher, calls: Calls, mut side: OurSide) -> Self {
        let shared = side.shared_fold.take();
        let mut deciders = Deciders::default();
        let observer = deciders.take(side, &calls);
        Self {
            machine: MachineCell::new(machine, shared),
            decoder: Decoder::new(),
            launcher: Some(launcher),
            starting: None,
            burying: None,
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
            unaccepted: BTreeMap::new(),
            waiters: BTreeMap::new(),
            deciders,
            deciding: None,
            asked: Vec::new(),
            listeners: Listeners { observer, feed: Feed::default() },
            alarm: None,
        }
    }

    /// Runs until the session is over. Boxed, so that the task of a session is small: otherwise it would hold
    /// the driver twice.
    pub(crate) async fn run(mut self: Box<Self>) {
        self.tell(Event::Began);
        while !self.machine.is_over() {
            self.perform();
            if self.must_end && self.handle.is_some() {
                self.end_process().await;
                continue;
            }
            self.listeners.pause(&mut self.machine);
            self.release_memory();
            if self.machine.is_over() {
                break;
            }
            let woken = self.wait().await;
            self.woken(woken);
        }
        // The end must be logged before the log is closed and before any caller is told.
        self.listeners.pause(&mut self.machine);
        if let Some(launcher) = self.launcher.as_ref().filter(|_| self.was_occupied) {
            // It was stopped in the middle of something. Nobody else looks after the spare that it took.
            launcher.refill_spares();
        }
        // Callers that are told the session is over must find the locks released and the observer gone.
        self.launcher = None;
        self.listeners.observer = None;
        // Later callers are told that the session is over.
        self.calls.close();
        self.show();
        self.perform();
        while let Some(call) = self.calls.try_recv() {
            self.call(call);
        }
        self.perform();
    }

    /// Releases memory that is not needed while idle.
    fn release_memory(&mut self) {
        let mut machine = self.machine.enter();
        let is_occupied = machine.is_occupied();
        let is_at_rest = self.was_occupied && !is_occupied;
        if is_at_rest {
            machine.release_memory();
        }
        drop(machine);
        if is_at_rest {
            self.decoder.release_memory();
            give_back(&mut self.tickets);
            give_back(&mut self.unaccepted);
            give_back(&mut self.waiters);
            self.asked.shrink_to_fit();
            self.deciding.take_if(|deciding| deciding.is_empty());
            if let Some(launcher) = &self.launcher {
                launcher.refill_spares();
            }
        }
        if std::mem::replace(&mut self.was_occupied, is_occupied) != is_occupied {
            // A line can change this without anything to do, and a pool may wait for it.
            self.show();
        }
    }

    /// Sets the alarm to the machine's deadline.
    fn set_alarm(&mut self) {
        let deadline = self.machine.enter().deadline().map(Instant::from_std);
        match (deadline, &mut self.alarm) {
            (None, alarm) => *alarm = None,
            // Most lines move the deadline a little further away. The alarm then rings too early once, the machine finds
            // that nothing is due, and it is set again: that costs less than to set it with every line.
            (Some(deadline), Some(alarm)) if alarm.deadline() <= deadline && !alarm.is_elapsed() => {}
            (Some(deadline), Some(alarm)) => alarm.as_mut().reset(deadline),
            (Some(deadline), alarm) => *alarm = Some(Box::pin(tokio::time::sleep_until(deadline))),
        }
    }

    /// This future makes up most of an idle session, so its large and rare parts are boxed.
    async fn wait(&mut self) -> Woken {
        self.set_alarm();
        let (Some(Streams { output, input, stderr, .. }), Some(handle)) =
            (&mut self.streams, &mut self.handle)
        else {
            return tokio::select! {
                started = started(&mut self.starting) => Woken::Started(Box::new(started)),
                () = rings(&mut self.burying) => Woken::Buried,
                call = self.calls.recv(), if self.is_held => Woken::Call(call),
                () = rings(&mut self.alarm) => Woken::Time,
            };
        };
        let is_open = !output.is_ended();
        let wants_flush = input.wants_flush();
        let observer = &mut self.listeners.observer;
        let stderr = stderr.as_mut().filter(|_| observer.is_some());
        tokio::select! {
            // In no fixed order: a CLI that never stops writing must not starve callers, nor the other way
            // round.
            filled = fill(output, observer), if is_open => Woken::Output(filled),
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
                self.begin_ending();
            }
            Woken::Call(Some(call)) => self.call(call),
            // No handle to the session is left.
            Woken::Call(None) => {
                self.is_held = false;
                self.tell(Event::Command(Command::Stop { ticket: Ticket(0) }));
            }
            Woken::Started(step) => self.stepped(*step),
            Woken::Flushed(Ok(())) => self.flushed(),
            // The CLI no longer reads: it is ending, or has to be ended.
            Woken::Flushed(Err(_)) => self.begin_ending(),
            Woken::Stderr(Some(text)) => self.listeners.stderr(text.text),
            Woken::Stderr(None) => {
                if let Some(streams) = &mut self.streams {
                    streams.stderr = None;
                }
            }
            Woken::Decided(task, decision) => self.decided(task, decision),
            Woken::Buried => {
                self.burying = None;
                // The machine knows the actual reason.
                self.tell(Event::StartFailed(SessionError::Stopped));
            }
            Woken::Time => self.tell(Event::Tick),
        }
    }

    /// The process no longer reads or writes, or is gone: ends it, and tells the machine before the next call
    /// is handled.
    fn begin_ending(&mut self) {
        self.check_logs();
        self.must_end = true;
        self.tell(Event::Ending);
    }

    /// Everything queued for the CLI is written.
    fn flushed(&mut self) {
        if let Some(streams) = &mut self.streams {
            streams.unwritten = Vec::new();
        }
    }

    /// Reports once that a raw log has failed.
    fn check_logs(&mut self) {
        let error = self.streams.as_mut().and_then(|streams| streams.output.take_log_error());
        if let Some(error) = error {
            self.facts.log_error = Some(error.to_string().into());
            let required = self.launcher.as_ref().is_some_and(Launcher::requires_log);
            self.tell(Event::LogFailed { error: Arc::new(error), required });
        }
    }

    /// Passes the bytes just read to the observer.
    fn bytes(&mut self) {
        if let (Some(streams), Some(observer)) = (&self.streams, &mut self.listeners.observer) {
            observer.bytes(streams.output.chunk());
        }
    }

    /// Passes every line just read to the machine.
    fn lines(&mut self) {
        self.check_logs();
        // One timestamp for all: they arrived together.
        let now = now();
        while let Some(frame) = self.streams.as_mut().and_then(|streams| streams.output.next_frame()) {
            let line = self.decoder.decode_frame(frame);
            pass(&line, now, &mut self.machine, &mut self.listeners);
            self.perform();
        }
    }

    /// Passes lines that the process had written before it became the session's.
    fn hear(&mut self, said: &[Vec<u8>]) {
        let now = now();
        for raw in said {
            if let Some(observer) = &mut self.listeners.observer {
                observer.bytes(&[raw.as_slice(), b"\n"].concat());
            }
            let line = self.decoder.decode(raw);
            pass(&line, now, &mut self.machine, &mut self.listeners);
            self.perform();
        }
    }

    fn tell(&mut self, event: Event<'_>) {
        let now = now();
        let mut told = Told { listeners: &mut self.listeners, at: now.unix_ms };
        self.machine.enter().handle(now, event, &mut told);
        self.show();
    }

    fn call(&mut self, call: Call) {
        match call {
            Call::Command(command, reply) => {
                let ticket = self.ticket(reply);
                self.tell(Event::Command(command(ticket)));
            }
            Call::Send(command, reply, message, waiter) => {
                let ticket = self.ticket(reply);
                self.unaccepted.insert(ticket, (message, waiter));
                self.tell(Event::Command(command(ticket)));
            }
            // The caller may be gone, which does not matter.
            Call::Follow(reply) => {
                drop(reply.send(self.listeners.feed.follow(self.machine.enter().view())));
            }
            Call::View(reply) => drop(reply.send(Box::new(self.machine.enter().view().clone()))),
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

    /// Updates the summary of the session. Done before replying, so that a caller sees at least this state.
    fn show(&mut self) {
        let glance = self.calls.glance();
        let machine = self.machine.enter();
        glance.set_awaits_person(machine.awaits_person());
        glance.set(machine.has_process(), machine.is_occupied(), self.facts.pid);
        if let Some(id) = &machine.view().session.id {
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

/// Reads output, as soon as the observer can keep up.
async fn fill(output: &mut Output, observer: &mut Option<Box<dyn Observer>>) -> std::io::Result<bool> {
    if let Some(observer) = observer {
        poll_fn(|context| observer.poll_ready(context)).await;
    }
    output.fill().await
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

/// An empty map still holds memory for a few entries.
fn give_back<K, V>(map: &mut BTreeMap<K, V>) {
    if map.is_empty() {
        *map = BTreeMap::new();
    }
}

async fn rings<F: Future<Output = ()> + ?Sized>(alarm: &mut Option<Pin<Box<F>>>) {
    match alarm {
        Some(alarm) => alarm.as_mut().await,
        None => std::future::pending().await,
    }
}

/// The next decision of a handler; pending forever while none is running.
async fn decided(deciding: &mut Option<JoinSet<Decision>>) -> Woken {
    let next = poll_fn(|context| match deciding {
        Some(deciding) if !deciding.is_empty() => deciding.poll_join_next_with_id(context),
        _ => Poll::Pending,
    });
    match next.await {
        Some(Ok((task, decision))) => Woken::Decided(task, decision),
        // A withdrawn handler is no longer listed, so this one panicked.
        Some(Err(error)) => Woken::Decided(error.id(), Decision::deny("The host failed while deciding.")),
        None => std::future::pending().await,
    }
}

fn now() -> Now {
    // Tokio's clock, so that tests can pause it.
    Now { instant: Instant::now().into_std(), unix_ms: now_ms() }
}

/// Passes a line to the observer and to the machine.
fn pass(line: &Line<'_>, now: Now, machine: &mut MachineCell, listeners: &mut Listeners) {
    let mut machine = machine.enter();
    if let Some(observer) = &mut listeners.observer {
        let is_transient = machine.is_transient(line);
        observer.step(ObservedStep { at: now.unix_ms, is_transient });
        observer.line(line);
    }
    let mut told = Told { listeners, at: now.unix_ms };
    machine.handle(now, Event::Line(line), &mut told);
}
