//! Turns that the agent begins by itself, as when something in the background has ended: the sender of the last message
//! pays for them too, and what cannot be paid for is ended.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use weir_store::SessionUpdate;
use weir_transcript::{Failure, Turn, TurnState};
use weir_wire::TurnId;

use crate::admission::{LOOK_AGAIN, Refusal};
use crate::billing::{Billing, Payment, SetAside};
use crate::core::Lease;
use crate::item::{Item, Note};
use crate::live_session::{LiveSession, State};
use crate::work;

/// How long such a turn may run until the money for it is free. The turn before it may not be settled yet.
const GRACE: Duration = Duration::from_secs(5);

/// Whether a turn was paid for in advance.
enum Bill {
    Paid(SetAside),
    Refused(Failure),
    /// It ended before the money for it was free.
    TooLate,
}

impl Lease {
    /// Lets the sender of the last message pay for a turn that has begun without one. Does not wait.
    pub(crate) fn bill_unasked(self, turn: TurnId) {
        let payer = self.lock().payer.clone();
        let (Some(billing), Some(payer)) = (self.core.billing.get().map(Arc::clone), payer) else { return };
        tokio::spawn(async move {
            match self.bill(&billing, &payer, turn).await {
                Bill::Paid(money) => {
                    let cost = self.cost_of_unasked(turn).await;
                    // A billing that fails has said so itself.
                    let _ = tokio::task::spawn_blocking(move || money.settle(cost)).await;
                }
                refused => {
                    if let Bill::Refused(failure) = refused {
                        self.end_unpaid(&payer, failure).await;
                    }
                    let cost = self.cost_of_unasked(turn).await;
                    let _ = tokio::task::spawn_blocking(move || billing.charge(&payer, cost)).await;
                }
            }
            self.core.freed.notify_waiters();
        });
    }

    async fn bill(&self, billing: &Arc<dyn Billing>, payer: &str, turn: TurnId) -> Bill {
        let until = Instant::now() + GRACE;
        let unpaid = |reason: String| Bill::Refused(Refusal::Unpaid(reason).failure());
        loop {
            let freed = self.core.freed.notified();
            let (asked, account) = (Arc::clone(billing), payer.to_owned());
            let payment = tokio::task::spawn_blocking(move || asked.reserve(&account)).await;
            match payment {
                Ok(Payment::Reserved(ticket)) => {
                    return Bill::Paid(SetAside::new(Arc::clone(billing), payer.to_owned(), ticket));
                }
                Ok(Payment::Wait) if Instant::now() < until => {}
                Ok(Payment::Wait) => {
                    let reason = "what is left of the budget is set aside for other turns that run";
                    return unpaid(reason.to_owned());
                }
                Ok(Payment::Refused(reason)) => return unpaid(reason),
                Ok(Payment::Closed(reason)) => return Bill::Refused(Refusal::Unauthorized(reason).failure()),
                Err(error) => return unpaid(format!("the budget could not be checked: {error}")),
            }
            tokio::select! {
                _ = tokio::time::timeout(LOOK_AGAIN, freed) => {}
                _ = self.cost_of_unasked(turn) => return Bill::TooLate,
            }
        }
    }

    /// Ends the process, and with it what works in the background and would begin more turns.
    async fn end_unpaid(&self, payer: &str, failure: Failure) {
        let is_paid_by_another =
            |state: &State| state.log.messages.is_any_in_flight() || state.payer.as_deref() != Some(payer);
        if is_paid_by_another(&self.lock()) {
            return;
        }
        let message = format!("the agent continued by itself, and was stopped: {}", failure.message);
        let failure = Failure { message, ..failure };
        let note = Item::Note(Note::Failed { message_id: None, failure });
        // If the log does not take it, the session has failed and ends for that reason.
        let _ = self.recorder.recorded(vec![note], SessionUpdate::default()).await;
        work::end_process(self).await;
    }

    /// Waits for the end of such a turn, for what it has cost; none where it ran and the CLI does not say.
    async fn cost_of_unasked(&self, turn: TurnId) -> Option<f64> {
        let ended = |state: &mut State| match state.view.turn(turn) {
            Some(turn) if turn.state == TurnState::Running => None,
            Some(turn) => Some(cost(turn)),
            None => Some(None),
        };
        self.until(ended).await.ok().flatten()
    }
}

impl LiveSession {
    /// Charges for sub-agents in the background whose process has ended before the CLI said what they cost. Does not wait.
    pub(crate) fn charge_cut_off_agents(&self, state: &State) {
        let (Some(billing), Some(payer)) = (self.core.billing.get().map(Arc::clone), state.payer.clone())
        else {
            return;
        };
        drop(tokio::task::spawn_blocking(move || billing.charge(&payer, None)));
    }
}

fn cost(turn: &Turn) -> Option<f64> {
    let is_cut_off = matches!(turn.state, TurnState::Interrupted | TurnState::Degraded | TurnState::Lost);
    match turn.cost_usd {
        // Messages that it answers after all pay for it.
        _ if !turn.messages.is_empty() => Some(0.0),
        Some(cost) if cost > 0.0 || !is_cut_off => Some(cost),
        // It ended with the result of another turn, which has the cost of both.
        None if !is_cut_off => Some(0.0),
        _ => None,
    }
}
