//! The CLI's diagnostics: always drained, logged, and the last of them kept.
//!
//! A small task of its own reads standard error, so a flood of it never blocks the CLI, whoever listens or not.

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
    /// Kept here so that what is in the pipe can be read without waiting for the task.
    pipe: Option<platform::ErrorPipe>,
}

#[derive(Debug)]
struct State {
    /// What came last, with secrets masked: a piece of it may be cut anywhere, also where a secret was.
    tail: VecDeque<u8>,
    masker: Option<Box<Masker>>,
    /// How many bytes went into the tail so far.
    total: u64,
    ended: bool,
    log: LogWriter,
    /// The one that listens, while it waits.
    listener: Option<Waker>,
}

impl Shared {
    pub(crate) fn new(pipe: Option<platform::ErrorPipe>, secrets: &Secrets, log: LogWriter) -> Arc<Self> {
        let masker = (!secrets.is_empty()).then(|| Box::new(Masker::new(secrets)));
        let state = State { tail: VecDeque::new(), masker, total: 0, ended: false, log, listener: None };
        Arc::new(Self { state: Mutex::new(state), pipe })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole between any two statements that could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes bytes that came.
    pub(crate) fn push(&self, bytes: &[u8]) {
        let mut state = self.lock();
        state.push(bytes);
        tell(state);
    }

    /// No more will come.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.end();
        tell(state);
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

    /// What came after the first `seen` bytes, if a whole line did, or if there is no more to wait for.
    fn text_after(&self, seen: &mut u64, is_last: bool) -> Next {
        self.lock().text_after(seen, is_last)
    }

    /// The same, for one that waits.
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

/// Lets the listener look again, once it can.
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
            None if fresh.len() >= LONGEST_LINE => fresh.len(),
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
        // A failure is reported by `Output::take_log_error`, and stops a run that requires the log there.
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

    /// What could have been the beginning of a secret was none.
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
        poll_fn(|context| self.shared.poll_text_after(&mut self.seen, context)).await
    }

    /// Everything that was written and not handed out yet, without waiting, also half a line. For when the process
    /// has ended: somebody who does not concern us may hold the stream open.
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
            let before = "x".repeat(LONGEST_LINE - cut);
            shared.push(format!("{before}{}", &SECRET[..cut]).as_bytes());
            // What could be the beginning of a secret is not handed out, however long the line is.
            let early = stderr.rest_without_release();
            shared.push(format!("{}\n", &SECRET[cut..]).as_bytes());
            shared.end();
            let text = early.unwrap_or_default() + &everything(stderr).await;
            assert_eq!(text, format!("{before}[weir: masked KEY]\n"), "cut at {cut}");
        }
    }

    #[tokio::test]
    async fn a_secret_at_the_edge_of_what_is_kept_is_masked() {
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
