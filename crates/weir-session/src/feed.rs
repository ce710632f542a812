//! Passes changes of the view on to viewers, each at its own pace.
//!
//! The session never waits for a viewer. Each has a bounded queue; a viewer that falls behind loses the queue
//! and gets a snapshot of the view instead of what it missed.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use weir_transcript::{Change, View};

/// Maximum number of changes queued for a viewer.
const MAX_WAITING: usize = 8192;

/// Changes that were made together.
pub type Batch = Arc<[Change<'static>]>;

/// An update for a viewer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Update {
    /// The complete view: at the beginning, and after falling behind.
    Snapshot(Box<View>),
    /// Changes since the last update.
    Changes(Batch),
}

#[derive(Debug, Default)]
struct Queue {
    batches: VecDeque<Batch>,
    waiting: usize,
    snapshot: Option<Box<View>>,
    closed: bool,
    viewer: Option<Waker>,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // No statement under the lock can panic halfway.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The session's side.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    followers: Vec<Weak<Shared>>,
    pending: Vec<Change<'static>>,
}

impl Feed {
    pub(crate) fn is_followed(&self) -> bool {
        !self.followers.is_empty()
    }

    pub(crate) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    pub(crate) fn follow(&mut self, view: &View) -> Updates {
        // Changes up to here are in the snapshot.
        self.publish(view);
        let shared = Arc::new(Shared::default());
        shared.lock().snapshot = Some(Box::new(view.clone()));
        self.followers.push(Arc::downgrade(&shared));
        Updates { shared }
    }

    pub(crate) fn change(&mut self, change: &Change<'_>) {
        self.pending.push(change.clone().into_owned());
    }

    /// Sends out the changes since the last call.
    pub(crate) fn publish(&mut self, view: &View) {
        if self.pending.is_empty() {
            return;
        }
        let batch: Batch = std::mem::take(&mut self.pending).into();
        self.followers.retain(|follower| match follower.upgrade() {
            Some(follower) => {
                follower.push(&batch, view);
                true
            }
            None => false,
        });
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        for follower in self.followers.iter().filter_map(Weak::upgrade) {
            follower.change(|queue| queue.closed = true);
        }
    }
}

impl Shared {
    fn push(&self, batch: &Batch, view: &View) {
        self.change(|queue| {
            if queue.waiting + batch.len() > MAX_WAITING {
                // The snapshot already includes all queued changes.
                queue.batches = VecDeque::new();
                queue.waiting = 0;
                queue.snapshot = Some(Box::new(view.clone()));
            } else {
                queue.waiting += batch.len();
                queue.batches.push_back(Arc::clone(batch));
            }
        });
    }

    /// Changes the queue and wakes its viewer.
    fn change(&self, change: impl FnOnce(&mut Queue)) {
        let mut queue = self.lock();
        change(&mut queue);
        let viewer = queue.viewer.take();
        drop(queue);
        if let Some(viewer) = viewer {
            viewer.wake();
        }
    }
}

/// The viewer's side: a stream of updates that ends with the session.
#[derive(Debug)]
pub struct Updates {
    shared: Arc<Shared>,
}

impl Updates {
    /// The next update; `None` when the session is over. Cancel safe.
    pub async fn next(&mut self) -> Option<Update> {
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &Context<'_>) -> Poll<Option<Update>> {
        let mut queue = self.shared.lock();
        if let Some(view) = queue.snapshot.take() {
            return Poll::Ready(Some(Update::Snapshot(view)));
        }
        if let Some(batch) = queue.batches.pop_front() {
            queue.waiting -= batch.len();
            return Poll::Ready(Some(Update::Changes(batch)));
        }
        if queue.closed {
            return Poll::Ready(None);
        }
        queue.viewer = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Stream for Updates {
    type Item = Update;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Update>> {
        self.get_mut().poll(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(updates: &mut Updates) -> Poll<Option<Update>> {
        Pin::new(updates).poll_next(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn updates_are_a_stream_that_ends_with_the_session() {
        let mut feed = Feed::default();
        let mut updates = feed.follow(&View::default());
        assert!(matches!(poll(&mut updates), Poll::Ready(Some(Update::Snapshot(_)))));
        assert!(poll(&mut updates).is_pending());
        drop(feed);
        assert!(matches!(poll(&mut updates), Poll::Ready(None)));
    }

    #[tokio::test]
    async fn a_waiting_viewer_is_woken() {
        let mut feed = Feed::default();
        let mut updates = feed.follow(&View::default());
        updates.next().await;
        let (end, ()) = tokio::join!(updates.next(), async { drop(feed) });
        assert!(end.is_none());
    }
}
