//! A session in memory.

/// Counts a viewer as long as it is held.
#[derive(Debug)]
pub(crate) struct ViewerGuard;
