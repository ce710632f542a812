//! State shared by the threads of a driver.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::{Happening, Received};

#[derive(Debug, Default)]
pub(super) struct Shared {
    state: Mutex<State>,
    pub(super) changed: Condvar,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) lines: Vec<Received>,
    pub(super) happenings: Vec<Happening>,
    pub(super) stderr: String,
    /// Set at the end of its output.
    pub(super) output_ended: bool,
    /// Set at the end of its standard error.
    pub(super) stderr_ended: bool,
    /// Set before the process is reaped, while its id cannot have been reused.
    pub(super) exited: bool,
    pub(super) status: Option<(Option<i32>, Option<i32>)>,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn update(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }
}

impl State {
    pub(super) fn tail(&self) -> String {
        let first = self.lines.len().saturating_sub(12);
        let lines = self.lines.iter().skip(first).map(|line| {
            let text = String::from_utf8_lossy(&line.bytes);
            text.chars().take(300).collect::<String>()
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}
