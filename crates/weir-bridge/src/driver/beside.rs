//! The door for those who say and ask something in a chat and are no conversation of it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};

use crate::channel::Place;
use crate::engine::{Answer, Ask};
use crate::error::BridgeError;
use crate::machine::{Beside, Event};

/// An answer from a chat to a question that was asked by [`BesideHandle::ask`].
#[derive(Debug, Clone, PartialEq)]
pub struct BesideAnswer {
    /// Names the question.
    pub request: String,
    /// The answer.
    pub answer: Answer,
    /// Who gave it.
    pub by: String,
}

/// Says and asks things in chats.
#[derive(Debug, Clone)]
pub struct BesideHandle {
    events: mpsc::UnboundedSender<Event>,
    waiting: Waiting,
}

/// Those who wait until something is kept, by number.
#[derive(Debug, Clone, Default)]
pub(super) struct Waiting {
    last: Arc<AtomicU64>,
    all: Arc<Mutex<HashMap<u64, oneshot::Sender<()>>>>,
}

impl Waiting {
    fn add(&self) -> (u64, oneshot::Receiver<()>) {
        let number = self.last.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        self.all.lock().unwrap_or_else(PoisonError::into_inner).insert(number, sender);
        (number, receiver)
    }

    /// It is kept.
    pub(super) fn told(&self, number: u64) {
        let waiting = self.all.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
        if let Some(waiting) = waiting {
            // Whoever said it may have gone.
            let _ = waiting.send(());
        }
    }
}

impl BesideHandle {
    pub(super) fn new(events: mpsc::UnboundedSender<Event>, waiting: Waiting) -> Self {
        Self { events, waiting }
    }

    /// Says something. It cannot be lost any more when this is done, and comes into the chat in its turn.
    pub async fn tell(&self, place: Place, markdown: String) -> Result<(), BridgeError> {
        self.kept(|number| Beside::Tell { number, place, markdown }).await
    }

    /// Asks something. It cannot be lost any more when this is done, as long as this bridge works.
    pub async fn ask(&self, place: Place, ask: Ask) -> Result<(), BridgeError> {
        self.kept(|number| Beside::Ask { number, place, ask }).await
    }

    /// The answer from the chat was the first, and counts.
    pub fn taken(&self, request: String) {
        let _ = self.events.send(Event::Beside(Beside::Taken { request }));
    }

    /// A question was answered elsewhere, or is no longer asked.
    pub fn settled(&self, request: String, how: String) {
        let _ = self.events.send(Event::Beside(Beside::Settled { request, how }));
    }

    async fn kept(&self, beside: impl FnOnce(u64) -> Beside) -> Result<(), BridgeError> {
        let gone = || BridgeError::Failed("the bridge has ended".to_owned());
        let (number, kept) = self.waiting.add();
        self.events.send(Event::Beside(beside(number))).map_err(|_| gone())?;
        kept.await.map_err(|_| gone())
    }
}
