//! How callers reach the driver, and what they can see of the session without a call.
//!
//! Sending never blocks: a call is queued, and the caller waits for the reply. Each session needs one
//! allocation for this, which is most of the cost of a handle; an empty queue holds no memory.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::sync::Notify;

use crate::driver::Call;
use crate::status::Glance;

/// The callers' side. When the last one is dropped, [`Calls::recv`] reports it.
pub(crate) struct Caller {
    shared: Arc<Shared>,
}

/// The driver's side. Once it is gone, for whatever reason, calls are refused.
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

/// Creates a queue and returns its two sides.
pub(crate) fn channel() -> (Caller, Calls) {
    let shared = Arc::new(Shared::default());
    shared.lock().callers = 1;
    (Caller { shared: Arc::clone(&shared) }, Calls { shared })
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // No statement under the lock can panic halfway.
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
    /// Queues a call. `false` if it will never be answered.
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
            // Registered before the check, so that nothing in between is missed.
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

/// A caller that does not keep the session alive.
#[cfg(feature = "mcp")]
#[derive(Clone)]
pub(crate) struct WeakCaller {
    shared: std::sync::Weak<Shared>,
}

#[cfg(feature = "mcp")]
impl WeakCaller {
    /// Queues a call. `false` if it will never be answered.
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
    /// The next call; `None` once no callers are left. Cancel safe.
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

    /// Creates a caller that does not keep the session alive.
    #[cfg(feature = "mcp")]
    pub(crate) fn weak(&self) -> WeakCaller {
        WeakCaller { shared: Arc::downgrade(&self.shared) }
    }

    /// The next call if one is already queued.
    pub(crate) fn try_recv(&mut self) -> Option<Call> {
        self.shared.lock().next()
    }

    /// Refuses further calls. Those already queued can still be taken.
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
        // The driver may have panicked: it must not appear to be alive, and no caller may keep waiting for it.
        self.shared.glance.clear();
        let left = std::mem::take(&mut self.shared.lock().calls);
        drop(left);
    }
}
