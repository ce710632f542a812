//! Gives commands to the worker of their scope, and lets those go that have been at rest for long.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::engine::Engine;
use super::worker::{Parts, Worker};
use crate::engine::{Command, ConversationSettings};
use crate::machine::Event;
use crate::store::BridgeStore;

/// The scopes with their workers.
#[derive(Debug)]
pub(super) struct Conversations {
    parts: Parts,
    workers: HashMap<String, Handle>,
    tasks: JoinSet<()>,
}

/// A worker as it is seen from here.
#[derive(Debug)]
struct Handle {
    commands: mpsc::UnboundedSender<(ConversationSettings, Command)>,
    /// How many commands it was given.
    given: u64,
    /// How many it had been given when it came to rest.
    rested_after: Arc<AtomicU64>,
}

impl Handle {
    /// Whether it has nothing to do, and nothing to listen to.
    fn rests(&self) -> bool {
        self.rested_after.load(Ordering::Acquire) == self.given
    }
}

impl Conversations {
    pub(super) fn new(
        engine: Arc<dyn Engine>,
        store: Arc<BridgeStore>,
        tell: mpsc::UnboundedSender<Event>,
    ) -> Self {
        Self { parts: Parts { engine, store, tell }, workers: HashMap::new(), tasks: JoinSet::new() }
    }

    /// Has a command carried out after those before it.
    pub(super) fn command(&mut self, scope: String, conversation: ConversationSettings, command: Command) {
        if !self.workers.contains_key(&scope) {
            // A worker that rests ends when nobody can give it anything any more.
            self.workers.retain(|_, worker| !worker.rests());
            while self.tasks.try_join_next().is_some() {}
        }
        let worker = self.workers.entry(scope.clone()).or_insert_with(|| {
            let (commands, receiver) = mpsc::unbounded_channel();
            let rested_after = Arc::new(AtomicU64::new(0));
            let worker = Worker::new(scope, self.parts.clone(), Arc::clone(&rested_after));
            self.tasks.spawn(worker.run(receiver));
            Handle { commands, given: 0, rested_after }
        });
        worker.given += 1;
        // A worker ends with the bridge, or after it was let go.
        let _ = worker.commands.send((conversation, command));
    }
}
