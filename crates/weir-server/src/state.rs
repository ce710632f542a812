//! State shared by all handlers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::watch;
use weir_host::Host;

use crate::audit::Audit;
use crate::auth::{Buckets, Budgets, Tokens};
use crate::editors::Holders;
use crate::guard::Places;
use crate::loops::Loops;
use crate::metrics::Metrics;
use crate::openai::{Front, Histories};
use crate::policy::ClientPolicy;
use crate::settings::ServerSettings;
use crate::streams::Streams;

/// The parts of a server.
#[derive(Debug)]
pub struct Parts {
    /// The sessions.
    pub host: Host,
    /// The tokens.
    pub tokens: Tokens,
    /// The audit log.
    pub audit: Audit,
    /// Names under which the server may be reached.
    pub places: Places,
    /// The settings.
    pub settings: ServerSettings,
    /// Whether connections are encrypted.
    pub tls: bool,
    /// The sessions that clients of the OpenAI-compatible front come back to.
    pub histories: Histories,
}

/// Phase of a server's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Serving.
    Serving,
    /// Accepts no new work; running turns may end, and people may still watch and answer.
    Draining,
    /// Streams are closed.
    Closing,
}

/// A server's shared state. Cloning gives another handle to the same one.
#[derive(Debug, Clone)]
pub struct App {
    inner: Arc<Inner>,
}

/// A handle to a server's state that does not keep it.
#[derive(Debug, Clone)]
pub(crate) struct WeakApp {
    inner: Weak<Inner>,
}

impl WeakApp {
    /// The state, if the server is still there.
    pub(crate) fn upgrade(&self) -> Option<App> {
        self.inner.upgrade().map(|inner| App { inner })
    }
}

#[derive(Debug)]
struct Inner {
    parts: Parts,
    metrics: Metrics,
    rates: Mutex<Buckets>,
    attempts: Mutex<Buckets>,
    phase: watch::Sender<Phase>,
    streams: Streams,
    front: Front,
    editors: Holders,
    loops: Loops,
}

impl App {
    /// The state of a new server.
    pub fn new(mut parts: Parts) -> Self {
        let histories = std::mem::take(&mut parts.histories);
        // Spending over HTTP is only counted here, so a host that already has a billing keeps it.
        parts.host.set_billing(Arc::new(Budgets::new(parts.tokens.clone())));
        parts.host.set_policy(Arc::new(ClientPolicy::new(&parts.settings)));
        Self {
            inner: Arc::new(Inner {
                parts,
                metrics: Metrics::default(),
                rates: Mutex::default(),
                attempts: Mutex::default(),
                phase: watch::Sender::new(Phase::Serving),
                streams: Streams::default(),
                front: Front::new(histories),
                editors: Holders::default(),
                loops: Loops::default(),
            }),
        }
    }

    /// The sessions.
    pub fn host(&self) -> &Host {
        &self.inner.parts.host
    }

    /// The tokens.
    pub fn tokens(&self) -> &Tokens {
        &self.inner.parts.tokens
    }

    /// The audit log.
    pub fn audit(&self) -> &Audit {
        &self.inner.parts.audit
    }

    /// The settings.
    pub fn settings(&self) -> &ServerSettings {
        &self.inner.parts.settings
    }

    /// The current phase.
    pub fn phase(&self) -> Phase {
        *self.inner.phase.borrow()
    }

    /// Notifies when the server enters another phase.
    pub(crate) fn phases(&self) -> watch::Receiver<Phase> {
        self.inner.phase.subscribe()
    }

    /// Advances to a later phase.
    pub fn advance(&self, phase: Phase) {
        self.inner.phase.send_if_modified(|now| {
            let is_later = *now < phase;
            *now = phase.max(*now);
            is_later
        });
    }

    pub(crate) fn places(&self) -> &Places {
        &self.inner.parts.places
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.inner.parts.tls
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.inner.metrics
    }

    pub(crate) fn rates(&self) -> MutexGuard<'_, Buckets> {
        self.inner.rates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn attempts(&self) -> MutexGuard<'_, Buckets> {
        self.inner.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A handle that does not keep the server's state: for what is itself a part of it.
    pub(crate) fn downgrade(&self) -> WeakApp {
        WeakApp { inner: Arc::downgrade(&self.inner) }
    }

    /// Editors that came over HTTP.
    pub(crate) fn editors(&self) -> &Holders {
        &self.inner.editors
    }

    /// The loop that runs in this process.
    pub fn loops(&self) -> &Loops {
        &self.inner.loops
    }

    /// State shared by requests of OpenAI's clients.
    pub(crate) fn front(&self) -> &Front {
        &self.inner.front
    }

    /// Whether a path is one of the page's files.
    pub(crate) fn is_page(&self, path: &str) -> bool {
        let path = path.strip_prefix(self.settings().base_path.as_str()).unwrap_or(path);
        !path.starts_with("/v1/") && path != "/metrics" && path != weir_acp::Remote::PATH
    }

    /// The open streams.
    pub(crate) fn streams(&self) -> &Streams {
        &self.inner.streams
    }
}
