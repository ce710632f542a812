//! Captures the output of a program as it arrives.

use std::io::Read;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use weir_testkit::DEADLINE;

/// The output so far, shared by all clones.
#[derive(Clone, Default)]
pub(crate) struct Capture(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    is_over: bool,
}

impl Capture {
    /// Reads on a separate thread until the end of the output.
    pub(crate) fn of(mut source: impl Read + Send + 'static) -> Self {
        let capture = Self::default();
        let ours = capture.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            loop {
                // A terminal ends with an error.
                let count = source.read(&mut buffer).unwrap_or(0);
                let mut state = ours.0.0.lock().unwrap();
                state.bytes.extend_from_slice(&buffer[..count]);
                state.is_over = count == 0;
                ours.0.1.notify_all();
                if count == 0 {
                    return;
                }
            }
        });
        capture
    }

    /// Waits until the output satisfies the condition.
    pub(crate) fn wait(&self, what: &str, is_wanted: impl Fn(&[u8]) -> bool) {
        let deadline = Instant::now() + DEADLINE;
        let mut state = self.0.0.lock().unwrap();
        while !is_wanted(&state.bytes) {
            let left = deadline.saturating_duration_since(Instant::now());
            let text = String::from_utf8_lossy(&state.bytes).into_owned();
            assert!(!left.is_zero() && !state.is_over, "{what} was not printed, but:\n{text}");
            state = self.0.1.wait_timeout(state, left).unwrap().0;
        }
    }

    /// The whole output, after its end.
    pub(crate) fn all(&self) -> Vec<u8> {
        let deadline = Instant::now() + DEADLINE;
        let mut state = self.0.0.lock().unwrap();
        while !state.is_over {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "the output does not end:\n{}", String::from_utf8_lossy(&state.bytes));
            state = self.0.1.wait_timeout(state, left).unwrap().0;
        }
        state.bytes.clone()
    }

    pub(crate) fn so_far(&self) -> Vec<u8> {
        self.0.0.lock().unwrap().bytes.clone()
    }
}
