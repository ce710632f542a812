//! The end of a process: everything that it said is read, and nothing of it is left.

use std::pin::Pin;
use std::time::Duration;

use super::{Driver, Streams, Woken, decided_by};
use crate::machine::{Command, Event, Ticket};

/// How long the output may take to end once no process is left that could write to it.
const LAST_OUTPUT: Duration = Duration::from_secs(2);

impl Driver {
    /// Closes the input, waits for the process or ends it by force, ends its descendants, and reads what is left
    /// of its output. Callers are served meanwhile.
    ///
    /// Boxed, because this is rare and what it needs would make every session that waits larger.
    pub(super) fn end_process(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.end())
    }

    async fn end(&mut self) {
        let Some(mut handle) = self.handle.take() else { return };
        if let Some(streams) = &mut self.streams {
            streams.input.close();
            streams.stderr = None;
        }
        let options = self.stop.clone();
        let mut stop = Box::pin(async move {
            let report = handle.stop(&options).await;
            (handle, report)
        });
        let (handle, report) = loop {
            let woken = tokio::select! {
                woken = next_while_ending(&mut self.streams) => woken,
                ended = &mut stop => break ended,
                Some(decided) = self.deciding.join_next_with_id() => decided_by(decided),
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
                Woken::Flushed(Err(_)) => {
                    if let Some(streams) = &mut self.streams {
                        streams.input.abandon();
                    }
                }
                Woken::Call(Some(call)) => self.call(*call),
                Woken::Call(None) => {
                    self.is_held = false;
                    self.tell(Event::Command(Command::Stop { ticket: Ticket(0) }));
                }
                _ => {}
            }
            self.perform();
            self.outlet.pause(self.machine.view());
        };
        // Somebody may hold the pipe whom we may not end; what was written is read all the same.
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
        self.streams = None;
        self.must_end = false;
        self.facts.pid = None;
        self.tell(Event::Exited { exit: report.exit, stderr: handle.stderr_tail() });
    }
}

async fn next_while_ending(streams: &mut Option<Streams>) -> Woken {
    let Some(Streams { output, input, .. }) = streams else {
        return std::future::pending().await;
    };
    let (is_open, wants_flush) = (!output.is_ended(), input.wants_flush());
    tokio::select! {
        biased;
        filled = output.fill(), if is_open => Woken::Output(filled),
        flushed = input.flush(), if wants_flush => Woken::Flushed(flushed),
        () = std::future::pending() => Woken::Time,
    }
}
