//! What a session is doing, for editors that are told so: those that speak version 2 of the protocol. A turn's end is told
//! with how it ended, whoever asked for it.

use std::time::Duration;

use agent_client_protocol::v1::schema as v1;
use agent_client_protocol::v2::schema::{
    ErrorStopReason, IdleStateUpdate, RequiresActionStateUpdate, RunningStateUpdate, StateUpdate, StopReason,
    Usage,
};
use agent_client_protocol::{Error, v2};
use weir_host::SessionStatus;
use weir_transcript::{EntryBody, Status, TurnState, View};
use weir_wire::{MessageId, TurnId};

use super::Editor;
use super::pump::Pump;
use crate::draft::{same, tell_state};
use crate::translate::failure::prompt_end;

/// How long the end of a message may take that the view shows as ended.
const PATIENCE: Duration = Duration::from_secs(1);

/// What the editor knows.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Whether the host is at work: a turn runs or is about to, or something in the background.
    is_busy: bool,
    told: Option<Doing>,
    /// The last turn that had ended when the session was idle.
    before: Option<TurnId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    Idle,
    Running,
    Waiting,
}

impl Known {
    /// Takes the session's summary.
    pub(super) fn status(&mut self, status: SessionStatus) {
        self.is_busy = status.is_busy();
    }

    fn doing(&self, view: &View) -> Doing {
        match &view.status {
            Status::WaitingForPerson => Doing::Waiting,
            Status::Background => Doing::Idle,
            status if status.is_in_turn() || self.is_busy => Doing::Running,
            _ => Doing::Idle,
        }
    }
}

/// The message that the session has been busy with: the last one of the turn that began in the meantime, or if none did, the
/// newest one, which failed or was withdrawn before.
fn ended_last(view: &View, before: Option<&TurnId>) -> Option<MessageId> {
    match view.turns.last() {
        Some(turn) if Some(&turn.id) != before => turn.messages.last().cloned(),
        _ => view.entries.iter().rev().find_map(|entry| match &entry.body {
            EntryBody::User(user) => user.message.clone(),
            _ => None,
        }),
    }
}

impl Pump {
    /// Tells what the session is doing, if that is new. An editor that opens the session is told in any case.
    pub(super) async fn tell_state(&mut self, is_opening: bool) {
        let Editor::Draft(editor) = self.editor.clone() else { return };
        let doing = self.known.doing(self.projection.view());
        if self.known.told == Some(doing) && !is_opening {
            return;
        }
        let is_end = doing == Doing::Idle && self.known.told.is_some_and(|told| told != Doing::Idle);
        if self.known.told.is_none_or(|told| told == Doing::Idle) && doing != Doing::Idle {
            let ended = self.projection.view().turns.last().filter(|turn| turn.state != TurnState::Running);
            self.known.before = ended.map(|turn| turn.id);
        }
        self.known.told = Some(doing);
        let state = match doing {
            Doing::Running => StateUpdate::Running(RunningStateUpdate::new()),
            Doing::Waiting => StateUpdate::RequiresAction(RequiresActionStateUpdate::new()),
            Doing::Idle if is_end => StateUpdate::Idle(self.end().await),
            Doing::Idle => StateUpdate::Idle(IdleStateUpdate::new()),
        };
        tell_state(&editor, self.id.as_str(), state, &self.outbox);
    }

    /// How the last turn ended.
    async fn end(&self) -> IdleStateUpdate {
        let view = self.projection.view();
        let idle = IdleStateUpdate::new();
        if let Some(message) = ended_last(view, self.known.before.as_ref()) {
            let finished = tokio::time::timeout(PATIENCE, self.host.finished(&self.id, &message)).await;
            let Ok(Ok(finished)) = finished else { return idle };
            return match prompt_end(&finished, false) {
                Ok(ended) => {
                    let usage: Option<Usage> = ended.usage.as_ref().and_then(|usage| same(usage).ok());
                    idle.stop_reason(stop_reason(ended.stop_reason)).usage(usage)
                }
                Err(error) => idle.stop_reason(failed(error)),
            };
        }
        // No one asked for it.
        match view.turns.last().map(|turn| turn.state) {
            Some(TurnState::Interrupted) => idle.stop_reason(StopReason::Cancelled),
            Some(TurnState::Failed | TurnState::Lost) => {
                let error = Error::new(Error::internal_error().code, "the turn failed");
                idle.stop_reason(failed(error))
            }
            Some(_) => idle.stop_reason(StopReason::EndTurn),
            None => idle,
        }
    }
}

fn failed(error: Error) -> StopReason {
    StopReason::Error(ErrorStopReason::new().error(v2::schema::Error::from(error)))
}

fn stop_reason(reason: v1::StopReason) -> StopReason {
    match reason {
        v1::StopReason::MaxTokens => StopReason::MaxTokens,
        v1::StopReason::MaxTurnRequests => StopReason::MaxTurnRequests,
        v1::StopReason::Refusal => StopReason::Refusal,
        v1::StopReason::Cancelled => StopReason::Cancelled,
        _ => StopReason::EndTurn,
    }
}
