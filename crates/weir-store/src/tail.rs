//! How readers learn that a log has grown: a number that only increases, and the waiters for it.
//!
//! It carries no events. A reader that learns of a higher number reads from the log, so a slow reader costs nothing
//! and loses nothing.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::session::SessionId;

/// Follows the end of a log. Clones follow the same log.
#[derive(Debug, Clone)]
pub struct Tail {
    cell: Arc<Cell>,
}

/// The end of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TailState {
    /// The newest event has this number, or the newest change this revision.
    Newest(u64),
    /// The session was deleted.
    Deleted,
    /// The store was closed.
    Closed,
}

impl Tail {
    /// The current end.
    pub fn state(&self) -> TailState {
        self.cell.lock().end
    }

    /// Completes when the end is beyond this number, or the log was deleted or closed.
    pub fn changed(&self, beyond: u64) -> Changed<'_> {
        Changed { cell: &self.cell, beyond, waiter: None }
    }

    /// The same for a thread; `None` if nothing has changed within the timeout.
    pub fn wait(&self, beyond: u64, timeout: Duration) -> Option<TailState> {
        let start = Instant::now();
        let mut state = self.cell.lock();
        loop {
            if state.is_beyond(beyond) {
                return Some(state.end);
            }
            let left = timeout.checked_sub(start.elapsed()).filter(|left| !left.is_zero())?;
            state = self.cell.moved.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Waits for the end of a log to move.
#[derive(Debug)]
#[must_use = "futures do nothing unless they are awaited"]
pub struct Changed<'a> {
    cell: &'a Cell,
    beyond: u64,
    waiter: Option<u64>,
}

impl Future for Changed<'_> {
    type Output = TailState;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<TailState> {
        let mut state = self.cell.lock();
        if state.is_beyond(self.beyond) {
            return Poll::Ready(state.end);
        }
        let waiter = self.waiter.unwrap_or_else(|| {
            state.next_waiter += 1;
            state.next_waiter
        });
        state.wakers.insert(waiter, context.waker().clone());
        drop(state);
        self.waiter = Some(waiter);
        Poll::Pending
    }
}

impl Drop for Changed<'_> {
    fn drop(&mut self) {
        if let Some(waiter) = self.waiter {
            self.cell.lock().wakers.remove(&waiter);
        }
    }
}

#[derive(Debug)]
struct Cell {
    state: Mutex<CellState>,
    moved: Condvar,
}

#[derive(Debug)]
struct CellState {
    end: TailState,
    wakers: HashMap<u64, Waker>,
    next_waiter: u64,
}

impl CellState {
    fn is_beyond(&self, seq: u64) -> bool {
        match self.end {
            TailState::Newest(newest) => newest > seq,
            TailState::Deleted | TailState::Closed => true,
        }
    }
}

impl Cell {
    fn new() -> Self {
        let state = CellState { end: TailState::Newest(0), wakers: HashMap::new(), next_waiter: 0 };
        Self { state: Mutex::new(state), moved: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, CellState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves the end by one.
    fn advance(&self) {
        let end = self.lock().end;
        if let TailState::Newest(number) = end {
            // If another thread has moved it meanwhile, its waiters were woken after this call began.
            self.set(TailState::Newest(number + 1));
        }
    }

    /// Moves the end, but never backwards.
    fn set(&self, end: TailState) {
        let mut state = self.lock();
        let forward = match (state.end, end) {
            (TailState::Newest(before), TailState::Newest(now)) => now > before,
            (TailState::Newest(_), TailState::Deleted | TailState::Closed) => true,
            (TailState::Deleted | TailState::Closed, _) => false,
        };
        if !forward {
            return;
        }
        state.end = end;
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        self.moved.notify_all();
        wakers.into_values().for_each(Waker::wake);
    }
}

/// The tails of a log: for those who write one.
#[derive(Debug)]
pub struct Tails {
    all: Arc<Cell>,
    each: Mutex<HashMap<SessionId, Weak<Cell>>>,
}

impl Default for Tails {
    fn default() -> Self {
        Self::new()
    }
}

impl Tails {
    /// Tails that no reader follows yet.
    pub fn new() -> Self {
        Self { all: Arc::new(Cell::new()), each: Mutex::default() }
    }

    fn each(&self) -> MutexGuard<'_, HashMap<SessionId, Weak<Cell>>> {
        self.each.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A tail of one session. Its end is unknown until it is set: query the log after this call, not before.
    pub fn subscribe(&self, id: &SessionId) -> Tail {
        let mut each = self.each();
        if let Some(cell) = each.get(id).and_then(Weak::upgrade) {
            return Tail { cell };
        }
        each.retain(|_, cell| cell.strong_count() > 0);
        let cell = Arc::new(Cell::new());
        each.insert(id.clone(), Arc::downgrade(&cell));
        Tail { cell }
    }

    /// A tail of all sessions.
    pub fn subscribe_all(&self) -> Tail {
        Tail { cell: Arc::clone(&self.all) }
    }

    /// The sessions with subscribers; `None` if there are no subscribers at all.
    pub fn followed(&self) -> Option<Vec<SessionId>> {
        let each = self.each();
        let ids: Vec<_> =
            each.iter().filter(|(_, cell)| cell.strong_count() > 0).map(|(id, _)| id.clone()).collect();
        (!ids.is_empty() || Arc::strong_count(&self.all) > 1).then_some(ids)
    }

    /// Tells the readers of a session where its log ends now.
    pub fn set(&self, id: &SessionId, end: TailState) {
        let cell = self.each().get(id).and_then(Weak::upgrade);
        if let Some(cell) = cell {
            cell.set(end);
        }
    }

    /// Tells the readers of all sessions about a change.
    pub fn set_revision(&self, revision: u64) {
        self.all.set(TailState::Newest(revision));
    }

    /// Tells all readers that the log was closed.
    pub fn close(&self) {
        let cells: Vec<_> = self.each().drain().filter_map(|(_, cell)| cell.upgrade()).collect();
        cells.iter().chain([&self.all]).for_each(|cell| cell.set(TailState::Closed));
    }
}

/// Who listens on which topic: for those who write a log.
#[derive(Debug, Default)]
pub struct Wakes(Mutex<HashMap<String, Weak<Cell>>>);

impl Wakes {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Weak<Cell>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A tail whose number grows with each wake-up.
    pub fn listen(&self, topic: &str) -> Tail {
        let mut topics = self.lock();
        if let Some(cell) = topics.get(topic).and_then(Weak::upgrade) {
            return Tail { cell };
        }
        topics.retain(|_, cell| cell.strong_count() > 0);
        let cell = Arc::new(Cell::new());
        topics.insert(topic.to_owned(), Arc::downgrade(&cell));
        Tail { cell }
    }

    /// Wakes those who listen on a topic.
    pub fn wake(&self, topic: &str) {
        let cell = self.lock().get(topic).and_then(Weak::upgrade);
        if let Some(cell) = cell {
            cell.advance();
        }
    }

    /// Wakes everyone: a wake-up may have been missed.
    pub fn wake_all(&self) {
        let cells: Vec<_> = self.lock().values().filter_map(Weak::upgrade).collect();
        cells.iter().for_each(|cell| cell.advance());
    }

    /// Tells everyone that the log was closed.
    pub fn close(&self) {
        let cells: Vec<_> = self.lock().drain().filter_map(|(_, cell)| cell.upgrade()).collect();
        cells.iter().for_each(|cell| cell.set(TailState::Closed));
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Waker};
    use std::time::Duration;

    use super::{TailState, Tails};

    #[test]
    fn the_end_never_moves_back() {
        let tails = Tails::new();
        let id = "c".parse().unwrap();
        let tail = tails.subscribe(&id);
        tails.set(&id, TailState::Newest(5));
        tails.set(&id, TailState::Newest(3));
        assert_eq!(tail.wait(4, Duration::ZERO), Some(TailState::Newest(5)));
        assert_eq!(tail.wait(5, Duration::ZERO), None);
        tails.set(&id, TailState::Deleted);
        tails.set(&id, TailState::Newest(9));
        assert_eq!(tail.wait(100, Duration::ZERO), Some(TailState::Deleted));
    }

    #[test]
    fn a_dropped_wait_leaves_nothing_behind() {
        let tails = Tails::new();
        let id = "c".parse().unwrap();
        let tail = tails.subscribe(&id);
        {
            let mut changed = pin!(tail.changed(0));
            for _ in 0..3 {
                assert!(changed.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            }
            assert_eq!(tail.cell.lock().wakers.len(), 1);
        }
        assert_eq!(tail.cell.lock().wakers.len(), 0);
    }

    #[test]
    fn knows_what_is_followed() {
        let tails = Tails::new();
        assert_eq!(tails.followed(), None);
        let id: crate::SessionId = "c".parse().unwrap();
        let tail = tails.subscribe(&id);
        assert_eq!(tails.followed(), Some(vec![id.clone()]));
        drop(tail);
        assert_eq!(tails.followed(), None);
        let all = tails.subscribe_all();
        assert_eq!(tails.followed(), Some(Vec::new()));
        tails.close();
        assert_eq!(all.state(), TailState::Closed);
    }
}
