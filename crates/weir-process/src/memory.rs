//! The transport without a process: a test plays the CLI.

use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::exit::{Exit, StopOptions, StopReport, StopStep};
use crate::handle::Handle;
use crate::input::Input;
use crate::launch::Process;
use crate::log;
use crate::output::Output;
use crate::secrets::Secrets;
use crate::stderr::{self, Stderr};
use crate::stream::{Sink, Source};
use crate::tree::Signal;

/// Capacity of each direction before the writer has to wait, as with a pipe.
const CAPACITY: usize = 64 << 10;

/// Creates a process that is played by a test.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (mut process, mut peer) = weir_process::memory();
/// process.input.queue(b"question");
/// process.input.flush().await.unwrap();
/// assert_eq!(peer.read_line().await.as_deref(), Some("question"));
/// peer.write(b"answer\n").await;
/// peer.exit(weir_process::Exit::with_code(0));
/// assert!(process.output.fill().await.unwrap());
/// assert_eq!(process.output.next_frame(), Some(weir_wire::Frame::Line(b"answer")));
/// assert!(process.handle.wait().await.is_success());
/// # });
/// ```
pub fn memory() -> (Process, Peer) {
    memory_with(weir_wire::Framer::DEFAULT_LIMIT)
}

/// Like [`memory`], for lines of up to `line_limit` bytes.
pub fn memory_with(line_limit: usize) -> (Process, Peer) {
    let (ours_out, theirs_out) = tokio::io::duplex(CAPACITY);
    let (ours_in, theirs_in) = tokio::io::duplex(CAPACITY);
    let logs = log::none();
    let shared = stderr::Shared::new(None, &Secrets::new(), logs.stderr);
    let (exit_sender, exit) = watch::channel(None);
    let (signal_sender, signals) = mpsc::unbounded_channel();
    let process = Process {
        output: Output::new(Source::Memory(ours_out), line_limit, logs.output),
        input: Input::new(Sink::Memory(ours_in), logs.input),
        stderr: Stderr::new(Arc::clone(&shared)),
        handle: Handle::memory(MemoryLife { exit, signals: signal_sender }, Arc::clone(&shared)),
        logs: None,
    };
    let peer = Peer {
        output: Some(theirs_out),
        input: BufReader::new(theirs_in),
        stderr: shared,
        exit: exit_sender,
        signals,
    };
    (process, peer)
}

/// Lifetime of a process played by a test.
#[derive(Debug)]
pub(crate) struct MemoryLife {
    exit: watch::Receiver<Option<Exit>>,
    signals: mpsc::UnboundedSender<PeerSignal>,
}

impl MemoryLife {
    /// How it ended, if it has.
    pub(crate) fn exit(&self) -> Option<Exit> {
        *self.exit.borrow()
    }

    pub(crate) async fn wait(&mut self) -> Exit {
        match self.exit.wait_for(Option::is_some).await {
            Ok(exit) => exit.unwrap_or_default(),
            // The peer sets how it ended before it is dropped.
            Err(_) => Exit::default(),
        }
    }

    pub(crate) fn signal(&mut self, signal: Signal) -> bool {
        let signal = match signal {
            Signal::Interrupt => PeerSignal::Interrupt,
            Signal::Terminate => PeerSignal::Terminate,
            Signal::Kill => PeerSignal::Kill,
        };
        self.exit.borrow().is_none() && self.signals.send(signal).is_ok()
    }

    pub(crate) async fn stop(&mut self, options: &StopOptions) -> StopReport {
        let report = |exit, step| StopReport { exit, step, descendants: 0, survivors: Vec::new() };
        if let Ok(exit) = timeout(options.grace, self.wait()).await {
            return report(exit, StopStep::Ended);
        }
        if !options.terminate.is_zero() {
            self.signal(Signal::Terminate);
            if let Ok(exit) = timeout(options.terminate, self.wait()).await {
                return report(exit, StopStep::Terminated);
            }
        }
        self.signal(Signal::Kill);
        report(Exit::by_signal(9), StopStep::Killed)
    }
}

/// A signal sent to a process played by a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerSignal {
    /// SIGINT.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGKILL. The handle considers the process dead from then on.
    Kill,
}

/// The CLI's side of [`memory`].
///
/// Dropping it ends the process with code 0.
#[derive(Debug)]
pub struct Peer {
    output: Option<DuplexStream>,
    input: BufReader<DuplexStream>,
    stderr: Arc<stderr::Shared>,
    exit: watch::Sender<Option<Exit>>,
    signals: mpsc::UnboundedReceiver<PeerSignal>,
}

impl Peer {
    /// The next line that was sent, without its line feed; `None` once the input is closed.
    pub async fn read_line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        let count = self.input.read_until(b'\n', &mut line).await.unwrap_or(0);
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        (count > 0).then(|| String::from_utf8_lossy(&line).into_owned())
    }

    /// Everything that is sent until the input is closed.
    pub async fn read_to_end(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // A duplex stream in memory cannot fail.
        let _ = self.input.read_to_end(&mut bytes).await;
        bytes
    }

    /// Writes to standard output. Waits while the reader is behind. `false` if there is no reader any more.
    pub async fn write(&mut self, bytes: &[u8]) -> bool {
        match &mut self.output {
            Some(output) => output.write_all(bytes).await.is_ok(),
            None => false,
        }
    }

    /// Writes a line to standard output.
    pub async fn write_line(&mut self, line: &str) -> bool {
        self.write(line.as_bytes()).await && self.write(b"\n").await
    }

    /// Writes to standard error.
    pub fn write_stderr(&mut self, text: &str) {
        self.stderr.push(text.as_bytes());
    }

    /// Closes standard output without ending.
    pub fn close_output(&mut self) {
        self.output = None;
    }

    /// The next signal; `None` once the handle is gone.
    pub async fn next_signal(&mut self) -> Option<PeerSignal> {
        self.signals.recv().await
    }

    /// Ends the process.
    pub fn exit(self, exit: Exit) {
        self.exit.send_replace(Some(exit));
        // Drop does the rest.
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.stderr.end();
        self.exit.send_if_modified(|exit| {
            let is_new = exit.is_none();
            exit.get_or_insert(Exit::with_code(0));
            is_new
        });
    }
}
