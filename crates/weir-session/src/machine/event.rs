//! What the machine is told.

use std::sync::Arc;
use std::time::Instant;

use weir_process::{Exit, LogError};
use weir_wire::{HostRequest, Line, MessageId, OutgoingMessage, RequestId};

use super::settings::MachineSettings;
use crate::ask::Decision;
use crate::error::SessionError;

/// Names a caller who waits for a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// The time, on two clocks: one that never jumps, and one that people read.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// For limits.
    pub instant: Instant,
    /// Milliseconds since 1970, for the transcript.
    pub unix_ms: i64,
}

/// Something happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// The session begins. Comes first, and once.
    Began,
    /// Other settings count from now on, except for which session it is.
    Reconfigured {
        /// The settings.
        settings: Box<MachineSettings>,
        /// Whether the process that runs was started in another way and has to be replaced.
        replace: bool,
    },
    /// The process that was asked for runs.
    Started {
        /// Whether it is too old to be asked whether it is ready.
        too_old: bool,
    },
    /// It could not be started.
    StartFailed(SessionError),
    /// The CLI wrote a line.
    Line(&'a Line<'a>),
    /// Somebody wants something.
    Command(Command),
    /// A handler of the host has decided.
    Decided {
        /// The request.
        request: RequestId,
        /// The decision.
        decision: Decision,
    },
    /// The process has ended and everything that it wrote was read.
    Exited {
        /// How.
        exit: Exit,
        /// The last that it printed on its standard error.
        stderr: String,
    },
    /// The process is ending by itself: it reads no more. What it wrote and how it ended comes later.
    Ending,
    /// The process that is ending was too old to be asked whether it is ready. The next one will not be asked.
    TooOld,
    /// A message that was to be written to the process never was, not a byte of it.
    Unwritten(Box<OutgoingMessage>),
    /// A raw log has failed.
    LogFailed {
        /// Which one, and why.
        error: Arc<LogError>,
        /// Whether nothing may go on without it.
        required: bool,
    },
    /// The process must not go on, for a reason of ours.
    Failed(SessionError),
    /// Time has passed.
    Tick,
}

/// Somebody wants something. Each is answered by exactly one `Action::Reply` with its ticket.
#[derive(Debug)]
pub enum Command {
    /// A message for the model. Its uuid must be set.
    Send {
        /// Who asks.
        ticket: Ticket,
        /// The message.
        message: Box<OutgoingMessage>,
        /// Whether it waits for the running turn.
        mode: SendMode,
    },
    /// Take a message back.
    Cancel {
        /// Who asks.
        ticket: Ticket,
        /// The message.
        message: MessageId,
    },
    /// End the turn at hand.
    Interrupt {
        /// Who asks.
        ticket: Ticket,
        /// Nothing is done unless this message has not come to its end.
        only: Option<MessageId>,
    },
    /// Any other control request.
    Request {
        /// Who asks.
        ticket: Ticket,
        /// What for.
        request: Box<HostRequest>,
    },
    /// Answer a request of the CLI.
    Answer {
        /// Who asks.
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
        /// Who asks.
        ticket: Ticket,
    },
    /// Tell when nothing runs any more, in the background either.
    Settle {
        /// Who asks.
        ticket: Ticket,
    },
    /// End the process but not the session: the next message starts another one.
    Close {
        /// Who asks.
        ticket: Ticket,
    },
    /// The same, unless there is something to do. The reply says which.
    CloseIfIdle {
        /// Who asks.
        ticket: Ticket,
    },
    /// End everything.
    Stop {
        /// Who asks.
        ticket: Ticket,
    },
    /// End everything at once, also what is being stopped.
    Kill {
        /// Who asks.
        ticket: Ticket,
    },
}

/// What becomes of a message while a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SendMode {
    /// It waits until the turn has ended, and gets one of its own.
    #[default]
    Queue,
    /// It is written at once: the model sees it at its next step.
    Steer,
}
