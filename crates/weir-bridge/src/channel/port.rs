//! A channel as the driver sees it.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::{
    Attachment, Capabilities, ChannelName, Health, Incoming, IncomingBody, MessageRef, Operation,
    OperationError, RemoteFile, UserId,
};
use crate::error::BridgeError;
use crate::store::BridgeStore;

/// Something that is being done.
pub type Doing<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A channel: it delivers what comes in, and does what it is told.
pub trait Channel: Debug + Send + Sync {
    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// Delivers what comes in. It goes on for ever, whatever happens to the network; it ends when it is dropped, or
    /// with an error that a person has to mend.
    fn run(self: Arc<Self>, inlet: Inlet) -> Doing<'static, Result<(), BridgeError>>;

    /// Does something in a chat.
    fn perform(&self, operation: Operation) -> Doing<'_, Result<Option<MessageRef>, OperationError>>;

    /// Fetches a file that came with a message, of at most this many bytes; or says why not, in a few words. It may be
    /// dropped at any time.
    fn fetch<'a>(&'a self, file: &'a RemoteFile, max_bytes: u64) -> Doing<'a, Result<Vec<u8>, String>> {
        let _ = (file, max_bytes);
        Box::pin(std::future::ready(Err("this channel has no files to fetch".to_owned())))
    }

    /// Logs in and says what works, a sentence a line.
    fn check(&self) -> Doing<'_, Result<Vec<String>, BridgeError>>;
}

/// A file that came with a message, before it is kept.
#[derive(Debug, Clone)]
pub struct IncomingFile {
    /// Its name, as the sender calls it.
    pub name: String,
    /// What it is.
    pub media_type: String,
    /// Its bytes.
    pub data: Vec<u8>,
}

/// What came in, with somebody who waits for it to be kept.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) incoming: Incoming,
    pub(crate) kept: oneshot::Sender<()>,
}

/// Where a channel delivers what comes in.
#[derive(Debug, Clone)]
pub struct Inlet {
    pub(crate) channel: ChannelName,
    pub(crate) store: Arc<BridgeStore>,
    pub(crate) deliveries: mpsc::Sender<Delivery>,
    pub(crate) health: Arc<Health>,
    /// Who may talk to the agent by the configuration.
    pub(crate) people: Arc<BTreeSet<(ChannelName, UserId)>>,
    pub(crate) notes: mpsc::UnboundedSender<String>,
}

/// The bridge is over, or cannot keep anything. What was delivered will have to be delivered again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the bridge takes no more messages")]
pub struct NotKept;

impl Inlet {
    /// The channel's name in the configuration.
    pub fn channel(&self) -> &ChannelName {
        &self.channel
    }

    /// Delivers something. When this returns, it is kept and need not be delivered again. Files that came with it are
    /// kept for people who may talk to the agent, and for nobody else.
    pub async fn deliver(&self, mut incoming: Incoming, files: Vec<IncomingFile>) -> Result<(), NotKept> {
        self.health.heard(crate::now());
        let is_known = !files.is_empty() && !incoming.sender.is_bot && self.knows(&incoming.sender.id).await;
        if let IncomingBody::Text(message) = &mut incoming.body
            && is_known
        {
            for (index, file) in files.into_iter().enumerate() {
                let blob = format!("{}/{}/{index}", self.channel, incoming.key);
                let attachment = Attachment {
                    name: file.name,
                    media_type: file.media_type,
                    size: u64::try_from(file.data.len()).unwrap_or(u64::MAX),
                    blob: blob.clone(),
                };
                let store = Arc::clone(&self.store);
                let kept =
                    tokio::task::spawn_blocking(move || store.put_blob(&blob, &file.data, crate::now()));
                kept.await.map_err(|_| NotKept)?.map_err(|_| NotKept)?;
                message.attachments.push(attachment);
            }
        }
        let (kept, waits) = oneshot::channel();
        self.deliveries.send(Delivery { incoming, kept }).await.map_err(|_| NotKept)?;
        waits.await.map_err(|_| NotKept)
    }

    /// Where the channel goes on after a restart.
    pub async fn cursor(&self) -> Option<String> {
        let (store, name) = (Arc::clone(&self.store), self.channel.clone());
        tokio::task::spawn_blocking(move || store.cursor(name.as_str())).await.ok()?.ok()?
    }

    /// Keeps where the channel goes on after a restart.
    pub async fn set_cursor(&self, value: String) {
        let (store, name) = (Arc::clone(&self.store), self.channel.clone());
        // Where it is lost, deliveries come again, and are recognised.
        let _ = tokio::task::spawn_blocking(move || store.set_cursor(name.as_str(), &value)).await;
    }

    /// Whether this person may talk to the agent.
    pub async fn knows(&self, person: &UserId) -> bool {
        if self.people.contains(&(self.channel.clone(), person.clone())) {
            return true;
        }
        let (channel, person) = (self.channel.clone(), person.clone());
        self.look_up(move |store| store.is_paired(&channel, &person)).await
    }

    /// Whether an invitation by this person into a chat may be accepted: they may talk to the agent, or somebody
    /// can be let in with a code right now.
    pub async fn may_invite(&self, person: &UserId) -> bool {
        self.knows(person).await || self.look_up(|store| store.has_open_code(crate::now())).await
    }

    async fn look_up(
        &self,
        question: impl FnOnce(&BridgeStore) -> Result<bool, BridgeError> + Send + 'static,
    ) -> bool {
        let store = Arc::clone(&self.store);
        // Where it cannot be known, nobody is let in.
        let answer = tokio::task::spawn_blocking(move || question(&store)).await;
        answer.is_ok_and(|answer| answer.unwrap_or(false))
    }

    /// Something for the log.
    pub fn note(&self, note: impl std::fmt::Display) {
        // Where nobody reads the log there is nobody to tell.
        let _ = self.notes.send(format!("{}: {note}", self.channel));
    }

    /// Tells whether the channel can be reached.
    pub fn connected(&self, connected: bool) {
        self.health.set_connected(connected);
    }
}
