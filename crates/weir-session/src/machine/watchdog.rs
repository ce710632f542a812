//! Detects when nothing happens for too long, depending on what the CLI is doing.

use std::fmt;
use std::time::{Duration, Instant};

use weir_transcript::Status;

use super::{Limits, Machine, Now, Sink};

/// What the CLI is doing, for the purpose of time limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Started, but not answered yet.
    Starting,
    /// Waiting for the model.
    Model,
    /// Running a tool.
    Tool,
    /// Summarising the history.
    Compaction,
    /// Only running background tasks.
    Background,
    /// Waiting for a person.
    Person,
    /// A turn as a whole.
    Turn,
    /// Idle.
    Idle,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Starting => "while the CLI started",
            Self::Model => "while it waited for the model",
            Self::Tool => "while a tool ran",
            Self::Compaction => "while the history was summarised",
            Self::Background => "while background tasks ran",
            Self::Person => "while it waited for a person",
            Self::Turn => "in a turn",
            Self::Idle => "while it was idle",
        })
    }
}

/// When there was last any output, and whether a limit was reached.
#[derive(Debug)]
pub(super) struct Watchdog {
    since: Instant,
    fired: Option<(Phase, Duration)>,
}

impl Watchdog {
    pub(super) fn new(now: Instant) -> Self {
        Self { since: now, fired: None }
    }

    pub(super) fn restart(&mut self, now: Instant) {
        self.since = now;
    }

    pub(super) fn has_fired(&self) -> bool {
        self.fired.is_some()
    }

    pub(super) fn fired(&self) -> Option<(Phase, Duration)> {
        self.fired
    }

    /// Takes the limit that was reached.
    pub(super) fn take_fired(&mut self) -> Option<(Phase, Duration)> {
        self.fired.take()
    }

    pub(super) fn deadline(&self, phase: Phase, limits: &Limits) -> Option<Instant> {
        let limit = limit_of(phase, limits).filter(|_| self.fired.is_none())?;
        Some(self.since + limit)
    }
}

fn limit_of(phase: Phase, limits: &Limits) -> Option<Duration> {
    match phase {
        Phase::Starting => limits.starting,
        Phase::Model => limits.model,
        Phase::Tool => limits.tool,
        Phase::Compaction => limits.compaction,
        Phase::Background => limits.background,
        Phase::Person => limits.person,
        Phase::Turn => limits.turn,
        Phase::Idle => limits.idle,
    }
}

impl Machine {
    /// What the CLI is doing.
    pub fn phase(&self) -> Phase {
        if self.life.is_starting() {
            return Phase::Starting;
        }
        if self.asks.awaits_a_person() {
            return Phase::Person;
        }
        match self.view().status {
            Status::Compacting => Phase::Compaction,
            Status::WaitingForPerson => Phase::Person,
            Status::Running if self.fold.has_open_tools() => Phase::Tool,
            Status::Running => Phase::Model,
            _ if self.messages.has_unanswered() => Phase::Model,
            Status::Background => Phase::Background,
            _ => Phase::Idle,
        }
    }

    pub(super) fn watch(&mut self, now: Now, sink: &mut dyn Sink) {
        if !self.life.is_alive() || self.watchdog.has_fired() {
            return;
        }
        let phase = self.phase();
        let silent = self.watchdog.deadline(phase, &self.settings.limits);
        let turn = self.messages.oldest_written().zip(self.settings.limits.turn);
        let fired = match (silent, turn) {
            (Some(at), _) if at <= now.instant => {
                limit_of(phase, &self.settings.limits).map(|limit| (phase, limit))
            }
            (_, Some((written, limit))) if written + limit <= now.instant => Some((Phase::Turn, limit)),
            _ => None,
        };
        match fired {
            None => {}
            // No caller is waiting for these; ending the process also ends its background tasks.
            Some((Phase::Idle | Phase::Background, _)) => self.life.end_quietly(),
            Some(fired) => {
                self.watchdog.fired = Some(fired);
                self.stop_turn(now, sink);
            }
        }
    }

    /// Interrupts the turn; the process is ended if that does not work in time.
    pub(super) fn stop_turn(&mut self, now: Now, sink: &mut dyn Sink) {
        if self.life.is_ready() {
            self.end_turn(now, sink);
            self.life.escalate_at(now.instant + self.settings.limits.interrupt);
        } else {
            self.life.escalate_at(now.instant);
        }
    }
}
