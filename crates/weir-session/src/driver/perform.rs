//! Performs the machine's actions.

use std::sync::Arc;

use weir_wire::Outgoing;

use super::Driver;
use crate::ask::Ask;
use crate::handler::denied;
use crate::machine::{Action, Event};

impl Driver {
    /// Performs actions until none are left: an action can lead to more.
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
            Action::Write(line) => self.write(line),
            Action::Claim(id) => {
                if let Some(Err(error)) = self.launcher.as_mut().map(|launcher| launcher.claim(&id)) {
                    self.tell(Event::Failed(error));
                }
            }
            Action::Reply(ticket, reply) => {
                // A message that is refused will have no answer.
                if let (Some((message, waiter)), Ok(_)) = (self.unaccepted.remove(&ticket), &reply) {
                    self.waiters.insert(message, waiter);
                }
                if let Some(sender) = self.tickets.remove(&ticket) {
                    // The caller may be gone.
                    let _ = sender.send(reply);
                }
            }
            Action::MessageEnded(message, result) => {
                if result.is_ok() {
                    self.calls.glance().turn_ended();
                }
                if let Some(waiter) = self.waiters.remove(&message) {
                    let _ = waiter.send(result);
                }
            }
            // Already in the view, where viewers see it.
            Action::UnaskedTurnEnded(_) => {}
            Action::Ask(ask) => self.ask(ask),
            Action::Withdraw(request) => self.withdraw(&request),
            Action::Spawn(spawn) => self.begin(spawn),
            Action::End => match self.starting.take() {
                Some(starting) => {
                    // Dropping the future kills whatever it started. Callers are told that nothing is left, so nothing may be.
                    drop(starting);
                    self.burying = Some(Box::pin(super::ending::burial()));
                }
                None if self.burying.is_some() => {}
                None => self.must_end = true,
            },
        }
    }

    fn write(&mut self, line: Outgoing) {
        let Some(streams) = &mut self.streams else { return };
        let position = streams.input.position();
        let is_queued = streams.input.queue(line.to_line().trim_end_matches('\n').as_bytes());
        match (line, is_queued) {
            (Outgoing::User(message), true) => streams.unwritten.push((position, message)),
            // The message is not lost: it goes to the next process.
            (Outgoing::User(message), false) => {
                self.must_end = true;
                self.tell(Event::Ending);
                self.tell(Event::Unwritten(Box::new(message)));
            }
            // The CLI no longer receives this, and no longer waits for it.
            _ => {}
        }
    }

    fn ask(&mut self, ask: Ask) {
        let request = ask.id().clone();
        let Some(handler) = self.deciders.handler().cloned() else {
            let decision = denied(&ask);
            return self.tell(Event::Decided { request, decision });
        };
        let deciding = self.deciding.get_or_insert_default();
        let abort = deciding.spawn(async move { Arc::as_ref(&handler).decide(ask).await });
        self.asked.push((request, abort));
    }

    fn withdraw(&mut self, request: &weir_wire::RequestId) {
        self.asked.retain(|(asked, abort)| {
            let is_meant = asked == request;
            if is_meant {
                abort.abort();
            }
            !is_meant
        });
    }
}
