//! How much was said to an editor that it has not taken yet. The library's own queue has no limit, so a sender with
//! much to say waits here.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// Updates that may wait for the editor before no more are sent.
const MAX_WAITING: usize = 1024;

/// Counts messages on their way to the editor. Cloning gives another handle to the same count.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outbox {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: AtomicUsize,
    is_metered: std::sync::atomic::AtomicBool,
    taken: Notify,
}

impl Outbox {
    /// An outbox whose transport reports with [`Self::taken`]. Without a report nothing waits.
    pub(crate) fn metered() -> Self {
        let outbox = Self::default();
        outbox.inner.is_metered.store(true, Ordering::Relaxed);
        outbox
    }

    /// One more message is on its way.
    pub(crate) fn put(&self) {
        self.inner.waiting.fetch_add(1, Ordering::Relaxed);
    }

    /// The editor has taken a message. Answers to its requests are not counted, so this may be called more often than
    /// [`Self::put`].
    pub(crate) fn taken(&self) {
        let less = |waiting: usize| Some(waiting.saturating_sub(1));
        // Always succeeds: there is always a next value.
        let _ = self.inner.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        self.inner.taken.notify_waiters();
    }

    /// Waits until there is room. Cancel safe.
    pub(crate) async fn room(&self) {
        loop {
            let taken = self.inner.taken.notified();
            tokio::pin!(taken);
            taken.as_mut().enable();
            let is_full = self.inner.waiting.load(Ordering::Relaxed) >= MAX_WAITING;
            if !is_full || !self.inner.is_metered.load(Ordering::Relaxed) {
                return;
            }
            taken.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_full_outbox_has_room_again_when_something_was_taken() {
        let outbox = Outbox::metered();
        for _ in 0..MAX_WAITING {
            outbox.room().await;
            outbox.put();
        }
        let mut waiting = Box::pin(outbox.room());
        assert!(futures_util::poll!(&mut waiting).is_pending());
        outbox.taken();
        waiting.await;
        let free = Outbox::default();
        (0..2 * MAX_WAITING).for_each(|_| free.put());
        free.room().await;
    }
}
