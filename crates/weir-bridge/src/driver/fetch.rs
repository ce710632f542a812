//! Fetches files that came with messages, a few at a time for each chat. Nothing else waits for them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc};

use crate::channel::{Attachment, Channel, ChannelName, ChatId, Place, RemoteFile};
use crate::machine::{Event, InboxId};
use crate::store::BridgeStore;

/// No larger files are fetched.
const LARGEST_FILE: u64 = 20 << 20;
/// How long one file may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Files of one chat that are fetched at once. A chat with slow files holds up its own files only.
const PER_CHAT: usize = 4;
/// Files of all chats that are fetched at once.
const OVERALL: usize = 64;

/// A file to be fetched.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) message: InboxId,
    pub(super) index: usize,
    pub(super) place: Place,
    pub(super) file: RemoteFile,
    pub(super) blob: String,
}

/// Fetches files.
#[derive(Debug)]
pub(super) struct Fetcher {
    store: Arc<BridgeStore>,
    tell: mpsc::UnboundedSender<Event>,
    chats: HashMap<(ChannelName, ChatId), Arc<Semaphore>>,
    overall: Arc<Semaphore>,
}

impl Fetcher {
    pub(super) fn new(store: Arc<BridgeStore>, tell: mpsc::UnboundedSender<Event>) -> Self {
        Self { store, tell, chats: HashMap::new(), overall: Arc::new(Semaphore::new(OVERALL)) }
    }

    /// Fetches a file, keeps it, and tells the machine.
    pub(super) fn fetch(&mut self, channel: Arc<dyn Channel>, wanted: Wanted) {
        // A chat in which nothing is fetched is forgotten.
        self.chats.retain(|_, chat| Arc::strong_count(chat) > 1);
        let key = (wanted.place.channel.clone(), wanted.place.chat.clone());
        let chat = Arc::clone(self.chats.entry(key).or_insert_with(|| Arc::new(Semaphore::new(PER_CHAT))));
        let (overall, store, tell) = (Arc::clone(&self.overall), Arc::clone(&self.store), self.tell.clone());
        tokio::spawn(async move {
            let Wanted { message, index, file, blob, .. } = wanted;
            let result = {
                let _of_chat = chat.acquire().await;
                let _of_all = overall.acquire().await;
                let fetched = tokio::time::timeout(PATIENCE, fetch(channel.as_ref(), &file)).await;
                fetched.unwrap_or_else(|_| Err(format!("it took more than {} seconds", PATIENCE.as_secs())))
            };
            let result = match result {
                Ok(data) => keep(store, file, blob, data).await,
                Err(reason) => Err(reason),
            };
            let _ = tell.send(Event::Fetched { message, index, result });
        });
    }
}

async fn fetch(channel: &dyn Channel, file: &RemoteFile) -> Result<Vec<u8>, String> {
    let too_large = || format!("it has more than {} MB", LARGEST_FILE >> 20);
    if file.size.is_some_and(|size| size > LARGEST_FILE) {
        return Err(too_large());
    }
    let data = channel.fetch(file, LARGEST_FILE).await?;
    // The size above was only its sender's word.
    let is_small = u64::try_from(data.len()).is_ok_and(|size| size <= LARGEST_FILE);
    is_small.then_some(data).ok_or_else(too_large)
}

async fn keep(
    store: Arc<BridgeStore>,
    file: RemoteFile,
    blob: String,
    data: Vec<u8>,
) -> Result<Attachment, String> {
    let RemoteFile { name, media_type, .. } = file;
    let size = u64::try_from(data.len()).unwrap_or(u64::MAX);
    let attachment = Attachment { name, media_type, size, blob: blob.clone() };
    let kept = tokio::task::spawn_blocking(move || store.put_blob(&blob, &data, crate::now())).await;
    match kept {
        Ok(Ok(())) => Ok(attachment),
        Ok(Err(error)) => Err(error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}
