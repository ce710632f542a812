//! Lines from the CLI.
//!
//! A chunk of bytes is read and written to the raw log before its lines can be taken. The buffer that splits
//! lines is borrowed from the thread while it holds data: an idle session has none.

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, ready};

use tokio::io::ReadBuf;
use weir_wire::{Frame, Framer};

use crate::log::{LogError, LogWriter};
use crate::stream::Source;

thread_local! {
    /// An unused framer with its buffer. Zeroing a fresh buffer of 256 KiB for each event would cost more than
    /// the event itself.
    static SPARE: Cell<Option<(usize, Box<Framer>)>> = const { Cell::new(None) };
}

/// After this many bytes without a pause, other tasks get a turn. Tokio's own budget counts reads, and one read
/// can be 256 KiB.
const FAIR_SHARE: usize = 1 << 20;

/// Bytes per read, and number of reads, when an output is dropped: four times what a large pipe holds.
const LAST_READ: usize = 64 << 10;
const LAST_READS: usize = 64;

/// Lines from the CLI.
#[derive(Debug)]
pub struct Output {
    source: Source,
    limit: usize,
    /// Present while it holds bytes.
    framer: Option<Box<Framer>>,
    /// Whether the last byte received was not a line feed.
    in_line: bool,
    /// Whether all complete lines have been taken since the last chunk.
    drained: bool,
    ended: bool,
    /// Size of the last chunk in bytes.
    chunk: usize,
    bytes: u64,
    since_pause: usize,
    log: LogWriter,
}

impl Output {
    pub(crate) fn new(source: Source, limit: usize, log: LogWriter) -> Self {
        Self {
            source,
            limit,
            framer: None,
            in_line: false,
            drained: true,
            ended: false,
            chunk: 0,
            bytes: 0,
            since_pause: 0,
            log,
        }
    }

    /// Waits for more bytes and writes them to the raw log. `false` at the end of the stream, when there may
    /// still be lines to take.
    ///
    /// Cancel safe: bytes that were read are never lost. A log error is returned only if the log is required; a
    /// stream error ends the stream.
    pub async fn fill(&mut self) -> io::Result<bool> {
        poll_fn(|context| self.poll_fill(context)).await
    }

    /// The poll form of [`Output::fill`].
    pub fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        if self.ended {
            return Poll::Ready(Ok(false));
        }
        if self.since_pause >= FAIR_SHARE {
            self.since_pause = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let mut framer = self.framer.take().unwrap_or_else(|| borrow(self.limit));
        let mut buffer = ReadBuf::new(framer.space());
        let polled = self.source.poll_read(context, &mut buffer);
        let chunk = buffer.filled();
        let (count, in_line) = (chunk.len(), chunk.last().is_some_and(|&last| last != b'\n'));
        // The log comes first: nothing may be seen that is not in it.
        let logged = if count > 0 { self.log.write(chunk) } else { Ok(()) };
        self.chunk = count;
        if count > 0 {
            framer.filled(count);
            self.in_line = in_line;
            self.drained = false;
            self.bytes += count as u64;
        }
        if self.drained && !self.in_line {
            give_back(self.limit, framer);
        } else {
            self.framer = Some(framer);
        }
        if polled.is_pending() {
            self.since_pause = 0;
        }
        if let Err(error) = ready!(polled) {
            self.end();
            return Poll::Ready(Err(error));
        }
        self.since_pause += count;
        if count == 0 {
            self.end();
            return Poll::Ready(self.log.finish().map(|()| false));
        }
        Poll::Ready(logged.map(|()| true))
    }

    /// The last chunk read, byte for byte, until its first line is taken.
    pub fn chunk(&self) -> &[u8] {
        self.framer.as_ref().map_or(&[], |framer| framer.newest(self.chunk))
    }

    /// The next complete line. After the end of the stream, also the text after the last line feed.
    pub fn next_frame(&mut self) -> Option<Frame<'_>> {
        let frame = self.framer.as_mut().and_then(|framer| framer.next_frame());
        self.drained = frame.is_none();
        frame
    }

    /// Whether the stream has ended.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// Whether the last byte so far is not a line feed. At the end of the stream this means that the last line
    /// was cut off.
    pub fn is_in_line(&self) -> bool {
        self.in_line
    }

    /// How many bytes have been received.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The first failure of any of the process's raw logs, once.
    pub fn take_log_error(&mut self) -> Option<LogError> {
        self.log.take_error()
    }

    fn end(&mut self) {
        self.ended = true;
        if self.in_line
            && let Some(framer) = &mut self.framer
        {
            // Turns the rest into a line, as `Framer::finish` would.
            framer.push(b"\n");
            self.drained = false;
        }
    }
}

impl Drop for Output {
    /// Output still in the pipe goes to the raw log even if it is no longer read otherwise.
    fn drop(&mut self) {
        if self.ended || !self.log.is_kept() {
            return;
        }
        let mut buffer = vec![0; LAST_READ];
        // Bounded, because a CLI that is not stopped may write forever.
        for _ in 0..LAST_READS {
            match self.source.read_now(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    let _ = self.log.write(buffer.get(..count).unwrap_or_default());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
    }
}

fn borrow(limit: usize) -> Box<Framer> {
    match SPARE.take() {
        Some((spare_limit, framer)) if spare_limit == limit => framer,
        Some(_) | None => Box::new(Framer::with_limit(limit)),
    }
}

fn give_back(limit: usize, mut framer: Box<Framer>) {
    // Asking for space makes the framer discard lines already taken, and shrink if a huge line had made it
    // grow.
    framer.space();
    SPARE.set(Some((limit, framer)));
}

#[cfg(test)]
mod tests {
    use std::future::Future as _;
    use std::pin::pin;
    use std::task::Waker;

    use proptest::prelude::*;
    use tokio::io::{AsyncWriteExt as _, DuplexStream};

    use super::*;

    fn output(capacity: usize) -> (Output, DuplexStream) {
        let (ours, theirs) = tokio::io::duplex(capacity);
        (Output::new(Source::Memory(ours), Framer::DEFAULT_LIMIT, crate::log::none().output), theirs)
    }

    fn poll_once(output: &mut Output) -> Poll<io::Result<bool>> {
        pin!(output.fill()).poll(&mut Context::from_waker(Waker::noop()))
    }

    async fn lines(output: &mut Output) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        loop {
            let more = output.fill().await.unwrap();
            while let Some(Frame::Line(line)) = output.next_frame() {
                lines.push(line.to_vec());
            }
            if !more {
                return lines;
            }
        }
    }

    #[tokio::test]
    async fn an_idle_output_holds_no_buffer_even_after_a_huge_line() {
        let (mut output, mut theirs) = output(1 << 20);
        let write = async move {
            theirs.write_all(&vec![b'x'; 5 << 20]).await.unwrap();
            theirs.write_all(b"\n").await.unwrap();
            theirs
        };
        let read = async {
            loop {
                assert!(output.fill().await.unwrap());
                if let Some(Frame::Line(line)) = output.next_frame() {
                    return line.len();
                }
            }
        };
        let (mut theirs, length) = tokio::join!(write, read);
        assert_eq!(length, 5 << 20);
        assert_eq!(output.next_frame(), None);
        while poll_once(&mut output).is_ready() {}
        assert!(output.framer.is_none());
        // The buffer left to the thread is small again.
        let mut spare = borrow(Framer::DEFAULT_LIMIT);
        assert!(spare.space().len() <= 512 << 10);

        theirs.write_all(b"half").await.unwrap();
        assert!(output.fill().await.unwrap());
        assert_eq!(output.next_frame(), None);
        assert!(poll_once(&mut output).is_pending());
        assert!(output.framer.is_some(), "half a line must not be lost");
        theirs.write_all(b" and half\n").await.unwrap();
        drop(theirs);
        assert_eq!(lines(&mut output).await, [b"half and half"]);
    }

    #[tokio::test]
    async fn lines_not_taken_are_still_there_after_the_next_fill() {
        let (mut output, mut theirs) = output(100);
        theirs.write_all(b"one\ntwo\n").await.unwrap();
        assert!(output.fill().await.unwrap());
        assert_eq!(output.next_frame(), Some(Frame::Line(b"one")));
        theirs.write_all(b"three").await.unwrap();
        drop(theirs);
        assert_eq!(lines(&mut output).await, [&b"two"[..], b"three"]);
        assert!(output.is_ended() && output.is_in_line());
        assert_eq!(output.bytes(), 13);
    }

    #[tokio::test]
    async fn an_endless_stream_yields_to_other_tasks() {
        let (mut output, mut theirs) = output(8 << 20);
        theirs.write_all(&b"x\n".repeat(4 << 20)).await.unwrap();
        let mut read_without_pause = 0;
        while poll_once(&mut output).is_ready() {
            while output.next_frame().is_some() {}
            read_without_pause = output.bytes();
        }
        assert!(
            (FAIR_SHARE as u64..2 * FAIR_SHARE as u64).contains(&read_without_pause),
            "{read_without_pause}"
        );
        assert!(poll_once(&mut output).is_ready());
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_lines(
            bytes in proptest::collection::vec(prop_oneof![2 => any::<u8>(), 1 => Just(b'\n')], 0..200),
            capacity in 1usize..40,
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let mut expected: Vec<Vec<u8>> = bytes.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
            if expected.last().is_some_and(Vec::is_empty) {
                expected.pop();
            }
            let (mut output, mut theirs) = output(capacity);
            let got = runtime.block_on(async {
                let write = async move { theirs.write_all(&bytes).await.unwrap() };
                tokio::join!(write, lines(&mut output)).1
            });
            prop_assert_eq!(got, expected);
        }
    }
}
