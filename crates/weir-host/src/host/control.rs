//! Controls a session: interrupt, stop, resume, decisions, settings.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;
use weir_process::{LogPaths, Version};
use weir_session::{Decision, Effort, SessionError};
use weir_store::{SessionId, SessionUpdate};
use weir_transcript::{HostEvent, RequestState, View};
use weir_wire::{MessageId, RequestId, TaskId};

use super::Host;
use crate::core::Lease;
use crate::error::HostError;
use crate::info::{SessionInfo, SessionStatus};
use crate::item::{Item, Note};
use crate::live_session::LiveSession;
use crate::log_state::STOP;
use crate::message::{MessageMode, StoredMessage};
use crate::message_queue::Record;
use crate::pages::ResumeReport;
use crate::settings::{Actor, check_word};
use crate::summary;
use crate::work::{self, Patience};

/// How long to wait for the end of a message to be recorded after the CLI has confirmed an interrupt.
const SETTLES_WITHIN: Duration = Duration::from_secs(2);

impl Host {
    /// Ends the current turn: the running one, or else the next one, whose message is withdrawn wherever it is on
    /// its way to the CLI. Messages queued behind it stay. Returns whether there was a turn to end.
    ///
    /// # Errors
    /// If there is no such session, or the CLI does not react.
    pub async fn interrupt(&self, id: &SessionId, by: &Actor) -> Result<bool, HostError> {
        let Some(live) = self.live_if_present(id).await? else { return Ok(false) };
        let (session, on_their_way, next) = {
            let mut state = live.lock();
            let on_their_way = state.log.messages.interrupt();
            let has_turn = !on_their_way.is_empty() || state.view.status.is_in_turn();
            let next = if has_turn { None } else { state.log.messages.claim_first() };
            (state.session.clone(), on_their_way, next)
        };
        let is_on_its_way = !on_their_way.is_empty();
        if session.is_none() && !is_on_its_way && next.is_none() {
            return Ok(false);
        }
        live.note("interrupt", by);
        live.refresh();
        if let Some(next) = next {
            // It is still queued here: no task has begun to send it to the CLI.
            live.refuse(&next, &SessionError::Interrupted.into()).await;
            return Ok(true);
        }
        let was_running = match session {
            None => false,
            Some(session) => match session.session().interrupt().await {
                Ok(was_running) => was_running,
                Err(SessionError::Stopped | SessionError::NotRunning) => false,
                Err(error) => return Err(error.into()),
            },
        };
        // After this call, the message must no longer be reported as running.
        let settled = live.until(|state| {
            let is_over = |id: &MessageId| state.log.messages.get(id).is_none_or(Record::is_over);
            on_their_way.iter().all(is_over).then_some(())
        });
        let _settled_or_not_yet = tokio::time::timeout(SETTLES_WITHIN, settled).await;
        Ok(was_running || is_on_its_way)
    }

    /// Waits until nothing of the session is running, not even in the background. Cancel safe.
    ///
    /// # Errors
    /// If there is no such session, or its log fails.
    pub async fn settled(&self, id: &SessionId) -> Result<(), HostError> {
        let Some(live) = self.live_if_present(id).await? else { return Ok(()) };
        let session = live.lock().session.clone();
        if let Some(session) = session {
            // An error means that the session is over.
            let _ = session.session().settled().await;
            // What the session knows is published a moment later.
            live.recorder.recorded(Vec::new(), SessionUpdate::default()).await?;
        }
        live.until(|state| (!summary::info(state).status.is_busy()).then_some(())).await
    }

    /// The raw logs of the session's process, or of its last one. None if it keeps none, or has been released from
    /// memory since.
    ///
    /// # Errors
    /// If there is no such session.
    pub async fn raw_logs(&self, id: &SessionId) -> Result<Option<LogPaths>, HostError> {
        let Some(live) = self.live_if_present(id).await? else { return Ok(None) };
        let session = live.lock().session.clone();
        if let Some(session) = session
            && let Ok(facts) = session.session().facts().await
        {
            return Ok(facts.logs);
        }
        let state = live.lock();
        Ok(state.raw_logs.clone())
    }

    /// Stops one background task, and nothing else.
    ///
    /// # Errors
    /// If there is no such session, no such task runs, or the CLI cannot end a single task.
    pub async fn stop_task(&self, id: &SessionId, task: &TaskId, by: &Actor) -> Result<(), HostError> {
        let no_such_task = || HostError::NoSuchTask(task.to_string());
        let live = self.live_if_present(id).await?.ok_or_else(no_such_task)?;
        let session = {
            let state = live.lock();
            let is_known = state.view.has_running_task(task) || !reports_tasks(&state.view);
            state.session.clone().filter(|_| is_known).ok_or_else(no_such_task)?
        };
        live.note("stop task", by);
        match session.session().stop_task(task).await {
            Err(SessionError::Stopped | SessionError::NotRunning) => Err(no_such_task()),
            Err(SessionError::Refused { .. }) if !live.lock().view.has_running_task(task) => {
                Err(no_such_task())
            }
            stopped => Ok(stopped?),
        }
    }

    /// Stops a session and cancels its queued messages. When this returns, no process is left, unless a message was
    /// accepted meanwhile: it is for the next process, which is then started.
    ///
    /// # Errors
    /// If there is no such session, or the log cannot be written.
    pub async fn stop(&self, id: &SessionId, by: &Actor) -> Result<(), HostError> {
        self.end(id, by, Patience::Usual).await
    }

    /// Like [`Host::stop`], but kills the process at once, even while a stop is in progress.
    ///
    /// # Errors
    /// If there is no such session, or the log cannot be written.
    pub async fn kill(&self, id: &SessionId, by: &Actor) -> Result<(), HostError> {
        self.end(id, by, Patience::None).await
    }

    async fn end(&self, id: &SessionId, by: &Actor, patience: Patience) -> Result<(), HostError> {
        let live = self.live(id).await?;
        let by = by.name.clone();
        self.to_the_end(async move {
            let _stopping = work::stop(&live, patience, work::Cancels::Earlier).await?;
            let note = Note::Control { action: STOP.to_owned(), by };
            live.recorder.recorded(vec![Item::Note(note)], SessionUpdate::default()).await.map(drop)
        })
        .await
    }

    /// Resumes after a restart: held messages are sent, and if a turn was interrupted, the agent is told to continue.
    ///
    /// # Errors
    /// If there is nothing to resume.
    pub async fn resume(&self, id: &SessionId, by: &Actor) -> Result<ResumeReport, HostError> {
        self.continue_session(id, by, true).await
    }

    /// Sends the messages that were held after a restart. An interrupted turn is not continued.
    ///
    /// # Errors
    /// If there is nothing to resume.
    pub async fn release(&self, id: &SessionId, by: &Actor) -> Result<ResumeReport, HostError> {
        self.continue_session(id, by, false).await
    }

    async fn continue_session(
        &self,
        id: &SessionId,
        by: &Actor,
        with_turn: bool,
    ) -> Result<ResumeReport, HostError> {
        self.check_open()?;
        let live = self.live(id).await?;
        let (recording, report) = {
            let mut state = live.lock();
            let turn = state.log.restarted().ok_or(HostError::NothingToResume)?;
            if state.row.archived {
                return Err(HostError::Archived);
            }
            let held = state.log.messages.queued().filter(|record| record.held).count();
            let mut report =
                ResumeReport { message_id: None, released: u32::try_from(held).unwrap_or(u32::MAX) };
            let mut items = vec![Item::Note(Note::Resumed { by: by.name.clone() })];
            if turn && with_turn {
                let message_id = MessageId::new(Uuid::new_v4().to_string());
                report.message_id = Some(message_id.clone());
                items.push(Item::Host(HostEvent::MessageComposed { message: message_id.clone() }));
                items.push(Item::Message(Arc::new(StoredMessage {
                    message_id,
                    client_id: None,
                    by: by.name.clone(),
                    account: by.account.clone(),
                    mode: MessageMode::Queue,
                    goes_first: true,
                    text: self.core.options.resume_prompt.clone(),
                    images: Vec::new(),
                    documents: Vec::new(),
                    links: Vec::new(),
                    files: Vec::new(),
                    command: None,
                })));
            }
            // A concurrent second call finds nothing to resume.
            state.log.resuming();
            SessionStatus::Starting.as_str().clone_into(&mut state.row.status);
            (live.recorder.record(items, LiveSession::status_update(SessionStatus::Starting)), report)
        };
        recording.await.unwrap_or_else(|_| Err(live.recorder.failure()))?;
        Ok(report)
    }

    /// Answers a permission request or a question. The first answer counts; later callers are told who answered.
    ///
    /// # Errors
    /// If the request was already answered, does not exist, or the answer does not fit.
    pub async fn answer(
        &self,
        id: &SessionId,
        request: &RequestId,
        decision: Decision,
        by: &Actor,
    ) -> Result<(), HostError> {
        let live = self.live(id).await?;
        let session = live.lock().session.clone();
        let mode = mode_of(&decision);
        let answered = match session {
            Some(session) => session.session().answer(request, decision, Some(by.name.clone())).await,
            None => Err(SessionError::NoSuchRequest),
        };
        match answered {
            Ok(()) => {
                // The next process is started with the chosen mode.
                if mode.is_some() {
                    live.lock().kept.spec.permission_mode = mode;
                    live.note("permission_mode", by);
                    live.refresh();
                }
                Ok(())
            }
            // The request may come from an earlier process.
            Err(SessionError::NoSuchRequest | SessionError::Stopped) => {
                let state = live.lock();
                Err(match state.view.request(request).map(|request| &request.state) {
                    Some(RequestState::Allowed { by, .. } | RequestState::Denied { by, .. }) => {
                        HostError::AlreadyAnswered { by: by.clone() }
                    }
                    _ => HostError::NoSuchRequest,
                })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Switches to another model, from the next API request on; none for the default.
    ///
    /// # Errors
    /// If the CLI does not know the model.
    pub async fn set_model(
        &self,
        id: &SessionId,
        model: Option<String>,
        by: &Actor,
    ) -> Result<SessionInfo, HostError> {
        check_word("model", model.as_deref())?;
        if let Some(live) = self.live_if_present(id).await? {
            let session = live.lock().session.clone();
            if let Some(session) = session {
                unless_absent(session.session().set_model(model.clone()).await)?;
            }
            live.lock().is_stale = true;
            live.note("model", by);
        }
        // The store cannot remove a model; an empty string means none.
        let update = SessionUpdate { model: Some(model.unwrap_or_default()), ..Default::default() };
        self.change(id, update).await
    }

    /// Sets how thoroughly the model works, from the next turn on; none for the CLI's default. The process is replaced
    /// as soon as nothing runs in it.
    ///
    /// # Errors
    /// If there is no such session, or another process would know nothing of what was said.
    pub async fn set_effort(
        &self,
        id: &SessionId,
        effort: Option<Effort>,
        by: &Actor,
    ) -> Result<SessionInfo, HostError> {
        let live = self.live(id).await?;
        {
            let mut state = live.lock();
            let is_other = state.kept.spec.effort != effort;
            if is_other && state.kept.spec.no_session_persistence && !state.view.turns.is_empty() {
                return Err(HostError::NotKept);
            }
            state.needs_other_process |= is_other;
            state.kept.spec.effort = effort;
        }
        live.note("effort", by);
        live.refresh();
        live.kick();
        Ok(SessionInfo::clone(&live.info()))
    }

    /// Switches to another permission mode.
    ///
    /// # Errors
    /// If the CLI does not know the mode.
    pub async fn set_permission_mode(
        &self,
        id: &SessionId,
        mode: String,
        by: &Actor,
    ) -> Result<SessionInfo, HostError> {
        check_word("permission_mode", Some(&mode))?;
        let live = self.live(id).await?;
        let session = live.lock().session.clone();
        if let Some(session) = session {
            unless_absent(session.session().set_permission_mode(mode.clone()).await)?;
        }
        {
            let mut state = live.lock();
            state.is_stale = true;
            state.kept.spec.permission_mode = Some(mode);
        }
        live.note("permission_mode", by);
        live.refresh();
        Ok(SessionInfo::clone(&live.info()))
    }

    /// The session if it is in memory; an error if it does not exist at all.
    async fn live_if_present(&self, id: &SessionId) -> Result<Option<Lease>, HostError> {
        match self.core.present(id) {
            Some(live) => Ok(Some(live)),
            None => self.row(id).await.map(|_| None),
        }
    }
}

/// Whether this version of the CLI reports what runs in the background. It then claims to have stopped any task that it is
/// asked to, and older ones refuse what they do not have.
fn reports_tasks(view: &View) -> bool {
    let version = view.session.version.as_deref().and_then(Version::parse);
    version.is_some_and(|version| version >= Version::new(2, 1, 197))
}

/// The permission mode that a decision sets; the last one counts.
fn mode_of(decision: &Decision) -> Option<String> {
    let Decision::Allow { remember, .. } = decision else { return None };
    remember.iter().filter_map(weir_wire::PermissionUpdate::mode).next_back().map(str::to_owned)
}

/// Ignores that no process is running: the next one is started with the new setting.
fn unless_absent(told: Result<(), SessionError>) -> Result<(), HostError> {
    match told {
        Ok(()) | Err(SessionError::NotRunning | SessionError::Stopped) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

impl LiveSession {
    /// Records who did something. Does not wait for the write.
    pub(super) fn note(&self, action: &str, by: &Actor) {
        let note = Note::Control { action: action.to_owned(), by: by.name.clone() };
        drop(self.recorder.record(vec![Item::Note(note)], SessionUpdate::default()));
    }
}
