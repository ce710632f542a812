//! A host for the machine: it does what the driver does, without a process behind it, and checks that every
//! action is one a driver can rely on.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_process::Exit;
use weir_transcript::{Change, HostEvent, View};
use weir_wire::{Decoder, MessageId, Outgoing, OutgoingMessage, RequestId};

use crate::ask::Decision;
use crate::error::SessionError;
use crate::machine::{
    Action, Command, Event, Machine, MachineSettings, Now, Reply, SendMode, Sink, Spawn, Ticket, TurnEnd,
};

/// State of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Process {
    None,
    /// Requested.
    Starting,
    /// Requested, and to be ended as soon as it is running.
    StartCancelled,
    Running,
    /// Its input is closed.
    Ending,
}

/// How a message ended.
pub(super) type Ended = Result<std::sync::Arc<TurnEnd>, SessionError>;

/// The host.
pub(super) struct Host {
    pub(super) machine: Machine,
    pub(super) process: Process,
    pub(super) spawns: Vec<Spawn>,
    pub(super) replies: HashMap<Ticket, Result<Reply, SessionError>>,
    pub(super) ended: HashMap<MessageId, Ended>,
    /// Everything written to the CLI.
    pub(super) written: Vec<Value>,
    /// Requests of the CLI passed to the handler and not withdrawn.
    pub(super) asked: Vec<RequestId>,
    pub(super) accepted: Vec<MessageId>,
    now: Now,
    decoder: Decoder,
    tickets: u64,
    messages: HashMap<Ticket, MessageId>,
    pub(super) sent: HashSet<MessageId>,
    /// A view built from changes only.
    followed: View,
}

/// What the machine tells.
struct Seen<'h> {
    followed: &'h mut View,
    sent: &'h mut HashSet<MessageId>,
}

impl Sink for Seen<'_> {
    fn host_begins(&mut self) {}

    fn host(&mut self, event: &HostEvent) {
        if let HostEvent::MessageSent { message } = event {
            assert!(self.sent.insert(message.clone()), "a message is sent once");
        }
    }

    fn change(&mut self, _view: &View, change: &Change<'_>) {
        self.followed.apply(change);
    }

    fn streamed(&mut self, _event: &HostEvent) {}
}

impl Host {
    pub(super) fn new(settings: MachineSettings) -> Self {
        let now = Now { instant: Instant::now(), unix_ms: 0 };
        Self {
            machine: Machine::new(settings, now),
            process: Process::None,
            spawns: Vec::new(),
            replies: HashMap::new(),
            ended: HashMap::new(),
            written: Vec::new(),
            asked: Vec::new(),
            accepted: Vec::new(),
            now,
            decoder: Decoder::new(),
            tickets: 0,
            messages: HashMap::new(),
            sent: HashSet::new(),
            followed: View::default(),
        }
    }

    /// A host with a process that is ready.
    pub(super) fn ready(settings: MachineSettings) -> Self {
        let mut host = Self::new(settings);
        host.command(|ticket| Command::Start { ticket });
        host.started();
        host.answer_last(&json!({}));
        host
    }

    pub(super) fn handle(&mut self, event: Event<'_>) {
        let mut seen = Seen { followed: &mut self.followed, sent: &mut self.sent };
        self.machine.handle(self.now, event, &mut seen);
        assert_eq!(*self.machine.view(), self.followed, "a snapshot and the changes since are the view");
        for action in self.machine.take_actions() {
            self.act(action);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Spawn(spawn) => {
                assert_eq!(self.process, Process::None, "one process at a time");
                self.process = Process::Starting;
                self.spawns.push(spawn);
            }
            Action::Write(line) => {
                let can_hear = matches!(self.process, Process::Running | Process::Ending);
                assert!(can_hear, "no process to receive {line:?}");
                if let Outgoing::User(message) = &line {
                    assert_eq!(self.process, Process::Running, "a message to an ending process");
                    let id = message.uuid.clone().expect("a message has an id");
                    assert!(self.sent.contains(&id), "a message was sent that is not in the log");
                }
                self.written.push(serde_json::from_str(&line.to_line()).expect("a line is JSON"));
            }
            Action::Claim(_) | Action::UnaskedTurnEnded(_) => {}
            Action::Ask(ask) => self.asked.push(ask.id().clone()),
            Action::Withdraw(request) => self.asked.retain(|asked| *asked != request),
            Action::Reply(ticket, reply) => {
                if matches!(reply, Ok(Reply::Accepted)) {
                    self.accepted.push(self.messages[&ticket].clone());
                }
                assert!(self.replies.insert(ticket, reply).is_none(), "one reply for each");
            }
            Action::MessageEnded(message, result) => {
                assert!(self.ended.insert(message, result).is_none(), "a message ends once");
            }
            Action::End => {
                self.process = match self.process {
                    Process::Starting => Process::StartCancelled,
                    Process::Running => Process::Ending,
                    other => panic!("nothing to end: {other:?}"),
                };
            }
        }
    }

    pub(super) fn command(&mut self, command: impl FnOnce(Ticket) -> Command) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.handle(Event::Command(command(ticket)));
        ticket
    }

    /// How many tickets there are, counted from one.
    pub(super) fn tickets(&self) -> u64 {
        self.tickets
    }

    pub(super) fn send(&mut self, id: &str, mode: SendMode) -> Ticket {
        let id = MessageId::new(id);
        self.messages.insert(Ticket(self.tickets + 1), id.clone());
        let message = OutgoingMessage { uuid: Some(id), ..OutgoingMessage::text("text") };
        self.command(|ticket| Command::Send { ticket, message: Box::new(message), mode })
    }

    pub(super) fn started(&mut self) {
        self.process = Process::Running;
        self.handle(Event::Started { too_old: false, introduction: None });
    }

    pub(super) fn start_fails(&mut self) {
        self.process = Process::None;
        self.handle(Event::StartFailed(SessionError::NotRunning));
    }

    /// The process no longer reads.
    pub(super) fn begin_ending(&mut self) {
        self.process = Process::Ending;
        self.handle(Event::Ending);
    }

    /// A message never reached the process.
    pub(super) fn unwritten(&mut self, id: &str) {
        let message = OutgoingMessage { uuid: Some(MessageId::new(id)), ..OutgoingMessage::text("text") };
        self.sent.remove(&MessageId::new(id));
        self.handle(Event::Unwritten(Box::new(message)));
    }

    pub(super) fn exits(&mut self, code: i32) {
        self.process = Process::None;
        self.asked.clear();
        let stderr = "last words".to_owned();
        self.handle(Event::Exited { exit: Exit::with_code(code), stderr });
    }

    pub(super) fn decides(&mut self, request: &RequestId, decision: Decision) {
        self.asked.retain(|asked| asked != request);
        self.handle(Event::Decided { request: request.clone(), decision });
    }

    pub(super) fn line(&mut self, line: &str) {
        let mut decoder = std::mem::take(&mut self.decoder);
        self.handle(Event::Line(&decoder.decode(line.as_bytes())));
        self.decoder = decoder;
    }

    pub(super) fn says(&mut self, line: &Value) {
        self.line(&line.to_string());
    }

    /// Answers the request that was written last.
    pub(super) fn answer_last(&mut self, response: &Value) {
        let id = self.requests().last().expect("a request was written").to_owned();
        let response = json!({"subtype": "success", "request_id": id, "response": response});
        self.says(&json!({"type": "control_response", "response": response}));
    }

    /// The ids of the requests that were written.
    pub(super) fn requests(&self) -> Vec<&str> {
        self.written.iter().filter_map(|line| line["request_id"].as_str()).collect()
    }

    /// Lets time pass. The machine may ask for ticks, but not endlessly.
    pub(super) fn pass(&mut self, time: Duration) {
        let until = self.now.instant + time;
        for _ in 0..100 {
            match self.machine.deadline().filter(|deadline| *deadline <= until) {
                None => {
                    self.now.instant = until;
                    return;
                }
                Some(deadline) => {
                    self.now.instant = self.now.instant.max(deadline);
                    self.handle(Event::Tick);
                }
            }
        }
        panic!("it keeps asking for ticks: {:?}", self.machine);
    }
}
