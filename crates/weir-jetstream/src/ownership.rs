//! Who drives a session: a state machine that holds a lease, and ends everything it has started before the lease can end.
//!
//! Times are read from a monotonic clock, which starts anywhere. The lease is counted from before it was asked for,
//! which is never later than the servers count it. Two things end a session's processes in time, whichever comes first: the
//! node itself, which begins early enough for the whole kill ladder; and a watcher in a process of its own, which is told the
//! last moment with each renewal and kills at once if it is not told a later one. So it does not matter whether the node is
//! slow, stopped or gone.

use std::time::Duration;

/// A moment on the node's clock.
pub type Moment = Duration;

/// The times of an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    ttl: Duration,
    ladder: Duration,
    margin: Duration,
    every: Duration,
}

/// Times that cannot work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a lease of {ttl:?} is too short: ending the processes takes up to {ladder:?}, the margin is {margin:?}, and a renewal must \
     be possible twice before that"
)]
pub struct TooShort {
    ttl: Duration,
    ladder: Duration,
    margin: Duration,
}

impl Terms {
    /// Times for a lease of this length. `ladder` is the longest time from the first step of ending a session's processes
    /// until none is left; `margin` is for clocks that run differently.
    ///
    /// # Errors
    /// If there is not enough time for two renewals.
    pub fn new(ttl: Duration, ladder: Duration, margin: Duration) -> Result<Self, TooShort> {
        let too_short = TooShort { ttl, ladder, margin };
        let left =
            ttl.checked_sub(ladder).and_then(|left| left.checked_sub(margin)).ok_or(too_short.clone())?;
        let every = left / 3;
        if every.is_zero() { Err(too_short) } else { Ok(Self { ttl, ladder, margin, every }) }
    }

    /// How often the lease is renewed.
    pub fn renew_every(&self) -> Duration {
        self.every
    }

    /// When a lease that was asked for at this moment may have ended.
    fn ends(&self, asked: Moment) -> Moment {
        asked + self.ttl
    }

    /// When the watcher kills at the latest.
    fn last_moment(&self, asked: Moment) -> Moment {
        self.ends(asked).saturating_sub(self.margin)
    }

    /// When the node begins to end the processes by itself.
    fn give_up(&self, asked: Moment) -> Moment {
        self.last_moment(asked).saturating_sub(self.ladder)
    }
}

/// What happens to an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The node wants to drive the session.
    Want,
    /// The lease was granted, with this generation.
    Granted {
        /// The generation of the lease.
        generation: u64,
    },
    /// Another node has it, or no server answers.
    NotGranted,
    /// The session was claimed in the log: older writers are fenced.
    Claimed,
    /// The lease was renewed.
    Renewed,
    /// The renewal was not answered.
    NotRenewed,
    /// The lease is lost, or the log has fenced this node.
    Lost,
    /// The node does not want the session any more: it is drained, or the session is idle.
    Unwant,
    /// No process of the session is left.
    Ended,
    /// Time has passed.
    Tick,
}

/// What an owner wants done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Ask for the lease.
    Acquire,
    /// Fence older writers: append without events, with a generation of at least this.
    Claim {
        /// The generation of the lease.
        generation: u64,
    },
    /// Tell the watcher to kill everything at this moment, unless it is told a later one. It must have heard this before a
    /// process is started.
    Watch {
        /// The moment.
        until: Moment,
    },
    /// Processes may be started and written to from now on.
    Start,
    /// Ask for a renewal. Exactly one of [`Event::Renewed`], [`Event::NotRenewed`] and [`Event::Lost`] answers it.
    Renew,
    /// End all processes, with the whole ladder.
    End,
    /// Give the lease back.
    Release,
    /// The session can be driven by others. The last event says why.
    Idle,
}

/// Whether this node drives the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    /// Asked for the lease at this moment.
    Asking(Moment),
    /// Has the lease, and is fencing older writers.
    Claiming {
        asked: Moment,
    },
    Owning {
        /// When the renewal that counts was asked for.
        asked: Moment,
        /// When the renewal that is under way was asked for.
        renewing: Option<Moment>,
    },
    /// Ending processes. The lease is given back if it was not lost.
    Ending {
        has_lease: bool,
    },
}

/// Drives a session, or not.
#[derive(Debug, Clone)]
pub struct Owner {
    terms: Terms,
    state: State,
}

impl Owner {
    /// A node that does not drive the session.
    pub fn new(terms: Terms) -> Self {
        Self { terms, state: State::Idle }
    }

    /// Whether processes may run, and the log may be written, at this moment.
    pub fn may_act(&self, now: Moment) -> bool {
        matches!(self.state, State::Owning { asked, .. } if now < self.terms.give_up(asked))
    }

    /// When the next [`Event::Tick`] is due; a later one only makes the watcher do the work.
    pub fn next_tick(&self) -> Option<Moment> {
        match self.state {
            State::Owning { asked, renewing: None } => {
                Some((asked + self.terms.every).min(self.terms.give_up(asked)))
            }
            State::Owning { asked, renewing: Some(_) } | State::Claiming { asked } => {
                Some(self.terms.give_up(asked))
            }
            State::Idle | State::Asking(_) | State::Ending { .. } => None,
        }
    }

    /// What to do about an event at this moment.
    pub fn handle(&mut self, event: Event, now: Moment) -> Vec<Action> {
        // Whatever the event says: time that has passed counts first.
        let mut actions = self.check_time(now);
        let (state, more) = match (self.state, event) {
            (State::Idle, Event::Want) => (State::Asking(now), vec![Action::Acquire]),
            (State::Asking(asked), Event::Granted { generation }) => {
                if now < self.terms.give_up(asked) {
                    (State::Claiming { asked }, vec![Action::Claim { generation }])
                } else {
                    (State::Idle, vec![Action::Release, Action::Idle])
                }
            }
            (State::Asking(_), Event::NotGranted) => (State::Idle, vec![Action::Idle]),
            (State::Claiming { asked }, Event::Claimed) => {
                let until = self.terms.last_moment(asked);
                (State::Owning { asked, renewing: None }, vec![Action::Watch { until }, Action::Start])
            }
            (State::Claiming { .. }, Event::Unwant) => (State::Idle, vec![Action::Release, Action::Idle]),
            (State::Claiming { .. }, Event::Lost) => (State::Idle, vec![Action::Idle]),
            (State::Owning { renewing: Some(asked), .. }, Event::Renewed) => {
                let until = self.terms.last_moment(asked);
                (State::Owning { asked, renewing: None }, vec![Action::Watch { until }])
            }
            (State::Owning { asked, renewing: Some(_) }, Event::NotRenewed) => {
                (State::Owning { asked, renewing: Some(now) }, vec![Action::Renew])
            }
            (State::Owning { asked, renewing: None }, Event::Tick) if now >= asked + self.terms.every => {
                (State::Owning { asked, renewing: Some(now) }, vec![Action::Renew])
            }
            (State::Owning { .. }, Event::Lost) => (State::Ending { has_lease: false }, vec![Action::End]),
            (State::Owning { .. }, Event::Unwant) => (State::Ending { has_lease: true }, vec![Action::End]),
            (State::Ending { has_lease: true }, Event::Ended) => {
                (State::Idle, vec![Action::Release, Action::Idle])
            }
            (State::Ending { has_lease: false }, Event::Ended) => (State::Idle, vec![Action::Idle]),
            (State::Ending { .. }, Event::Lost) => (State::Ending { has_lease: false }, Vec::new()),
            (state, _) => (state, Vec::new()),
        };
        self.state = state;
        actions.extend(more);
        actions
    }

    fn check_time(&mut self, now: Moment) -> Vec<Action> {
        match self.state {
            State::Owning { asked, .. } if now >= self.terms.give_up(asked) => {
                // An answer that comes now is too late: once ending has begun, it is finished.
                self.state = State::Ending { has_lease: false };
                vec![Action::End]
            }
            State::Claiming { asked } if now >= self.terms.give_up(asked) => {
                self.state = State::Idle;
                vec![Action::Idle]
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
#[path = "ownership_tests.rs"]
mod tests;
