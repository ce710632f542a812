//! Lets the writer cut off the write-ahead log although there is always someone who reads.
//!
//! SQLite starts the log over only in a moment without readers. With several reader threads at work there may be none,
//! however long the writer waits. So it closes the gate: reads that have begun end, each is one page, and others wait.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct ReadGate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    reading: usize,
    is_closed: bool,
}

/// A read in progress.
pub(super) struct Reading<'g>(&'g ReadGate);

impl ReadGate {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No statement under the lock can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a read, once the gate is open.
    pub(super) fn enter(&self) -> Reading<'_> {
        let waiting = self.changed.wait_while(self.lock(), |state| state.is_closed);
        waiting.unwrap_or_else(PoisonError::into_inner).reading += 1;
        Reading(self)
    }

    /// Does something while nothing is read. Waits this long for reads in progress, and does it in any case.
    pub(super) fn while_closed<T>(&self, patience: Duration, work: impl FnOnce() -> T) -> T {
        self.lock().is_closed = true;
        let _open = Open(self);
        drop(self.changed.wait_timeout_while(self.lock(), patience, |state| state.reading > 0));
        work()
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.lock().reading -= 1;
        self.0.changed.notify_all();
    }
}

/// Opens the gate again.
struct Open<'g>(&'g ReadGate);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.lock().is_closed = false;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn nothing_is_read_while_it_is_closed() {
        let (gate, reading, is_over) = (ReadGate::default(), AtomicUsize::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::SeqCst) {
                        let _reading = gate.enter();
                        reading.fetch_add(1, Ordering::SeqCst);
                        std::hint::spin_loop();
                        reading.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
            for _ in 0..200 {
                let seen = gate.while_closed(Duration::from_secs(60), || reading.load(Ordering::SeqCst));
                assert_eq!(seen, 0);
            }
            is_over.store(true, Ordering::SeqCst);
        });
    }

    #[test]
    fn a_long_read_is_not_waited_for_forever() {
        let gate = ReadGate::default();
        let reading = gate.enter();
        assert_eq!(gate.while_closed(Duration::from_millis(1), || 7), 7);
        drop(reading);
        drop(gate.enter());
    }
}
