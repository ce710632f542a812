//! Actions that the machine requests.

use std::sync::Arc;

use serde_json::Value;
use weir_transcript::{Turn, TurnResult, TurnState};
use weir_wire::{CliSessionId, MessageId, Outgoing, RequestId};

use super::event::Ticket;
use crate::ask::Ask;
use crate::error::SessionError;

/// An action for the driver.
#[derive(Debug, Clone)]
pub enum Action {
    /// Start a process.
    Spawn(Spawn),
    /// Write a line to the CLI.
    Write(Outgoing),
    /// The session has this id: no other process may have it.
    Claim(CliSessionId),
    /// Let the host's handler decide.
    Ask(Ask),
    /// The decision is no longer wanted.
    Withdraw(RequestId),
    /// Reply to a caller.
    Reply(Ticket, Result<Reply, SessionError>),
    /// A message is finished: deliver its answer to the sender.
    MessageEnded(MessageId, Result<Arc<TurnEnd>, SessionError>),
    /// A turn that no message caused has ended.
    UnaskedTurnEnded(Arc<TurnEnd>),
    /// Close the CLI's input and make sure that it ends, by force if necessary.
    End,
}

/// How a process is to be started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spawn {
    /// The session to resume.
    pub resume: Option<CliSessionId>,
    /// Whether to resume a copy of it.
    pub fork: bool,
    /// The uuid of the last line in the copy; all lines if `None`.
    pub fork_at: Option<String>,
    /// Whether an earlier process had this session and its content is lost: it needs a new id.
    pub afresh: bool,
}

/// A reply to a command.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Reply {
    /// It was done.
    Done,
    /// The message was accepted.
    Accepted,
    /// The CLI's answer.
    Answer(Value),
    /// There was nothing to interrupt.
    NothingRuns,
    /// Nothing was done, because the session is busy.
    Busy,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd {
    /// The turn, with its result and its cost.
    pub turn: Turn,
    /// The answer: the result's text, or what was said in the turn if that is empty.
    pub text: String,
    /// The session id that the CLI uses.
    pub session_id: Option<CliSessionId>,
    /// Total cost of the session so far, if known.
    pub total_cost_usd: Option<f64>,
}

impl TurnEnd {
    /// Whether the turn failed. An interrupted turn did not: see [`TurnEnd::is_interrupted`].
    pub fn is_error(&self) -> bool {
        self.turn.state.is_error()
    }

    /// The turn, unless it failed.
    ///
    /// # Errors
    /// [`SessionError::TurnFailed`] if it failed.
    pub fn checked(self: Arc<Self>) -> Result<Arc<Self>, SessionError> {
        if self.is_error() { Err(SessionError::TurnFailed(self)) } else { Ok(self) }
    }

    /// Why the turn failed, in the CLI's words; `None` if it did not.
    pub fn error(&self) -> Option<String> {
        let words = || self.turn.result.as_ref().map(TurnResult::error);
        self.is_error().then(|| words().unwrap_or_else(|| "the turn ended without a result".to_owned()))
    }

    /// Whether the turn was interrupted, so that its text is what was said until then.
    pub fn is_interrupted(&self) -> bool {
        self.turn.state == TurnState::Interrupted
    }

    /// Whether the CLI's result was empty, so that the text is what was said in the turn.
    pub fn is_degraded(&self) -> bool {
        self.turn.result.as_ref().is_some_and(|result| result.degraded)
    }

    /// The answer as a value, in a session with an output schema.
    ///
    /// # Errors
    /// [`SessionError::Unstructured`] if the turn failed, has no value, or has one of another shape.
    pub fn value<T: serde::de::DeserializeOwned>(&self) -> Result<T, SessionError> {
        let unstructured = |reason: String| SessionError::Unstructured { reason };
        let value = self.turn.result.as_ref().map(|result| &result.structured_output);
        match value.filter(|value| !value.is_null() && !self.is_error()) {
            Some(value) => T::deserialize(value).map_err(|error| unstructured(error.to_string())),
            None if self.is_error() => Err(unstructured(format!("the turn failed: {}", self.text))),
            None => Err(unstructured("the model gave only text".to_owned())),
        }
    }

    /// Cost of the turn, if known.
    pub fn cost_usd(&self) -> Option<f64> {
        self.turn.cost_usd
    }
}
