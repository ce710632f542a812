//! Many conversations, each under a name, with a limit to how many have a process.
//!
//! A conversation of the pool is a [`Session`]; it may lose its process when nobody needs it and gets another one,
//! with its history, by the next message. The pool only decides who may have one.

mod admission;
mod room;
mod spare;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use admission::{Capacity, Room};
use room::residents;
use spare::Spare;
use tokio::sync::Notify;
use weir_process::ProcessId;

use crate::error::SessionError;
use crate::fingerprint::Fingerprint;
use crate::machine::{SendMode, TurnEnd};
use crate::options::{Conversation, SessionOptions};
use crate::session::{Message, Sent, Session};

/// How a pool works.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolOptions {
    /// Most processes at a time, apart from those of conversations that wait for a person.
    pub most: usize,
    /// Most processes of conversations that wait for a person, in addition to `most`; beyond this they take a place
    /// like the others. A conversation that gets its answer continues at once, so that there may be `most` and this many
    /// at work for a while; no other one is started then.
    pub max_awaiting: usize,
    /// How long a process with nothing to do stays.
    pub idle: Option<Duration>,
    /// A process is replaced after this many turns, because the CLI grows.
    pub most_turns: Option<u64>,
    /// A process is replaced when it takes more memory than this.
    pub most_bytes: Option<u64>,
    /// How many processes wait, started, for the next new conversation of each kind that [`Pool::prewarm`] was
    /// told of.
    pub spares: usize,
}

impl Default for PoolOptions {
    fn default() -> Self {
        Self {
            most: 8,
            max_awaiting: 16,
            idle: Some(Duration::from_secs(10 * 60)),
            most_turns: Some(200),
            most_bytes: Some(2 << 30),
            spares: 1,
        }
    }
}

/// Why a pool did not take a message.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum PoolError {
    /// Every process is busy.
    #[error("all {most} processes are busy; try again later, or allow more")]
    Full {
        /// How many there may be.
        most: usize,
    },
    /// The pool is being shut down.
    #[error("the pool is being shut down")]
    ShutDown,
    /// The session did not take it.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Makes options: the same each time.
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
    /// Whenever somebody who made room has made it, or has given up.
    room: Notify,
}

/// Many conversations, each under a name.
///
/// Cloning it gives another handle to the same pool. Nothing in it is global.
#[derive(Clone)]
pub struct Pool {
    inner: Arc<Inner>,
}

/// Room for a process that is about to be started. Dropping it gives the room back.
#[derive(Debug)]
pub struct Reservation {
    claim: room::Claim,
}

/// A conversation of a pool.
#[derive(Clone)]
pub struct Pooled {
    pool: Pool,
    key: String,
    session: Session,
}

impl Pool {
    /// An empty pool.
    pub fn new(options: PoolOptions) -> Self {
        Self { inner: Arc::new(Inner { options, state: Mutex::default(), room: Notify::new() }) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole between any two statements that could panic.
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn capacity(&self) -> Capacity {
        let PoolOptions { most, max_awaiting, .. } = self.inner.options;
        Capacity { most, max_awaiting }
    }

    /// The conversation of this name: the one that is there, or a new one.
    ///
    /// If it is there, it goes on with these options, see [`Session::reconfigure`]: where they need another process,
    /// it is replaced once nothing runs. `options.conversation` and `options.history` count for new ones only.
    pub fn conversation(&self, key: impl Into<String>, mut options: SessionOptions) -> Pooled {
        let key = key.into();
        let fingerprint = Fingerprint::of(&options);
        // What the CLI does not keep on disk would be lost with the process, so that is not closed by itself.
        let is_kept = options.persistence;
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
                if let Some(id) = old.glance().session_id().filter(|_| options.persistence) {
                    options.conversation = Conversation::Resume(id);
                }
                Session::new(options)
            }
            None => spare_or_new(&mut state, fingerprint, options),
        };
        state.touches += 1;
        session.glance().touch(state.touches);
        session.glance().set_kept(is_kept);
        state.residents.insert(key.clone(), session.clone());
        Pooled { pool: self.clone(), key, session }
    }

    /// Keeps processes ready for new conversations with these options, so that their first answer comes sooner.
    ///
    /// They serve only conversations whose processes would be started in the very same way, with the same logs. A
    /// process that locks its workspace is not kept ready: nobody else could work there meanwhile.
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

    /// Starts the spares that are missing, as far as there is room.
    fn refill(&self) {
        let mut state = self.lock();
        if state.shut_down {
            return;
        }
        state.spares.retain(|spare| !spare.is_dead());
        let taken = state.room.taken(&residents(&state), self.capacity());
        for (fingerprint, recipe) in state.recipes.clone() {
            let ready = state.spares.iter().filter(|spare| spare.fingerprint == fingerprint).count();
            let room = self.inner.options.most.saturating_sub(taken + state.spares.len());
            for _ in ready..self.inner.options.spares.min(ready + room) {
                state.spares.push(Spare::start(fingerprint, recipe()));
            }
        }
    }

    /// The names of the conversations, and whether each has a process.
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

    /// How many sessions are kept for new conversations, whether or not they are started yet.
    pub fn spares(&self) -> usize {
        self.lock().spares.len()
    }

    /// How many of them have a process.
    pub fn live_spares(&self) -> usize {
        self.lock().spares.iter().filter(|spare| spare.session.glance().pid().is_some()).count()
    }

    /// How many of them are ready: started, and with everything loaded that a first answer needs.
    pub fn warm_spares(&self) -> usize {
        self.lock().spares.iter().filter(|spare| spare.is_warm()).count()
    }

    /// Forgets a conversation and ends its process.
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

    /// Takes no more messages, lets running turns end until `patience` is over, and ends all processes.
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
    }
}

fn spare_or_new(state: &mut State, fingerprint: Fingerprint, options: SessionOptions) -> Session {
    state.spares.retain(|spare| !spare.is_dead());
    let is_new = options.conversation == Conversation::New && options.history.is_none();
    let place = state.spares.iter().position(|spare| spare.fingerprint == fingerprint);
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
    /// Sends a message; it waits for its turn.
    pub async fn send(&self, message: impl Into<Message>) -> Result<Sent, PoolError> {
        self.send_as(message.into(), SendMode::Queue).await
    }

    /// Sends a message into the running turn.
    pub async fn steer(&self, message: impl Into<Message>) -> Result<Sent, PoolError> {
        self.send_as(message.into(), SendMode::Steer).await
    }

    /// Sends a message and waits for its answer.
    pub async fn ask(&self, message: impl Into<Message>) -> Result<Arc<TurnEnd>, PoolError> {
        Ok(self.send(message).await?.answer().await?)
    }

    async fn send_as(&self, message: Message, mode: SendMode) -> Result<Sent, PoolError> {
        let reservation = self.reserve().await?;
        Ok(self.send_reserved(reservation, message, mode).await?)
    }

    /// Makes room for a process, for whoever has something to do between that and the message.
    pub async fn reserve(&self) -> Result<Reservation, PoolError> {
        self.recycle().await;
        Ok(Reservation { claim: self.pool.admit(&self.key).await? })
    }

    /// Sends a message for whose process there is room.
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
        // From here on the process itself is counted, and what room is left is for spares.
        drop(reservation.claim);
        self.pool.refill();
        sent
    }

    /// Replaces a process that has done enough.
    async fn recycle(&self) {
        let (glance, options) = (self.session.glance(), &self.pool.inner.options);
        if !glance.has_process() || glance.is_busy() || glance.needs_its_process() {
            return;
        }
        let is_old = options.most_turns.is_some_and(|most| glance.turns() >= most);
        let is_large = || {
            let size = glance.pid().and_then(ProcessId::of).and_then(ProcessId::resident_memory);
            options.most_bytes.zip(size).is_some_and(|(most, size)| size > most)
        };
        if is_old || is_large() {
            // Somebody else may have sent it a message meanwhile; then it is replaced another time.
            let _ = self.session.close_if_idle().await;
        }
    }

    /// The session, for everything else.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The name.
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
