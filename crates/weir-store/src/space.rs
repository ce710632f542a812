//! How much space there is, and what a store takes of it.

/// Whether a store can write, and has space for it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Space {
    /// It has, as far as is known.
    #[default]
    Enough,
    /// The disk is full. Deletions and what ends something are still written, out of a reserve; everything else is
    /// refused with [`crate::StoreError::Full`] until there is space again.
    Full {
        /// What to do about it.
        advice: String,
    },
    /// The disk does not do what it should, or the file is gone: nothing is written, and each write is refused with
    /// [`crate::StoreError::Unusable`].
    Unusable {
        /// What to do about it.
        advice: String,
    },
}

/// What a store takes, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Usage {
    /// What is in use of the file: conversations, their logs, the index, checkpoints.
    pub used: u64,
    /// What is free inside the file, for what is written next.
    pub free: u64,
    /// The write-ahead log.
    pub wal: u64,
    /// What is kept for the time when the disk is full.
    pub reserve: u64,
    /// What the disk still has; none where that cannot be known.
    pub available: Option<u64>,
    /// Whether parts of deleted conversations are still there.
    pub is_deleting: bool,
}
