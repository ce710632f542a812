//! Many conversations, each under a name, with a limit to how many have a process.
//!
//! A conversation of the pool is a [`Session`]; it may lose its process when nobody needs it and gets another one,
//! with its history, by the next message. The pool only decides who may have one.

mod admission;
mod fingerprint;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use admission::{Admission, Resident, admit};
pub use fingerprint::Fingerprint;
use weir_process::ProcessId;

use crate::error::SessionError;
use crate::machine::{SendMode, TurnEnd};
use crate::options::{Conversation, SessionOptions};
use crate::session::{Message, Sent, Session};

/// How a pool works.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolOptions {
    /// Most processes at a time.
    pub most: usize,
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
    residents: HashMap<String, Entry>,
    spares: Vec<(Fingerprint, Session)>,
    recipes: Vec<(Fingerprint, Recipe)>,
    /// Processes that are about to be started.
    reserved: usize,
    touches: u64,
    shut_down: bool,
}

struct Entry {
    session: Session,
    fingerprint: Fingerprint,
}

struct Inner {
    options: PoolOptions,
    state: Mutex<State>,
}

/// Many conversations, each under a name.
///
/// Cloning it gives another handle to the same pool. Nothing in it is global.
#[derive(Clone)]
pub struct Pool {
    inner: Arc<Inner>,
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
        Self { inner: Arc::new(Inner { options, state: Mutex::new(State::default()) }) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole between any two statements that could panic.
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The conversation of this name: the one that is there, or a new one.
    ///
    /// If it is there but was started with other options, it goes on with these: the process is replaced once its
    /// turn has ended. Its place in the conversation is kept; `options.conversation` counts for new ones only.
    pub fn conversation(&self, key: impl Into<String>, mut options: SessionOptions) -> Pooled {
        let key = key.into();
        let fingerprint = Fingerprint::of(&options);
        if options.limits.idle.is_none() {
            options.limits.idle = self.inner.options.idle;
        }
        let mut state = self.lock();
        let before = state.residents.get(&key).map(|entry| (entry.session.clone(), entry.fingerprint));
        let session = match before {
            Some((session, same)) if same == fingerprint && !session.is_over() => {
                return Pooled { pool: self.clone(), key, session };
            }
            Some((old, _)) => {
                if let Some(id) = old.glance().session_id() {
                    options.conversation = Conversation::Resume(id);
                }
                options.predecessor = Some(old);
                Session::new(options)
            }
            None => self.spare_or_new(&mut state, fingerprint, options),
        };
        state.touches += 1;
        session.glance().touch(state.touches);
        state.residents.insert(key.clone(), Entry { session: session.clone(), fingerprint });
        drop(state);
        self.refill();
        Pooled { pool: self.clone(), key, session }
    }

    fn spare_or_new(
        &self,
        state: &mut State,
        fingerprint: Fingerprint,
        mut options: SessionOptions,
    ) -> Session {
        let place = state.spares.iter().position(|(kind, spare)| *kind == fingerprint && !spare.is_over());
        match place.filter(|_| options.conversation == Conversation::New && options.history.is_none()) {
            Some(place) => {
                let (_, session) = state.spares.swap_remove(place);
                session.adopt(options.handler.take(), options.observer.take());
                session
            }
            None => Session::new(options),
        }
    }

    /// Keeps processes ready for new conversations with these options, so that their first answer comes sooner.
    pub fn prewarm(&self, recipe: impl Fn() -> SessionOptions + Send + Sync + 'static) {
        let fingerprint = Fingerprint::of(&recipe());
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
        state.spares.retain(|(_, spare)| !spare.is_over());
        let live = state.residents.values().filter(|entry| entry.session.glance().has_process()).count();
        for (fingerprint, recipe) in state.recipes.clone() {
            let ready = state.spares.iter().filter(|(kind, _)| *kind == fingerprint).count();
            let room = self.inner.options.most.saturating_sub(live + state.reserved + state.spares.len());
            for _ in ready..self.inner.options.spares.min(ready + room) {
                let session = Session::new(recipe());
                state.spares.push((fingerprint, session.clone()));
                tokio::spawn(warm_up(session));
            }
        }
    }

    /// Makes room for a process of this conversation.
    async fn admit(&self, key: &str) -> Result<Reservation, PoolError> {
        loop {
            let to_close = {
                let mut state = self.lock();
                if state.shut_down {
                    return Err(PoolError::ShutDown);
                }
                let residents: Vec<Resident> = state.residents.iter().map(resident).collect();
                let (reserved, spares) = (state.reserved, state.spares.len());
                match admit(key, &residents, reserved, spares, self.inner.options.most) {
                    Admission::Admitted => {
                        state.reserved += 1;
                        return Ok(Reservation { pool: self.clone() });
                    }
                    Admission::DropSpare => state.spares.pop().map(|(_, spare)| (spare, true)),
                    Admission::Evict(oldest) => {
                        state.residents.get(&oldest).map(|entry| (entry.session.clone(), false))
                    }
                    Admission::Full => return Err(PoolError::Full { most: self.inner.options.most }),
                }
            };
            match to_close {
                Some((spare, true)) => spare.stop().await,
                // Its history stays; an error means that it is over, which makes room as well.
                Some((session, false)) => drop(session.close().await),
                None => {}
            }
        }
    }

    /// The names of the conversations, and whether each has a process.
    pub fn list(&self) -> Vec<(String, bool)> {
        let state = self.lock();
        let mut list: Vec<_> = state
            .residents
            .iter()
            .map(|(key, entry)| (key.clone(), entry.session.glance().has_process()))
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
        self.lock().spares.iter().filter(|(_, spare)| spare.glance().pid().is_some()).count()
    }

    /// Forgets a conversation and ends its process.
    pub async fn remove(&self, key: &str) -> bool {
        let entry = self.lock().residents.remove(key);
        match entry {
            Some(entry) => {
                entry.session.stop().await;
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
            let spares = std::mem::take(&mut state.spares).into_iter().map(|(_, spare)| spare);
            let residents = state.residents.values().map(|entry| entry.session.clone());
            spares.chain(residents.collect::<Vec<_>>()).collect()
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

/// Starts a CLI and makes it load what it needs for a first answer.
async fn warm_up(session: Session) {
    if session.start().await.is_ok() {
        // Old versions do not know this request; they are started, which is most of it.
        let _ = session.context_usage().await;
    }
}

fn resident((key, entry): (&String, &Entry)) -> Resident {
    let glance = entry.session.glance();
    Resident {
        key: key.clone(),
        has_process: glance.has_process(),
        is_busy: glance.is_busy(),
        touched: glance.touched(),
    }
}

/// Room for a process that is about to be started. Dropping it gives the room back.
#[derive(Debug)]
pub struct Reservation {
    pool: Pool,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut state = self.pool.lock();
        state.reserved = state.reserved.saturating_sub(1);
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
        self.pool.admit(&self.key).await
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
        // From here on the process itself is counted.
        drop(reservation);
        sent
    }

    /// Replaces a process that has done enough.
    async fn recycle(&self) {
        let (glance, options) = (self.session.glance(), &self.pool.inner.options);
        if !glance.has_process() || glance.is_busy() {
            return;
        }
        let is_old = options.most_turns.is_some_and(|most| glance.turns() >= most);
        let is_large = || {
            let size = glance.pid().and_then(ProcessId::of).and_then(ProcessId::resident_memory);
            options.most_bytes.zip(size).is_some_and(|(most, size)| size > most)
        };
        if is_old || is_large() {
            let _ = self.session.close().await;
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
