//! State shared by all requests: histories, turns by request, and sessions in use by a request.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_openai::Index;

use super::histories::Histories;
use super::turn::Turn;

/// Maximum number of requests whose turns a retry can find.
const MAX_SLOTS: usize = 4_096;

/// The turn that a request started, if it has. The holder of the lock is about to start or find one.
pub(super) type Slot = Arc<tokio::sync::Mutex<Option<Arc<Turn>>>>;

/// State shared by all requests.
#[derive(Debug)]
pub(crate) struct Front {
    histories: Mutex<Histories>,
    slots: Mutex<Index<Slot>>,
    claimed: Arc<Mutex<HashSet<String>>>,
}

impl Front {
    pub(crate) fn new(histories: Histories) -> Self {
        Self {
            histories: Mutex::new(histories),
            slots: Mutex::new(Index::new(MAX_SLOTS)),
            claimed: Arc::default(),
        }
    }

    pub(super) fn histories(&self) -> MutexGuard<'_, Histories> {
        self.histories.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slot of a request, with the turn that it started before a restart.
    pub(super) fn slot(&self, key: &str) -> Slot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get(key) {
            return Arc::clone(slot);
        }
        let known = self.histories().request(key);
        let slot = Slot::new(tokio::sync::Mutex::new(known.map(|begun| Arc::new(Turn::restored(begun)))));
        slots.put(key.to_owned(), Arc::clone(&slot));
        slot
    }

    /// Claims a session for one request. None while another request has it.
    pub(super) fn claim(&self, session: &str) -> Option<Claim> {
        let mut claimed = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_free = claimed.insert(session.to_owned());
        is_free.then(|| Claim { session: session.to_owned(), claimed: Arc::clone(&self.claimed) })
    }
}

/// A session in use by one request. Dropping this frees it for others.
#[derive(Debug)]
pub(super) struct Claim {
    session: String,
    claimed: Arc<Mutex<HashSet<String>>>,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.claimed.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.session);
    }
}
