//! An agent that runs as a session of a host: people see it on the page, decide its requests and can stop it, and the
//! session stays in the store afterwards.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use weir_host::{
    Actor, FailureKind, Finished, Host, HostError, NewMessage, NewSession, SessionId, SessionSettings,
};
use weir_session::{SessionOptions, SessionSpec};
use weir_wire::MessageId;

use super::log::{find_log, read_run};
use super::run::{AgentEnd, AgentRun};
use super::session::{
    BACKGROUND, Prepared, SessionFactory, StopReason, Stopped, hurry_reached, overdue, prepare, too_long,
};
use super::{Agent, AgentRequest, Hurry, Running, Surroundings};

/// How often to check whether background tasks have ended. The host sends no event for that.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The options of the loop's sessions, for the recipe of a host.
#[derive(Clone, Default)]
pub struct LoopSessions(Arc<Mutex<HashMap<String, SessionOptions>>>);

impl std::fmt::Debug for LoopSessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoopSessions").finish_non_exhaustive()
    }
}

impl LoopSessions {
    /// The options of a session that the loop starts. `None` for a session that others started, or one that is over.
    pub fn take(&self, settings: &SessionSettings) -> Option<SessionOptions> {
        let key = settings.key.as_deref()?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key)
    }

    fn put(&self, key: &str, options: SessionOptions) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned(), options);
    }

    fn forget(&self, key: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

/// Works on a task in a session of a host.
#[derive(Clone)]
pub struct HostAgent {
    host: Host,
    sessions: LoopSessions,
    factory: SessionFactory,
    logs: PathBuf,
    actor: Actor,
}

impl HostAgent {
    /// An agent on this host. The host's recipe must ask `sessions` first. The factory must write raw logs into `logs`.
    pub fn new(
        host: Host,
        sessions: LoopSessions,
        factory: SessionFactory,
        logs: impl Into<PathBuf>,
    ) -> Self {
        Self { host, sessions, factory, logs: logs.into(), actor: Actor::new("loop") }
    }

    async fn work(&self, request: AgentRequest, around: Surroundings) -> AgentRun {
        let started = Instant::now();
        let Prepared { mut options, mut stopped, rules, refusals, observed } =
            prepare(&self.factory, &request, around);
        // Viewers want to see the text as it is written.
        options.partial_messages = true;
        let key = format!("loop/{}", request.session_id);
        self.sessions.put(&key, options);
        let (finished, why) = self.answer(&request, &key, &mut stopped).await;
        self.sessions.forget(&key);
        let log = find_log(&self.logs, &request.session_id);
        let mut run = match log.as_ref().map(|log| read_run(log, &rules)) {
            Some(Ok((run, _))) => run,
            _ => AgentRun::default(),
        };
        refusals.into_run(&mut run);
        run.warnings.clone_from(&observed.lock().unwrap_or_else(PoisonError::into_inner).warnings);
        run.end = end(&finished, why, request.timeout);
        run.forked |= run.session_id.as_ref().is_some_and(|id| *id != request.session_id);
        run.session_id.get_or_insert(request.session_id);
        run.duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        run.stderr_log = log.as_ref().map(|log| log.with_extension("stderr")).filter(|path| path.is_file());
        run.log = log;
        run
    }

    /// Runs the session, and ends it in any case.
    async fn answer(
        &self,
        request: &AgentRequest,
        key: &str,
        stopped: &mut Stopped,
    ) -> (Result<Finished, HostError>, Option<StopReason>) {
        let (id, message) = match self.begin(request, key).await {
            Ok(begun) => begun,
            Err(error) => return (Err(error), None),
        };
        let (finished, why) = tokio::select! {
            finished = self.host.finished(&id, &message) => {
                if finished.is_ok() {
                    tokio::select! {
                        () = self.settled(&id) => {}
                        _ = stopped.reason() => {}
                    }
                }
                (finished, None)
            }
            why = stopped.reason() => (self.interrupt(&id, &message, stopped, why).await, Some(why)),
        };
        // Also withdraws messages that people have sent meanwhile: the task is over.
        self.end_session(&id, stopped, why).await;
        (finished, why)
    }

    async fn begin(&self, request: &AgentRequest, key: &str) -> Result<(SessionId, MessageId), HostError> {
        let new = NewSession {
            key: Some(key.to_owned()),
            name: Some(request.task.clone()),
            spec: SessionSpec {
                model: request.settings.model.clone(),
                permission_mode: request.settings.permission_mode.clone(),
                max_cost_usd: Some(request.max_cost_usd),
                max_turns: request.max_turns,
                ..SessionSpec::default()
            },
            origin: "loop".to_owned(),
            ..NewSession::new(request.cwd.to_string_lossy())
        };
        let session = self.host.create(new, &self.actor).await?.session;
        let id: SessionId =
            session.id.parse().map_err(|error| HostError::Failed(format!("invalid session id: {error}")))?;
        let message = NewMessage::text(request.prompt.clone());
        let accepted = self.host.send(&id, message, &self.actor).await?;
        Ok((id, accepted.message_id))
    }

    async fn interrupt(
        &self,
        id: &SessionId,
        message: &MessageId,
        stopped: &Stopped,
        why: StopReason,
    ) -> Result<Finished, HostError> {
        let mut hurry = stopped.hurry.clone();
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
        self.end_session(id, stopped, Some(why)).await;
        self.host.finished(id, message).await
    }

    /// Stops a session, and kills it if that has to be quick.
    async fn end_session(&self, id: &SessionId, stopped: &Stopped, why: Option<StopReason>) {
        let mut hurry = stopped.hurry.clone();
        let _ended = tokio::select! {
            ended = self.host.stop(id, &self.actor) => ended,
            () = hurry_reached(&mut hurry, Hurry::Now) => self.host.kill(id, &self.actor).await,
            () = overdue(why) => self.host.kill(id, &self.actor).await,
        };
    }

    /// Waits for background tasks, which would be lost with the process.
    async fn settled(&self, id: &SessionId) {
        let is_busy = async || self.host.info(id).await.is_ok_and(|info| info.status.is_busy());
        let settled = async {
            while is_busy().await {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        let _ = tokio::time::timeout(BACKGROUND, settled).await;
    }
}

impl Agent for HostAgent {
    fn run(&self, request: AgentRequest, surroundings: Surroundings) -> Running<'_> {
        Box::pin(self.work(request, surroundings))
    }
}

fn end(finished: &Result<Finished, HostError>, why: Option<StopReason>, timeout: Duration) -> AgentEnd {
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
        (FailureKind::NotStarted, None) => AgentEnd::NotStarted { why: words },
        (FailureKind::TimedOut, None) => AgentEnd::TimedOut { why: words },
        (FailureKind::BudgetExhausted, None) => AgentEnd::Budget { why: words },
        // By a person, not by the loop.
        (FailureKind::Stopped | FailureKind::Cancelled | FailureKind::Interrupted, None) => AgentEnd::Stopped,
        (_, None) => AgentEnd::Crashed { why: words },
    }
}
