//! What a message needs before it is given to the CLI: money of its sender, and live for a process.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use weir_session::{PoolError, Pooled, Reservation, SessionError};
use weir_transcript::{Failure, FailureKind, MessageState, TurnState};
use weir_wire::MessageId;

use crate::billing::{Payment, SetAside};
use crate::core::Lease;
use crate::live_session::{Shortage, State};
use crate::message::{Finished, StoredMessage};
use crate::metrics::count;
use crate::summary;

/// How often to look again when no notice comes that something has become free.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Why a message is not given to the CLI.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The session does not take it.
    Session(SessionError),
    /// Its sender may not spend more.
    Unpaid(String),
    /// Its sender may not send messages any more.
    Unauthorized(String),
}

impl From<SessionError> for Refusal {
    fn from(error: SessionError) -> Self {
        Self::Session(error)
    }
}

impl Refusal {
    pub(crate) fn failure(&self) -> Failure {
        match self {
            Self::Session(error) => summary::failure_by(error),
            Self::Unpaid(reason) => Failure { kind: FailureKind::BudgetExhausted, message: reason.clone() },
            Self::Unauthorized(reason) => {
                Failure { kind: FailureKind::Unauthorized, message: reason.clone() }
            }
        }
    }
}

impl Lease {
    /// Sets money aside for a message whose sender has an account. The outer none says that the message is not to be
    /// sent any more, the inner one that the sender has no account.
    pub(crate) async fn set_money_aside(
        &self,
        message: &StoredMessage,
    ) -> Result<Option<Option<SetAside>>, Refusal> {
        let Some(account) = &message.account else { return Ok(Some(None)) };
        let Some(billing) = self.core.billing.get() else {
            let reason = "the spending of this message's sender is not tracked here; send it again";
            return Err(Refusal::Unpaid(reason.to_owned()));
        };
        let mut lack = Lack::new(self, Shortage::Budget);
        loop {
            let freed = self.core.freed.notified();
            if self.is_given_up(&message.message_id)? {
                return Ok(None);
            }
            let (asked, payer) = (Arc::clone(billing), account.clone());
            let payment = tokio::task::spawn_blocking(move || asked.reserve(&payer)).await;
            match payment {
                Ok(Payment::Reserved(ticket)) => {
                    return Ok(Some(Some(SetAside::new(Arc::clone(billing), account.clone(), ticket))));
                }
                Ok(Payment::Wait) => {}
                Ok(Payment::Refused(reason)) => return Err(Refusal::Unpaid(reason)),
                Ok(Payment::Closed(reason)) => return Err(Refusal::Unauthorized(reason)),
                Err(error) => {
                    return Err(Refusal::Unpaid(format!("the budget could not be checked: {error}")));
                }
            }
            lack.tell();
            tokio::select! {
                // Nothing is lost if it is missed: that only takes longer.
                _ = tokio::time::timeout(LOOK_AGAIN, freed) => {}
                () = self.given_up(&message.message_id) => {}
            }
        }
    }

    /// Counts what the turn of a message has cost. What several messages share, each bears a part of.
    pub(crate) async fn settle(&self, id: &MessageId, money: SetAside) {
        let cost = summary::finished(&self.lock(), id).and_then(|finished| cost(&finished));
        // A billing that fails has said so itself.
        let _ = tokio::task::spawn_blocking(move || money.settle(cost)).await;
    }

    /// Waits for live for a process; none if the message is not to be sent any more.
    pub(crate) async fn reserve(
        &self,
        session: &Pooled,
        id: &MessageId,
    ) -> Result<Option<Reservation>, SessionError> {
        let waiting = &self.core.counters.waiting_for_process;
        let mut lack = Lack::new(self, Shortage::Process);
        let reservation = loop {
            let freed = self.core.freed.notified();
            match self.is_given_up(id) {
                Ok(false) => {}
                Ok(true) => break Ok(None),
                Err(cancelled) => break Err(cancelled),
            }
            let reserved = tokio::select! {
                reserved = session.reserve() => reserved,
                () = self.given_up(id) => continue,
            };
            match reserved {
                Ok(reservation) => break Ok(Some(reservation)),
                Err(PoolError::Full { .. }) => {}
                Err(PoolError::Session(error)) => break Err(error),
                Err(_) => break Ok(None),
            }
            if lack.tell() {
                count(waiting, 1);
            }
            self.core.end_longest_wait().await;
            tokio::select! {
                // Nothing is lost if it is missed: that only takes longer.
                _ = tokio::time::timeout(LOOK_AGAIN, freed) => {}
                () = self.given_up(id) => {}
            }
        };
        if lack.is_told {
            waiting.fetch_sub(1, Ordering::Relaxed);
        }
        reservation
    }

    /// Whether nothing more is given to the CLI for now; an error if the message was cancelled.
    fn is_given_up(&self, id: &MessageId) -> Result<bool, SessionError> {
        let state = self.lock();
        if state.log.messages.is_unwanted(id) {
            return Err(SessionError::Cancelled);
        }
        if state.log.messages.is_interrupted(id) {
            return Err(SessionError::Interrupted);
        }
        Ok(self.core.is_shutting_down() || state.stopping > 0)
    }

    /// Waits until there is a reason not to give this message to the CLI. A log that fails is one.
    async fn given_up(&self, id: &MessageId) {
        let has_reason = |state: &mut State| {
            state.stopping > 0 || state.log.messages.is_unwanted(id) || state.log.messages.is_interrupted(id)
        };
        let _ = self.until(|state| has_reason(state).then_some(())).await;
    }
}

/// What a message has cost; none where its turn ran and the CLI does not say.
fn cost(finished: &Finished) -> Option<f64> {
    let Some(turn) = &finished.turn else {
        // Written, and nothing was heard of it since.
        return (finished.state != MessageState::Indeterminate).then_some(0.0);
    };
    let cost = turn.cost_usd?;
    let is_cut_off = matches!(turn.state, TurnState::Interrupted | TurnState::Degraded | TurnState::Lost);
    // The CLI says zero where it was interrupted, whatever was spent.
    (cost > 0.0 || !is_cut_off).then(|| cost / turn.messages.len().max(1) as f64)
}

/// Something that a message lacks, shown to viewers while it does.
struct Lack<'a> {
    live: &'a Lease,
    what: Shortage,
    is_told: bool,
}

impl<'a> Lack<'a> {
    fn new(live: &'a Lease, what: Shortage) -> Self {
        Self { live, what, is_told: false }
    }

    /// Shows it. Says whether this is the first time.
    fn tell(&mut self) -> bool {
        if self.is_told {
            return false;
        }
        self.is_told = true;
        self.show(Some(self.what));
        true
    }

    fn show(&self, what: Option<Shortage>) {
        self.live.lock().waits_for = what;
        self.live.refresh();
    }
}

impl Drop for Lack<'_> {
    fn drop(&mut self) {
        if self.is_told {
            self.show(None);
        }
    }
}
