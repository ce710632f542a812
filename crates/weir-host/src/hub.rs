//! Tells viewers of all sessions what has changed: the newest state of each session, and nothing twice.
//!
//! A viewer's queue is bounded by the number of sessions: a later state of a session replaces an earlier one that was
//! not fetched yet.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;

use crate::info::SessionInfo;

/// An event for a viewer of all sessions.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AllEvent {
    /// A session was created or has changed.
    Session(Arc<SessionInfo>),
    /// A session was deleted.
    Removed {
        /// Id of the deleted session.
        id: String,
    },
}

/// Watches all sessions. Subscribe first, then list: what changes in between comes here.
#[derive(Debug)]
pub struct WatchAll {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    order: VecDeque<String>,
    /// None for one that was deleted.
    newest: HashMap<String, Option<Arc<SessionInfo>>>,
    closed: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Hub {
    state: Mutex<HubState>,
}

#[derive(Debug, Default)]
struct HubState {
    watchers: Vec<Weak<Shared>>,
    closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // No statement under the lock can panic half way.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, id: &str, info: Option<&Arc<SessionInfo>>) {
        let mut queue = self.lock();
        if queue.newest.insert(id.to_owned(), info.cloned()).is_none() {
            queue.order.push_back(id.to_owned());
        }
        drop(queue);
        self.changed.notify_one();
    }
}

impl Hub {
    fn lock(&self) -> MutexGuard<'_, HubState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn watch(&self) -> WatchAll {
        let shared = Arc::new(Shared::default());
        let mut state = self.lock();
        shared.lock().closed = state.closed;
        state.watchers.push(Arc::downgrade(&shared));
        WatchAll { shared }
    }

    pub(crate) fn tell(&self, info: &Arc<SessionInfo>) {
        self.put(&info.id, Some(info));
    }

    pub(crate) fn removed(&self, id: &str) {
        self.put(id, None);
    }

    fn put(&self, id: &str, info: Option<&Arc<SessionInfo>>) {
        self.lock().watchers.retain(|watcher| {
            let Some(watcher) = watcher.upgrade() else { return false };
            watcher.put(id, info);
            true
        });
    }

    pub(crate) fn watchers(&self) -> usize {
        self.lock().watchers.iter().filter(|watcher| watcher.strong_count() > 0).count()
    }

    /// No more will come.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        for watcher in state.watchers.iter().filter_map(Weak::upgrade) {
            watcher.lock().closed = true;
            watcher.changed.notify_one();
        }
    }
}

impl WatchAll {
    /// The next change; nothing when the host is being shut down. Cancel safe.
    pub async fn next(&mut self) -> Option<AllEvent> {
        loop {
            let changed = self.shared.changed.notified();
            {
                let mut queue = self.shared.lock();
                if let Some(id) = queue.order.pop_front() {
                    return Some(match queue.newest.remove(&id).flatten() {
                        Some(info) => AllEvent::Session(info),
                        None => AllEvent::Removed { id },
                    });
                }
                if queue.closed {
                    return None;
                }
            }
            changed.await;
        }
    }
}
