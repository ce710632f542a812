//! Sends messages to a process, one at a time and in order, and releases the process when it has nothing to do.
//!
//! Only one task at a time does this for a session, so that a message is never sent to a process that is being
//! released.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use weir_session::{
    FolderTrust, LeaveOpen, Origin, Pooled, SendMode, SessionError, SessionOptions, SessionSpec, StartError,
};
use weir_store::{SessionId, SessionUpdate};
use weir_transcript::{Failure, FailureKind, HostEvent, RewindPoint};
use weir_wire::{CliSessionId, MessageId};

use crate::admission::Refusal;
use crate::billing::SetAside;
use crate::client_calls::{ClientToolServer, SERVER};
use crate::core::{Core, Lease};
use crate::error::HostError;
use crate::host::trusted_seal;
use crate::item::{Item, Note};
use crate::live_session::{LiveSession, State};
use crate::message::MessageMode;
use crate::message_queue::Record;
use crate::options::HostOptions;
use crate::recorder::Scribe;
use crate::settings::{KeptSettings, SessionSettings};
use crate::summary;

/// How long the last output of a process may take to be shown after its answer has arrived.
const LAST_OUTPUT_WITHIN: Duration = Duration::from_secs(10);

/// Something to do for a session.
enum Job {
    /// Send this message to the process.
    HandOver(Box<Record>),
    /// Release the process.
    Release(Pooled),
}

/// What to do next; nothing while the session is being stopped or the host is being shut down.
fn next_job(live: &LiveSession, state: &mut State) -> Option<Job> {
    if state.failed.is_some() || state.stopping > 0 || state.paused > 0 || live.core.is_shutting_down() {
        return None;
    }
    let is_idle = !state.log.has_process() && !state.log.messages.is_any_in_flight();
    let is_useless = is_idle && (state.is_stale || !state.log.messages.has_next());
    let is_outdated = state.needs_other_process && !state.log.is_at_work(&state.view);
    match state.session.take_if(|session| is_useless || is_outdated || session.session().is_over()) {
        Some(session) => Some(Job::Release(session)),
        None => state.log.messages.claim_next().map(|record| Job::HandOver(Box::new(record))),
    }
}

impl Lease {
    /// Starts the worker task if there is something to do and none is running.
    pub(crate) fn kick(&self) {
        let mut state = self.lock();
        if state.is_working {
            return;
        }
        if let Some(job) = next_job(self, &mut state) {
            state.is_working = true;
            drop(state);
            tokio::spawn(work(self.another(), job));
        }
    }
}

async fn work(live: Lease, first: Job) {
    let mut job = Some(first);
    while let Some(next) = job {
        match next {
            Job::HandOver(record) => live.hand_over(*record).await,
            Job::Release(session) => {
                // A session that is over has no process.
                let _ = session.session().close_if_idle().await;
                live.core.pool.remove(session.key()).await;
                live.core.freed.notify_waiters();
            }
        }
        let mut state = live.lock();
        job = next_job(&live, &mut state);
        state.is_working = job.is_some();
    }
    live.refresh();
}

impl Lease {
    /// Sends a message to the process. If that is not possible now, the message stays queued or fails with a reason.
    async fn hand_over(&self, record: Record) {
        let id = record.message.message_id.clone();
        let refusal = match self.try_hand_over(&record).await {
            Ok(true) => return,
            // The session is being stopped, or the host is being shut down.
            Ok(false) => None,
            Err(refusal) => Some(refusal),
        };
        if self.lock().session.is_none() {
            // It was made for this message, and nothing else would find it again.
            self.core.pool.remove(self.id.as_str()).await;
        }
        match refusal {
            None => self.lock().log.messages.unclaim(&id),
            Some(refusal) => self.refuse(&id, &refusal).await,
        }
    }

    async fn try_hand_over(&self, record: &Record) -> Result<bool, Refusal> {
        let id = &record.message.message_id;
        self.check_budget()?;
        let Some(money) = self.set_money_aside(&record.message).await? else { return Ok(false) };
        self.renew_if_folder_changed().await;
        let session = self.session();
        let Some(reservation) = self.reserve(&session, id).await? else { return Ok(false) };
        {
            let mut state = self.lock();
            if state.stopping > 0 || state.failed.is_some() {
                return Ok(false);
            }
            // From here on, a stop finds the session and ends it.
            state.session = Some(session.clone());
            state.log.messages.set_in_flight(id, true);
            state.payer.clone_from(&record.message.account);
        }
        let note = Item::Note(Note::HandedOver { message_id: id.clone() });
        if self.recorder.recorded(vec![note], SessionUpdate::default()).await.is_err() {
            // The log has failed, and with it everything else.
            return Ok(true);
        }
        if self.lock().log.messages.is_interrupted(id) {
            self.lock().log.messages.set_in_flight(id, false);
            return Err(SessionError::Interrupted.into());
        }
        let mode = match record.message.mode {
            MessageMode::Queue | MessageMode::Note => SendMode::Queue,
            MessageMode::Steer => SendMode::Steer,
        };
        let sent = session.send_reserved(reservation, record.message.to_send(), mode).await;
        let mut sent = match sent {
            Ok(sent) => sent,
            Err(error) => {
                self.lock().log.messages.set_in_flight(id, false);
                return Err(error.into());
            }
        };
        if self.lock().log.messages.is_interrupted(id) {
            // The session may have received the interrupt before the message.
            let (session, id) = (session.clone(), id.clone());
            tokio::spawn(async move { session.session().interrupt_message(&id).await });
        }
        let live = self.another();
        tokio::spawn(async move {
            let answer = sent.answer().await;
            if let Ok(facts) = session.session().facts().await {
                live.lock().raw_logs = facts.logs;
            }
            live.answered(&sent.id, answer.err(), money).await;
        });
        Ok(true)
    }

    /// Releases the process if the folder's trusted settings have changed, because newer versions of the CLI apply
    /// changed settings without a restart. A busy process is released when it becomes idle.
    async fn renew_if_folder_changed(&self) {
        let core = Arc::clone(&self.core);
        if core.options.trust.is_none() {
            return;
        }
        let Some(cwd) = self.lock().row.cwd.clone() else { return };
        let look = move || trusted_seal(&core.options.home, &core.options.trust, Path::new(&cwd));
        let now = tokio::task::spawn_blocking(look).await.unwrap_or_default();
        let outdated = {
            let mut state = self.lock();
            let before = std::mem::replace(&mut state.trusted, now);
            let is_other = before != state.trusted;
            state.session.clone().filter(|_| is_other).inspect(|_| state.is_stale = true)
        };
        if let Some(session) = outdated {
            // A session that is over has no process.
            let _ = session.session().close_if_idle().await;
        }
    }

    fn check_budget(&self) -> Result<(), SessionError> {
        let state = self.lock();
        if summary::is_gone(&state) {
            // The message was accepted while there was a process.
            let error = StartError::Other(HostError::NotKept.to_string());
            return Err(SessionError::NotStarted(Arc::new(error)));
        }
        match (summary::cost(&state), state.kept.spec.max_cost_usd) {
            (Some(spent), Some(limit)) if spent >= limit => {
                Err(SessionError::BudgetExhausted { spent, limit })
            }
            _ => Ok(()),
        }
    }

    /// The session that talks to the CLI, created if there is none.
    pub(crate) fn session(&self) -> Pooled {
        let options = {
            let mut state = self.lock();
            if let Some(session) = &state.session {
                return session.clone();
            }
            self.next_options(&mut state)
        };
        self.core.pool.session(self.id.as_str(), options)
    }

    /// A session that begins at this point of the conversation. The one before has ended.
    pub(crate) fn session_at(&self, point: &RewindPoint) -> Pooled {
        let mut options = self.next_options(&mut self.lock());
        options.origin = origin_at(Some(point));
        self.core.pool.session(self.id.as_str(), options)
    }

    fn next_options(&self, state: &mut State) -> SessionOptions {
        (state.is_stale, state.needs_other_process) = (false, false);
        if let Some(policy) = self.core.policy.get() {
            let kept = &mut state.kept;
            policy.narrow(&kept.origin, &mut kept.spec);
        }
        self.session_options(state)
    }

    fn session_options(&self, state: &State) -> SessionOptions {
        let settings = settings(self, state);
        let host = &self.core.options;
        let mut options = (host.recipe)(&settings);
        let kept = settings.kept;
        options.cwd = Some(settings.cwd);
        complete(&mut options, host);
        if host.spares > 0 {
            options.spares = Some(self.core.spares.clone());
        }
        let inherited = kept.inherited_usd.unwrap_or(0.0);
        let own = SessionSpec {
            model: settings.model,
            max_cost_usd: kept.spec.max_cost_usd.map(|limit| limit + inherited),
            ..kept.spec
        };
        options.spec = own.with_defaults(std::mem::take(&mut options.spec));
        options.origin = match (summary::cli_session(state), kept.fork_of, kept.fork_at) {
            (Some(id), _, _) => Origin::Resume(CliSessionId::from(id.as_str())),
            (None, Some(id), Some(line)) => Origin::ForkAt { session: CliSessionId::from(id.as_str()), line },
            (None, Some(id), None) => Origin::Fork(CliSessionId::from(id.as_str())),
            // A recipe may name the session that it begins.
            (None, None, _) => options.origin,
        };
        if let Some(point) = state.log.rewound() {
            options.origin = origin_at(point);
        }
        options.shared_fold = Some(self.recorder.fold());
        let own = kept.ask_timeout_s.map(|seconds| Duration::from_secs(seconds.into()));
        options.limits.answer = [options.limits.answer, host.ask_timeout, own].into_iter().flatten().min();
        options.observer = Some(Box::new(Scribe::new(Arc::clone(&self.recorder))));
        if !kept.client_tools.is_empty() {
            // The client that offers a tool decides what it does, so no permission is needed.
            options.spec.allowed_tools.push(format!("mcp__{SERVER}"));
            let server = ClientToolServer::new(kept.client_tools, self);
            options = options.mcp_server(SERVER, move || server.clone());
        }
        options
    }

    /// The answer to a message has arrived, or never will.
    async fn answered(&self, id: &MessageId, error: Option<SessionError>, money: Option<SetAside>) {
        // The output of the process is shown a moment after the answer arrives.
        let is_final = self.until(|state| {
            let record = state.log.messages.get(id);
            record.is_none_or(|record| record.state.is_final()).then_some(())
        });
        let mut is_final = tokio::time::timeout(LAST_OUTPUT_WITHIN, is_final).await.is_ok();
        if !is_final {
            // With a lot to show, its outcome may only not be shown yet.
            let _ = self.recorder.recorded(Vec::new(), SessionUpdate::default()).await;
            let state = self.lock();
            let record = state.log.messages.get(id);
            is_final = record.is_none_or(|record| record.state.is_final());
        }
        if let Some(error) = &error {
            self.failed(id, &summary::failure_by(error)).await;
        }
        if !is_final {
            // Its outcome was not reported, and never will be.
            let why = error.map_or_else(
                || "the CLI did not report what happened to the message".to_owned(),
                |error| error.to_string(),
            );
            let lost = HostEvent::MessageFailed { message: id.clone(), error: why };
            let _ = self.recorder.recorded(vec![Item::Host(lost)], SessionUpdate::default()).await;
        }
        if let Some(money) = money {
            self.settle(id, money).await;
        }
        self.lock().log.messages.set_in_flight(id, false);
        self.core.freed.notify_waiters();
        self.refresh();
        self.kick();
    }

    /// Records that a message cannot be sent to the CLI.
    pub(crate) async fn refuse(&self, id: &MessageId, refusal: &Refusal) {
        let failure = refusal.failure();
        let event = match failure.kind {
            FailureKind::Cancelled | FailureKind::Stopped | FailureKind::Interrupted => {
                HostEvent::MessageCancelled { message: id.clone() }
            }
            _ => HostEvent::MessageFailed { message: id.clone(), error: failure.message.clone() },
        };
        self.failed(id, &failure).await;
        // If the log does not take it, the session has failed and all callers are told.
        let _ = self.recorder.recorded(vec![Item::Host(event)], SessionUpdate::default()).await;
        self.lock().log.messages.unclaim(id);
        self.refresh();
    }

    async fn failed(&self, id: &MessageId, failure: &Failure) {
        self.lock().log.messages.failed(id, failure);
        // A stop or a cancellation is not a failure of the session.
        if !matches!(failure.kind, FailureKind::Stopped | FailureKind::Cancelled) {
            let note = Note::Failed { message_id: Some(id.clone()), failure: failure.clone() };
            let _ = self.recorder.recorded(vec![Item::Note(note)], SessionUpdate::default()).await;
        }
    }
}

/// Where a process begins that continues a conversation from an earlier point.
fn origin_at(point: Option<&RewindPoint>) -> Origin {
    point.map_or(Origin::New, |point| Origin::ForkAt {
        session: point.session.clone(),
        line: point.line.clone(),
    })
}

/// Adds what sessions of this host have in common to what the recipe says.
fn complete(options: &mut SessionOptions, host: &HostOptions) {
    // Viewers see what sub-agents say.
    options.subagent_text = true;
    options.folder.roots.clone_from(&host.roots);
    if let (FolderTrust::LeaveOut, Some(file)) = (&options.folder.trust, &host.trust) {
        options.folder.trust = FolderTrust::Remembered(Arc::clone(file));
    }
    options.state_directory = options.state_directory.take().or_else(|| host.state_directory.clone());
    if options.handler.is_none() {
        options.handler = Some(Arc::new(LeaveOpen));
    }
}

/// Starts CLIs for the first new sessions, which the recipe makes for a folder of the host.
pub(crate) fn prepare_spares(core: &Core) {
    let host = &core.options;
    let Some(folder) = host.roots.first().filter(|_| host.spares > 0) else { return };
    let settings = SessionSettings {
        id: SessionId::random(),
        key: None,
        cwd: folder.clone(),
        model: None,
        kept: KeptSettings::default(),
    };
    let mut options = (host.recipe)(&settings);
    options.cwd = Some(folder.clone());
    complete(&mut options, host);
    options.spares = Some(core.spares.clone());
    core.spares.prepare(options);
}

/// The settings of a session.
pub(crate) fn settings(live: &LiveSession, state: &State) -> SessionSettings {
    SessionSettings {
        id: live.id.clone(),
        key: state.row.key.clone(),
        cwd: state.row.cwd.clone().unwrap_or_default().into(),
        model: state.row.model.clone().filter(|model| !model.is_empty()),
        kept: state.kept.clone(),
    }
}

/// Whether a running turn is given time to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    Usual,
    None,
}

/// Ends the process of a session. Messages that wait are given to another one.
pub(crate) async fn end_process(live: &Lease) {
    let stopping = Stopping::begin(live);
    stop_session(live, Patience::Usual).await;
    drop(stopping);
}

async fn stop_session(live: &Lease, patience: Patience) {
    let session = live.lock().session.clone();
    if let Some(session) = session {
        match patience {
            Patience::Usual => session.session().stop().await,
            Patience::None => session.session().kill().await,
        }
        live.core.pool.remove(session.key()).await;
        live.lock().session.take_if(|current| current.session().is_over());
        live.core.freed.notify_waiters();
    }
}

/// Which queued messages a stop cancels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cancels {
    /// Those that were accepted before it began. Later ones are meant for the next process.
    Earlier,
    /// Those that are accepted while it lasts, too: there is no next process.
    All,
}

/// Stops a session and cancels its queued messages. When this returns, no process is left, and none is started before
/// the returned value is dropped.
pub(crate) async fn stop(
    live: &Lease,
    patience: Patience,
    cancels: Cancels,
) -> Result<Stopping<'_>, HostError> {
    let stopping = Stopping::begin(live);
    let earlier = async {
        // What was accepted before is in the log and known now. If the log fails, nothing is sent any more.
        let _ = live.recorder.recorded(Vec::new(), SessionUpdate::default()).await;
        live.lock().log.messages.queued_ids()
    };
    let (earlier, ()) = tokio::join!(earlier, stop_session(live, patience));
    // Once the worker has ended, no message is about to be sent.
    let claim = |state: &mut State| {
        (!state.is_working).then(|| match cancels {
            Cancels::Earlier => state.log.messages.claim_these(&earlier),
            Cancels::All => state.log.messages.claim_all(),
        })
    };
    let waiting = live.until(claim).await?;
    if !waiting.is_empty() {
        let cancelled = |id: &MessageId| Item::Host(HostEvent::MessageCancelled { message: id.clone() });
        let cancelled = waiting.iter().map(cancelled).collect();
        let recorded = live.recorder.recorded(cancelled, SessionUpdate::default()).await;
        let mut state = live.lock();
        for id in &waiting {
            state.log.messages.unclaim(id);
        }
        drop(state);
        recorded?;
    }
    // The last output is in the view before the caller learns that the session has stopped.
    live.until(|state| (!state.log.has_process() && !state.log.messages.is_any_in_flight()).then_some(()))
        .await?;
    Ok(stopping)
}

/// Held while a session is being stopped: no message is sent.
pub(crate) struct Stopping<'a>(&'a Lease);

impl<'a> Stopping<'a> {
    fn begin(live: &'a Lease) -> Self {
        live.lock().stopping += 1;
        let stopping = Self(live);
        live.refresh();
        stopping
    }
}

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.stopping = state.stopping.saturating_sub(1);
        drop(state);
        self.0.refresh();
        self.0.kick();
    }
}
