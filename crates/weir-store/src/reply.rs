//! A reply that arrives later, for threads and tasks alike.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::error::StoreError;

/// A reply from the store. [`Reply::wait`] blocks the thread until it arrives; `.await` does not.
///
/// Dropping it does not cancel a write.
#[must_use = "the answer tells whether it was done"]
pub struct Reply<T> {
    shared: Arc<Shared<T>>,
}

/// The other end of a [`Reply`]. If it is dropped, the answer is [`StoreError::Closed`].
#[derive(Debug)]
pub struct Promise<T> {
    shared: Option<Arc<Shared<T>>>,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    answered: Condvar,
}

enum State<T> {
    Waiting(Option<Waker>),
    Answered(Result<T, StoreError>),
    Taken,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // The state is replaced as a whole, so a panic elsewhere cannot leave it inconsistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, answer: Result<T, StoreError>) {
        let before = std::mem::replace(&mut *self.lock(), State::Answered(answer));
        self.answered.notify_all();
        if let State::Waiting(Some(waker)) = before {
            waker.wake();
        }
    }
}

impl<T> Reply<T> {
    /// A pending reply, and the promise that will answer it.
    pub fn promise() -> (Promise<T>, Self) {
        let shared = Arc::new(Shared { state: Mutex::new(State::Waiting(None)), answered: Condvar::new() });
        (Promise { shared: Some(Arc::clone(&shared)) }, Self { shared })
    }

    /// A reply that is already there.
    pub fn ready(answer: Result<T, StoreError>) -> Self {
        Self {
            shared: Arc::new(Shared { state: Mutex::new(State::Answered(answer)), answered: Condvar::new() }),
        }
    }

    /// Blocks until the reply arrives. Do not use it in a task.
    ///
    /// # Errors
    /// Those of the request.
    pub fn wait(self) -> Result<T, StoreError> {
        let mut state = self.shared.lock();
        while matches!(*state, State::Waiting(_)) {
            state = self.shared.answered.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        match std::mem::replace(&mut *state, State::Taken) {
            State::Answered(answer) => answer,
            State::Waiting(_) | State::Taken => Err(StoreError::Closed),
        }
    }
}

impl<T> Future for Reply<T> {
    type Output = Result<T, StoreError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.shared.lock();
        match &mut *state {
            State::Waiting(waker) => {
                match waker {
                    Some(waker) => waker.clone_from(context.waker()),
                    None => *waker = Some(context.waker().clone()),
                }
                Poll::Pending
            }
            State::Answered(_) | State::Taken => match std::mem::replace(&mut *state, State::Taken) {
                State::Answered(answer) => Poll::Ready(answer),
                State::Waiting(_) | State::Taken => Poll::Ready(Err(StoreError::Closed)),
            },
        }
    }
}

impl<T> fmt::Debug for Reply<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.shared, formatter)
    }
}

impl<T> fmt::Debug for Shared<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match *self.lock() {
            State::Waiting(_) => "waiting",
            State::Answered(_) => "answered",
            State::Taken => "taken",
        };
        formatter.debug_struct("Reply").field("state", &state).finish()
    }
}

impl<T> Promise<T> {
    /// Sends the answer.
    pub fn answer(mut self, answer: Result<T, StoreError>) {
        if let Some(shared) = self.shared.take() {
            shared.answer(answer);
        }
    }

    /// Whether the reply was dropped, so no caller is waiting any more.
    pub fn is_abandoned(&self) -> bool {
        self.shared.as_ref().is_none_or(|shared| Arc::strong_count(shared) == 1)
    }
}

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.take() {
            shared.answer(Err(StoreError::Closed));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll, Wake, Waker};

    use super::Reply;
    use crate::error::StoreError;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn wakes_the_task_that_polled_last() {
        let (promise, reply) = Reply::promise();
        let mut reply = pin!(reply);
        let (first, last) = (Arc::new(Count::default()), Arc::new(Count::default()));
        for count in [&first, &last] {
            let waker = Waker::from(Arc::clone(count));
            assert!(reply.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        promise.answer(Ok(7));
        assert_eq!((first.0.load(Ordering::SeqCst), last.0.load(Ordering::SeqCst)), (0, 1));
        let waker = Waker::noop();
        let Poll::Ready(Ok(7)) = reply.as_mut().poll(&mut Context::from_waker(waker)) else {
            panic!("no answer");
        };
    }

    #[test]
    fn a_broken_promise_is_an_answer() {
        let (promise, reply) = Reply::<()>::promise();
        let waiting = std::thread::spawn(move || reply.wait());
        drop(promise);
        assert!(matches!(waiting.join().unwrap(), Err(StoreError::Closed)));
    }

    #[test]
    fn knows_when_the_reply_was_dropped() {
        let (promise, reply) = Reply::<()>::promise();
        assert!(!promise.is_abandoned());
        drop(reply);
        assert!(promise.is_abandoned());
    }
}
