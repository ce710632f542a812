//! The queue between a session and a viewer. The session never waits for a viewer.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use serde::Serialize;
use tokio::sync::Notify;

use crate::watch_event::Frame;

/// Why a watch ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bye {
    /// The viewer was too slow. It can come back with its cursor.
    Lag,
    /// The host is being shut down.
    Shutdown,
    /// The session was deleted.
    Deleted,
    /// The log failed. It can come back.
    Failed,
}

/// The session's side.
#[derive(Debug, Clone)]
pub(crate) struct Outlet {
    shared: Weak<Shared>,
}

/// The viewer's side.
#[derive(Debug)]
pub(crate) struct Inlet {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Notify,
    limit: usize,
}

#[derive(Debug, Default)]
struct Queue {
    frames: VecDeque<Frame>,
    bytes: usize,
    end: Option<Bye>,
}

/// What a viewer finds.
#[derive(Debug)]
pub(crate) enum Taken {
    Frame(Frame),
    End(Bye),
}

pub(crate) fn queue(limit: usize) -> (Outlet, Inlet) {
    let shared = Arc::new(Shared { queue: Mutex::default(), changed: Notify::new(), limit });
    (Outlet { shared: Arc::downgrade(&shared) }, Inlet { shared })
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // No statement under the lock can panic half way.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What became of frames that were offered to a viewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offered {
    Taken,
    /// It was too slow, and its watch ends.
    Lagged,
    /// It has gone.
    Gone,
}

impl Outlet {
    /// Offers frames. All or none wait: a viewer never misses one in the middle.
    pub(crate) fn offer(&self, frames: &[Frame]) -> Offered {
        let Some(shared) = self.shared.upgrade() else { return Offered::Gone };
        let mut queue = shared.lock();
        if queue.end.is_some() {
            return Offered::Gone;
        }
        let size: usize = frames.iter().map(Frame::size).sum();
        // One batch must be possible however large it is: a snapshot or a picture may be larger than the limit.
        let fits = queue.bytes + size <= shared.limit || queue.frames.is_empty();
        if fits {
            queue.bytes += size;
            queue.frames.extend(frames.iter().cloned());
        } else {
            queue.frames = VecDeque::new();
            queue.bytes = 0;
            queue.end = Some(Bye::Lag);
        }
        drop(queue);
        shared.changed.notify_one();
        if fits { Offered::Taken } else { Offered::Lagged }
    }

    /// Ends the watch after what waits.
    pub(crate) fn end(&self, reason: Bye) {
        if let Some(shared) = self.shared.upgrade() {
            shared.lock().end.get_or_insert(reason);
            shared.changed.notify_one();
        }
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.shared.upgrade().is_none_or(|shared| shared.lock().end.is_some())
    }
}

impl Inlet {
    /// The next frame, or the end. Cancel safe.
    pub(crate) async fn next(&self) -> Taken {
        loop {
            let changed = self.shared.changed.notified();
            if let Some(taken) = self.try_next() {
                return taken;
            }
            changed.await;
        }
    }

    pub(crate) fn try_next(&self) -> Option<Taken> {
        let mut queue = self.shared.lock();
        if let Some(frame) = queue.frames.pop_front() {
            queue.bytes = queue.bytes.saturating_sub(frame.size());
            return Some(Taken::Frame(frame));
        }
        queue.end.map(Taken::End)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::watch_event::WatchEvent;

    fn frame(size: usize) -> Frame {
        Frame::new(None, WatchEvent::Line(Bytes::from(vec![b'x'; size])), size)
    }

    fn taken(inlet: &Inlet) -> Vec<usize> {
        let mut sizes = Vec::new();
        while let Some(Taken::Frame(frame)) = inlet.try_next() {
            let WatchEvent::Line(line) = frame.event() else { panic!("{frame:?}") };
            sizes.push(line.len());
        }
        sizes
    }

    #[test]
    fn frames_come_in_order_and_the_end_after_them() {
        let (outlet, inlet) = queue(10_000);
        assert_eq!(outlet.offer(&[frame(1), frame(2)]), Offered::Taken);
        assert_eq!(outlet.offer(&[frame(3)]), Offered::Taken);
        outlet.end(Bye::Deleted);
        outlet.end(Bye::Shutdown);
        assert_eq!(outlet.offer(&[frame(4)]), Offered::Gone);
        assert_eq!(taken(&inlet), [1, 2, 3]);
        assert!(matches!(inlet.try_next(), Some(Taken::End(Bye::Deleted))));
    }

    #[test]
    fn a_slow_viewer_loses_its_queue_and_hears_why() {
        let (outlet, inlet) = queue(1000);
        assert_eq!(outlet.offer(&[frame(500)]), Offered::Taken);
        assert_eq!(outlet.offer(&[frame(600)]), Offered::Lagged);
        assert!(outlet.is_gone());
        assert!(matches!(inlet.try_next(), Some(Taken::End(Bye::Lag))));
    }

    #[test]
    fn one_batch_may_be_larger_than_the_limit() {
        let (outlet, inlet) = queue(10);
        assert_eq!(outlet.offer(&[frame(5000), frame(1)]), Offered::Taken);
        assert_eq!(taken(&inlet), [5000, 1]);
        assert_eq!(outlet.offer(&[frame(5000)]), Offered::Taken);
    }

    #[test]
    fn a_viewer_that_has_gone_is_noticed() {
        let (outlet, inlet) = queue(10);
        assert!(!outlet.is_gone());
        drop(inlet);
        assert!(outlet.is_gone());
        assert_eq!(outlet.offer(&[frame(1)]), Offered::Gone);
    }

    #[tokio::test]
    async fn a_waiting_viewer_is_woken() {
        let (outlet, inlet) = queue(10);
        let waiting = tokio::spawn(async move { matches!(inlet.next().await, Taken::End(Bye::Lag)) });
        tokio::task::yield_now().await;
        outlet.end(Bye::Lag);
        assert!(waiting.await.unwrap());
    }
}
