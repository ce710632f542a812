//! Health of the channels of a running bridge.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use super::ChannelName;

/// Health of a channel.
#[derive(Debug, Default)]
pub struct Health {
    heard: AtomicI64,
    connected: AtomicBool,
    changed: Arc<Notify>,
}

impl Health {
    /// Records that something came in.
    pub(crate) fn heard(&self, at: i64) {
        self.heard.store(at, Ordering::Relaxed);
        self.connected.store(true, Ordering::Relaxed);
        self.changed.notify_one();
    }

    pub(crate) fn set_connected(&self, connected: bool) {
        if self.connected.swap(connected, Ordering::Relaxed) != connected {
            self.changed.notify_one();
        }
    }

    /// When something came in last, in milliseconds since 1970.
    pub fn last_heard(&self) -> Option<i64> {
        Some(self.heard.load(Ordering::Relaxed)).filter(|at| *at > 0)
    }

    /// Whether the channel can be reached.
    pub fn is_connected(&self) -> bool {
        self.connected.load(Ordering::Relaxed)
    }
}

/// Health of all channels. Clones share the same state.
#[derive(Debug, Clone)]
pub struct ChannelsHealth {
    channels: BTreeMap<ChannelName, Arc<Health>>,
    changed: Arc<Notify>,
}

/// A snapshot of the health of a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthReport {
    /// Whether the channel could be reached.
    pub connected: bool,
    /// When something came in last, in milliseconds since 1970.
    pub last_inbound: Option<i64>,
}

impl ChannelsHealth {
    pub(crate) fn new<'a>(names: impl Iterator<Item = &'a ChannelName>) -> Self {
        let changed = Arc::new(Notify::new());
        let fresh = || Arc::new(Health { changed: Arc::clone(&changed), ..Health::default() });
        Self { channels: names.map(|name| (name.clone(), fresh())).collect(), changed }
    }

    /// Health of one channel.
    pub(crate) fn of(&self, name: &ChannelName) -> Arc<Health> {
        self.channels.get(name).cloned().unwrap_or_default()
    }

    /// A snapshot of the health of every channel.
    pub fn look(&self) -> BTreeMap<String, HealthReport> {
        let report = |health: &Health| HealthReport {
            connected: health.is_connected(),
            last_inbound: health.last_heard(),
        };
        self.channels.iter().map(|(name, health)| (name.to_string(), report(health))).collect()
    }

    /// Waits for a change. Supports a single waiter.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}
