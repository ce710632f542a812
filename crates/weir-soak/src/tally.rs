//! What has happened so far, in numbers.

use weir_session::{PoolError, SessionError};

/// What has happened so far, in numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Conversations, those of pools included.
    pub conversations: u64,
    /// Messages.
    pub messages: u64,
    /// Messages that were answered.
    pub answered: u64,
    /// Messages whose turn failed or was interrupted.
    pub failed: u64,
    /// Messages that were taken back.
    pub cancelled: u64,
    /// Messages whose process died.
    pub died: u64,
    /// Messages for which a limit was reached.
    pub timed_out: u64,
    /// Messages that ended with their session.
    pub stopped: u64,
    /// Messages that were not taken, or ended in another way.
    pub refused: u64,
    /// Processes that were started.
    pub processes: u64,
}

impl Tally {
    /// Counts an end without an answer.
    pub(crate) fn error(&mut self, error: &SessionError) {
        *match error {
            SessionError::Cancelled | SessionError::Interrupted => &mut self.cancelled,
            SessionError::Died { .. } => &mut self.died,
            SessionError::TimedOut { .. } => &mut self.timed_out,
            SessionError::Stopped => &mut self.stopped,
            _ => &mut self.refused,
        } += 1;
    }

    /// Counts a message that a pool did not bring to an answer.
    pub(crate) fn pool_error(&mut self, error: &PoolError) {
        match error {
            PoolError::Session(error) => self.error(error),
            _ => self.refused += 1,
        }
    }

    /// Adds another one.
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
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} conversations, {} processes, {} messages: {} answered, {} failed, {} cancelled, {} died, \
             {} timed out, {} stopped, {} refused",
            self.conversations,
            self.processes,
            self.messages,
            self.answered,
            self.failed,
            self.cancelled,
            self.died,
            self.timed_out,
            self.stopped,
            self.refused
        )
    }
}
