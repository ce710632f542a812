//! The agent: works on a task in a session of a host. Where there is a page, people see the session there, decide its
//! requests and can stop it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use weir_host::{
    Actor, FailureKind, Finished, Host, HostError, HostOptions, NewMessage, NewSession, SessionId,
    SessionSettings,
};
use weir_session::SessionOptions;
use weir_store::MemoryStore;
use weir_wire::MessageId;

use super::approvals::{ApprovalHandler, SharedRefusals};
use super::follower::Follower;
use super::hooks::Rules;
use super::options::{BACKGROUND, SessionFactory, options};
use super::run::{AgentEnd, AgentRun};
use super::stop::{StopReason, StopSignal, hurry_reached, overdue, too_long};
use super::{Agent, AgentRequest, Hurry, Running, Surroundings};

/// How much of a session a host in memory holds.
const SESSION_BYTES: usize = 16 << 20;
/// Number of events between two checkpoints there. The store drops only what a checkpoint covers.
const CHECKPOINT_EVERY: u64 = 512;

/// Makes the options of one session.
type Recipe = Arc<dyn Fn() -> SessionOptions + Send + Sync>;

/// The options of the loop's sessions, for the recipe of a host.
#[derive(Clone, Default)]
pub struct LoopSessions(Arc<Mutex<HashMap<String, Recipe>>>);

impl std::fmt::Debug for LoopSessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoopSessions").finish_non_exhaustive()
    }
}

impl LoopSessions {
    /// The options of a session that the loop works with. `None` for a session that others started, or one that is
    /// over.
    pub fn options(&self, settings: &SessionSettings) -> Option<SessionOptions> {
        let recipe = self.lock().get(settings.key.as_deref()?).cloned()?;
        Some(recipe())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Recipe>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Provides the options of a session until the result is dropped.
    fn register(&self, key: &str, recipe: Recipe) -> Registered {
        self.lock().insert(key.to_owned(), recipe);
        Registered { sessions: self.clone(), key: key.to_owned() }
    }
}

struct Registered {
    sessions: LoopSessions,
    key: String,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.sessions.lock().remove(&self.key);
    }
}

/// Works on a task in a session of a host.
#[derive(Clone)]
pub struct HostAgent {
    host: Host,
    sessions: LoopSessions,
    factory: SessionFactory,
    actor: Actor,
    /// Whether the host is for people as well: they see what is written while it is written, and the sessions stay.
    is_shared: bool,
}

impl HostAgent {
    /// An agent on a host that people use as well. The host's recipe must ask `sessions` first.
    pub fn new(host: Host, sessions: LoopSessions, factory: SessionFactory) -> Self {
        Self { host, sessions, factory, actor: Actor::new("loop"), is_shared: true }
    }

    /// An agent on its own host in memory, with this many sessions at a time. Nothing of a session stays there after
    /// its end: the raw logs are what is kept.
    ///
    /// # Errors
    /// If the workspace cannot be used.
    pub async fn in_memory(
        workspace: &Path,
        parallel: usize,
        factory: SessionFactory,
    ) -> Result<Self, HostError> {
        let sessions = LoopSessions::default();
        let known = sessions.clone();
        let recipe = move |settings: &SessionSettings| known.options(settings).unwrap_or_default();
        let store = Arc::new(MemoryStore::with_budget(SESSION_BYTES));
        let mut options = HostOptions::new(store, recipe).root(workspace);
        options.checkpoint_every = CHECKPOINT_EVERY;
        options.pool.max_processes = parallel.max(1);
        let host = Host::open(options).await?;
        Ok(Self { is_shared: false, ..Self::new(host, sessions, factory) })
    }

    /// The host, to be shut down after the last session.
    pub fn host(&self) -> &Host {
        &self.host
    }

    async fn work(&self, request: AgentRequest, around: Surroundings) -> AgentRun {
        let started = Instant::now();
        let rules = Rules { cwd: request.cwd.clone(), protected: request.protected.clone() };
        let refusals = SharedRefusals::default();
        let mut stop =
            StopSignal::new(around.hurry.clone(), around.approvals.waiting.subscribe(), request.timeout);
        let handler = Arc::new(ApprovalHandler {
            approvals: around.approvals.clone(),
            rules: rules.clone(),
            refusals: refusals.clone(),
        });
        let refused = around.approvals.refused.clone();
        let key = format!("loop/{}", request.session_id);
        let recipe = {
            let (factory, request, is_shared) = (Arc::clone(&self.factory), request.clone(), self.is_shared);
            let permissions = around.approvals.permissions;
            move || {
                let mut options = options(&factory, &request, permissions, handler.clone());
                options.partial_messages |= is_shared;
                options
            }
        };
        let _registered = self.sessions.register(&key, Arc::new(recipe));
        let mut run = match self.begin(&request, key, around).await {
            // Nothing has happened, and the next session would not begin either.
            Err(error) => {
                AgentRun { end: AgentEnd::NotStarted { why: error.to_string() }, ..AgentRun::default() }
            }
            Ok((id, message, mut follower)) => {
                let why = follower.during(self.answer(&id, &message, &mut stop)).await;
                let logs = self.host.raw_logs(&id).await.ok().flatten();
                // Also withdraws messages that people have sent meanwhile: the task is over.
                follower.during(self.end_session(&id, &stop, why)).await;
                let finished = self.host.finished(&id, &message).await;
                follower.catch_up().await;
                let mut run = follower.run(&rules);
                drop(follower);
                if !self.is_shared {
                    // If it cannot be deleted, it stays until the host is closed.
                    let _ = self.host.delete(&id).await;
                }
                refusals.into_run(&mut run);
                refused.excuse(&mut run);
                run.end = end(&run, &finished, why, request.timeout);
                run.log = logs.as_ref().map(|logs| logs.output.clone());
                run.stderr_log = logs.map(|logs| logs.stderr);
                run
            }
        };
        run.forked |= run.session_id.as_ref().is_some_and(|id| *id != request.session_id);
        run.session_id.get_or_insert(request.session_id);
        run.duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        run
    }

    /// Creates the session, follows it, and sends the prompt.
    async fn begin(
        &self,
        request: &AgentRequest,
        key: String,
        around: Surroundings,
    ) -> Result<(SessionId, MessageId, Follower), HostError> {
        let new = NewSession {
            key: Some(key),
            name: Some(request.task.clone()),
            spec: request.spec.clone(),
            origin: "loop".to_owned(),
            ..NewSession::new(request.cwd.to_string_lossy())
        };
        let session = self.host.create(new, &self.actor).await?.session;
        let id: SessionId =
            session.id.parse().map_err(|error| HostError::Failed(format!("invalid session id: {error}")))?;
        let follower =
            Follower::new(self.host.clone(), id.clone(), around.activity, around.approvals).await?;
        let message = NewMessage::text(request.prompt.clone());
        let accepted = self.host.send(&id, message, &self.actor).await?;
        Ok((id, accepted.message_id, follower))
    }

    /// Waits for the answer. Returns why the session has to end before that, if it has to.
    async fn answer(&self, id: &SessionId, message: &MessageId, stop: &mut StopSignal) -> Option<StopReason> {
        tokio::select! {
            finished = self.host.finished(id, message) => {
                if finished.is_ok_and(|finished| finished.error.is_none()) {
                    // Background tasks would be lost with the process.
                    tokio::select! {
                        _ = tokio::time::timeout(BACKGROUND, self.host.settled(id)) => {}
                        _ = stop.reason() => {}
                    }
                }
                None
            }
            why = stop.reason() => {
                self.interrupt(id, message, stop, why).await;
                Some(why)
            }
        }
    }

    /// Interrupts the turn, and waits for its end as long as that may take.
    async fn interrupt(&self, id: &SessionId, message: &MessageId, stop: &StopSignal, why: StopReason) {
        let mut hurry = stop.hurry.clone();
        let ended = async {
            // The result of the interrupt shows in how the turn finishes.
            let _ = self.host.interrupt(id, &self.actor).await;
            let _ = self.host.finished(id, message).await;
        };
        tokio::select! {
            () = ended => {}
            () = hurry_reached(&mut hurry, Hurry::Now) => {}
            () = tokio::time::sleep(why.patience()) => {}
        }
    }

    /// Stops a session, and kills it if that has to be quick.
    async fn end_session(&self, id: &SessionId, stop: &StopSignal, why: Option<StopReason>) {
        let mut hurry = stop.hurry.clone();
        let _ended = tokio::select! {
            ended = self.host.stop(id, &self.actor) => ended,
            () = hurry_reached(&mut hurry, Hurry::Now) => self.host.kill(id, &self.actor).await,
            () = overdue(why) => self.host.kill(id, &self.actor).await,
        };
    }
}

impl Agent for HostAgent {
    fn run(&self, request: AgentRequest, surroundings: Surroundings) -> Running<'_> {
        Box::pin(self.work(request, surroundings))
    }
}

/// How a session ended, by what the host says about its message.
fn end(
    run: &AgentRun,
    finished: &Result<Finished, HostError>,
    why: Option<StopReason>,
    timeout: Duration,
) -> AgentEnd {
    let finished = match finished {
        Ok(finished) => finished,
        Err(error) => return AgentEnd::Crashed { why: error.to_string() },
    };
    let has_result = finished.turn.as_ref().is_some_and(|turn| turn.result.is_some());
    let Some(error) = &finished.error else {
        return if has_result { AgentEnd::Answered } else { AgentEnd::NoResult };
    };
    let words = error.message.clone();
    match (error.kind, why) {
        // The turn had finished before the error.
        (FailureKind::Error, _) if has_result => AgentEnd::Answered,
        (_, Some(StopReason::Requested)) => AgentEnd::Interrupted,
        (_, Some(StopReason::TooLong)) => too_long(timeout),
        // The loop itself has refused something, which ends the turn.
        (FailureKind::Interrupted, None) if has_result && run.was_refused() => AgentEnd::Answered,
        // By a person, not by the loop.
        (FailureKind::Stopped | FailureKind::Cancelled | FailureKind::Interrupted, None) => AgentEnd::Stopped,
        (FailureKind::NotStarted | FailureKind::Unsupported, None) => AgentEnd::NotStarted { why: words },
        (FailureKind::TimedOut, None) => AgentEnd::TimedOut { why: words },
        (FailureKind::BudgetExhausted, None) => AgentEnd::Budget { why: words },
        (FailureKind::NoResult, None) => AgentEnd::NoResult,
        (_, None) => AgentEnd::Crashed { why: words },
    }
}
