//! Cancellation: one flag for a turn or a task; everything waiting on it wakes immediately.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::lock;

/// Why something should stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The host sent `interrupt`.
    Interrupt,
    /// SIGINT.
    Signal,
    /// SIGTERM, or an error that ends the process.
    Terminate,
    /// The host stopped this one task.
    Task,
}

type Watcher = Box<dyn FnOnce(Stop) + Send>;

#[derive(Default)]
struct State {
    reason: Option<Stop>,
    next: u64,
    watchers: Vec<(u64, Watcher)>,
}

/// A flag that can be raised once.
#[derive(Default)]
pub(crate) struct Cancel {
    state: Mutex<State>,
}

impl std::fmt::Debug for Cancel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cancel").field("reason", &self.reason()).finish()
    }
}

/// Removes the callback again when dropped.
pub(crate) struct Watch {
    cancel: Arc<Cancel>,
    id: u64,
}

impl Drop for Watch {
    fn drop(&mut self) {
        lock(&self.cancel.state).watchers.retain(|(id, _)| *id != self.id);
    }
}

impl Cancel {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Raises the flag. Only the first reason counts.
    pub(crate) fn cancel(&self, reason: Stop) {
        let watchers = {
            let mut state = lock(&self.state);
            if state.reason.is_some() {
                return;
            }
            state.reason = Some(reason);
            std::mem::take(&mut state.watchers)
        };
        for (_, watcher) in watchers {
            watcher(reason);
        }
    }

    /// The reason, if the flag is raised.
    pub(crate) fn reason(&self) -> Option<Stop> {
        lock(&self.state).reason
    }

    /// An error if the flag is raised.
    pub(crate) fn check(&self) -> Result<(), Stop> {
        self.reason().map_or(Ok(()), Err)
    }

    /// Calls back when the flag is raised; immediately if it already is.
    pub(crate) fn watch(self: &Arc<Self>, watcher: impl FnOnce(Stop) + Send + 'static) -> Watch {
        let mut state = lock(&self.state);
        let id = state.next;
        state.next += 1;
        match state.reason {
            Some(reason) => {
                drop(state);
                watcher(reason);
            }
            None => state.watchers.push((id, Box::new(watcher))),
        }
        Watch { cancel: Arc::clone(self), id }
    }

    /// Sleeps for a time, or until the flag is raised.
    pub(crate) fn sleep(self: &Arc<Self>, duration: Duration) -> Result<(), Stop> {
        if duration.is_zero() {
            return self.check();
        }
        let (sender, receiver) = mpsc::channel();
        // The receiver may be gone by then, which is fine.
        let _watch = self.watch(move |reason| _ = sender.send(reason));
        match receiver.recv_timeout(duration) {
            Ok(reason) => Err(reason),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleeper_wakes_when_the_flag_is_raised() {
        let cancel = Cancel::new();
        let other = Arc::clone(&cancel);
        let sleeper = std::thread::spawn(move || other.sleep(Duration::from_secs(60)));
        cancel.cancel(Stop::Interrupt);
        cancel.cancel(Stop::Terminate);
        assert_eq!(sleeper.join().unwrap(), Err(Stop::Interrupt));
        assert_eq!(cancel.reason(), Some(Stop::Interrupt));
    }

    #[test]
    fn a_dropped_callback_is_not_called() {
        let cancel = Cancel::new();
        let (sender, receiver) = mpsc::channel();
        drop(cancel.watch(move |_| sender.send(()).unwrap()));
        cancel.cancel(Stop::Task);
        assert!(receiver.recv().is_err());
    }
}
