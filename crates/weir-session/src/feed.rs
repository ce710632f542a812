//! Passes changes of the view on to those who follow it in their own time.
//!
//! The session never waits for a follower. Each has a bounded queue; one that falls behind loses the queue,
//! hears so, and gets the view as it stands instead of what it missed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;
use weir_transcript::{Change, View};

/// Most changes that wait for a follower.
const MOST_WAITING: usize = 8192;

/// Changes that were made together.
pub type Batch = Arc<[Change<'static>]>;

/// What a follower gets.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Update {
    /// The view as it stands: at the beginning, and after falling behind.
    Snapshot(Box<View>),
    /// What has changed since.
    Changes(Batch),
}

#[derive(Debug, Default)]
struct Queue {
    batches: VecDeque<Batch>,
    waiting: usize,
    snapshot: Option<Box<View>>,
    closed: bool,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Notify,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // No statement under the lock can panic half way.
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

    /// Hands out what has changed since the last time.
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
            follower.lock().closed = true;
            follower.changed.notify_one();
        }
    }
}

impl Shared {
    fn push(&self, batch: &Batch, view: &View) {
        let mut queue = self.lock();
        if queue.waiting + batch.len() > MOST_WAITING {
            // Everything that waits is in the view as it stands.
            queue.batches = VecDeque::new();
            queue.waiting = 0;
            queue.snapshot = Some(Box::new(view.clone()));
        } else {
            queue.waiting += batch.len();
            queue.batches.push_back(Arc::clone(batch));
        }
        drop(queue);
        self.changed.notify_one();
    }
}

/// The follower's side.
#[derive(Debug)]
pub struct Updates {
    shared: Arc<Shared>,
}

impl Updates {
    /// The next update; nothing when the session is over. Cancel safe.
    pub async fn next(&mut self) -> Option<Update> {
        loop {
            let changed = self.shared.changed.notified();
            {
                let mut queue = self.shared.lock();
                if let Some(view) = queue.snapshot.take() {
                    return Some(Update::Snapshot(view));
                }
                if let Some(batch) = queue.batches.pop_front() {
                    queue.waiting -= batch.len();
                    return Some(Update::Changes(batch));
                }
                if queue.closed {
                    return None;
                }
            }
            changed.await;
        }
    }
}
