//! Leases: who may do what only one may do at a time, and for how long without asking again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::StoreError;

/// Asks for a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseRequest {
    /// What it is about: 1 to 128 letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// Who asks.
    pub holder: String,
    /// How long it lasts unless it is renewed. A cluster rounds it up to whole seconds.
    pub ttl: Duration,
}

/// A lease that was granted. It ends [`Lease::ttl`] after it was asked for or last renewed, by the clock of the
/// store: a holder counts from before the call, on a monotonic clock, and leaves a margin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// What it is about.
    pub name: String,
    /// Who has it.
    pub holder: String,
    /// Higher than that of every earlier lease with this name, and unchanged by a renewal.
    pub generation: u64,
    /// How long it lasts unless it is renewed.
    pub ttl: Duration,
    /// Identifies the last renewal, for the store.
    pub revision: u64,
}

/// The answer to a request for a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acquired {
    /// The caller has it now.
    Granted(Lease),
    /// It is taken, possibly by the caller itself from before.
    Held {
        /// Who has it.
        holder: String,
        /// Its generation.
        generation: u64,
    },
}

impl LeaseRequest {
    /// A request for a lease.
    pub fn new(name: impl Into<String>, holder: impl Into<String>, ttl: Duration) -> Self {
        Self { name: name.into(), holder: holder.into(), ttl }
    }

    /// Checks what was asked for.
    ///
    /// # Errors
    /// If no store can grant it.
    pub fn check(&self) -> Result<(), StoreError> {
        check_name("lease", &self.name)?;
        if self.ttl.is_zero() {
            return Err(StoreError::Invalid("a lease must last longer than no time".to_owned()));
        }
        Ok(())
    }
}

/// Checks the name of a lease, a topic or a blob, which becomes a part of an address in a cluster.
///
/// # Errors
/// If it has other characters, or none, or too many.
pub fn check_name(what: &str, name: &str) -> Result<(), StoreError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let has_empty_part = name.split('.').any(str::is_empty);
    if (1..=128).contains(&name.len()) && name.bytes().all(is_plain) && !has_empty_part {
        return Ok(());
    }
    let shown: String = name.chars().take(64).collect();
    Err(StoreError::Invalid(format!(
        "{shown:?} is not a valid {what} name: use 1 to 128 letters, digits, '-', '_' and single '.' between them"
    )))
}

/// The leases of one process, for stores that no other machine uses. They end with the process, so a program that is
/// started again does not wait.
#[derive(Debug, Default)]
pub(crate) struct LocalLeases(Mutex<HashMap<String, Granted>>);

#[derive(Debug)]
struct Granted {
    holder: String,
    generation: u64,
    until: Instant,
}

impl LocalLeases {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Granted>> {
        // Entries are replaced as a whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who has the lease now.
    pub(crate) fn holder(&self, name: &str, now: Instant) -> Option<Acquired> {
        let leases = self.lock();
        let granted = leases.get(name).filter(|granted| granted.until > now)?;
        Some(Acquired::Held { holder: granted.holder.clone(), generation: granted.generation })
    }

    /// Grants the lease with this generation, which must be new, unless it is taken.
    pub(crate) fn acquire(&self, request: LeaseRequest, generation: u64, now: Instant) -> Acquired {
        let LeaseRequest { name, holder, ttl } = request;
        let mut leases = self.lock();
        leases.retain(|_, granted| granted.until > now);
        if let Some(granted) = leases.get(&name) {
            return Acquired::Held { holder: granted.holder.clone(), generation: granted.generation };
        }
        let until = now + ttl;
        leases.insert(name.clone(), Granted { holder: holder.clone(), generation, until });
        Acquired::Granted(Lease { name, holder, generation, ttl, revision: generation })
    }

    pub(crate) fn renew(&self, lease: Lease, now: Instant) -> Result<Lease, StoreError> {
        match self.lock().get_mut(&lease.name) {
            Some(granted) if granted.generation == lease.generation && granted.until > now => {
                granted.until = now + lease.ttl;
                Ok(lease)
            }
            _ => Err(StoreError::LeaseLost { name: lease.name, generation: lease.generation }),
        }
    }

    pub(crate) fn release(&self, lease: &Lease) {
        let mut leases = self.lock();
        if leases.get(&lease.name).is_some_and(|granted| granted.generation == lease.generation) {
            leases.remove(&lease.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_that_has_ended_is_not_prolonged() {
        let (leases, start) = (LocalLeases::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        let request = |holder: &str| LeaseRequest::new("poller", holder, Duration::from_secs(10));
        let Acquired::Granted(first) = leases.acquire(request("a"), 1, start) else { panic!("held") };
        let held = Acquired::Held { holder: "a".to_owned(), generation: 1 };
        assert_eq!(leases.acquire(request("b"), 2, after(9)), held);
        assert_eq!(leases.holder("poller", after(9)), Some(held));
        let first = leases.renew(first, after(9)).unwrap();
        assert_eq!(leases.holder("poller", after(19)), None);
        assert!(matches!(leases.renew(first.clone(), after(19)), Err(StoreError::LeaseLost { .. })));
        let Acquired::Granted(second) = leases.acquire(request("b"), 3, after(19)) else { panic!("held") };
        // What the first holder does now has no effect.
        leases.release(&first);
        assert!(leases.renew(first, after(20)).is_err());
        leases.renew(second.clone(), after(20)).unwrap();
        leases.release(&second);
        assert_eq!(leases.holder("poller", after(20)), None);
    }

    #[test]
    fn names_are_parts_of_addresses() {
        for name in ["a", "session.6f1c-2", "A_b", &"x".repeat(128)] {
            check_name("lease", name).unwrap();
        }
        for name in ["", ".", "a.", ".a", "a..b", "a b", "a*", "a>", "é", &"x".repeat(129)] {
            assert!(check_name("lease", name).is_err(), "{name}");
        }
        assert!(LeaseRequest::new("a", "b", Duration::ZERO).check().is_err());
    }
}
