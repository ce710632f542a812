//! A started process that waits for the next new session of its kind.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::fingerprint::Fingerprint;
use crate::options::SessionOptions;
use crate::session::Session;

const WARMING: u8 = 0;
const STARTED: u8 = 1;
const WARM: u8 = 2;
const FAILED: u8 = 3;

/// A waiting process. It has no idle limit, since waiting is its purpose.
pub(super) struct Spare {
    pub(super) fingerprint: Fingerprint,
    pub(super) session: Session,
    state: Arc<AtomicU8>,
}

impl Spare {
    pub(super) fn start(fingerprint: Fingerprint, mut options: SessionOptions) -> Self {
        options.limits.idle = None;
        let (session, state) = (Session::new(options), Arc::new(AtomicU8::new(WARMING)));
        tokio::spawn(warm_up(session.clone(), Arc::clone(&state)));
        Self { fingerprint, session, state }
    }

    /// Whether it failed to start or has ended, so that it is of no use.
    pub(super) fn is_dead(&self) -> bool {
        match self.state.load(Ordering::Acquire) {
            WARMING => self.session.is_over(),
            STARTED | WARM => !self.session.glance().has_process(),
            _ => true,
        }
    }

    /// Whether a session may take it. If its process ends while it is starting, it looks for the reason, and a session
    /// that took it meanwhile would get its failure.
    pub(super) fn is_usable(&self) -> bool {
        let is_failing =
            self.state.load(Ordering::Acquire) == WARMING && self.session.glance().has_lost_process();
        !is_failing && !self.is_dead()
    }

    /// Whether it is started and has loaded what a first answer needs.
    pub(super) fn is_warm(&self) -> bool {
        self.state.load(Ordering::Acquire) == WARM && self.session.glance().has_process()
    }
}

/// Starts a CLI and makes it load what it needs for a first answer.
async fn warm_up(session: Session, state: Arc<AtomicU8>) {
    let started = session.start().await;
    state.store(if started.is_ok() { STARTED } else { FAILED }, Ordering::Release);
    if started.is_ok() {
        // Old versions do not know this request; they are started, which is most of the work.
        let _ = session.context_usage().await;
        state.store(WARM, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of a process is seen before the task that started it hears of it.
    #[tokio::test]
    async fn a_spare_that_has_just_lost_its_process_is_not_taken() {
        let options = SessionOptions::new();
        let fingerprint = Fingerprint::of(&options);
        let state = Arc::new(AtomicU8::new(WARMING));
        let spare = Spare { fingerprint, session: Session::new(options), state: Arc::clone(&state) };
        let glance = spare.session.glance();
        assert!(spare.is_usable());
        glance.set(true, true, Some(7));
        assert!(spare.is_usable());
        glance.set(false, false, None);
        assert!(!spare.is_usable() && !spare.is_dead(), "it may start again by itself");
        // It was too old for a flag, and was started again without it.
        glance.set(true, true, Some(8));
        state.store(STARTED, Ordering::Release);
        assert!(spare.is_usable());
    }
}
