//! Makes room for a process, and holds it until the process itself is counted.

use super::admission::{Admission, Resident};
use super::spare::Spare;
use super::{Pool, PoolError, State};
use crate::session::Session;

/// What has to happen before there is room.
enum Admitted {
    /// Nothing: there is room.
    Now(Claim),
    /// Wait: room is already being made for the same session.
    WhenOthersAre,
    /// This spare has to end.
    WithoutSpare(Claim, Spare),
    /// This session has to lose its process.
    Without(Claim, Session),
}

impl Pool {
    /// Makes room for a process of this session.
    pub(super) async fn admit(&self, key: &str) -> Result<Claim, PoolError> {
        match (self.try_admit(key).await, self.inner.options.max_wait) {
            (Err(full @ PoolError::Full { .. }), Some(max_wait)) => {
                tokio::time::timeout(max_wait, self.wait_for_room(key)).await.unwrap_or(Err(full))
            }
            (admitted, _) => admitted,
        }
    }

    /// Waits until there is room, behind those that wait already.
    async fn wait_for_room(&self, key: &str) -> Result<Claim, PoolError> {
        let _first = self.inner.queue.lock().await;
        loop {
            let mut room = std::pin::pin!(self.inner.room.notified());
            // Registered before the check, so that nothing in between is missed.
            room.as_mut().enable();
            match self.try_admit(key).await {
                Err(PoolError::Full { .. }) => room.await,
                admitted => return admitted,
            }
        }
    }

    /// Makes room, if that is possible now.
    async fn try_admit(&self, key: &str) -> Result<Claim, PoolError> {
        loop {
            let mut room = std::pin::pin!(self.inner.room.notified());
            // Registered before the check, so that nothing in between is missed.
            room.as_mut().enable();
            let has_room = match self.decide(key)? {
                Admitted::Now(claim) => return Ok(claim),
                Admitted::WhenOthersAre => {
                    room.await;
                    continue;
                }
                Admitted::WithoutSpare(claim, spare) => {
                    spare.session.stop().await;
                    Some(claim)
                }
                // Its history stays. It may have become busy meanwhile and then keeps its process; an error
                // means that it is over, which makes room as well.
                Admitted::Without(claim, oldest) => {
                    let is_closed = oldest.close_if_idle().await.unwrap_or(true);
                    is_closed.then_some(claim)
                }
            };
            if let Some(mut claim) = has_room {
                claim.mark_ready();
                return Ok(claim);
            }
        }
    }

    /// Decides whether this session may have a process, and what has to end for that. Room is promised at once,
    /// so that it is not promised to others.
    fn decide(&self, key: &str) -> Result<Admitted, PoolError> {
        let mut state = self.lock();
        if state.shut_down {
            return Err(PoolError::ShutDown);
        }
        state.spares.retain(|spare| !spare.is_dead());
        let (residents, spares) = (residents(&state), state.spares.len());
        let claim = |evicted| Claim { pool: self.clone(), key: key.to_owned(), evicted };
        match state.room.admit(key, &residents, spares, self.capacity()) {
            Admission::Wait => Ok(Admitted::WhenOthersAre),
            Admission::Full => Err(PoolError::Full { max: self.inner.options.max_processes }),
            Admission::DropSpare if let Some(spare) = state.spares.pop() => {
                state.room.claim(key, false, None);
                Ok(Admitted::WithoutSpare(claim(None), spare))
            }
            Admission::Evict(oldest) if let Some(session) = state.residents.get(&oldest).cloned() => {
                state.room.claim(key, false, Some(oldest.clone()));
                Ok(Admitted::Without(claim(Some(oldest)), session))
            }
            Admission::Admitted | Admission::DropSpare | Admission::Evict(_) => {
                state.room.claim(key, true, None);
                Ok(Admitted::Now(claim(None)))
            }
        }
    }
}

/// Room for a process, from the decision until the process itself is counted.
#[derive(Debug)]
pub(super) struct Claim {
    pool: Pool,
    key: String,
    evicted: Option<String>,
}

impl Claim {
    /// Whatever had to end has ended.
    fn mark_ready(&mut self) {
        let evicted = self.evicted.take();
        self.pool.lock().room.mark_ready(&self.key, evicted.as_deref());
        self.pool.inner.room.notify_waiters();
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.pool.lock().room.release(&self.key, self.evicted.as_deref());
        self.pool.inner.room.notify_waiters();
    }
}

pub(super) fn residents(state: &State) -> Vec<Resident> {
    let resident = |(key, session): (&String, &Session)| {
        let glance = session.glance();
        Resident {
            key: key.clone(),
            has_process: glance.has_process(),
            // A session that the CLI does not keep on disk would be lost with its process.
            is_busy: glance.is_busy() || glance.needs_its_process(),
            awaits_person: glance.awaits_person(),
            touched: glance.touched(),
        }
    };
    state.residents.iter().map(resident).collect()
}
