//! Counts of what has happened so far.

use weir_session::{PoolError, SessionError};

/// Counts of what has happened so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Sessions, including those in pools.
    pub conversations: u64,
    /// Messages.
    pub messages: u64,
    /// Messages that were answered.
    pub answered: u64,
    /// Messages whose turn failed or was interrupted.
    pub failed: u64,
    /// Messages that were cancelled.
    pub cancelled: u64,
    /// Messages whose process died.
    pub died: u64,
    /// Messages that hit a time limit.
    pub timed_out: u64,
    /// Messages that ended with their session.
    pub stopped: u64,
    /// Messages that were not accepted, or ended in another way.
    pub refused: u64,
    /// Processes that were started.
    pub processes: u64,
    /// Disks that were filled and emptied.
    pub disks: u64,
}

impl Tally {
    /// Counts a message that ended without a reply.
    pub(crate) fn error(&mut self, error: &SessionError) {
        *match error {
            SessionError::Cancelled | SessionError::Interrupted => &mut self.cancelled,
            SessionError::Died { .. } => &mut self.died,
            SessionError::TimedOut { .. } => &mut self.timed_out,
            SessionError::Stopped => &mut self.stopped,
            SessionError::TurnFailed(_) => &mut self.failed,
            _ => &mut self.refused,
        } += 1;
    }

    /// Counts a message to a pool that ended without a reply.
    pub(crate) fn pool_error(&mut self, error: &PoolError) {
        match error {
            PoolError::Session(error) => self.error(error),
            _ => self.refused += 1,
        }
    }

    /// Adds another tally.
    pub(crate) fn add(&mut self, other: &Self) {
        self.conversations += other.conversations;
        self.messages += other.messages;
        self.answered += other.answered;
        self.failed += other.failed;
        self.cancelled += other.cancelled;
        self.died += other.died;
        self.timed_out += other.timed_out;
        self.stopped += other.stopped;
        self.refused += other.refused;
        self.processes += other.processes;
        self.disks += other.disks;
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} conversations, {} processes, {} messages: {} answered, {} failed, {} cancelled, {} died, \
             {} timed out, {} stopped, {} refused; {} disks",
            self.conversations,
            self.processes,
            self.messages,
            self.answered,
            self.failed,
            self.cancelled,
            self.died,
            self.timed_out,
            self.stopped,
            self.refused,
            self.disks
        )
    }
}
