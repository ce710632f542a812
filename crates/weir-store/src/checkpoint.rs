//! Checkpoints: the state a reader derived from a log up to an event, so that the next reader does not have to start
//! at the first event.
//!
//! The store does not know what is in a checkpoint. Checkpoints are not part of the log: all of them can be lost
//! without losing information.

use crate::session::SessionId;

/// The state a reader derived from a log up to an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The newest event included.
    pub seq: u64,
    /// Format version of `data`. Saving a checkpoint of a new version removes those of all other versions.
    pub version: String,
    /// A number chosen by the reader, for selecting a checkpoint; it never decreases from one checkpoint to the next.
    pub mark: u64,
    /// The derived state.
    pub data: Vec<u8>,
}

/// Selects the newest matching checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointQuery {
    /// The session.
    pub session: SessionId,
    /// The format version.
    pub version: String,
    /// Only checkpoints at or before this event.
    pub seq_at_most: u64,
    /// Only checkpoints with at most this mark.
    pub mark_at_most: u64,
}

impl CheckpointQuery {
    /// The newest checkpoint of this version.
    pub fn newest(session: SessionId, version: impl Into<String>) -> Self {
        Self { session, version: version.into(), seq_at_most: u64::MAX, mark_at_most: u64::MAX }
    }

    /// Whether this checkpoint is one of those asked for.
    pub fn matches(&self, checkpoint: &Checkpoint) -> bool {
        checkpoint.version == self.version
            && checkpoint.seq <= self.seq_at_most
            && checkpoint.mark <= self.mark_at_most
    }
}
