//! The interface between the driver and a channel.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use weir_base::time::now_ms;

use super::{
    Attachment, Capabilities, ChannelName, Health, Incoming, IncomingBody, MessageRef, Operation,
    OperationError, RemoteFile, UserId,
};
use crate::error::BridgeError;
use crate::store::BridgeStore;

/// A boxed future.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A channel delivers messages to the bridge and performs operations.
pub trait Channel: Debug + Send + Sync {
    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// Delivers incoming messages. Retries forever if the network fails. Ends when dropped, or with an error that a
    /// person has to fix.
    fn run(self: Arc<Self>, inlet: Inlet) -> BoxFuture<'static, Result<(), BridgeError>>;

    /// Performs an operation in a chat.
    fn perform(&self, operation: Operation) -> BoxFuture<'_, Result<Option<MessageRef>, OperationError>>;

    /// Fetches a file that came with a message, up to `max_bytes`. The error is a short reason. The future may be
    /// dropped at any time.
    fn fetch<'a>(&'a self, file: &'a RemoteFile, max_bytes: u64) -> BoxFuture<'a, Result<Vec<u8>, String>> {
        let _ = (file, max_bytes);
        Box::pin(std::future::ready(Err("this channel has no files to fetch".to_owned())))
    }

    /// Logs in and describes what works, one sentence per line.
    fn check(&self) -> BoxFuture<'_, Result<Vec<String>, BridgeError>>;
}

/// A file that came with a message and is not stored yet.
#[derive(Debug, Clone)]
pub struct IncomingFile {
    /// Name given by the sender.
    pub name: String,
    /// Media type.
    pub media_type: String,
    /// Its bytes.
    pub data: Vec<u8>,
}

/// An incoming message, and where to confirm that it is stored.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) incoming: Incoming,
    pub(crate) kept: oneshot::Sender<()>,
}

/// Delivers the incoming messages of a channel to the bridge.
#[derive(Debug, Clone)]
pub struct Inlet {
    pub(crate) channel: ChannelName,
    pub(crate) store: Arc<BridgeStore>,
    pub(crate) deliveries: mpsc::Sender<Delivery>,
    pub(crate) health: Arc<Health>,
    /// People who may talk to the agent according to the configuration.
    pub(crate) people: Arc<BTreeSet<(ChannelName, UserId)>>,
    pub(crate) notes: mpsc::UnboundedSender<String>,
}

/// The bridge has ended or cannot store anything. The message has to be delivered again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the bridge takes no more messages")]
pub struct NotKept;

impl Inlet {
    /// The channel's name in the configuration.
    pub fn channel(&self) -> &ChannelName {
        &self.channel
    }

    /// Delivers a message. When this returns `Ok`, the message is stored and need not be delivered again. Its files are
    /// stored only if the sender may talk to the agent.
    pub async fn deliver(&self, mut incoming: Incoming, files: Vec<IncomingFile>) -> Result<(), NotKept> {
        self.health.heard(now_ms());
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
                let kept = tokio::task::spawn_blocking(move || store.put_blob(&blob, &file.data, now_ms()));
                kept.await.map_err(|_| NotKept)?.map_err(|_| NotKept)?;
                message.attachments.push(attachment);
            }
        }
        let (kept, confirmed) = oneshot::channel();
        self.deliveries.send(Delivery { incoming, kept }).await.map_err(|_| NotKept)?;
        confirmed.await.map_err(|_| NotKept)
    }

    /// Where the channel resumes after a restart.
    pub async fn cursor(&self) -> Option<String> {
        let (store, name) = (Arc::clone(&self.store), self.channel.clone());
        tokio::task::spawn_blocking(move || store.cursor(name.as_str())).await.ok()?.ok()?
    }

    /// Stores where the channel resumes after a restart.
    pub async fn set_cursor(&self, value: String) {
        let (store, name) = (Arc::clone(&self.store), self.channel.clone());
        // If this fails, messages are delivered again and recognised as duplicates.
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

    /// Whether an invitation by this person to a chat may be accepted: they may talk to the agent, or a pairing code is
    /// currently valid.
    pub async fn may_invite(&self, person: &UserId) -> bool {
        self.knows(person).await || self.look_up(|store| store.has_open_code(now_ms())).await
    }

    async fn look_up(
        &self,
        question: impl FnOnce(&BridgeStore) -> Result<bool, BridgeError> + Send + 'static,
    ) -> bool {
        let store = Arc::clone(&self.store);
        // On failure, access is denied.
        let answer = tokio::task::spawn_blocking(move || question(&store)).await;
        answer.is_ok_and(|answer| answer.unwrap_or(false))
    }

    /// Writes a line to the log.
    pub fn note(&self, note: impl std::fmt::Display) {
        // Fails only if the log is no longer read.
        let _ = self.notes.send(format!("{}: {note}", self.channel));
    }

    /// Records whether the channel can be reached.
    pub fn connected(&self, connected: bool) {
        self.health.set_connected(connected);
    }
}
