//! Makes checkpoints in the background, however fast logs grow: one at a time of a session, a few at a time of all.
//!
//! A session that asks while its checkpoint is being made is served once more afterwards, however often it asks; one
//! that asks while it waits is served once. So what waits is bounded by the number of sessions, and what runs by
//! [`MAX_AT_A_TIME`]. A checkpoint goes as far as the log does when its turn comes. When the host is shut down, what
//! waits is dropped and what runs ends at the next event: nothing is lost with a checkpoint.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_store::{SessionId, Store};

use crate::load::{self, Source};
use crate::options::HostOptions;

/// At most this many checkpoints are made at a time. Each takes a thread that reads and folds.
const MAX_AT_A_TIME: usize = 2;

/// Checkpoints that are being made, and those that wait for it.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    store: Arc<dyn Store>,
    keep_entries: usize,
    every: u64,
    queue: Mutex<Queue>,
    is_over: AtomicBool,
    made: AtomicU64,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<SessionId>,
    /// Whether another one was asked for in the meantime.
    running: HashMap<SessionId, bool>,
}

impl Queue {
    /// Queues a checkpoint. Returns whether a worker has to be started.
    fn request(&mut self, id: &SessionId) -> bool {
        if let Some(again) = self.running.get_mut(id) {
            *again = true;
            return false;
        }
        if self.waiting.contains(id) {
            return false;
        }
        self.waiting.push_back(id.clone());
        self.running.len() < MAX_AT_A_TIME
    }

    fn next(&mut self) -> Option<SessionId> {
        if self.running.len() >= MAX_AT_A_TIME {
            return None;
        }
        let id = self.waiting.pop_front()?;
        self.running.insert(id.clone(), false);
        Some(id)
    }

    fn done(&mut self, id: &SessionId) {
        if self.running.remove(id) == Some(true) {
            self.waiting.push_back(id.clone());
        }
    }
}

impl Checkpoints {
    pub(crate) fn new(options: &HostOptions) -> Self {
        Self {
            store: Arc::clone(&options.store),
            keep_entries: options.keep_entries,
            every: options.checkpoint_every,
            queue: Mutex::default(),
            is_over: AtomicBool::new(false),
            made: AtomicU64::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // No statement under the lock can panic half way.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests a checkpoint of this session. Does not wait.
    pub(crate) fn request(self: &Arc<Self>, id: &SessionId) {
        if !self.is_over.load(Ordering::Acquire) && self.lock().request(id) {
            let all = Arc::clone(self);
            drop(tokio::task::spawn_blocking(move || all.work()));
        }
    }

    /// No more are made.
    pub(crate) fn close(&self) {
        self.is_over.store(true, Ordering::Release);
        self.lock().waiting.clear();
    }

    /// How many are being made, and how many have been.
    pub(crate) fn numbers(&self) -> (u64, u64) {
        (self.lock().running.len() as u64, self.made.load(Ordering::Relaxed))
    }

    /// Makes checkpoints until none is asked for.
    fn work(&self) {
        while !self.is_over.load(Ordering::Acquire) {
            let Some(id) = self.lock().next() else { return };
            let running = Running { all: self, id };
            let source = Source { store: &*self.store, is_over: &self.is_over };
            // Nothing waits for it, and nothing is lost if it fails.
            let _not_kept = load::load(source, &running.id, self.keep_entries, self.every);
            self.made.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A checkpoint that is being made. Its place is free again also after a panic.
struct Running<'a> {
    all: &'a Checkpoints,
    id: SessionId,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.all.lock().done(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> SessionId {
        format!("session-{number}").parse().unwrap()
    }

    #[test]
    fn however_often_it_is_asked_for_one_waits_and_one_runs() {
        let mut queue = Queue::default();
        assert!(queue.request(&id(1)));
        for _ in 0..100 {
            assert_eq!((queue.request(&id(1)), queue.waiting.len()), (false, 1));
        }
        assert_eq!(queue.next(), Some(id(1)));
        for _ in 0..100 {
            assert_eq!((queue.request(&id(1)), queue.waiting.len()), (false, 0));
        }
        assert_eq!(queue.next(), None);
        queue.done(&id(1));
        // What was asked for in the meantime is done once.
        assert_eq!(queue.next(), Some(id(1)));
        queue.done(&id(1));
        assert_eq!(queue.next(), None);
    }

    #[test]
    fn a_few_run_at_a_time_and_the_others_in_their_order() {
        let mut queue = Queue::default();
        for number in 0..10 {
            queue.request(&id(number));
        }
        let mut order = Vec::new();
        while let Some(next) = queue.next() {
            order.push(next);
        }
        assert_eq!(order, [id(0), id(1)]);
        for number in 0..10 {
            queue.done(&id(number));
            order.extend(queue.next());
        }
        assert_eq!(order, (0..10).map(id).collect::<Vec<_>>());
    }
}
