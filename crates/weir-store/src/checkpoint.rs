//! Checkpoints: what a reader had made of a log up to an event, so that the next one need not begin at the first.
//!
//! The store does not know what is in them. They are no part of the log: all of them can be lost, and the log tells the
//! same.

use crate::conversation::ConversationId;

/// What a reader had made of a log up to an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The newest event that is in it.
    pub seq: u64,
    /// Who can read it. Those of other versions are removed when one of a new version comes.
    pub version: String,
    /// A number of the reader's own, by which one can be chosen; it does not fall from one to the next.
    pub mark: u64,
    /// What was made of the log.
    pub data: Vec<u8>,
}

/// Which checkpoint: the newest that fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointQuery {
    /// Of which conversation.
    pub conversation: ConversationId,
    /// Of which version.
    pub version: String,
    /// With no newer event than this.
    pub seq_at_most: u64,
    /// With no higher mark than this.
    pub mark_at_most: u64,
}

impl CheckpointQuery {
    /// The newest of this version.
    pub fn newest(conversation: ConversationId, version: impl Into<String>) -> Self {
        Self { conversation, version: version.into(), seq_at_most: u64::MAX, mark_at_most: u64::MAX }
    }

    pub(crate) fn takes(&self, checkpoint: &Checkpoint) -> bool {
        checkpoint.version == self.version
            && checkpoint.seq <= self.seq_at_most
            && checkpoint.mark <= self.mark_at_most
    }
}
