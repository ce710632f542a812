//! Tracks open connections, and which one to close when there is no room for another.
//!
//! A connection without a request under way, or whose client does not read the response, may be closed to make room.
//! The oldest one from the network with the most such connections is closed first, so that a peer that opens many shuts
//! out only itself. Busy connections are never closed for others: behind a proxy they all come from one address, and
//! tokens limit what they do. For the same reason only connections that were never used are limited per peer: a proxy
//! or a busy client has many that wait for another request.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Connection counters.
#[derive(Debug, Default)]
pub(crate) struct ConnectionCounts {
    /// Open connections.
    pub(crate) open: AtomicU64,
    /// Connections closed to make room.
    pub(crate) evicted: AtomicU64,
    /// Connections closed because they were idle for too long.
    pub(crate) timed_out: AtomicU64,
    /// Connections refused because there was no room.
    pub(crate) refused: AtomicU64,
}

/// The open connections.
#[derive(Debug)]
pub(super) struct Roster {
    max: usize,
    max_unused_per_network: usize,
    state: Mutex<State>,
    pub(super) counts: Arc<ConnectionCounts>,
}

#[derive(Debug, Default)]
struct State {
    connections: HashMap<u64, Entry>,
    /// Connections that may be closed.
    idle: Waiting,
    /// Those of them that never had a request.
    unused: Waiting,
    last: u64,
}

/// Connection numbers by network, keyed by when they became idle, the oldest first.
#[derive(Debug, Default)]
struct Waiting {
    by_network: HashMap<IpAddr, BTreeMap<u64, u64>>,
}

impl Waiting {
    fn insert(&mut self, network: IpAddr, since: u64, number: u64) {
        self.by_network.entry(network).or_default().insert(since, number);
    }

    fn remove(&mut self, network: IpAddr, since: u64) {
        if let Some(waiting) = self.by_network.get_mut(&network) {
            waiting.remove(&since);
            if waiting.is_empty() {
                self.by_network.remove(&network);
            }
        }
    }

    fn count(&self, network: IpAddr) -> usize {
        self.by_network.get(&network).map_or(0, BTreeMap::len)
    }

    fn oldest(&self, network: IpAddr) -> Option<u64> {
        Some(*self.by_network.get(&network)?.first_key_value()?.1)
    }

    /// The oldest connection of the network that has the most; among equals, the oldest of all.
    fn oldest_of_largest(&self) -> Option<u64> {
        let age = |waiting: &BTreeMap<u64, u64>| Reverse(waiting.first_key_value().map(|(since, _)| *since));
        let largest = self.by_network.values().max_by_key(|waiting| (waiting.len(), age(waiting)))?;
        Some(*largest.first_key_value()?.1)
    }
}

#[derive(Debug)]
struct Entry {
    network: IpAddr,
    /// When it became idle, as a growing number; none while it is busy.
    idle: Option<u64>,
    /// Whether it never had a request.
    is_unused: bool,
    evicted: Arc<Notify>,
}

/// A place on the roster.
#[derive(Debug)]
pub(super) struct Place {
    roster: Arc<Roster>,
    number: u64,
    /// Notified when the connection has to be closed.
    pub(super) evicted: Arc<Notify>,
}

impl Roster {
    pub(super) fn new(max: usize, max_unused_per_network: usize, counts: Arc<ConnectionCounts>) -> Self {
        // With a small limit, one network must not take all of it.
        let max_unused_per_network = max_unused_per_network.min(max / 2).max(1);
        Self { max: max.max(1), max_unused_per_network, state: Mutex::default(), counts }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent between any two statements that could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for another connection, which is idle until its first request. None if all connections are busy.
    pub(super) fn admit(self: &Arc<Self>, peer: IpAddr) -> Option<Place> {
        let network = network(peer);
        let mut state = self.lock();
        if state.unused.count(network) >= self.max_unused_per_network {
            let oldest = state.unused.oldest(network);
            self.evict(&mut state, oldest);
        }
        if state.connections.len() >= self.max && !self.evict_any(&mut state) {
            self.counts.refused.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        state.last += 1;
        let (number, evicted) = (state.last, Arc::new(Notify::new()));
        let entry = Entry { network, idle: None, is_unused: true, evicted: Arc::clone(&evicted) };
        state.connections.insert(number, entry);
        state.set_idle(number, true);
        self.counts.open.fetch_add(1, Ordering::Relaxed);
        Some(Place { roster: Arc::clone(self), number, evicted })
    }

    /// Makes room when the system has none. Returns whether a connection could be closed.
    pub(super) fn make_room(&self) -> bool {
        self.evict_any(&mut self.lock())
    }

    fn evict_any(&self, state: &mut State) -> bool {
        let oldest = state.idle.oldest_of_largest();
        self.evict(state, oldest)
    }

    fn evict(&self, state: &mut State, number: Option<u64>) -> bool {
        let Some(entry) = number.and_then(|number| state.remove(number)) else { return false };
        entry.evicted.notify_one();
        self.counts.open.fetch_sub(1, Ordering::Relaxed);
        self.counts.evicted.fetch_add(1, Ordering::Relaxed);
        true
    }
}

impl State {
    fn set_idle(&mut self, number: u64, is_idle: bool) {
        let Some(entry) = self.connections.get_mut(&number).filter(|entry| entry.idle.is_some() != is_idle)
        else {
            return;
        };
        let network = entry.network;
        if is_idle {
            self.last += 1;
            entry.idle = Some(self.last);
            self.idle.insert(network, self.last, number);
            if entry.is_unused {
                self.unused.insert(network, self.last, number);
            }
        } else if let Some(since) = entry.idle.take() {
            entry.is_unused = false;
            self.forget(network, since);
        }
    }

    fn remove(&mut self, number: u64) -> Option<Entry> {
        let entry = self.connections.remove(&number)?;
        if let Some(since) = entry.idle {
            self.forget(entry.network, since);
        }
        Some(entry)
    }

    fn forget(&mut self, network: IpAddr, since: u64) {
        self.idle.remove(network, since);
        self.unused.remove(network, since);
    }
}

impl Place {
    /// Sets whether the connection may be closed for another one.
    pub(super) fn set_idle(&self, is_idle: bool) {
        self.roster.lock().set_idle(self.number, is_idle);
    }

    /// Counts the connection as closed for being idle.
    pub(super) fn timed_out(&self) {
        self.roster.counts.timed_out.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // An evicted connection is already removed.
        if self.roster.lock().remove(self.number).is_some() {
            self.roster.counts.open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// What counts as one peer: the holder of an IPv6 address has its whole /64.
fn network(peer: IpAddr) -> IpAddr {
    match peer {
        IpAddr::V4(_) => peer,
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(address) => IpAddr::V4(address),
            None => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roster(max: usize, per_network: usize) -> Arc<Roster> {
        Arc::new(Roster::new(max, per_network, Arc::default()))
    }

    fn peer(number: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, number])
    }

    /// Whether the connection was told to close.
    async fn is_evicted(place: &Place) -> bool {
        tokio::time::timeout(std::time::Duration::ZERO, place.evicted.notified()).await.is_ok()
    }

    #[tokio::test]
    async fn a_peer_that_opens_many_connections_loses_its_own() {
        let roster = roster(10, 100);
        let quiet = roster.admit(peer(1)).unwrap();
        let many: Vec<Place> = (0..100).map(|_| roster.admit(peer(2)).unwrap()).collect();
        assert!(!is_evicted(&quiet).await);
        assert_eq!(roster.counts.open.load(Ordering::Relaxed), 6, "half of all, plus the quiet one");
        for place in &many[..95] {
            assert!(is_evicted(place).await);
        }
        for place in &many[95..] {
            assert!(!is_evicted(place).await);
        }
        drop(many);
        assert_eq!(roster.counts.open.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn busy_connections_are_never_evicted() {
        let roster = roster(4, 4);
        let places: Vec<Place> = (0..4).map(|number| roster.admit(peer(number)).unwrap()).collect();
        for place in &places {
            place.set_idle(false);
        }
        assert!(roster.admit(peer(9)).is_none() && !roster.make_room());
        places[2].set_idle(true);
        assert!(roster.admit(peer(9)).is_some());
        assert!(is_evicted(&places[2]).await && !is_evicted(&places[0]).await);
    }

    #[tokio::test]
    async fn busy_connections_behind_a_proxy_may_share_one_address() {
        let roster = roster(1000, 10);
        let places: Vec<Place> = (0..500)
            .map(|_| {
                let place = roster.admit(peer(1)).unwrap();
                place.set_idle(false);
                place
            })
            .collect();
        for place in &places {
            assert!(!is_evicted(place).await);
        }
    }

    #[tokio::test]
    async fn a_client_may_have_many_idle_connections_that_were_used() {
        let roster = roster(1000, 10);
        let places: Vec<Place> = (0..500)
            .map(|_| {
                let place = roster.admit(peer(1)).unwrap();
                place.set_idle(false);
                place.set_idle(true);
                place
            })
            .collect();
        let unused: Vec<Place> = (0..30).map(|_| roster.admit(peer(1)).unwrap()).collect();
        for place in places.iter().chain(&unused[20..]) {
            assert!(!is_evicted(place).await);
        }
        for place in &unused[..20] {
            assert!(is_evicted(place).await);
        }
    }

    #[test]
    fn an_ipv6_network_is_one_peer() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
        assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
    }
}
