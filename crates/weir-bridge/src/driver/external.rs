//! Lets a program outside the chats, such as the unattended loop, post messages and questions in them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};

use crate::channel::Place;
use crate::engine::{Answer, Ask};
use crate::error::BridgeError;
use crate::machine::{Event, External};

/// An answer from a chat to a question posted with [`ExternalHandle::ask`].
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalAnswer {
    /// Id of the question.
    pub request: String,
    /// The answer.
    pub answer: Answer,
    /// Name of the person who gave it.
    pub by: String,
}

/// Posts messages and questions in chats.
#[derive(Debug, Clone)]
pub struct ExternalHandle {
    events: mpsc::UnboundedSender<Event>,
    waiting: Waiting,
}

/// Callers that wait until something is stored, by number.
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

    /// Confirms that it is stored.
    pub(super) fn confirm(&self, number: u64) {
        let waiting = self.all.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
        if let Some(waiting) = waiting {
            // The caller may have given up.
            let _ = waiting.send(());
        }
    }
}

impl ExternalHandle {
    pub(super) fn new(events: mpsc::UnboundedSender<Event>, waiting: Waiting) -> Self {
        Self { events, waiting }
    }

    /// Posts a message. It is stored when this returns, and is posted in its turn.
    pub async fn tell(&self, place: Place, markdown: String) -> Result<(), BridgeError> {
        self.kept(|number| External::Tell { number, place, markdown }).await
    }

    /// Posts a question. It is stored when this returns, but is closed if the bridge restarts.
    pub async fn ask(&self, place: Place, ask: Ask) -> Result<(), BridgeError> {
        self.kept(|number| External::Ask { number, place, ask }).await
    }

    /// Reports that the answer from the chat was the first and counts.
    pub fn taken(&self, request: String) {
        let _ = self.events.send(Event::External(External::Taken { request }));
    }

    /// Reports that a question was answered elsewhere or withdrawn.
    pub fn settled(&self, request: String, how: String) {
        let _ = self.events.send(Event::External(External::Settled { request, how }));
    }

    async fn kept(&self, external: impl FnOnce(u64) -> External) -> Result<(), BridgeError> {
        let gone = || BridgeError::Failed("the bridge has ended".to_owned());
        let (number, kept) = self.waiting.add();
        self.events.send(Event::External(external(number))).map_err(|_| gone())?;
        kept.await.map_err(|_| gone())
    }
}
