//! The agent's pictures on their way to the chat: they are stored until they are sent, and reported once.

use std::collections::HashSet;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use tokio::sync::{Mutex, MutexGuard};
use weir_base::time::now_ms;

use crate::channel::{Attachment, OutgoingFile};
use crate::store::BridgeStore;

/// Stores files under keys derived from their contents. Files that cannot be stored are left out; they are still in the
/// session's log.
pub(super) async fn keep(store: &Arc<BridgeStore>, files: Vec<OutgoingFile>) -> Vec<Attachment> {
    let mut kept = Vec::new();
    for file in files {
        let digest = Sha256::digest(&file.data);
        let mark: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let OutgoingFile { name, media_type, data } = file;
        let size = u64::try_from(data.len()).unwrap_or(u64::MAX);
        let attachment = Attachment { name, media_type, size, blob: format!("out/{mark}") };
        let (store, blob) = (Arc::clone(store), attachment.blob.clone());
        let written = tokio::task::spawn_blocking(move || store.put_blob(&blob, &data, now_ms())).await;
        if matches!(written, Ok(Ok(()))) {
            kept.push(attachment);
        }
    }
    kept
}

/// Number of remembered calls above which those of earlier turns are forgotten.
const MAX_CALLS: usize = 256;

/// The tool calls whose pictures have been reported, by session and call.
///
/// Pictures are reported when their call ends, and checked again when the turn ends, because events may have been
/// missed during a restart. The two can come in either order: the first one reports, and the end of a turn is
/// reported only after all of its pictures.
#[derive(Debug, Clone, Default)]
pub(super) struct ReportedCalls(Arc<Mutex<HashSet<(String, String)>>>);

impl ReportedCalls {
    pub(super) async fn lock(&self) -> MutexGuard<'_, HashSet<(String, String)>> {
        self.0.lock().await
    }

    /// Forgets the calls of earlier turns if there are many. They are not reported again.
    pub(super) async fn forget_earlier_turns(&self, session: &str, calls: &[String]) {
        let mut reported = self.lock().await;
        if reported.len() > MAX_CALLS {
            reported.retain(|(of, call)| of == session && calls.contains(call));
        }
    }
}
