//! Summary of what a session is doing, readable without a call.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::Notify;
use weir_wire::CliSessionId;

/// Summary of a session. Written by its driver, readable from anywhere without a lock.
#[derive(Debug, Default)]
pub(crate) struct Glance {
    has_process: AtomicBool,
    is_busy: AtomicBool,
    /// A request of the CLI waits for a person.
    awaits_person: AtomicBool,
    turns: AtomicU64,
    /// Nothing said is kept on disk: it is lost with the process.
    is_unkept: AtomicBool,
    /// Increases with every activity, so the lowest value is the least recently used.
    touched: AtomicU64,
    pid: AtomicU64,
    /// A process of it has ended.
    has_lost_process: AtomicBool,
    session_id: Mutex<Option<CliSessionId>>,
    /// Told when the session needs its process less than before: by the pool that it belongs to, if any.
    freed: OnceLock<Arc<Notify>>,
}

impl Glance {
    pub(crate) fn set(&self, has_process: bool, is_busy: bool, pid: Option<u32>) {
        let was_busy = self.is_busy.swap(is_busy, Ordering::Relaxed);
        let before = self.pid.swap(pid.map_or(0, u64::from), Ordering::Relaxed);
        if before != 0 && pid.is_none() {
            self.has_lost_process.store(true, Ordering::Relaxed);
        }
        let had_process = self.has_process.swap(has_process, Ordering::AcqRel);
        if was_busy && !is_busy || had_process && !has_process {
            self.tell_freed();
        }
    }

    /// Tells this one from now on when the session needs its process less than before.
    pub(crate) fn tell_when_freed(&self, freed: &Arc<Notify>) {
        // A session belongs to one pool.
        let _ = self.freed.set(Arc::clone(freed));
    }

    fn tell_freed(&self) {
        if let Some(freed) = self.freed.get() {
            freed.notify_waiters();
        }
    }

    /// Sets whether a request of the CLI waits for a person.
    pub(crate) fn set_awaits_person(&self, awaits: bool) {
        let before = self.awaits_person.swap(awaits, Ordering::Relaxed);
        if awaits && !before {
            self.tell_freed();
        }
    }

    pub(crate) fn awaits_person(&self) -> bool {
        self.awaits_person.load(Ordering::Relaxed)
    }

    /// Resets everything at the end of the session.
    pub(crate) fn clear(&self) {
        self.set_awaits_person(false);
        self.set(false, false, None);
    }

    pub(crate) fn set_session_id(&self, id: &CliSessionId) {
        let mut known = self.session_id.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref() != Some(id) {
            *known = Some(id.clone());
        }
    }

    pub(crate) fn session_id(&self) -> Option<CliSessionId> {
        self.session_id.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn turn_ended(&self) {
        self.turns.fetch_add(1, Ordering::Relaxed);
    }

    /// Resets the turn count: a new process begins.
    pub(crate) fn process_started(&self) {
        self.turns.store(0, Ordering::Relaxed);
    }

    /// Sets whether the CLI keeps the session on disk.
    pub(crate) fn set_kept(&self, is_kept: bool) {
        self.is_unkept.store(!is_kept, Ordering::Relaxed);
    }

    /// Whether closing its process would lose anything.
    pub(crate) fn needs_its_process(&self) -> bool {
        self.is_unkept.load(Ordering::Relaxed) && self.turns() > 0
    }

    pub(crate) fn touch(&self, number: u64) {
        self.touched.store(number, Ordering::Relaxed);
    }

    pub(crate) fn touched(&self) -> u64 {
        self.touched.load(Ordering::Relaxed)
    }

    /// Whether there is a process, or one is being started or ended.
    pub(crate) fn has_process(&self) -> bool {
        self.has_process.load(Ordering::Acquire)
    }

    /// Whether a process of it has ended.
    pub(crate) fn has_lost_process(&self) -> bool {
        self.has_lost_process.load(Ordering::Relaxed)
    }

    /// Whether it has something to do.
    pub(crate) fn is_busy(&self) -> bool {
        self.is_busy.load(Ordering::Relaxed)
    }

    /// Number of turns of the running process.
    pub(crate) fn turns(&self) -> u64 {
        self.turns.load(Ordering::Relaxed)
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        u32::try_from(self.pid.load(Ordering::Relaxed)).ok().filter(|pid| *pid != 0)
    }
}
