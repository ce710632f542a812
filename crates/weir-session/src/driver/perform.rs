//! Does what the machine wants done.

use std::sync::Arc;

use weir_process::Process;

use super::{Driver, Streams};
use crate::ask::Ask;
use crate::error::SessionError;
use crate::handler::denied;
use crate::machine::{Action, Event};

impl Driver {
    /// Until nothing is left to do: an action can lead to more.
    pub(super) fn perform(&mut self) {
        if !self.machine.has_actions() {
            return;
        }
        self.show();
        while self.machine.has_actions() {
            for action in self.machine.take_actions() {
                self.act(action);
            }
        }
    }

    pub(super) fn act(&mut self, action: Action) {
        match action {
            Action::Write(line) => {
                if let Some(streams) = &mut self.streams {
                    let line = line.to_line();
                    streams.input.queue(line.trim_end_matches('\n').as_bytes());
                }
            }
            Action::Record(event) => {
                if let Some(observer) = &mut self.outlet.observer {
                    observer.host(&event);
                }
            }
            Action::Reply(ticket, reply) => {
                // A message that is refused has no answer to wait for.
                if let (Some((message, waiter)), Ok(_)) = (self.applicants.remove(&ticket), &reply) {
                    self.waiters.insert(message, waiter);
                }
                if let Some(sender) = self.tickets.remove(&ticket) {
                    // Whoever asked may have gone.
                    let _ = sender.send(reply);
                }
            }
            Action::MessageEnded(message, result) => {
                if result.is_ok() {
                    self.glance.turn_ended();
                }
                if let Some(waiter) = self.waiters.remove(&message) {
                    let _ = waiter.send(result);
                }
            }
            // In the view already, and followers see it there.
            Action::UnaskedTurnEnded(_) => {}
            Action::Ask(ask) => self.ask(ask),
            Action::Withdraw(request) => self.withdraw(&request),
            Action::Spawn(spawn) => {
                if let Some(mut launcher) = self.launcher.take() {
                    self.must_end = false;
                    self.starting = Some(Box::pin(async move {
                        let result = launcher.spawn(&spawn).await;
                        (launcher, result)
                    }));
                }
            }
            // A process that is being started is ended once it is there.
            Action::End => self.must_end = true,
        }
    }

    pub(super) fn started(&mut self, result: Result<Process, SessionError>) {
        let process = match result {
            Ok(process) => process,
            Err(error) => return self.tell(Event::StartFailed(error)),
        };
        self.facts.pid = process.handle.pid();
        self.facts.logs.clone_from(&process.logs);
        self.facts.processes += 1;
        self.glance.process_started();
        let Process { handle, output, input, stderr, .. } = process;
        let stderr = Some(stderr).filter(|_| self.outlet.observer.is_some());
        self.streams = Some(Streams { output, input, stderr });
        self.handle = Some(handle);
        if !self.must_end {
            self.tell(Event::Started);
        }
    }

    fn ask(&mut self, ask: Ask) {
        let request = ask.id().clone();
        let Some(handler) = self.handler.clone() else {
            let decision = denied(&ask);
            return self.tell(Event::Decided { request, decision });
        };
        let abort = self.deciding.spawn(async move { Arc::as_ref(&handler).decide(ask).await });
        self.asked.insert(abort.id(), (request, abort));
    }

    fn withdraw(&mut self, request: &weir_wire::RequestId) {
        let tasks = self.asked.iter().filter(|(_, (asked, _))| asked == request);
        let tasks: Vec<tokio::task::Id> = tasks.map(|(task, _)| *task).collect();
        for task in tasks {
            if let Some((_, abort)) = self.asked.remove(&task) {
                abort.abort();
            }
        }
    }
}
