//! Who pays for a message. The host asks when a message is about to be given to the CLI, because that is when money is
//! spent; what was accepted earlier may have become too much since.

use std::fmt;
use std::sync::Arc;

/// Decides whether an account may pay for another turn, for all sessions together, and counts what turns cost.
///
/// The host calls it from a thread that may block.
pub trait Billing: Send + Sync + fmt::Debug {
    /// Sets money aside for a turn: that of a message, or one that the agent has begun by itself, as when something in the
    /// background has ended.
    fn reserve(&self, account: &str) -> Payment;

    /// Something for which no money was set aside has cost this much: a turn that the agent began by itself and that was
    /// refused, or agents in the background that were cut off. None where it ran and the CLI did not say what it cost.
    fn charge(&self, account: &str, cost_usd: Option<f64>);

    /// The turn for which money was set aside has ended with this cost; zero if it never began. None where it ran and the
    /// CLI did not say what it cost, as for a turn that was interrupted.
    fn settle(&self, account: &str, ticket: u64, cost_usd: Option<f64>);
}

/// Whether an account pays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payment {
    /// It does; [`Billing::settle`] gets this ticket back.
    Reserved(u64),
    /// What is left is set aside for turns that run. Ask again when one of them has ended.
    Wait,
    /// It does not, and will not, for this reason.
    Refused(String),
    /// It no longer exists, for this reason: what was accepted from it is not handed over.
    Closed(String),
}

/// Money that is set aside for one turn. If it is dropped, the turn was never begun.
#[derive(Debug)]
pub(crate) struct SetAside {
    billing: Option<Arc<dyn Billing>>,
    account: String,
    ticket: u64,
}

impl SetAside {
    pub(crate) fn new(billing: Arc<dyn Billing>, account: String, ticket: u64) -> Self {
        Self { billing: Some(billing), account, ticket }
    }

    /// The turn has cost this much. Blocks.
    pub(crate) fn settle(mut self, cost_usd: Option<f64>) {
        if let Some(billing) = self.billing.take() {
            billing.settle(&self.account, self.ticket, cost_usd);
        }
    }
}

impl Drop for SetAside {
    fn drop(&mut self) {
        if let Some(billing) = self.billing.take() {
            billing.settle(&self.account, self.ticket, Some(0.0));
        }
    }
}
