//! Keeps pictures of the agent until they are in the chat.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

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
