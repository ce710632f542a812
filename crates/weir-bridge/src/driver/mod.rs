//! Carries out the actions of the machine: stores records, talks to the channels and the engine, and feeds the results
//! back as events.
//!
//! It makes no decisions.

mod batch;
mod conversations;
mod engine;
mod external;
mod fetch;
mod pictures;
mod worker;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use weir_base::time::now_ms;

pub use batch::Batch;
pub use engine::{Engine, EngineError, Prompt, PromptFile};
pub use external::{ExternalAnswer, ExternalHandle};

use crate::channel::{
    Attachment, Capabilities, Channel, ChannelName, ChannelsHealth, Delivery, Incoming, Inlet, Operation,
    OperationError, OutgoingFile, Place, UserId,
};
use crate::error::BridgeError;
use crate::machine::{Action, Bridge, ButtonKey, Event, Settings};
use crate::store::BridgeStore;
use conversations::Conversations;
use fetch::{Fetcher, Wanted};

/// Maximum number of deliveries that wait for the machine. A channel with more to deliver waits.
const MAX_DELIVERIES: usize = 64;
/// Maximum number of steps that share one write to disk. With more, the first would wait too long for the last.
const MAX_STEPS: usize = 256;
/// How long files that came with messages are kept, in milliseconds.
const KEEP_FILES_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// Runs a bridge.
#[derive(Debug)]
pub struct Driver {
    bridge: Bridge,
    first: Vec<Action>,
    store: Arc<BridgeStore>,
    channels: BTreeMap<ChannelName, Arc<dyn Channel>>,
    health: ChannelsHealth,
    people: Arc<BTreeSet<(ChannelName, UserId)>>,
    conversations: Conversations,
    fetcher: Fetcher,
    events: mpsc::UnboundedReceiver<Event>,
    tell: mpsc::UnboundedSender<Event>,
    waiting: HashMap<(ChannelName, String), Vec<oneshot::Sender<()>>>,
    notes: mpsc::UnboundedSender<String>,
    quiet: watch::Sender<bool>,
    external: external::Waiting,
    answers: Option<mpsc::UnboundedSender<ExternalAnswer>>,
}

/// Signals when a bridge has nothing left to do.
#[derive(Debug, Clone)]
pub struct Idle(watch::Receiver<bool>);

impl Idle {
    /// Waits until every delivered message has its outcome and every reply has been sent.
    pub async fn wait(mut self) {
        // A bridge that has ended has nothing left to do either.
        let _ = self.0.wait_for(|quiet| *quiet).await;
    }
}

impl Driver {
    /// Restores a bridge from its stored records. Log lines go to `notes`.
    pub fn new(
        settings: Settings,
        channels: BTreeMap<ChannelName, Arc<dyn Channel>>,
        engine: Arc<dyn Engine>,
        store: Arc<BridgeStore>,
        notes: mpsc::UnboundedSender<String>,
    ) -> Result<Self, BridgeError> {
        let capabilities: BTreeMap<ChannelName, Capabilities> =
            channels.iter().map(|(name, channel)| (name.clone(), channel.capabilities())).collect();
        let people = Arc::new(settings.people.keys().cloned().collect());
        let (bridge, first) = Bridge::restore(settings, capabilities, button_key()?, store.load()?, now_ms());
        store.forget_blobs(now_ms() - KEEP_FILES_MS)?;
        let (tell, events) = mpsc::unbounded_channel();
        let conversations = Conversations::new(engine, Arc::clone(&store), tell.clone());
        let fetcher = Fetcher::new(Arc::clone(&store), tell.clone());
        let health = ChannelsHealth::new(channels.keys());
        Ok(Self {
            bridge,
            first,
            store,
            channels,
            health,
            people,
            conversations,
            fetcher,
            events,
            tell,
            waiting: HashMap::new(),
            notes,
            quiet: watch::Sender::new(false),
            external: external::Waiting::default(),
            answers: None,
        })
    }

    /// A handle that waits until there is nothing left to do.
    pub fn idle(&self) -> Idle {
        Idle(self.quiet.subscribe())
    }

    /// A handle for a program outside the chats, such as the unattended loop, to post messages and questions in them,
    /// and a receiver for the answers. There can be one such program.
    pub fn external(&mut self) -> (ExternalHandle, mpsc::UnboundedReceiver<ExternalAnswer>) {
        let (sender, answers) = mpsc::unbounded_channel();
        self.answers = Some(sender);
        (ExternalHandle::new(self.tell.clone(), self.external.clone()), answers)
    }

    /// Health of the channels.
    pub fn health(&self) -> ChannelsHealth {
        self.health.clone()
    }

    /// Runs until `stop` completes, or until an error occurs that a person has to fix.
    pub async fn run(mut self, stop: impl Future<Output = ()>) -> Result<(), BridgeError> {
        let mut tasks = JoinSet::new();
        let (deliver, mut deliveries) = mpsc::channel(MAX_DELIVERIES);
        for (name, channel) in &self.channels {
            let inlet = Inlet {
                channel: name.clone(),
                store: Arc::clone(&self.store),
                deliveries: deliver.clone(),
                health: self.health.of(name),
                people: Arc::clone(&self.people),
                notes: self.notes.clone(),
            };
            tasks.spawn(Arc::clone(channel).run(inlet));
        }
        drop(deliver);
        let first = std::mem::take(&mut self.first);
        self.act(first).await?;
        tokio::pin!(stop);
        loop {
            let quiet = self.bridge.is_quiet() && self.events.is_empty() && deliveries.is_empty();
            self.quiet.send_replace(quiet);
            let wake = self.until_deadline();
            let mut batch = Batch::default();
            tokio::select! {
                () = &mut stop => return Ok(()),
                Some(event) = self.events.recv() => batch.add(self.event(event)),
                Some(delivery) = deliveries.recv() => batch.add(self.delivered(delivery)),
                () = wake => batch.add(self.event(Event::Tick)),
                Some(ended) = tasks.join_next() => channel_ended(ended)?,
            }
            self.add_pending(&mut batch, &mut deliveries);
            self.act(batch.into_actions()).await?;
        }
    }

    /// Adds everything that came in during the last write, so that it shares the next one: a hundred chats wait for one
    /// write, not for a hundred.
    fn add_pending(&mut self, batch: &mut Batch, deliveries: &mut mpsc::Receiver<Delivery>) {
        while batch.steps() < MAX_STEPS {
            let actions = if let Ok(event) = self.events.try_recv() {
                self.event(event)
            } else if let Ok(delivery) = deliveries.try_recv() {
                self.delivered(delivery)
            } else {
                return;
            };
            batch.add(actions);
        }
    }

    fn until_deadline(&self) -> impl Future<Output = ()> + use<> {
        let wait = self.bridge.next_deadline().map(|due| due.saturating_sub(now_ms()).max(1));
        async move {
            match wait.and_then(|wait| u64::try_from(wait).ok()) {
                Some(wait) => tokio::time::sleep(Duration::from_millis(wait)).await,
                None => std::future::pending().await,
            }
        }
    }

    fn delivered(&mut self, delivery: Delivery) -> Vec<Action> {
        // Must come before the delivery is confirmed.
        self.quiet.send_replace(false);
        let Incoming { place, key, .. } = &delivery.incoming;
        self.waiting.entry((place.channel.clone(), key.clone())).or_default().push(delivery.kept);
        self.event(Event::Incoming(delivery.incoming))
    }

    fn event(&mut self, event: Event) -> Vec<Action> {
        self.bridge.handle(event, now_ms())
    }

    async fn act(&mut self, actions: Vec<Action>) -> Result<(), BridgeError> {
        for action in actions {
            match action {
                Action::Keep(changes) => {
                    let store = Arc::clone(&self.store);
                    let kept = tokio::task::spawn_blocking(move || store.keep(&changes)).await;
                    kept.map_err(|error| BridgeError::Failed(error.to_string()))??;
                }
                Action::Acknowledge { channel, key } => {
                    for kept in self.waiting.remove(&(channel, key)).into_iter().flatten() {
                        // The channel may have given up. Then it delivers again, and that is recognised.
                        let _ = kept.send(());
                    }
                }
                Action::Perform { number, operation } => self.perform(number, operation),
                Action::Upload { number, place, file, key } => self.upload(number, place, file, key),
                Action::Fetch { message, index, place, file, blob } => {
                    if let Some(channel) = self.channels.get(&place.channel).cloned() {
                        self.fetcher.fetch(channel, Wanted { message, index, place, file, blob });
                    }
                }
                Action::Command { scope, conversation, command } => {
                    self.conversations.command(scope, conversation, command);
                }
                Action::CheckCode { place, sender, code } => {
                    let (store, tell) = (Arc::clone(&self.store), self.tell.clone());
                    tokio::task::spawn_blocking(move || {
                        let role = store.take_code(&code, now_ms()).ok().flatten();
                        let _ = tell.send(Event::CodeChecked { place, sender, role });
                    });
                }
                Action::Told { number } => self.external.confirm(number),
                Action::Answered { request, answer, by } => {
                    if let Some(answers) = &self.answers {
                        let _ = answers.send(ExternalAnswer { request, answer, by });
                    }
                }
                Action::Note(note) => {
                    let _ = self.notes.send(note);
                }
            }
        }
        Ok(())
    }

    /// Sends a stored file.
    fn upload(&self, number: u64, place: Place, file: Attachment, key: String) {
        let Some(channel) = self.channels.get(&place.channel).cloned() else { return };
        let (store, tell) = (Arc::clone(&self.store), self.tell.clone());
        tokio::spawn(async move {
            let Attachment { name, media_type, blob, .. } = file;
            let data = tokio::task::spawn_blocking(move || store.blob(&blob)).await;
            let result = match data {
                Ok(Ok(Some(data))) => {
                    let file = OutgoingFile { name, media_type, data };
                    channel.perform(Operation::Upload { place, file, key }).await
                }
                Ok(Ok(None)) => Err(OperationError::Refused("the file is no longer stored".to_owned())),
                Ok(Err(error)) => Err(OperationError::Passing(error.to_string())),
                Err(error) => Err(OperationError::Passing(error.to_string())),
            };
            let _ = tell.send(Event::Performed { number, result });
        });
    }

    fn perform(&self, number: u64, operation: Operation) {
        let Some(channel) = self.channels.get(&operation.place().channel).cloned() else { return };
        let tell = self.tell.clone();
        tokio::spawn(async move {
            let result = channel.perform(operation).await;
            let _ = tell.send(Event::Performed { number, result });
        });
    }
}

/// A random key for signing buttons.
fn button_key() -> Result<ButtonKey, BridgeError> {
    let mut bytes = [0; 32];
    let generator = rustls::crypto::ring::default_provider().secure_random;
    generator
        .fill(&mut bytes)
        .map_err(|_| BridgeError::Failed("the system provides no random numbers".to_owned()))?;
    Ok(ButtonKey::new(bytes))
}

fn channel_ended(ended: Result<Result<(), BridgeError>, tokio::task::JoinError>) -> Result<(), BridgeError> {
    ended.map_err(|error| BridgeError::Failed(error.to_string()))?
}
