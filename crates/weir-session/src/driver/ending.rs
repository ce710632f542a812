//! Ends a process: reads everything it has written, and leaves nothing of it behind.

use std::pin::Pin;
use std::time::Duration;

use weir_process::StopOptions;

use super::machine_cell::MachineCell;
use super::{Driver, Streams, Woken, decided, fill, next_text};
use crate::machine::Event;
use crate::observer::Observer;

/// How long the output may take to end once no process is left that could write to it.
const LAST_OUTPUT: Duration = Duration::from_secs(2);

/// How long a CLI that ended too soon may take to report its version.
const VERSION: Duration = Duration::from_secs(15);

/// How long processes may take to end that were killed while they were being started.
const BURIAL: Duration = Duration::from_secs(5);

/// Waits until nothing is left of what was killed because the future that started it was dropped.
pub(super) async fn burial() {
    // One that the kernel holds for longer is not waited for.
    let _all_gone = weir_process::buried(BURIAL).await;
}

impl Driver {
    /// Closes the input, waits for the process or ends it by force, ends its descendants, and reads the rest of
    /// its output. Callers are served meanwhile.
    ///
    /// Boxed, because this is rare and its state would make every idle session larger.
    pub(super) fn end_process(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.end())
    }

    async fn end(&mut self) {
        let Some(mut handle) = self.handle.take() else { return };
        let has_answered = self.machine.has_answered();
        if let Some(streams) = &mut self.streams {
            streams.input.close();
        }
        let mut options = self.launcher.as_ref().map(super::Launcher::stop_options).unwrap_or_default();
        if self.machine.has_ignored_interrupt() {
            // A process that would not end by itself gets no time to run more tools.
            options.grace = Duration::ZERO;
        }
        let report = loop {
            let is_killing = self.machine.is_killing();
            if is_killing {
                options = StopOptions::now();
            }
            let hurries = |machine: &MachineCell| machine.is_killing() && !is_killing;
            if let Some(report) = self.serve_while(handle.stop(&options), hurries).await {
                break report;
            }
        };
        // A process that we may not end may still hold the pipe; read what was written anyway.
        let rest = async {
            while let Some(streams) = &mut self.streams
                && streams.output.fill().await.unwrap_or(false)
            {
                self.bytes();
                self.lines();
            }
        };
        let _ = tokio::time::timeout(LAST_OUTPUT, rest).await;
        self.lines();
        self.last_words();
        self.streams = None;
        self.must_end = false;
        self.facts.pid = None;
        if !has_answered {
            self.learn_version().await;
        }
        self.tell(Event::Exited { exit: report.exit, stderr: handle.stderr_tail() });
    }

    /// Reads the process's output and serves callers until `stop` completes; `None` if `must_change` holds first.
    async fn serve_while<T>(
        &mut self,
        stop: impl Future<Output = T> + Send,
        must_change: impl Fn(&MachineCell) -> bool + Send,
    ) -> Option<T> {
        let mut stop = std::pin::pin!(stop);
        while !must_change(&self.machine) {
            let woken = tokio::select! {
                woken = next_while_ending(&mut self.streams, &mut self.listeners.observer) => woken,
                ended = &mut stop => return Some(ended),
                decided = decided(&mut self.deciding) => decided,
                call = self.calls.recv(), if self.is_held => Woken::Call(call),
            };
            match woken {
                Woken::Output(filled) => {
                    if matches!(filled, Ok(true)) {
                        self.bytes();
                    }
                    self.lines();
                }
                Woken::Decided(task, decision) => self.decided(task, decision),
                Woken::Flushed(Ok(())) => self.flushed(),
                Woken::Flushed(Err(_)) => {
                    if let Some(streams) = &mut self.streams {
                        streams.input.abandon();
                    }
                }
                Woken::Stderr(Some(text)) => self.listeners.stderr(text.text),
                Woken::Stderr(None) => {
                    if let Some(streams) = &mut self.streams {
                        streams.stderr = None;
                    }
                }
                call @ Woken::Call(_) => self.woken(call),
                _ => {}
            }
            self.perform();
            self.listeners.pause(&mut self.machine);
        }
        None
    }
}

impl Driver {
    /// A CLI that ended before it answered may be too old for the handshake. Its version shows that, and the
    /// next process is then started without one. Callers are served meanwhile, and a request to stop need not
    /// wait.
    async fn learn_version(&mut self) {
        let Some(probe) = self.launcher.as_ref().and_then(super::Launcher::probe) else { return };
        let mut probe = Box::pin(tokio::time::timeout(VERSION, probe));
        let known = loop {
            if self.machine.is_stopping() {
                drop(probe);
                return burial().await;
            }
            tokio::select! {
                known = &mut probe => break known.ok().flatten(),
                call = self.calls.recv(), if self.is_held => self.woken(Woken::Call(call)),
            }
            self.perform();
            self.listeners.pause(&mut self.machine);
        };
        if let (Some(known), Some(launcher)) = (known, &mut self.launcher)
            && launcher.learn(known)
        {
            self.tell(Event::TooOld);
        }
    }

    /// Delivers what is left of a process that is gone: its last diagnostics, and the messages that it never
    /// received.
    fn last_words(&mut self) {
        let Some(streams) = &mut self.streams else { return };
        if let Some(rest) = streams.stderr.as_mut().and_then(weir_process::Stderr::rest) {
            self.listeners.stderr(rest.text);
        }
        let written = streams.input.written();
        // In reverse order, since each goes to the front of the queue.
        let unwritten: Vec<_> =
            streams.unwritten.drain(..).rev().filter(|(start, _)| *start >= written).collect();
        for (_, message) in unwritten {
            self.tell(Event::Unwritten(Box::new(message)));
        }
    }
}

async fn next_while_ending(streams: &mut Option<Streams>, observer: &mut Option<Box<dyn Observer>>) -> Woken {
    let Some(Streams { output, input, stderr, .. }) = streams else {
        return std::future::pending().await;
    };
    let (is_open, wants_flush) = (!output.is_ended(), input.wants_flush());
    let is_observed = observer.is_some();
    tokio::select! {
        biased;
        filled = fill(output, observer), if is_open => Woken::Output(filled),
        flushed = input.flush(), if wants_flush => Woken::Flushed(flushed),
        text = next_text(stderr.as_mut().filter(|_| is_observed)) => Woken::Stderr(text),
        () = std::future::pending() => Woken::Time,
    }
}
