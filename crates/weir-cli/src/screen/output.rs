//! The standard output, whose reader may be slow or gone.
//!
//! Reading from the CLI must not wait for the reader of our output, so a separate thread writes to pipes and files. Up to
//! [`MAX_WAITING`] bytes are queued for it; beyond that the caller blocks, because nothing may be lost and memory is
//! bounded. [`Output::abandon`] unblocks it, to exit.
//!
//! A terminal is written to immediately, to keep the order with lines on the standard error.

use std::io::{self, IsTerminal as _, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// Maximum number of bytes queued for a slow reader.
const MAX_WAITING: usize = 16 << 20;

/// This many bytes are passed on without a flush.
const BATCH: usize = 64 << 10;

/// A handle to the standard output.
#[derive(Clone)]
pub(crate) struct Output {
    shared: Arc<Shared>,
    is_terminal: bool,
}

#[cfg(unix)]
fn is_same_file() -> bool {
    let place = |stat: rustix::fs::Stat| (stat.st_dev, stat.st_ino);
    let output = rustix::fs::fstat(io::stdout()).map(place);
    output.is_ok() && output == rustix::fs::fstat(io::stderr()).map(place)
}

#[cfg(not(unix))]
fn is_same_file() -> bool {
    false
}

struct Shared {
    state: Mutex<State>,
    /// Notified when bytes were added or taken, or the output has failed or is abandoned.
    changed: Condvar,
    seen: watch::Sender<Seen>,
}

#[derive(Default)]
struct State {
    queue: Vec<u8>,
    is_due: bool,
    is_abandoned: bool,
    failure: Option<(io::ErrorKind, String)>,
}

/// The state for async waiters.
#[derive(Default)]
struct Seen {
    has_failed: bool,
    is_idle: bool,
}

impl Output {
    /// The standard output. Its thread ends with the program.
    pub(crate) fn stdout() -> Self {
        let is_terminal = io::stdout().is_terminal();
        let output = Self::new(is_terminal);
        if !is_terminal {
            let shared = Arc::clone(&output.shared);
            let spawned = std::thread::Builder::new()
                .name("output".into())
                .spawn(move || shared.pass_on(&mut io::stdout().lock()));
            if let Err(error) = spawned {
                output.shared.fail(&error);
            }
        }
        output
    }

    fn new(is_terminal: bool) -> Self {
        let seen = watch::Sender::new(Seen { has_failed: false, is_idle: true });
        let shared = Shared { state: Mutex::default(), changed: Condvar::new(), seen };
        Self { shared: Arc::new(shared), is_terminal }
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Whether the standard error goes to the same pipe or file.
    pub(crate) fn has_errors_in_it(&self) -> bool {
        !self.is_terminal && is_same_file()
    }

    /// Drops everything queued, and everything written later.
    pub(crate) fn abandon(&self) {
        let mut state = self.shared.lock();
        state.is_abandoned = true;
        state.queue = Vec::new();
        self.shared.changed.notify_all();
    }

    /// Accepts output again after [`Self::abandon`].
    pub(crate) fn revive(&self) {
        self.shared.lock().is_abandoned = false;
    }

    /// Waits until the output has failed, most likely because its reader is gone. Cancel safe.
    pub(crate) async fn failed(&self) {
        let mut seen = self.shared.seen.subscribe();
        // The sender lives as long as we do.
        let _ = seen.wait_for(|seen| seen.has_failed).await;
    }

    /// Waits until everything is written, has failed, or was abandoned. Cancel safe.
    pub(crate) async fn finish(&mut self) -> io::Result<()> {
        self.flush()?;
        if self.shared.lock().is_abandoned {
            return Ok(());
        }
        let mut seen = self.shared.seen.subscribe();
        let _ = seen.wait_for(|seen| seen.is_idle || seen.has_failed).await;
        self.shared.lock().check()
    }

    /// Writes to a terminal immediately.
    fn write_now(&self) -> io::Result<()> {
        let mut state = self.shared.lock();
        let bytes = std::mem::take(&mut state.queue);
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(&bytes).and_then(|()| stdout.flush());
        drop(state);
        written.inspect_err(|error| self.shared.fail(error))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.shared.lock();
        while state.queue.len() >= MAX_WAITING && state.check().is_ok() && !state.is_abandoned {
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.check()?;
        if state.is_abandoned {
            return Ok(bytes.len());
        }
        state.queue.extend_from_slice(bytes);
        // A terminal is flushed immediately: the spinner is drawn on the same screen.
        let is_due = self.is_terminal || state.queue.len() >= BATCH;
        drop(state);
        if is_due {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    /// Passes on what was written, without waiting for it to arrive.
    fn flush(&mut self) -> io::Result<()> {
        if self.is_terminal {
            return self.write_now();
        }
        let mut state = self.shared.lock();
        state.check()?;
        if !state.queue.is_empty() {
            state.is_due = true;
            self.shared.seen.send_modify(|seen| seen.is_idle = false);
            self.shared.changed.notify_all();
        }
        Ok(())
    }
}

impl State {
    fn check(&self) -> io::Result<()> {
        match &self.failure {
            Some((kind, text)) => Err(io::Error::new(*kind, text.clone())),
            None => Ok(()),
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread's loop: takes queued bytes and writes them.
    fn pass_on(&self, out: &mut impl Write) {
        loop {
            let mut state = self.lock();
            while !state.is_due {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            state.is_due = false;
            let bytes = std::mem::take(&mut state.queue);
            drop(state);
            self.changed.notify_all();
            if let Err(error) = out.write_all(&bytes).and_then(|()| out.flush()) {
                return self.fail(&error);
            }
            let state = self.lock();
            if !state.is_due {
                self.seen.send_modify(|seen| seen.is_idle = true);
            }
        }
    }

    fn fail(&self, error: &io::Error) {
        let mut state = self.lock();
        state.queue = Vec::new();
        state.failure.get_or_insert((error.kind(), error.to_string()));
        self.changed.notify_all();
        self.seen.send_modify(|seen| seen.has_failed = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks each write until it gets a message.
    struct Gate(std::sync::mpsc::Receiver<()>, Arc<Mutex<Vec<u8>>>);

    impl Write for Gate {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.recv().map_err(|_| io::ErrorKind::BrokenPipe)?;
            self.1.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn gated() -> (Output, std::sync::mpsc::Sender<()>, Arc<Mutex<Vec<u8>>>) {
        let (sender, receiver) = std::sync::mpsc::channel();
        let written = Arc::new(Mutex::new(Vec::new()));
        let output = Output::new(false);
        let shared = Arc::clone(&output.shared);
        let mut gate = Gate(receiver, Arc::clone(&written));
        std::thread::spawn(move || shared.pass_on(&mut gate));
        (output, sender, written)
    }

    #[tokio::test]
    async fn a_slow_reader_gets_everything_in_order() {
        let (mut output, open, written) = gated();
        output.write_all(b"one ").unwrap();
        output.flush().unwrap();
        output.write_all(b"two").unwrap();
        for _ in 0..3 {
            open.send(()).unwrap();
        }
        output.finish().await.unwrap();
        assert_eq!(*written.lock().unwrap(), b"one two");
    }

    #[tokio::test]
    async fn a_closed_reader_is_noticed_by_all() {
        let (mut output, open, _) = gated();
        output.write_all(b"x").unwrap();
        output.flush().unwrap();
        drop(open);
        output.failed().await;
        assert_eq!(output.write_all(b"y").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert!(output.finish().await.is_err());
    }

    #[test]
    fn a_blocked_writer_continues_when_the_output_is_abandoned() {
        let (mut output, _open, _) = gated();
        let other = output.clone();
        output.write_all(&vec![0; MAX_WAITING]).unwrap();
        output.write_all(&vec![0; MAX_WAITING]).unwrap();
        let waiting = std::thread::spawn(move || {
            for _ in 0..4 {
                output.write_all(&vec![0; MAX_WAITING]).unwrap();
            }
        });
        other.abandon();
        waiting.join().unwrap();
    }
}
