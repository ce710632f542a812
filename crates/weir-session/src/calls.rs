//! How callers reach the driver, and what they see of the session without asking.
//!
//! Nobody ever waits to be heard: a call is put into a queue, and whoever made it waits for the reply. One allocation
//! for each session, which is most of what a handle costs; an empty queue holds no memory.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::sync::Notify;

use crate::driver::Call;
use crate::status::Glance;

/// The side of those who call. When the last one is gone, [`Calls::recv`] says so.
pub(crate) struct Caller {
    shared: Arc<Shared>,
}

/// The driver's side. When it is gone, however that came about, calls are refused.
pub(crate) struct Calls {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    closed: Notify,
    glance: Glance,
}

#[derive(Default)]
struct Queue {
    calls: VecDeque<Call>,
    callers: usize,
    is_closed: bool,
    driver: Option<Waker>,
}

/// A queue with its two sides.
pub(crate) fn channel() -> (Caller, Calls) {
    let shared = Arc::new(Shared::default());
    shared.lock().callers = 1;
    (Caller { shared: Arc::clone(&shared) }, Calls { shared })
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // No statement under the lock can panic half way.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, call: Call) -> bool {
        let mut queue = self.lock();
        if queue.is_closed {
            return false;
        }
        queue.calls.push_back(call);
        let driver = queue.driver.take();
        drop(queue);
        if let Some(driver) = driver {
            driver.wake();
        }
        true
    }
}

impl Caller {
    /// Puts a call into the queue, or says that nobody will answer it.
    pub(crate) fn send(&self, call: Call) -> bool {
        self.shared.push(call)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.shared.lock().is_closed
    }

    /// Waits until calls are refused.
    pub(crate) async fn closed(&self) {
        loop {
            let mut closed = std::pin::pin!(self.shared.closed.notified());
            // Before the look, so that what happens in between is not missed.
            closed.as_mut().enable();
            if self.is_closed() {
                return;
            }
            closed.await;
        }
    }

    pub(crate) fn glance(&self) -> &Glance {
        &self.shared.glance
    }
}

/// The side of somebody who must not keep the session alive.
#[cfg(feature = "mcp")]
#[derive(Clone)]
pub(crate) struct WeakCaller {
    shared: std::sync::Weak<Shared>,
}

#[cfg(feature = "mcp")]
impl WeakCaller {
    /// Puts a call into the queue, or says that nobody will answer it.
    pub(crate) fn send(&self, call: Call) -> bool {
        self.shared.upgrade().is_some_and(|shared| shared.push(call))
    }
}

impl Clone for Caller {
    fn clone(&self) -> Self {
        self.shared.lock().callers += 1;
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.callers -= 1;
        let driver = if queue.callers == 0 { queue.driver.take() } else { None };
        drop(queue);
        if let Some(driver) = driver {
            driver.wake();
        }
    }
}

impl Calls {
    /// The next call; nothing when nobody is left who could call. Cancel safe.
    pub(crate) async fn recv(&mut self) -> Option<Call> {
        poll_fn(|context| self.poll_recv(context)).await
    }

    fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Option<Call>> {
        let mut queue = self.shared.lock();
        if let Some(call) = queue.next() {
            return Poll::Ready(Some(call));
        }
        if queue.callers == 0 {
            return Poll::Ready(None);
        }
        if queue.driver.as_ref().is_none_or(|driver| !driver.will_wake(context.waker())) {
            queue.driver = Some(context.waker().clone());
        }
        Poll::Pending
    }

    /// A way to call that does not keep the session alive.
    #[cfg(feature = "mcp")]
    pub(crate) fn weak(&self) -> WeakCaller {
        WeakCaller { shared: Arc::downgrade(&self.shared) }
    }

    /// A call that is there now.
    pub(crate) fn try_recv(&mut self) -> Option<Call> {
        self.shared.lock().next()
    }

    /// Refuses calls from now on. Those that are in the queue can still be taken.
    pub(crate) fn close(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.closed.notify_waiters();
    }

    pub(crate) fn glance(&self) -> &Glance {
        &self.shared.glance
    }
}

impl Queue {
    fn next(&mut self) -> Option<Call> {
        let call = self.calls.pop_front();
        if self.calls.is_empty() {
            self.calls = VecDeque::new();
        }
        call
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        self.close();
        // The driver may have panicked: nobody must take it for alive, and nobody must wait for it.
        self.shared.glance.clear();
        let left = std::mem::take(&mut self.shared.lock().calls);
        drop(left);
    }
}
