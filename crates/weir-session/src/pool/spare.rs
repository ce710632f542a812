//! A process that waits, started, for the next new conversation of its kind.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::fingerprint::Fingerprint;
use crate::options::SessionOptions;
use crate::session::Session;

const WARMING: u8 = 0;
const STARTED: u8 = 1;
const WARM: u8 = 2;
const FAILED: u8 = 3;

/// A process that waits. It has no idle limit: it is there to wait.
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

    /// Whether it did not start, or has ended, so that it saves nobody any time.
    pub(super) fn is_dead(&self) -> bool {
        match self.state.load(Ordering::Acquire) {
            WARMING => self.session.is_over(),
            STARTED | WARM => !self.session.glance().has_process(),
            _ => true,
        }
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
        // Old versions do not know this request; they are started, which is most of it.
        let _ = session.context_usage().await;
        state.store(WARM, Ordering::Release);
    }
}
