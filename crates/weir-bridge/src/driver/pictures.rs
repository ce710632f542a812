//! Pictures of the agent on their way to the chat: their bytes are kept until they are there, and each is told of once.

use std::collections::HashSet;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use tokio::sync::{Mutex, MutexGuard};

use crate::channel::{Attachment, OutgoingFile};
use crate::store::BridgeStore;

/// Keeps the bytes of files, under names that follow from what is in them. What cannot be kept is left out: the agent's
/// log has it all the same.
pub(super) async fn keep(store: &Arc<BridgeStore>, files: Vec<OutgoingFile>) -> Vec<Attachment> {
    let mut kept = Vec::new();
    for file in files {
        let digest = Sha256::digest(&file.data);
        let mark: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let OutgoingFile { name, media_type, data } = file;
        let size = u64::try_from(data.len()).unwrap_or(u64::MAX);
        let attachment = Attachment { name, media_type, size, blob: format!("out/{mark}") };
        let (store, blob) = (Arc::clone(store), attachment.blob.clone());
        let written = tokio::task::spawn_blocking(move || store.put_blob(&blob, &data, crate::now())).await;
        if matches!(written, Ok(Ok(()))) {
            kept.push(attachment);
        }
    }
    kept
}

/// How many calls are remembered, at the most, beside those of the last turn.
const MOST_CALLS: usize = 256;

/// The calls whose pictures were told of, by session and call.
///
/// A call is heard of when it ends, and again when its turn has ended, because after a restart nobody may have listened.
/// Which comes first is not known: the first to come tells, and a turn is over only when all of its pictures are told.
#[derive(Debug, Clone, Default)]
pub(super) struct ToldCalls(Arc<Mutex<HashSet<(String, String)>>>);

impl ToldCalls {
    pub(super) async fn lock(&self) -> MutexGuard<'_, HashSet<(String, String)>> {
        self.0.lock().await
    }

    /// Forgets calls of earlier turns, of which nothing more is heard.
    pub(super) async fn turn_has_ended(&self, session: &str, calls: &[String]) {
        let mut told = self.lock().await;
        if told.len() > MOST_CALLS {
            told.retain(|(of, call)| of == session && calls.contains(call));
        }
    }
}
