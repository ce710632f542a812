//! The CLI's diagnostics: always drained, logged, and the last of them kept.
//!
//! A small task of its own reads standard error, so a flood of it never blocks the CLI, whoever listens or not.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::log::LogWriter;
use crate::secrets::Secrets;

#[cfg(unix)]
use crate::unix as platform;
#[cfg(windows)]
use crate::windows as platform;

/// How much of standard error is kept.
pub(crate) const TAIL: usize = 64 << 10;

/// Text without a line feed is handed out when it is this long, or at the end.
const LONGEST_LINE: usize = 4 << 10;

/// A piece of standard error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StderrText {
    /// Whole lines, or the rest at the end, with configured secrets masked. Bytes that are not UTF-8 are replaced;
    /// the log has them verbatim.
    pub text: String,
    /// How many bytes before it were not handed out, because they came faster than they were asked for. The log
    /// has them.
    pub skipped: u64,
}

/// What the drain, the handle and the listener share.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    changed: Notify,
    secrets: Secrets,
    /// Kept here so that what is in the pipe can be read without waiting for the task.
    pipe: Option<platform::ErrorPipe>,
}

#[derive(Debug)]
struct State {
    tail: VecDeque<u8>,
    /// How many bytes came so far.
    total: u64,
    ended: bool,
    log: LogWriter,
}

impl Shared {
    pub(crate) fn new(pipe: Option<platform::ErrorPipe>, secrets: Secrets, log: LogWriter) -> Arc<Self> {
        let state = State { tail: VecDeque::new(), total: 0, ended: false, log };
        Arc::new(Self { state: Mutex::new(state), changed: Notify::new(), secrets, pipe })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole between any two statements that could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes bytes that came.
    pub(crate) fn push(&self, bytes: &[u8]) {
        self.lock().push(bytes);
        self.changed.notify_one();
    }

    /// No more will come.
    pub(crate) fn end(&self) {
        self.lock().end();
        self.changed.notify_one();
    }

    /// Reads until the end. Runs as a task of its own.
    pub(crate) async fn drain(self: Arc<Self>) {
        if let Some(pipe) = &self.pipe {
            while platform::error_pipe_readable(pipe).await {
                if self.read(platform::read_ready_error_pipe) {
                    break;
                }
                tokio::task::coop::consume_budget().await;
            }
        }
        self.end();
    }

    /// Reads what is in the pipe now. `true` at the end of the stream.
    pub(crate) fn read_available(&self) -> bool {
        self.read(platform::read_error_pipe)
    }

    fn read(&self, read: fn(&platform::ErrorPipe, &mut [u8]) -> io::Result<usize>) -> bool {
        let Some(pipe) = &self.pipe else { return false };
        let mut state = self.lock();
        if state.ended {
            return true;
        }
        let before = state.total;
        let mut buffer = [0; 8 << 10];
        // Bounded, so that an endless writer cannot hold the thread.
        let mut ended = false;
        for _ in 0..32 {
            match read(pipe, &mut buffer) {
                Ok(0) => ended = true,
                Ok(count) => {
                    state.push(buffer.get(..count).unwrap_or_default());
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => ended = error.kind() != io::ErrorKind::WouldBlock,
            }
            break;
        }
        if ended {
            state.end();
        }
        let changed = ended || state.total != before;
        drop(state);
        if changed {
            self.changed.notify_one();
        }
        ended
    }

    /// The last [`TAIL`] bytes, masked.
    pub(crate) fn tail(&self) -> String {
        self.read_available();
        let state = self.lock();
        let (front, back) = state.tail.as_slices();
        let bytes = [front, back].concat();
        drop(state);
        self.secrets.mask(&String::from_utf8_lossy(&bytes)).into_owned()
    }

    /// What came after the first `seen` bytes, if a whole line did.
    fn text_after(&self, seen: &mut u64) -> Next {
        let mut guard = self.lock();
        let state = &mut *guard;
        let kept_from = state.total - state.tail.len() as u64;
        let from = kept_from.max(*seen);
        let skip = usize::try_from(from - kept_from).unwrap_or(usize::MAX);
        let fresh: &[u8] = state.tail.make_contiguous().get(skip..).unwrap_or_default();
        let length = match memchr::memrchr(b'\n', fresh) {
            _ if state.ended || fresh.len() >= TAIL => fresh.len(),
            Some(line_feed) => line_feed + 1,
            None if fresh.len() >= LONGEST_LINE => fresh.len(),
            None => 0,
        };
        let fresh = fresh.get(..length).unwrap_or_default();
        if fresh.is_empty() {
            return if state.ended { Next::Ended } else { Next::Nothing };
        }
        let text = self.secrets.mask(&String::from_utf8_lossy(fresh)).into_owned();
        let skipped = from - *seen;
        *seen = from + length as u64;
        Next::Text(StderrText { text, skipped })
    }
}

enum Next {
    Text(StderrText),
    Nothing,
    Ended,
}

impl State {
    fn push(&mut self, bytes: &[u8]) {
        // A failure is reported by `Output::take_log_error`, and stops a run that requires the log there.
        let _ = self.log.write(bytes);
        self.total += bytes.len() as u64;
        let bytes = bytes.get(bytes.len().saturating_sub(TAIL)..).unwrap_or_default();
        let surplus = (self.tail.len() + bytes.len()).saturating_sub(TAIL);
        self.tail.drain(..surplus);
        self.tail.extend(bytes);
    }

    fn end(&mut self) {
        self.ended = true;
        let _ = self.log.finish();
    }
}

/// Diagnostics as they come.
///
/// Nobody has to listen: without a listener they are drained and logged all the same.
#[derive(Debug)]
pub struct Stderr {
    shared: Arc<Shared>,
    seen: u64,
}

impl Stderr {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, seen: 0 }
    }

    /// The next lines, or `None` at the end. Cancel safe.
    pub async fn next(&mut self) -> Option<StderrText> {
        loop {
            match self.shared.text_after(&mut self.seen) {
                Next::Text(text) => return Some(text),
                Next::Ended => return None,
                Next::Nothing => self.shared.changed.notified().await,
            }
        }
    }
}
