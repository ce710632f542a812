//! The brake: an interrupt, whatever the session is doing.
//!
//! It applies to the current turn: the one that is running, with every message written for it, or else the
//! message that would be written next. Messages queued behind it stay where they are. An interrupted message
//! never runs later: one that no process has received is cancelled, and one that the CLI has received but not
//! begun is both cancelled and interrupted, because no single request works for all versions. Should its turn
//! begin anyway, it is interrupted again.
//!
//! It does not depend on the CLI: a turn that has not ended in time is ended with its process. And it is
//! confirmed when the turn has ended, not when the CLI acknowledges it: versions before 2.1.325 do that while
//! the tool is still running.

use std::time::Instant;

use weir_transcript::HostEvent;
use weir_wire::{HostRequest, MessageId, ToolUseId};

use super::action::Reply;
use super::control::Purpose;
use super::event::{Now, Ticket};
use super::{Machine, Sink};
use crate::ask::Ask;

/// Whether the current turn is being ended.
#[derive(Debug, Default)]
pub(super) enum Brake {
    #[default]
    Off,
    /// On until nothing of the turn is left.
    On,
    /// Nothing is running, but the CLI may still begin a turn by itself until this time.
    Waking(Instant),
}

impl Machine {
    pub(super) fn interrupt(
        &mut self,
        now: Now,
        ticket: Ticket,
        only: Option<&MessageId>,
        sink: &mut dyn Sink,
    ) {
        if only.is_some_and(|message| !self.messages.is_known(message)) {
            return self.reply(ticket, Ok(Reply::NothingRuns));
        }
        if self.life.is_ready() && self.is_busy() {
            self.brake = Brake::On;
            self.messages.mark_interrupted();
            self.interrupting.push(ticket);
            self.life.escalate_at(now.instant + self.settings.limits.interrupt);
            return self.end_turn(now, sink);
        }
        if self.messages.has_unanswered() {
            // The process is ending and can no longer be reached. The turn is over when the process is gone.
            self.messages.mark_interrupted();
            return self.interrupting.push(ticket);
        }
        let until = self.life.wakes_until().filter(|until| *until > now.instant);
        let is_stopped = if self.take_back_next(sink) {
            true
        } else if let Some(until) = until {
            self.brake = Brake::Waking(until);
            true
        } else {
            false
        };
        self.reply(ticket, Ok(if is_stopped { Reply::Done } else { Reply::NothingRuns }));
    }

    /// Tells the CLI to end the current turn: what is running, and messages that it has received and not begun.
    pub(super) fn end_turn(&mut self, now: Now, sink: &mut dyn Sink) {
        for message in self.messages.not_begun() {
            self.ask_cli(now, Purpose::TakeBack(message.clone()), HostRequest::CancelMessage { message });
        }
        self.record(HostEvent::Interrupted, sink);
        self.ask_cli(now, Purpose::Interrupt, HostRequest::Interrupt);
    }

    /// Whether an interrupt is still in progress. It might also end a message that is written now.
    pub(super) fn is_braking(&self) -> bool {
        matches!(self.brake, Brake::On) || self.control.is_interrupting()
    }

    /// A turn has begun. If it was interrupted before, it is interrupted again.
    pub(super) fn hold_brake(&mut self, now: Now, sink: &mut dyn Sink) {
        let is_meant = match self.brake {
            Brake::Off => false,
            Brake::On => true,
            Brake::Waking(until) => now.instant <= until,
        };
        if !is_meant || !self.life.is_ready() || !self.is_busy() {
            return;
        }
        self.brake = Brake::On;
        self.life.escalate_at(now.instant + self.settings.limits.interrupt);
        if self.control.is_interrupting() {
            // An interrupt is already on its way and will end this turn.
            self.record(HostEvent::Interrupted, sink);
        } else {
            self.end_turn(now, sink);
        }
    }

    /// Releases the brake once nothing of the turn is left.
    pub(super) fn release_brake(&mut self, now: Now) {
        let is_over = match self.brake {
            Brake::Off => return,
            Brake::On => !self.life.is_ready() || !self.is_busy(),
            Brake::Waking(until) => {
                !self.life.is_ready() || until < now.instant || self.messages.has_queued()
            }
        };
        if is_over {
            self.brake = Brake::Off;
        }
    }

    /// Confirms interrupts whose turn has ended, with or without its process.
    pub(super) fn tell_interrupted(&mut self) {
        let is_over = if self.life.is_ready() { !self.is_busy() } else { !self.life.is_ending() };
        if is_over {
            for ticket in std::mem::take(&mut self.interrupting) {
                self.reply(ticket, Ok(Reply::Done));
            }
        }
    }

    /// Whether a request belongs to the turn being interrupted, so that nothing may be allowed any more.
    /// Background agents are not part of it.
    pub(super) fn is_interrupted(&self, ask: &Ask) -> bool {
        let tool = match (&self.brake, ask) {
            (Brake::On, Ask::Request(request)) if request.kind.tool_name().is_some() => &request.tool,
            _ => return false,
        };
        !tool.as_ref().is_some_and(|tool| self.is_in_background(tool))
    }

    fn is_in_background(&self, tool: &ToolUseId) -> bool {
        let call = self.view().tools().rfind(|(_, call)| call.id == *tool);
        let agent = call.and_then(|(entry, _)| entry.parent.as_ref());
        agent.is_some_and(|agent| self.view().is_in_background(agent))
    }
}
