//! Free space, and the space a store takes.

/// Whether a store can write.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Space {
    /// There is enough space, as far as is known.
    #[default]
    Enough,
    /// The disk is full. Deletions and writes that end something still succeed, using a reserve; everything else is
    /// refused with [`crate::StoreError::Full`] until there is space again.
    Full {
        /// What to do about it.
        advice: String,
    },
    /// The disk is failing, or the file is gone: every write is refused with [`crate::StoreError::Unusable`].
    Unusable {
        /// What to do about it.
        advice: String,
    },
}

/// The space a store takes, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Usage {
    /// The part of the file in use: sessions, their logs, the index, checkpoints.
    pub used: u64,
    /// Free space inside the file, used by the next writes.
    pub free: u64,
    /// The write-ahead log.
    pub wal: u64,
    /// Space held back for when the disk is full.
    pub reserve: u64,
    /// Free space on the disk, if known.
    pub available: Option<u64>,
    /// Whether parts of deleted sessions are still there.
    pub is_deleting: bool,
}
