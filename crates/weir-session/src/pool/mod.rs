//! Many sessions, each with a key, and a limit on how many have a process.
//!
//! A session in the pool is a [`Session`]; it may lose its process when idle and gets another one, with its
//! history, with the next message. The pool only decides which sessions may have one.

mod admission;
mod slots;
mod spare;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use admission::{Capacity, Room};
use slots::residents;
use spare::Spare;
use tokio::sync::Notify;
use weir_process::ProcessId;

use crate::error::SessionError;
use crate::fingerprint::Fingerprint;
use crate::machine::{SendMode, TurnEnd};
use crate::message::Message;
use crate::options::{Origin, SessionOptions};
use crate::session::{Sent, Session};

/// How long dropped processes may take to end after they were killed.
const BURIAL: Duration = Duration::from_secs(5);

/// Options of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolOptions {
    /// Maximum number of processes, not counting those of sessions that wait for a person.
    pub max_processes: usize,
    /// Maximum number of processes of sessions that wait for a person, in addition to `max_processes`; beyond
    /// this they count like the others. A session that gets its answer continues at once, so `max_processes`
    /// plus this many may be working for a while; no other one is started then.
    pub max_awaiting: usize,
    /// How long a message waits for a place while every process is busy, the first one first. Without it, it is refused
    /// at once.
    pub max_wait: Option<Duration>,
    /// How long an idle process stays.
    pub idle: Option<Duration>,
    /// A process is replaced after this many turns, because the CLI's memory grows.
    pub max_turns: Option<u64>,
    /// A process is replaced when it uses more memory than this.
    pub max_bytes: Option<u64>,
    /// How many started processes wait for the next new session of each kind given to [`Pool::prewarm`].
    pub spares: usize,
}

impl Default for PoolOptions {
    fn default() -> Self {
        Self {
            max_processes: 8,
            max_awaiting: 16,
            max_wait: None,
            idle: Some(Duration::from_secs(10 * 60)),
            max_turns: Some(200),
            max_bytes: Some(2 << 30),
            spares: 1,
        }
    }
}

impl PoolOptions {
    /// Default options.
    pub fn new() -> Self {
        Self::default()
    }

    weir_base::setters! {
        /// Limits the number of processes.
        max_processes: usize = std::convert::identity;
        /// Limits the number of processes of sessions that wait for a person.
        max_awaiting: usize = std::convert::identity;
        /// Sets how long a message waits for a place.
        max_wait: Option<Duration> = std::convert::identity;
        /// Sets how long an idle process stays; for ever with `None`.
        idle: Option<Duration> = std::convert::identity;
        /// Sets after how many turns a process is replaced; never with `None`.
        max_turns: Option<u64> = std::convert::identity;
        /// Sets with how much memory a process is replaced; never with `None`.
        max_bytes: Option<u64> = std::convert::identity;
        /// Sets how many started processes wait for the next new session of each kind.
        spares: usize = std::convert::identity;
    }
}

/// Why a pool did not accept a message.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum PoolError {
    /// Every process is busy.
    #[error("all {max} processes are busy; try again later, or allow more")]
    Full {
        /// The maximum number of processes.
        max: usize,
    },
    /// The pool is being shut down.
    #[error("the pool is being shut down")]
    ShutDown,
    /// The session did not accept it.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Creates options, the same each time.
type Recipe = Arc<dyn Fn() -> SessionOptions + Send + Sync>;

#[derive(Default)]
struct State {
    residents: HashMap<String, Session>,
    spares: Vec<Spare>,
    recipes: Vec<(Fingerprint, Recipe)>,
    room: Room,
    touches: u64,
    shut_down: bool,
}

struct Inner {
    options: PoolOptions,
    state: Mutex<State>,
    /// Notified whenever there may be room: an attempt to make some has ended, or a session needs its process less.
    room: Arc<Notify>,
    /// Held by the message that is the next to get a place, so that the first one is the first.
    queue: tokio::sync::Mutex<()>,
}

/// Many sessions, each with a key.
///
/// Clones are handles to the same pool. Nothing in it is global.
#[derive(Clone)]
pub struct Pool {
    inner: Arc<Inner>,
}

/// Room for a process that is about to be started. Dropping it gives the room back.
#[derive(Debug)]
pub struct Reservation {
    claim: slots::Claim,
}

/// A session in a pool.
#[derive(Clone)]
pub struct Pooled {
    pool: Pool,
    key: String,
    session: Session,
}

impl Pool {
    /// An empty pool.
    pub fn new(options: PoolOptions) -> Self {
        Self {
            inner: Arc::new(Inner {
                options,
                state: Mutex::default(),
                room: Arc::default(),
                queue: tokio::sync::Mutex::default(),
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent between any two statements that could panic.
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn capacity(&self) -> Capacity {
        let PoolOptions { max_processes, max_awaiting, .. } = self.inner.options;
        Capacity { max_processes, max_awaiting }
    }

    /// Returns the session with this key, creating it if necessary.
    ///
    /// An existing session continues with these options, see [`Session::reconfigure`]: if they need another
    /// process, it is replaced once nothing is running. `options.origin` and `options.history` apply to
    /// new ones only.
    pub fn session(&self, key: impl Into<String>, mut options: SessionOptions) -> Pooled {
        let key = key.into();
        let fingerprint = Fingerprint::of(&options);
        // A session that the CLI does not keep on disk would be lost with its process, so it is not closed when
        // idle.
        let is_kept = !options.spec.no_session_persistence;
        if options.limits.idle.is_none() && is_kept {
            options.limits.idle = self.inner.options.idle;
        }
        let mut state = self.lock();
        let before = state.residents.get(&key).cloned();
        let session = match before {
            Some(session) if !session.is_over() => {
                session.glance().set_kept(is_kept);
                session.reconfigure_as(options, Some(fingerprint));
                return Pooled { pool: self.clone(), key, session };
            }
            Some(old) => {
                if let Some(id) = old.glance().session_id().filter(|_| !options.spec.no_session_persistence) {
                    options.origin = Origin::Resume(id);
                }
                Session::new(options)
            }
            None => spare_or_new(&mut state, fingerprint, options),
        };
        state.touches += 1;
        session.glance().touch(state.touches);
        session.glance().set_kept(is_kept);
        session.glance().tell_when_freed(&self.inner.room);
        state.residents.insert(key.clone(), session.clone());
        Pooled { pool: self.clone(), key, session }
    }

    /// Keeps processes ready for new sessions with these options, so that their first answer comes sooner.
    ///
    /// They only serve sessions whose processes would be started in exactly the same way, with the same logs. A
    /// process that locks its workspace is not kept ready: no other session could work there meanwhile.
    pub fn prewarm(&self, recipe: impl Fn() -> SessionOptions + Send + Sync + 'static) {
        let options = recipe();
        if options.lock_workspace {
            return;
        }
        let fingerprint = Fingerprint::of(&options);
        let mut state = self.lock();
        if state.recipes.iter().all(|(known, _)| *known != fingerprint) {
            state.recipes.push((fingerprint, Arc::new(recipe)));
        }
        drop(state);
        self.refill();
    }

    /// Starts missing spares, as far as there is room.
    fn refill(&self) {
        let mut state = self.lock();
        if state.shut_down {
            return;
        }
        state.spares.retain(|spare| !spare.is_dead());
        let taken = state.room.taken(&residents(&state), self.capacity());
        for (fingerprint, recipe) in state.recipes.clone() {
            let ready = state.spares.iter().filter(|spare| spare.fingerprint == fingerprint).count();
            let room = self.inner.options.max_processes.saturating_sub(taken + state.spares.len());
            for _ in ready..self.inner.options.spares.min(ready + room) {
                state.spares.push(Spare::start(fingerprint, recipe()));
            }
        }
    }

    /// The keys of the sessions, and whether each has a process.
    pub fn list(&self) -> Vec<(String, bool)> {
        let state = self.lock();
        let mut list: Vec<_> = state
            .residents
            .iter()
            .map(|(key, session)| (key.clone(), session.glance().has_process()))
            .collect();
        list.sort();
        list
    }

    /// How many spare sessions are kept, whether or not they are started yet.
    pub fn spares(&self) -> usize {
        self.lock().spares.len()
    }

    /// How many spares have a process.
    pub fn live_spares(&self) -> usize {
        self.lock().spares.iter().filter(|spare| spare.session.glance().pid().is_some()).count()
    }

    /// How many spares are ready: started, with everything loaded that a first answer needs.
    pub fn warm_spares(&self) -> usize {
        self.lock().spares.iter().filter(|spare| spare.is_warm()).count()
    }

    /// Removes a session and ends its process.
    pub async fn remove(&self, key: &str) -> bool {
        let session = self.lock().residents.remove(key);
        match session {
            Some(session) => {
                session.stop().await;
                true
            }
            None => false,
        }
    }

    /// Accepts no more messages, lets running turns end within `patience`, and ends all processes.
    pub async fn shut_down(&self, patience: Duration) {
        let sessions: Vec<Session> = {
            let mut state = self.lock();
            state.shut_down = true;
            state.recipes.clear();
            let spares = std::mem::take(&mut state.spares).into_iter().map(|spare| spare.session);
            spares.chain(state.residents.values().cloned()).collect()
        };
        let deadline = tokio::time::Instant::now() + patience;
        let mut tasks = tokio::task::JoinSet::new();
        for session in sessions {
            tasks.spawn(async move {
                // Whether it has settled or the time is up: now it ends.
                let _ = tokio::time::timeout_at(deadline, session.settled()).await;
                session.stop().await;
            });
        }
        while tasks.join_next().await.is_some() {}
        // Spares that were of no use any more were dropped.
        let _all_gone = weir_process::buried(BURIAL).await;
    }
}

fn spare_or_new(state: &mut State, fingerprint: Fingerprint, options: SessionOptions) -> Session {
    state.spares.retain(|spare| !spare.is_dead());
    let is_new = options.origin == Origin::New && options.history.is_none() && options.shared_fold.is_none();
    let place = state.spares.iter().position(|spare| spare.fingerprint == fingerprint && spare.is_usable());
    match place.filter(|_| is_new) {
        Some(place) => {
            let session = state.spares.swap_remove(place).session;
            session.reconfigure_as(options, Some(fingerprint));
            session
        }
        None => Session::new(options),
    }
}

impl Pooled {
    /// Sends a message, which waits for its turn.
    pub async fn send(&self, message: impl Into<Message>) -> Result<Sent, PoolError> {
        self.send_as(message.into(), SendMode::Queue).await
    }

    /// Sends a message into the running turn.
    pub async fn steer(&self, message: impl Into<Message>) -> Result<Sent, PoolError> {
        self.send_as(message.into(), SendMode::Steer).await
    }

    /// Sends a message and waits for its answer. A turn that ended with an error is one here, see [`Session::ask`].
    pub async fn ask(&self, message: impl Into<Message>) -> Result<Arc<TurnEnd>, PoolError> {
        Ok(self.send(message).await?.answer().await?.checked()?)
    }

    async fn send_as(&self, message: Message, mode: SendMode) -> Result<Sent, PoolError> {
        let reservation = self.reserve().await?;
        Ok(self.send_reserved(reservation, message, mode).await?)
    }

    /// Makes room for a process, for callers that have something to do before sending the message.
    pub async fn reserve(&self) -> Result<Reservation, PoolError> {
        self.recycle().await;
        Ok(Reservation { claim: self.pool.admit(&self.key).await? })
    }

    /// Sends a message whose process already has room reserved.
    pub async fn send_reserved(
        &self,
        reservation: Reservation,
        message: impl Into<Message>,
        mode: SendMode,
    ) -> Result<Sent, SessionError> {
        {
            let mut state = self.pool.lock();
            state.touches += 1;
            self.session.glance().touch(state.touches);
        }
        let sent = self.session.send_as(message, mode).await;
        // From here on the process itself is counted, and any room left is for spares.
        drop(reservation.claim);
        self.pool.refill();
        sent
    }

    /// Replaces a process that has reached its limits.
    async fn recycle(&self) {
        let (glance, options) = (self.session.glance(), &self.pool.inner.options);
        if !glance.has_process() || glance.is_busy() || glance.needs_its_process() {
            return;
        }
        let is_old = options.max_turns.is_some_and(|max| glance.turns() >= max);
        let is_large = || {
            let size = glance.pid().and_then(ProcessId::of).and_then(ProcessId::resident_memory);
            options.max_bytes.zip(size).is_some_and(|(max, size)| size > max)
        };
        if is_old || is_large() {
            // Another caller may have sent it a message meanwhile; then it is replaced another time.
            let _ = self.session.close_if_idle().await;
        }
    }

    /// The session, for everything else.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The key.
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("options", &self.inner.options).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Pooled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pooled").field("key", &self.key).finish_non_exhaustive()
    }
}
