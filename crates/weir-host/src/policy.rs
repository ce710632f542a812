//! What sessions may be like, checked whenever one gets a process: a session may be older than what its host allows by now.

use std::fmt;

use weir_session::SessionSpec;

/// Takes from sessions what they may not have.
pub trait Policy: Send + Sync + fmt::Debug {
    /// Takes from a stored session what it may not have by now. `origin` is what created it, see
    /// [`crate::NewSession::origin`].
    fn narrow(&self, origin: &str, spec: &mut SessionSpec);
}
