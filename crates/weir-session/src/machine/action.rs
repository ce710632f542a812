//! What the machine wants done.

use std::sync::Arc;

use serde_json::Value;
use weir_transcript::{HostEvent, Turn, TurnState};
use weir_wire::{MessageId, Outgoing, RequestId, SessionId};

use super::event::Ticket;
use crate::ask::Ask;
use crate::error::SessionError;

/// Something to do.
#[derive(Debug, Clone)]
pub enum Action {
    /// Start a process.
    Spawn(Spawn),
    /// Write a line to the CLI.
    Write(Outgoing),
    /// Put this into the log of the conversation. Comes before the reply that depends on it.
    Record(HostEvent),
    /// The session has this name: nobody else may have it.
    Claim(SessionId),
    /// Let the host's handler decide.
    Ask(Ask),
    /// The decision is no longer wanted.
    Withdraw(RequestId),
    /// Tell a caller.
    Reply(Ticket, Result<Reply, SessionError>),
    /// A message has come to its end: tell whoever waits for its answer.
    MessageEnded(MessageId, Result<Arc<TurnEnd>, SessionError>),
    /// A turn that nobody asked for has ended.
    UnaskedTurnEnded(Arc<TurnEnd>),
    /// Close the CLI's input and see that it ends, by force if it must be.
    End,
}

/// How a process is to be started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spawn {
    /// The session to go on with.
    pub resume: Option<SessionId>,
    /// Whether to go on with a copy of it.
    pub fork: bool,
    /// The last line that the copy has, by its uuid; none for all of them.
    pub fork_at: Option<String>,
    /// Whether an earlier process has had this conversation and what was said is lost: it needs a new name.
    pub afresh: bool,
}

/// A reply to a command.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Reply {
    /// It was done.
    Done,
    /// The message is accepted.
    Accepted,
    /// What the CLI answered.
    Answer(Value),
    /// There was nothing to interrupt.
    NothingRuns,
    /// It was not done, because there is something to do.
    Busy,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd {
    /// The turn, with its result and its cost.
    pub turn: Turn,
    /// The answer: the result's text, or what was said where there is none.
    pub text: String,
    /// The session, as the CLI names it.
    pub session_id: Option<SessionId>,
    /// What the conversation has cost so far, if that is known.
    pub total_cost_usd: Option<f64>,
}

impl TurnEnd {
    /// Whether the turn failed. One that was interrupted did not: see [`TurnEnd::is_interrupted`].
    pub fn is_error(&self) -> bool {
        self.turn.state.is_error()
    }

    /// Whether the turn was interrupted, so that its text is what was said until then.
    pub fn is_interrupted(&self) -> bool {
        self.turn.state == TurnState::Interrupted
    }

    /// Whether the CLI's result was empty, so that the text is what was said in the turn.
    pub fn is_degraded(&self) -> bool {
        self.turn.result.as_ref().is_some_and(|result| result.degraded)
    }

    /// What the turn cost, if that is known.
    pub fn cost_usd(&self) -> Option<f64> {
        self.turn.cost_usd
    }
}
