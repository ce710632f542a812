//! What all parts of a host share: its options, its pool, and the sessions that are in memory.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::{Notify, OnceCell};
use weir_process::Lock;
use weir_session::{Pool, Spares};
use weir_store::SessionId;

use crate::billing::Billing;
use crate::checkpoints::Checkpoints;
use crate::costs::CostCache;
use crate::error::HostError;
use crate::host::LastReport;
use crate::hub::Hub;
use crate::live_session::LiveSession;
use crate::load::Source;
use crate::metrics::Counters;
use crate::options::HostOptions;
use crate::policy::Policy;
use crate::steady_clock::SteadyClock;

/// A session that is in memory, or is being brought there.
type Slot = Arc<OnceCell<Arc<LiveSession>>>;

/// What all parts of a host share.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) options: HostOptions,
    pub(crate) pool: Pool,
    /// CLIs that wait for new sessions.
    pub(crate) spares: Spares,
    pub(crate) hub: Hub,
    pub(crate) counters: Counters,
    pub(crate) checkpoints: Arc<Checkpoints>,
    sessions: Mutex<HashMap<SessionId, Slot>>,
    /// Told when a process may have become free.
    pub(crate) freed: Notify,
    is_shutting_down: AtomicBool,
    /// Nothing is read any more.
    is_closed: AtomicBool,
    /// Who pays for messages whose sender has an account.
    pub(crate) billing: OnceLock<Arc<dyn Billing>>,
    /// What sessions may be like by now.
    pub(crate) policy: OnceLock<Arc<dyn Policy>>,
    /// For the age of sessions.
    pub(crate) clock: SteadyClock,
    /// Whether the CLI could be used when this was last asked.
    pub(crate) cli: LastReport,
    /// Held while a session of the CLI is copied: two callers who want the same one get one copy.
    pub(crate) taking_over: Mutex<()>,
    /// What sessions have cost, as far as it was read.
    pub(crate) costs: CostCache,
    /// Keeps a second host out.
    lock: Mutex<Option<Lock>>,
}

impl Core {
    pub(crate) fn new(options: HostOptions, lock: Option<Lock>) -> Self {
        Self {
            pool: Pool::new(options.pool.clone()),
            spares: Spares::new(options.spares),
            checkpoints: Arc::new(Checkpoints::new(&options)),
            options,
            hub: Hub::default(),
            counters: Counters::default(),
            sessions: Mutex::default(),
            freed: Notify::new(),
            is_shutting_down: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            billing: OnceLock::new(),
            policy: OnceLock::new(),
            clock: SteadyClock::start(),
            cli: LastReport::default(),
            taking_over: Mutex::default(),
            costs: CostCache::default(),
            lock: Mutex::new(lock),
        }
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, Slot>> {
        // No statement under the lock can panic half way.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn shut_down(&self) {
        self.is_shutting_down.store(true, Ordering::Release);
        self.spares.close();
        self.checkpoints.close();
        self.freed.notify_waiters();
    }

    /// Releases all sessions and the folder. Writes that are in progress are completed.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        let sessions = std::mem::take(&mut *self.sessions());
        drop(sessions);
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    pub(crate) fn is_shutting_down(&self) -> bool {
        self.is_shutting_down.load(Ordering::Acquire)
    }

    /// What logs are read from.
    pub(crate) fn source(&self) -> Source<'_> {
        Source { store: &*self.options.store, is_over: &self.is_closed }
    }

    /// The session if it is in memory.
    pub(crate) fn present(&self, id: &SessionId) -> Option<Lease> {
        let sessions = self.sessions();
        Some(Lease::of(sessions.get(id)?.get()?))
    }

    /// All sessions that are in memory.
    pub(crate) fn all_present(&self) -> Vec<Lease> {
        let sessions = self.sessions();
        sessions.values().filter_map(|slot| slot.get()).map(Lease::of).collect()
    }

    /// The session, which is brought into memory if it is not there.
    pub(crate) async fn live(self: &Arc<Self>, id: &SessionId) -> Result<Lease, HostError> {
        loop {
            let slot = Arc::clone(self.sessions().entry(id.clone()).or_default());
            let loaded = slot.get_or_try_init(|| LiveSession::load(Arc::clone(self), id.clone())).await;
            let mut sessions = self.sessions();
            let is_current = sessions.get(id).is_some_and(|current| Arc::ptr_eq(current, &slot));
            match loaded {
                // It may have been released in between.
                Ok(_) if !is_current => {}
                Ok(live) => return Ok(Lease::of(live)),
                Err(error) => {
                    if is_current && slot.get().is_none() {
                        sessions.remove(id);
                    }
                    return Err(error);
                }
            }
        }
    }

    /// Does something to a session that is not in memory, and keeps it out of memory meanwhile. None where it is there.
    pub(crate) async fn while_absent<T>(&self, id: &SessionId, work: impl Future<Output = T>) -> Option<T> {
        let slot = match self.sessions().entry(id.clone()) {
            Entry::Occupied(_) => return None,
            Entry::Vacant(place) => Arc::clone(place.insert(Slot::default())),
        };
        let mut done = None;
        // Callers that want the session wait for this, and then look for it again.
        let _absent = slot
            .get_or_try_init(|| async {
                done = Some(work.await);
                Err::<Arc<LiveSession>, ()>(())
            })
            .await;
        let mut sessions = self.sessions();
        if sessions.get(id).is_some_and(|current| Arc::ptr_eq(current, &slot)) && slot.get().is_none() {
            sessions.remove(id);
        }
        done
    }

    /// Releases a session whatever it is doing: its log is gone or has failed.
    pub(crate) fn forget(&self, live: &LiveSession) {
        let mut sessions = self.sessions();
        if is_of(&sessions, live) {
            sessions.remove(&live.id);
        }
    }
}

/// Ends everything when the last handle to the host is dropped.
#[derive(Debug)]
pub(crate) struct Keeper(pub(crate) Arc<Core>);

impl Drop for Keeper {
    fn drop(&mut self) {
        if self.0.is_shutting_down() {
            return;
        }
        self.0.shut_down();
        self.0.hub.close();
        let core = Arc::clone(&self.0);
        // Without a runtime there are no tasks and so no processes either.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                core.pool.shut_down(std::time::Duration::ZERO).await;
                core.close();
            });
        } else {
            core.close();
        }
    }
}

fn is_of(sessions: &HashMap<SessionId, Slot>, live: &LiveSession) -> bool {
    sessions
        .get(&live.id)
        .and_then(|slot| slot.get())
        .is_some_and(|known| std::ptr::eq(&raw const **known, live))
}

/// A session that stays in memory as long as this is held, and longer if it has something to do.
#[derive(Debug)]
pub(crate) struct Lease {
    live: Arc<LiveSession>,
}

impl Lease {
    pub(crate) fn of(live: &Arc<LiveSession>) -> Self {
        live.leases.fetch_add(1, Ordering::AcqRel);
        Self { live: Arc::clone(live) }
    }

    pub(crate) fn another(&self) -> Self {
        Self::of(&self.live)
    }
}

impl Deref for Lease {
    type Target = Arc<LiveSession>;

    fn deref(&self) -> &Arc<LiveSession> {
        &self.live
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Under the lock, because that is where others get theirs.
        let mut sessions = self.live.core.sessions();
        let is_last = self.live.leases.fetch_sub(1, Ordering::AcqRel) == 1;
        if is_last && is_of(&sessions, &self.live) && self.live.is_unused() {
            sessions.remove(&self.live.id);
        }
    }
}
