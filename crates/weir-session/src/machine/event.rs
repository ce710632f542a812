//! Events that the machine is told about.

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use weir_process::{Exit, LogError};
use weir_wire::{HostRequest, Line, MessageId, OutgoingMessage, RequestId};

use super::settings::MachineSettings;
use crate::ask::Decision;
use crate::error::SessionError;

/// Identifies a caller waiting for a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// The time on two clocks: a monotonic one and the time of day.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// For time limits.
    pub instant: Instant,
    /// Milliseconds since 1970, for the transcript.
    pub unix_ms: i64,
}

/// An event for the machine.
#[derive(Debug)]
pub enum Event<'a> {
    /// The session begins. Always first, and only once.
    Began,
    /// The settings have changed, except for which session it is.
    Reconfigured {
        /// The new settings.
        settings: Box<MachineSettings>,
        /// Whether the running process was started differently and has to be replaced.
        replace: bool,
    },
    /// The requested process is running.
    Started {
        /// Whether it is too old for the handshake.
        too_old: bool,
        /// Its answer to the handshake, if it had that before it became the session's.
        introduction: Option<Box<Value>>,
    },
    /// The process could not be started.
    StartFailed(SessionError),
    /// The CLI wrote a line.
    Line(&'a Line<'a>),
    /// A caller's command.
    Command(Command),
    /// A handler of the host has decided.
    Decided {
        /// The request.
        request: RequestId,
        /// The decision.
        decision: Decision,
    },
    /// The process has ended and all its output was read.
    Exited {
        /// How it ended.
        exit: Exit,
        /// The end of its standard error.
        stderr: String,
    },
    /// The process is ending by itself: it no longer reads. The rest of its output and how it ended follow
    /// later.
    Ending,
    /// The ending process was too old for the handshake. The next one is started without it.
    TooOld,
    /// A message for the process was never written, not even in part.
    Unwritten(Box<OutgoingMessage>),
    /// A raw log has failed.
    LogFailed {
        /// Which log failed, and why.
        error: Arc<LogError>,
        /// Whether the session must stop without it.
        required: bool,
    },
    /// The process must end, for a reason on our side.
    Failed(SessionError),
    /// Time has passed.
    Tick,
}

/// A caller's command. Each is answered by exactly one `Action::Reply` with its ticket.
#[derive(Debug)]
pub enum Command {
    /// A message for the model. Its uuid must be set.
    Send {
        /// The caller.
        ticket: Ticket,
        /// The message.
        message: Box<OutgoingMessage>,
        /// Whether it waits for the running turn.
        mode: SendMode,
    },
    /// Cancel a message.
    Cancel {
        /// The caller.
        ticket: Ticket,
        /// The message.
        message: MessageId,
    },
    /// End the current turn.
    Interrupt {
        /// The caller.
        ticket: Ticket,
        /// If set, does nothing once this message is finished.
        only: Option<MessageId>,
    },
    /// Any other control request.
    Request {
        /// The caller.
        ticket: Ticket,
        /// The request.
        request: Box<HostRequest>,
    },
    /// Answer a request of the CLI.
    Answer {
        /// The caller.
        ticket: Ticket,
        /// The request.
        request: RequestId,
        /// The decision.
        decision: Decision,
        /// Who decided.
        by: Option<String>,
    },
    /// Start the process now, without waiting for a message.
    Start {
        /// The caller.
        ticket: Ticket,
    },
    /// Reply once nothing is running, not even in the background.
    Settle {
        /// The caller.
        ticket: Ticket,
    },
    /// End the process but not the session: the next message starts another one.
    Close {
        /// The caller.
        ticket: Ticket,
    },
    /// Like `Close`, unless there is something to do. The reply says which.
    CloseIfIdle {
        /// The caller.
        ticket: Ticket,
    },
    /// End the session.
    Stop {
        /// The caller.
        ticket: Ticket,
    },
    /// End the session at once, even if it is already being stopped.
    Kill {
        /// The caller.
        ticket: Ticket,
    },
}

/// What happens to a message while a turn is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SendMode {
    /// It waits until the turn has ended, and gets its own.
    #[default]
    Queue,
    /// It is written at once: the model sees it at its next step.
    Steer,
}
