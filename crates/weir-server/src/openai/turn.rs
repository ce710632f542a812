//! A turn started by a request, independent of the clients that wait for it. Retries attach to it. When the last client
//! has disconnected it keeps running for a while, because the client may come back, and is then interrupted.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use weir_base::time::now_ms;
use weir_host::{Actor, HostError, MessageState, SessionId};
use weir_openai::reply::{Answer, Usage};
use weir_openai::{Known, OpenAiError, Stage};
use weir_wire::MessageId;

use super::histories::Begun;
use crate::state::App;

/// Outcome of a turn.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    /// An answer, without the tools that were used.
    Answer(Answer, Usage),
    /// A failure.
    Error(OpenAiError),
}

/// A turn that a request started.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) begun: Begun,
    state: Mutex<State>,
    outcome: watch::Sender<Option<Arc<Outcome>>>,
}

#[derive(Debug, Default)]
struct State {
    /// Number of waiting clients.
    attended: usize,
    /// Number of clients that ever waited.
    visits: u64,
    /// Whether a task waits for its end.
    is_settling: bool,
    /// When it ended, in milliseconds since 1970.
    ended_at: Option<i64>,
    /// Whether it ended with an answer. The answer is released when no client waits for it: the log has it.
    is_answered: bool,
}

impl Turn {
    /// A turn that has just started.
    pub(super) fn new(begun: Begun) -> Self {
        Self { begun, state: Mutex::default(), outcome: watch::Sender::new(None) }
    }

    /// A turn that started before this server did.
    pub(super) fn restored(begun: Begun) -> Self {
        Self::new(begun)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn session(&self) -> Option<SessionId> {
        self.begun.session.parse().ok()
    }

    pub(super) fn message(&self) -> MessageId {
        MessageId::from(self.begun.message.as_str())
    }

    /// What another request with the same key must know about it.
    pub(super) fn known(&self) -> Known<'_> {
        let (state, now) = (self.state(), now_ms());
        let stage = match (self.outcome.borrow().as_deref(), state.ended_at) {
            (Some(Outcome::Answer(..)), _) => Stage::Answered,
            (Some(Outcome::Error(error)), at) => {
                Stage::Failed { ago_ms: now - at.unwrap_or(now), looks_temporary: error.looks_temporary() }
            }
            (None, _) if state.is_answered => Stage::Answered,
            (None, _) if !state.is_settling => Stage::Unknown,
            (None, _) if state.attended > 0 => Stage::Attended,
            (None, _) => Stage::Abandoned,
        };
        Known { body: &self.begun.body, stage, age_ms: now - self.begun.at }
    }

    /// Marks its end as awaited. Returns true if it was not before: then the caller must wait for it.
    pub(super) fn begin_settling(&self) -> bool {
        !std::mem::replace(&mut self.state().is_settling, true)
    }

    /// Ends the turn with this outcome.
    pub(super) fn end(&self, outcome: Outcome) {
        let mut state = self.state();
        state.ended_at = Some(now_ms());
        state.is_answered = matches!(outcome, Outcome::Answer(..));
        self.outcome.send_replace(Some(Arc::new(outcome)));
        self.release(&mut state);
    }

    /// Releases an answer that no client waits for. A client that comes back gets it from the log.
    fn release(&self, state: &mut State) {
        if state.attended == 0 && state.is_answered {
            self.outcome.send_replace(None);
            state.is_settling = false;
        }
    }

    /// Waits for its end.
    pub(super) async fn ended(&self) -> Arc<Outcome> {
        let mut outcome = self.outcome.subscribe();
        let ended = outcome.wait_for(Option::is_some).await;
        // The sender lives as long as `self`.
        ended.ok().and_then(|outcome| outcome.clone()).unwrap_or_else(|| {
            Arc::new(Outcome::Error(OpenAiError::failed("the turn was lost; please report this bug")))
        })
    }

    /// Registers a waiting client for as long as the returned guard is held.
    pub(super) fn attend(self: &Arc<Self>, app: &App, by: &Actor) -> Attendance {
        let mut state = self.state();
        state.attended += 1;
        state.visits += 1;
        Attendance { app: app.clone(), turn: Arc::clone(self), by: by.clone() }
    }
}

/// A client that waits for a turn.
#[derive(Debug)]
pub(super) struct Attendance {
    app: App,
    turn: Arc<Turn>,
    by: Actor,
}

impl Drop for Attendance {
    fn drop(&mut self) {
        let visits = {
            let mut state = self.turn.state();
            state.attended = state.attended.saturating_sub(1);
            if state.attended > 0 || state.ended_at.is_some() {
                self.turn.release(&mut state);
                return;
            }
            state.visits
        };
        let (app, turn, by) = (self.app.clone(), Arc::clone(&self.turn), self.by.clone());
        tokio::spawn(async move {
            let grace = app.settings().openai.grace;
            if tokio::time::timeout(grace, turn.ended()).await.is_ok() {
                return;
            }
            let is_left = {
                let state = turn.state();
                state.attended == 0 && state.visits == visits
            };
            if is_left {
                stop(&app, &turn, &by).await;
            }
        });
    }
}

/// How long each attempt of [`stop`] may take to end the turn.
const STEP_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum attempts: a turn that does not end by then is ended by the limits of its session.
const MAX_STEPS: usize = 30;

/// Ends a turn: cancels its message, or interrupts the work it started. Work that others started in the session keeps
/// running.
pub(super) async fn stop(app: &App, turn: &Turn, by: &Actor) {
    let (Some(session), message) = (turn.session(), turn.message()) else { return };
    for _ in 0..MAX_STEPS {
        if let Err(error) = stop_once(app, &session, &message, by).await {
            tracing::warn!(%session, %error, "cannot end a turn that no client waits for");
        }
        if tokio::time::timeout(STEP_TIMEOUT, app.host().finished(&session, &message)).await.is_ok() {
            return;
        }
    }
}

async fn stop_once(app: &App, session: &SessionId, message: &MessageId, by: &Actor) -> Result<(), HostError> {
    let host = app.host();
    match host.cancel_message(session, message, by).await {
        // Older CLI versions cannot cancel a message they already have; an interrupt ends it all the same.
        Err(error) if matches!(error.code(), "not_cancellable" | "not_supported") => {}
        other => return other,
    }
    let messages = host.messages(session, None).await?;
    let open: Vec<_> = messages.iter().filter(|message| !message.state.is_final()).collect();
    let ours = open.iter().find(|open| open.message_id == *message).map(|open| open.state);
    match ours {
        Some(MessageState::Sent | MessageState::Started) => host.interrupt(session, by).await.map(drop),
        // It waits for a process. With nothing else to do, the whole session can be stopped.
        Some(_) if open.len() == 1 => host.stop(session, by).await,
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn() -> Turn {
        Turn::new(Begun {
            session: "s".into(),
            message: "m".into(),
            seq: 0,
            reply: "r".into(),
            at: now_ms(),
            body: "b".into(),
            setup: String::new(),
        })
    }

    #[test]
    fn an_answer_that_no_client_waits_for_is_not_kept() {
        let turn = turn();
        assert_eq!(turn.known().stage, Stage::Unknown);
        assert!(turn.begin_settling() && !turn.begin_settling());
        assert_eq!(turn.known().stage, Stage::Abandoned);
        turn.end(Outcome::Answer(Answer::default(), Usage::default()));
        assert_eq!(turn.known().stage, Stage::Answered);
        assert!(turn.outcome.borrow().is_none());
        // A client that comes back causes it to be settled again.
        assert!(turn.begin_settling());
    }

    #[test]
    fn a_failure_is_kept() {
        let turn = turn();
        assert!(turn.begin_settling());
        turn.end(Outcome::Error(OpenAiError::failed("no")));
        assert!(matches!(turn.known().stage, Stage::Failed { looks_temporary: true, .. }));
        assert!(turn.outcome.borrow().is_some() && !turn.begin_settling());
    }
}
