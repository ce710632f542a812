//! How much was said to an editor that it has not taken yet. The library's own queues have no limit, so a sender with
//! much to say waits here.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Updates of a stream that may wait for the editor before no more are sent.
const MAX_WAITING: usize = 1024;

/// Messages of all streams of a connection that may wait before no more are sent, and nothing more is taken from the editor.
const MAX_OF_ALL: usize = 4 * MAX_WAITING;

/// Counts messages on their way to the editor. Cloning gives another handle to the same count.
#[derive(Debug, Clone)]
pub(crate) struct Outbox {
    count: Arc<Count>,
    /// The connection, if this is one of its sessions.
    whole: Option<Arc<Count>>,
    /// The sessions, if each has a stream of its own.
    sessions: Option<Arc<Mutex<BySession>>>,
}

/// The counts of the sessions, by id.
type BySession = HashMap<String, Arc<Count>>;

#[derive(Debug, Default)]
struct Count {
    waiting: AtomicUsize,
    taken: Notify,
}

impl Count {
    fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    fn less(&self) {
        let less = |waiting: usize| Some(waiting.saturating_sub(1));
        // Always succeeds: there is always a next value.
        let _ = self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        self.taken.notify_waiters();
    }

    /// Waits until fewer wait. Cancel safe.
    async fn room(&self, max: usize) {
        loop {
            let taken = self.taken.notified();
            tokio::pin!(taken);
            taken.as_mut().enable();
            if self.waiting() < max {
                return;
            }
            taken.await;
        }
    }
}

impl Outbox {
    /// The outbox of a connection with one stream, whose transport reports with [`Self::taken`].
    pub(crate) fn of_stream() -> Self {
        Self { count: Arc::default(), whole: None, sessions: None }
    }

    /// The outbox of a connection that has a stream for each session. One that is not read does not hold up the others,
    /// unless there are many of them.
    pub(crate) fn of_streams() -> Self {
        Self { sessions: Some(Arc::default()), ..Self::of_stream() }
    }

    fn counts(sessions: &Mutex<HashMap<String, Arc<Count>>>) -> MutexGuard<'_, HashMap<String, Arc<Count>>> {
        // No statement under the lock can panic halfway through.
        sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The part of a session.
    pub(crate) fn of_session(&self, session: &str) -> Self {
        let Some(sessions) = &self.sessions else { return self.clone() };
        let count = Arc::clone(Self::counts(sessions).entry(session.to_owned()).or_default());
        Self { count, whole: Some(Arc::clone(&self.count)), sessions: None }
    }

    /// The part of a session that something was said about; the whole if there is no such session.
    pub(crate) fn of_known_session(&self, session: &str) -> Self {
        let known =
            self.sessions.as_ref().is_some_and(|sessions| Self::counts(sessions).contains_key(session));
        if known { self.of_session(session) } else { self.clone() }
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Count>> {
        std::iter::once(&self.count).chain(&self.whole)
    }

    /// One more message is on its way.
    pub(crate) fn put(&self) {
        for count in self.all() {
            count.waiting.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The editor has taken a message. What the library says by itself is not counted, so this may be called more often
    /// than [`Self::put`].
    pub(crate) fn taken(&self) {
        self.all().for_each(|count| count.less());
    }

    /// Whether too much is waiting: the editor has to read before it may send more.
    pub(crate) fn is_overfull(&self) -> bool {
        self.count.waiting() >= MAX_OF_ALL
    }

    /// Waits until there is room. Cancel safe.
    pub(crate) async fn room(&self) {
        self.count.room(MAX_WAITING).await;
        if let Some(whole) = &self.whole {
            whole.room(MAX_OF_ALL).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn fill(outbox: &Outbox) {
        for _ in 0..MAX_WAITING {
            outbox.room().await;
            outbox.put();
        }
    }

    #[tokio::test]
    async fn a_full_outbox_has_room_again_when_something_was_taken() {
        let outbox = Outbox::of_stream();
        fill(&outbox.of_session("a")).await;
        let mut waiting = Box::pin(outbox.room());
        assert!(futures_util::poll!(&mut waiting).is_pending());
        outbox.taken();
        waiting.await;
    }

    #[tokio::test]
    async fn a_stream_that_nobody_reads_does_not_hold_up_another_one() {
        let outbox = Outbox::of_streams();
        let (unread, read) = (outbox.of_session("a"), outbox.of_session("b"));
        fill(&unread).await;
        assert!(futures_util::poll!(Box::pin(unread.room())).is_pending());
        read.room().await;
        assert!(!outbox.is_overfull());
        // Many of them do.
        for session in ["c", "d", "e"] {
            fill(&outbox.of_session(session)).await;
        }
        assert!(outbox.is_overfull() && futures_util::poll!(Box::pin(read.room())).is_pending());
        outbox.of_known_session("a").taken();
        assert!(!outbox.is_overfull());
        read.room().await;
        unread.room().await;
        assert!(outbox.of_known_session("made up").whole.is_none());
    }
}
