//! The CLI's diagnostics: always drained and logged, with the last part kept in memory.
//!
//! A small task reads standard error, so that a flood of it never blocks the CLI, whether or not there is a
//! listener.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::log::{LogWriter, Masker};
use crate::secrets::Secrets;

#[cfg(unix)]
use crate::unix as platform;
#[cfg(windows)]
use crate::windows as platform;

/// How many bytes of standard error are kept.
pub(crate) const TAIL: usize = 64 << 10;

/// Text without a line feed is delivered once it is this long, or at the end.
const MAX_LINE_LENGTH: usize = 4 << 10;

/// A piece of standard error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StderrText {
    /// Whole lines, or the rest at the end, with configured secrets masked. Invalid UTF-8 is replaced; the log
    /// has the bytes verbatim.
    pub text: String,
    /// How many bytes before it were skipped, because they arrived faster than they were read. The log has
    /// them.
    pub skipped: u64,
}

/// State shared by the drain task, the handle and the listener.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Kept here so that the pipe's content can be read without waiting for the task.
    pipe: Option<platform::ErrorPipe>,
}

#[derive(Debug)]
struct State {
    /// The last output, with secrets already masked: it may be cut anywhere, even inside what was a secret.
    tail: VecDeque<u8>,
    masker: Option<Box<Masker>>,
    /// Total bytes added to the tail so far.
    total: u64,
    ended: bool,
    log: LogWriter,
    /// The listener, while it waits.
    listener: Option<Waker>,
}

impl Shared {
    pub(crate) fn new(pipe: Option<platform::ErrorPipe>, secrets: &Secrets, log: LogWriter) -> Arc<Self> {
        let masker = (!secrets.is_empty()).then(|| Box::new(Masker::new(secrets)));
        let state = State { tail: VecDeque::new(), masker, total: 0, ended: false, log, listener: None };
        Arc::new(Self { state: Mutex::new(state), pipe })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent between any two statements that could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds received bytes.
    pub(crate) fn push(&self, bytes: &[u8]) {
        let mut state = self.lock();
        state.push(bytes);
        tell(state);
    }

    /// Marks the end of the stream.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.end();
        tell(state);
    }

    /// Reads until the end. Runs as its own task.
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

    /// Reads what the pipe holds now. `true` at the end of the stream.
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
        // Bounded, so that an endless writer cannot occupy the thread.
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
        if ended || state.total != before {
            tell(state);
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
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The text after the first `seen` bytes, if it contains a whole line or no more can arrive.
    fn text_after(&self, seen: &mut u64, is_last: bool) -> Next {
        self.lock().text_after(seen, is_last)
    }

    /// Poll form of [`Shared::text_after`].
    fn poll_text_after(&self, seen: &mut u64, context: &mut Context<'_>) -> Poll<Option<StderrText>> {
        let mut state = self.lock();
        match state.text_after(seen, false) {
            Next::Text(text) => Poll::Ready(Some(text)),
            Next::Ended => Poll::Ready(None),
            Next::Nothing => {
                match &mut state.listener {
                    Some(listener) => listener.clone_from(context.waker()),
                    listener => *listener = Some(context.waker().clone()),
                }
                Poll::Pending
            }
        }
    }
}

/// Wakes the listener after releasing the lock.
fn tell(mut state: MutexGuard<'_, State>) {
    let listener = state.listener.take();
    drop(state);
    if let Some(listener) = listener {
        listener.wake();
    }
}

enum Next {
    Text(StderrText),
    Nothing,
    Ended,
}

impl State {
    fn text_after(&mut self, seen: &mut u64, is_last: bool) -> Next {
        let kept_from = self.total - self.tail.len() as u64;
        let from = kept_from.max(*seen);
        let skip = usize::try_from(from - kept_from).unwrap_or(usize::MAX);
        let fresh: &[u8] = self.tail.make_contiguous().get(skip..).unwrap_or_default();
        let length = match memchr::memrchr(b'\n', fresh) {
            _ if self.ended || is_last || fresh.len() >= TAIL => fresh.len(),
            Some(line_feed) => line_feed + 1,
            None if fresh.len() >= MAX_LINE_LENGTH => fresh.len(),
            None => 0,
        };
        let fresh = fresh.get(..length).unwrap_or_default();
        if fresh.is_empty() {
            return if self.ended { Next::Ended } else { Next::Nothing };
        }
        let text = String::from_utf8_lossy(fresh).into_owned();
        let skipped = from - *seen;
        *seen = from + length as u64;
        Next::Text(StderrText { text, skipped })
    }

    fn push(&mut self, bytes: &[u8]) {
        // A failure is reported by `Output::take_log_error`, which also stops a run that requires the log.
        let _ = self.log.write(bytes);
        let Some(masker) = &mut self.masker else { return self.keep(bytes) };
        let mut masked = Vec::with_capacity(bytes.len());
        masker.push(bytes, &mut masked);
        self.keep(&masked);
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let bytes = bytes.get(bytes.len().saturating_sub(TAIL)..).unwrap_or_default();
        let surplus = (self.tail.len() + bytes.len()).saturating_sub(TAIL);
        self.tail.drain(..surplus);
        self.tail.extend(bytes);
    }

    fn end(&mut self) {
        self.ended = true;
        self.release();
        let _ = self.log.finish();
    }

    /// Releases held-back bytes that turned out not to be a secret.
    fn release(&mut self) {
        if let Some(masker) = &mut self.masker {
            let mut held = Vec::new();
            masker.finish(&mut held);
            self.keep(&held);
        }
    }
}

/// Diagnostics as they come.
///
/// Listening is optional: diagnostics are drained and logged either way.
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
        poll_fn(|context| self.shared.poll_text_after(&mut self.seen, context)).await
    }

    /// Everything written but not delivered yet, even half a line, without waiting. For use after the process
    /// has ended, when an unrelated process may still hold the stream open.
    pub fn rest(&mut self) -> Option<StderrText> {
        self.shared.read_available();
        self.shared.lock().release();
        match self.shared.text_after(&mut self.seen, true) {
            Next::Text(text) => Some(text),
            Next::Nothing | Next::Ended => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "hunter22-hunter22";

    fn masking() -> (Arc<Shared>, Stderr) {
        let mut secrets = Secrets::new();
        secrets.insert("KEY", SECRET).unwrap();
        let shared = Shared::new(None, &secrets, crate::log::none().stderr);
        (Arc::clone(&shared), Stderr::new(shared))
    }

    async fn everything(mut stderr: Stderr) -> String {
        let mut text = String::new();
        while let Some(piece) = stderr.next().await {
            text.push_str(&piece.text);
        }
        text
    }

    #[tokio::test]
    async fn a_secret_at_the_edge_of_a_piece_is_masked() {
        for cut in 1..SECRET.len() {
            let (shared, mut stderr) = masking();
            let before = "x".repeat(MAX_LINE_LENGTH - cut);
            shared.push(format!("{before}{}", &SECRET[..cut]).as_bytes());
            // A possible beginning of a secret is not delivered, however long the line is.
            let early = stderr.rest_without_release();
            shared.push(format!("{}\n", &SECRET[cut..]).as_bytes());
            shared.end();
            let text = early.unwrap_or_default() + &everything(stderr).await;
            assert_eq!(text, format!("{before}[weir: masked KEY]\n"), "cut at {cut}");
        }
    }

    #[tokio::test]
    async fn a_secret_at_the_edge_of_the_tail_is_masked() {
        for cut in 1..SECRET.len() {
            let (shared, stderr) = masking();
            shared.push(SECRET.as_bytes());
            shared.push("x".repeat(TAIL - cut).as_bytes());
            shared.end();
            let kept = shared.tail();
            assert!(!kept.contains(&SECRET[SECRET.len() - 4..]), "cut at {cut}: {}", &kept[..30]);
            assert!(!everything(stderr).await.contains("ter22"), "cut at {cut}");
        }
    }

    #[tokio::test]
    async fn the_rest_is_there_without_a_line_feed_and_without_an_end() {
        let (shared, mut stderr) = masking();
        shared.push(b"one\nhalf a hunter");
        assert_eq!(stderr.next().await.unwrap().text, "one\n");
        assert_eq!(stderr.rest().unwrap().text, "half a hunter");
        assert_eq!(stderr.rest(), None);
    }

    impl Stderr {
        fn rest_without_release(&mut self) -> Option<String> {
            match self.shared.text_after(&mut self.seen, true) {
                Next::Text(text) => Some(text.text),
                Next::Nothing | Next::Ended => None,
            }
        }
    }
}
