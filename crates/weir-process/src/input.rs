//! Lines to the CLI.
//!
//! Lines are queued at once and written when the pipe accepts them. Nothing here blocks while the CLI does not
//! read: the driver waits for [`Input::flush`] and [`crate::Output::fill`] at the same time.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, ready};

use crate::log::LogWriter;
use crate::stream::Sink;

/// Lines to the CLI.
#[derive(Debug)]
pub struct Input {
    sink: Option<Sink>,
    queue: Vec<u8>,
    /// Bytes of the queue written to the pipe.
    written: usize,
    /// Bytes of the queue written to the raw log.
    logged: usize,
    /// Bytes written before the current queue.
    before: u64,
    closing: bool,
    log: LogWriter,
}

impl Input {
    pub(crate) fn new(sink: Sink, log: LogWriter) -> Self {
        Self { sink: Some(sink), queue: Vec::new(), written: 0, logged: 0, before: 0, closing: false, log }
    }

    /// Queues a line; the line feed is added. A line feed inside would split it in two, which is a mistake of
    /// the caller: encode lines with `weir-wire`, which never writes one.
    ///
    /// After [`Input::close`] nothing more is queued, and `false` is returned.
    pub fn queue(&mut self, line: &[u8]) -> bool {
        if self.closing || self.sink.is_none() {
            return false;
        }
        self.queue.reserve(line.len() + 1);
        self.queue.extend_from_slice(line);
        self.queue.push(b'\n');
        true
    }

    /// Writes what is queued, to the raw log first, then closes the stream if that was requested.
    ///
    /// Cancel safe: progress is remembered, so a line is never written twice or torn. Fails with
    /// [`io::ErrorKind::BrokenPipe`] when the CLI no longer reads, and with the raw log's error if the log is
    /// required.
    pub async fn flush(&mut self) -> io::Result<()> {
        poll_fn(|context| self.poll_flush(context)).await
    }

    /// The poll form of [`Input::flush`].
    pub fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.queue.len() {
            let Some(sink) = &mut self.sink else {
                return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
            };
            if self.logged < self.queue.len() {
                let fresh = self.queue.get(self.logged..).unwrap_or_default();
                self.logged += fresh.len();
                if let Err(error) = self.log.write(fresh) {
                    self.sink = None;
                    return Poll::Ready(Err(error));
                }
            }
            let rest = self.queue.get(self.written..).unwrap_or_default();
            match ready!(sink.poll_write(context, rest)) {
                Ok(0) => {
                    self.sink = None;
                    return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
                }
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.sink = None;
                    return Poll::Ready(Err(error));
                }
            }
        }
        self.forget_queue();
        if self.closing && self.sink.take().is_some() {
            return Poll::Ready(self.log.finish());
        }
        if let Some(sink) = &mut self.sink {
            sink.release();
        }
        Poll::Ready(Ok(()))
    }

    /// Closes the stream once everything queued is written: at once if the queue is empty, otherwise in
    /// [`Input::flush`].
    pub fn close(&mut self) {
        self.closing = true;
        if self.unsent() == 0 && self.sink.take().is_some() {
            // A log failure here is reported by `Output::take_log_error`.
            let _ = self.log.finish();
        }
    }

    /// Closes the stream at once and discards unwritten lines.
    pub fn abandon(&mut self) {
        self.closing = true;
        self.forget_queue();
        self.sink = None;
        let _ = self.log.finish();
    }

    fn forget_queue(&mut self) {
        self.before += self.written as u64;
        // Input is small and rare, so an idle session keeps no buffer.
        self.queue = Vec::new();
        (self.written, self.logged) = (0, 0);
    }

    /// Offset of the next line, in bytes from the first.
    pub fn position(&self) -> u64 {
        self.before + self.queue.len() as u64
    }

    /// How many bytes the stream has accepted. The CLI cannot have seen any line that begins at or after this
    /// offset.
    pub fn written(&self) -> u64 {
        self.before + self.written as u64
    }

    /// How many queued bytes are not written yet.
    pub fn unsent(&self) -> usize {
        self.queue.len() - self.written
    }

    /// Whether there is anything to flush; if not, a driver need not wait for it.
    pub fn wants_flush(&self) -> bool {
        self.sink.is_some() && (self.unsent() > 0 || self.closing)
    }

    /// Whether the stream is closed.
    pub fn is_closed(&self) -> bool {
        self.sink.is_none()
    }
}
