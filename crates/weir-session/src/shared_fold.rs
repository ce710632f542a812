//! The fold of a session, shared with the program that hosts the session.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_transcript::Fold;

/// A fold that outlives its session: the session folds its lines into it, and its host may fold what happens on its
/// side, also while there is no session.
///
/// Whoever folds something tells others about it before the lock is released, so that all agree on the order. An
/// observer is called under the lock, and must not lock it again.
#[derive(Debug, Clone)]
pub struct SharedFold(Arc<Mutex<Box<Fold>>>);

/// A locked fold.
#[derive(Debug)]
pub struct FoldGuard<'f>(MutexGuard<'f, Box<Fold>>);

impl SharedFold {
    /// Shares a fold.
    pub fn new(fold: Fold) -> Self {
        Self(Arc::new(Mutex::new(Box::new(fold))))
    }

    /// Locks the fold. Folding takes microseconds, so waiting for it does not block a task noticeably.
    pub fn lock(&self) -> FoldGuard<'_> {
        // A fold that panicked half way is as good as one that has read a line in an unexpected shape.
        FoldGuard(self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl FoldGuard<'_> {
    pub(crate) fn as_box(&mut self) -> &mut Box<Fold> {
        &mut self.0
    }
}

impl Deref for FoldGuard<'_> {
    type Target = Fold;

    fn deref(&self) -> &Fold {
        &self.0
    }
}

impl DerefMut for FoldGuard<'_> {
    fn deref_mut(&mut self) -> &mut Fold {
        &mut self.0
    }
}
