//! Fetches files that came with messages, a few at a time per chat, without holding up anything else.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc};
use weir_base::time::now_ms;

use crate::channel::{Attachment, Channel, ChannelName, ChatId, Place, RemoteFile};
use crate::machine::{Event, InboxId};
use crate::store::BridgeStore;

/// Maximum size of a file in bytes.
const MAX_FILE_BYTES: u64 = 20 << 20;
/// Time limit for fetching one file.
const FETCH_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of files fetched concurrently per chat, so that slow files hold up only their own chat.
const MAX_PER_CHAT: usize = 4;
/// Maximum number of files fetched concurrently overall.
const MAX_OVERALL: usize = 64;

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
        Self { store, tell, chats: HashMap::new(), overall: Arc::new(Semaphore::new(MAX_OVERALL)) }
    }

    /// Fetches a file, stores it, and reports it to the machine.
    pub(super) fn fetch(&mut self, channel: Arc<dyn Channel>, wanted: Wanted) {
        // Forgets chats in which nothing is being fetched.
        self.chats.retain(|_, chat| Arc::strong_count(chat) > 1);
        let key = (wanted.place.channel.clone(), wanted.place.chat.clone());
        let chat =
            Arc::clone(self.chats.entry(key).or_insert_with(|| Arc::new(Semaphore::new(MAX_PER_CHAT))));
        let (overall, store, tell) = (Arc::clone(&self.overall), Arc::clone(&self.store), self.tell.clone());
        tokio::spawn(async move {
            let Wanted { message, index, file, blob, .. } = wanted;
            let result = {
                let _of_chat = chat.acquire().await;
                let _of_all = overall.acquire().await;
                let fetched = tokio::time::timeout(FETCH_TIMEOUT, fetch(channel.as_ref(), &file)).await;
                fetched
                    .unwrap_or_else(|_| Err(format!("it took more than {} seconds", FETCH_TIMEOUT.as_secs())))
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
    let too_large = || format!("it is larger than {} MB", MAX_FILE_BYTES >> 20);
    if file.size.is_some_and(|size| size > MAX_FILE_BYTES) {
        return Err(too_large());
    }
    let data = channel.fetch(file, MAX_FILE_BYTES).await?;
    // The size above was only the sender's claim.
    let is_small = u64::try_from(data.len()).is_ok_and(|size| size <= MAX_FILE_BYTES);
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
    let kept = tokio::task::spawn_blocking(move || store.put_blob(&blob, &data, now_ms())).await;
    match kept {
        Ok(Ok(())) => Ok(attachment),
        Ok(Err(error)) => Err(error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}
