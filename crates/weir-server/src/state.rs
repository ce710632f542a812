//! What all handlers share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use weir_host::Host;

use crate::audit::Audit;
use crate::auth::{Buckets, Budgets, Tokens};
use crate::guard::Places;
use crate::metrics::Metrics;
use crate::openai::{Front, Histories};
use crate::settings::ServerSettings;
use crate::streams::Streams;

/// What a server is made of.
#[derive(Debug)]
pub struct Parts {
    /// The conversations.
    pub host: Host,
    /// Who may do what.
    pub tokens: Tokens,
    /// Who did what.
    pub audit: Audit,
    /// Under which names it may be spoken to.
    pub places: Places,
    /// What it allows.
    pub settings: ServerSettings,
    /// Whether its connections are encrypted.
    pub tls: bool,
    /// The sessions that clients of the OpenAI-compatible front come back to.
    pub histories: Histories,
}

/// How far the server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// It serves.
    Serving,
    /// It takes no more work; what runs may end, and people may still watch and answer.
    Draining,
    /// Streams are closed.
    Closing,
}

/// A server's shared state. Cloning gives another handle to the same one.
#[derive(Debug, Clone)]
pub struct App {
    inner: Arc<Inner>,
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
}

impl App {
    /// The state of a new server.
    pub fn new(mut parts: Parts) -> Self {
        let histories = std::mem::take(&mut parts.histories);
        // What is spent over HTTP is counted here and nowhere else, so a host that has a purse already keeps it.
        parts.host.set_purse(Arc::new(Budgets::new(parts.tokens.clone())));
        Self {
            inner: Arc::new(Inner {
                parts,
                metrics: Metrics::default(),
                rates: Mutex::default(),
                attempts: Mutex::default(),
                phase: watch::Sender::new(Phase::Serving),
                streams: Streams::default(),
                front: Front::new(histories),
            }),
        }
    }

    /// The conversations.
    pub fn host(&self) -> &Host {
        &self.inner.parts.host
    }

    /// Who may do what.
    pub fn tokens(&self) -> &Tokens {
        &self.inner.parts.tokens
    }

    /// Who did what.
    pub fn audit(&self) -> &Audit {
        &self.inner.parts.audit
    }

    /// What is allowed.
    pub fn settings(&self) -> &ServerSettings {
        &self.inner.parts.settings
    }

    /// How far the server is.
    pub fn phase(&self) -> Phase {
        *self.inner.phase.borrow()
    }

    /// Hears of it when the server goes on to another phase.
    pub(crate) fn phases(&self) -> watch::Receiver<Phase> {
        self.inner.phase.subscribe()
    }

    /// Goes on to a later phase.
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

    /// What the requests of OpenAI's clients share.
    pub(crate) fn front(&self) -> &Front {
        &self.inner.front
    }

    /// Whether a path is one of the page's files.
    pub(crate) fn is_page(&self, path: &str) -> bool {
        let path = path.strip_prefix(self.settings().base_path.as_str()).unwrap_or(path);
        !path.starts_with("/v1/") && path != "/metrics"
    }

    /// The streams that are open.
    pub(crate) fn streams(&self) -> &Streams {
        &self.inner.streams
    }
}
