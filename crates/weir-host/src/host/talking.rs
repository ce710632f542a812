//! Talking to a session: messages, answers, interrupt, stop, resume, settings.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use uuid::Uuid;
use weir_session::{Decision, SessionError};
use weir_store::{ConversationId, ConversationUpdate};
use weir_transcript::{HostEvent, RequestState};
use weir_wire::{MessageId, RequestId, TaskId, slash_command};

use super::Host;
use crate::attached;
use crate::book::{STOP, is_turn_running};
use crate::core::Lease;
use crate::error::HostError;
use crate::facts;
use crate::info::{SessionInfo, SessionStatus};
use crate::item::{Item, Note};
use crate::ledger::Record;
use crate::message::{
    Accepted, Finished, MessageInfo, MessageMode, MessageState, NewMessage, PICTURES, StoredMessage,
};
use crate::metrics::count;
use crate::pages::ResumeReport;
use crate::room::{Room, State};
use crate::settings::{Actor, check_word};
use crate::work::Patience;
use crate::{past, work};

/// Maximum length of a client id, in bytes.
const MAX_CLIENT_ID_LENGTH: usize = 256;
/// Suggested delay before a caller tries again.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// How long to wait for the end of a message to be recorded after the CLI has confirmed an interrupt.
const SETTLES_WITHIN: Duration = Duration::from_secs(2);

impl Host {
    /// Accepts a message: it is in the log when this returns. The same client id gives the same message.
    ///
    /// A message also releases the messages held after a restart.
    ///
    /// # Errors
    /// If the message is invalid, too many are queued, or the budget is spent.
    pub async fn send(
        &self,
        id: &ConversationId,
        message: NewMessage,
        by: &Actor,
    ) -> Result<Accepted, HostError> {
        self.accept(id, message, by).await.map(|(accepted, _)| accepted)
    }

    /// Accepts a message, and returns its number in the log.
    pub(super) async fn accept(
        &self,
        id: &ConversationId,
        message: NewMessage,
        by: &Actor,
    ) -> Result<(Accepted, u64), HostError> {
        self.check_open()?;
        let files = message.files.clone();
        let is_named = message.client_id.is_some();
        let mut message = self.checked(message, by)?;
        let room = self.room(id).await?;
        // Checked first, because the other checks may fail by now: a file may be gone, the queue may be full.
        if let Some(client_id) = message.client_id.clone().filter(|_| is_named)
            && let Some(seq) = self.core.options.store.by_client(id.clone(), client_id).await?
        {
            return Ok((self.accepted_before(&room, id, &message, &files, seq).await?, seq));
        }
        if !files.is_empty() {
            let folder = self.folder_of(&room).await?;
            let names = files.clone();
            message.files = self.blocking(move |_| attached::read(&folder, &names)).await?;
            self.check_size(&message)?;
        }
        let message = Arc::new(message);
        let message_id = message.message_id.clone();
        let recording = {
            let mut state = room.lock();
            self.check_room(&state, &message)?;
            let status = facts::info(&state).status;
            let status = if status.is_busy() { status } else { SessionStatus::Starting };
            // In the same write: after a kill, the session must not look idle while it has a message.
            status.as_str().clone_into(&mut state.row.status);
            room.recorder.record(vec![Item::Message(message.clone())], Room::status_update(status))
        };
        let done = recording.await.unwrap_or_else(|_| Err(room.recorder.failure()))?;
        if !done.new {
            let accepted = self.accepted_before(&room, id, &message, &files, done.seq).await?;
            return Ok((accepted, done.seq));
        }
        count(&self.core.counters.messages, 1);
        let state = room.lock();
        let state = state.book.ledger.get(&message_id).map_or(MessageState::Queued, |record| record.state);
        Ok((Accepted { message_id, state, duplicate: false, differs: false }, done.seq))
    }

    fn checked(&self, message: NewMessage, by: &Actor) -> Result<StoredMessage, HostError> {
        let invalid = |reason: &str| Err(HostError::Invalid(reason.to_owned()));
        let text = match &message.command {
            None => message.text,
            Some(_)
                if !message.text.is_empty() || !message.images.is_empty() || !message.files.is_empty() =>
            {
                return invalid("a command must not have a text, pictures or files");
            }
            Some(command) => match slash_command(&command.name, &command.arguments) {
                Some(_) => format!("/{} {}", command.name, command.arguments).trim_end().to_owned(),
                None => return invalid("the name of a command may only have letters, digits, and - _ :"),
            },
        };
        if text.trim().is_empty() && message.images.is_empty() {
            return invalid("a message needs a text or a picture");
        }
        if message.client_id.as_ref().is_some_and(|id| id.is_empty() || id.len() > MAX_CLIENT_ID_LENGTH) {
            return invalid("the client id must have 1 to 256 bytes");
        }
        if message.images.iter().any(|image| !PICTURES.contains(&image.media_type.as_str())) {
            return invalid("a picture must be a PNG, JPEG, GIF or WebP");
        }
        if message.images.iter().any(|image| image.data.is_empty()) {
            return invalid("a picture must not be empty");
        }
        let message = StoredMessage {
            message_id: MessageId::new(Uuid::new_v4().to_string()),
            client_id: Some(message.client_id.unwrap_or_else(|| Uuid::new_v4().to_string())),
            by: by.name.clone(),
            account: by.account.clone(),
            mode: message.mode,
            goes_first: false,
            text,
            images: message.images,
            files: Vec::new(),
            command: message.command,
        };
        self.check_size(&message)?;
        Ok(message)
    }

    fn check_size(&self, message: &StoredMessage) -> Result<(), HostError> {
        let max = self.core.options.max_message_bytes;
        if message.size() > max {
            return Err(HostError::Invalid(format!("a message may have at most {max} bytes")));
        }
        Ok(())
    }

    /// The folder of a session as it is now, which must still be inside a root.
    async fn folder_of(&self, room: &Lease) -> Result<PathBuf, HostError> {
        let cwd = room.lock().row.cwd.clone().unwrap_or_default();
        self.allowed_folder(&cwd).await
    }

    /// Files in a session's folder whose path contains `query`, to be sent with a message.
    ///
    /// # Errors
    /// If there is no such session, or its folder is no longer allowed.
    pub async fn find_files(&self, id: &ConversationId, query: &str) -> Result<Vec<String>, HostError> {
        let room = self.room(id).await?;
        let (folder, query) = (self.folder_of(&room).await?, query.to_owned());
        self.blocking(move |_| Ok(attached::find(&folder, &query))).await
    }

    fn check_room(&self, state: &State, message: &StoredMessage) -> Result<(), HostError> {
        if let Some(error) = &state.failed {
            return Err(error.clone());
        }
        // A message that is sent again is not new, whatever has happened to the session since.
        let is_known =
            state.book.ledger.records().any(|record| record.message.client_id == message.client_id);
        if is_known {
            return Ok(());
        }
        if state.row.archived {
            return Err(HostError::Archived);
        }
        if facts::is_gone(state) {
            return Err(HostError::NotKept);
        }
        let max = self.core.options.max_queued;
        if state.book.ledger.queued().count() >= max {
            return Err(HostError::QueueFull { max });
        }
        if let (Some(spent), Some(limit)) = (facts::cost(state), state.kept.max_cost_usd)
            && spent >= limit
        {
            return Err(HostError::BudgetExhausted { spent, limit });
        }
        let waiting = self.core.counters.waiting_for_process.load(Ordering::Relaxed);
        if state.session.is_none() && waiting >= self.core.options.max_waiting as u64 {
            return Err(HostError::Busy { retry_after: RETRY_AFTER });
        }
        Ok(())
    }

    /// The state of a message that was accepted before.
    async fn accepted_before(
        &self,
        room: &Lease,
        id: &ConversationId,
        message: &StoredMessage,
        files: &[String],
        seq: u64,
    ) -> Result<Accepted, HostError> {
        // The log has the whole message; the list of messages may have only a part.
        let logged = self.core.options.store.event(id.clone(), seq).await?.and_then(Item::of);
        let differs = match logged {
            Some(Item::Message(logged)) => {
                logged.text != message.text
                    || logged.images != message.images
                    || logged.command != message.command
                    || !logged.files.iter().map(|file| &file.path).eq(files)
            }
            _ => true,
        };
        let known = {
            let state = room.lock();
            state.book.ledger.by_seq(seq).map(|record| (record.message.message_id.clone(), record.state))
        };
        let (message_id, state) = match known {
            Some(known) => known,
            None => {
                let id = id.clone();
                let past = self.blocking(move |core| past::by_seq(core, &id, seq)).await?;
                (past.message_id, past.state)
            }
        };
        Ok(Accepted { message_id, state, duplicate: true, differs })
    }

    /// The newest messages of a session, oldest first, and all queued ones.
    ///
    /// # Errors
    /// If there is no such session.
    pub async fn messages(
        &self,
        id: &ConversationId,
        state: Option<MessageState>,
    ) -> Result<Vec<MessageInfo>, HostError> {
        let room = self.room(id).await?;
        let room_state = room.lock();
        let all = room_state.book.ledger.records();
        let wanted = all.filter(|record| state.is_none_or(|wanted| record.state == wanted));
        Ok(wanted.map(Record::info).collect())
    }

    /// Cancels a message.
    ///
    /// # Errors
    /// If there is no such message, or it is too late.
    pub async fn cancel_message(
        &self,
        id: &ConversationId,
        message: &MessageId,
        by: &Actor,
    ) -> Result<(), HostError> {
        let room = self.room(id).await?;
        let (message, by) = (message.clone(), by.name.clone());
        self.to_the_end(async move {
            let (is_ours, session) = {
                let mut state = room.lock();
                let record = state.book.ledger.get(&message).ok_or(HostError::NoSuchMessage)?;
                if record.state.is_final() {
                    return Err(HostError::NotCancellable { state: record.state.as_str() });
                }
                (state.book.ledger.claim(&message), state.session.clone())
            };
            if is_ours {
                let items = vec![
                    Item::Host(HostEvent::MessageCancelled { message: message.clone() }),
                    Item::Note(Note::Control { action: "cancel".to_owned(), by }),
                ];
                let recorded = room.recorder.recorded(items, ConversationUpdate::default()).await;
                room.lock().book.ledger.unclaim(&message);
                room.refresh();
                return recorded.map(drop);
            }
            if room.lock().book.ledger.reject(&message) {
                room.changed();
                let is_decided = room.until(|state| {
                    let record = state.book.ledger.get(&message)?;
                    (record.state.is_final() || record.in_flight).then_some(record.state)
                });
                if is_decided.await? == MessageState::Cancelled {
                    return Ok(());
                }
            }
            let session = room.lock().session.clone().or(session);
            let session = session.ok_or(HostError::NotCancellable { state: "being sent" })?;
            session.session().cancel(&message).await?;
            Ok(())
        })
        .await
    }

    /// Waits for the end of the turn that answers a message. Cancel safe, and may be called again.
    ///
    /// # Errors
    /// If there is no such message, or the log cannot be read.
    pub async fn finished(&self, id: &ConversationId, message: &MessageId) -> Result<Finished, HostError> {
        let room = self.room(id).await?;
        let is_known = room.lock().book.ledger.get(message).is_some();
        if is_known {
            let finished = room.until(|state| {
                let is_over = state.book.ledger.get(message).is_none_or(Record::is_over);
                is_over.then(|| facts::finished(state, message))
            });
            if let Some(finished) = finished.await? {
                return Ok(finished);
            }
        }
        drop(room);
        let (id, message) = (id.clone(), message.clone());
        self.blocking(move |core| past::by_id(core, &id, &message)).await
    }

    /// Ends the current turn: the running one, or else the next one, whose message is withdrawn wherever it is on
    /// its way to the CLI. Messages queued behind it stay. Returns whether there was a turn to end.
    ///
    /// # Errors
    /// If there is no such session, or the CLI does not react.
    pub async fn interrupt(&self, id: &ConversationId, by: &Actor) -> Result<bool, HostError> {
        let Some(room) = self.live(id).await? else { return Ok(false) };
        let (session, on_their_way, next) = {
            let mut state = room.lock();
            let on_their_way = state.book.ledger.interrupt();
            let has_turn = !on_their_way.is_empty() || is_turn_running(&state.view);
            let next = if has_turn { None } else { state.book.ledger.claim_first() };
            (state.session.clone(), on_their_way, next)
        };
        let is_on_its_way = !on_their_way.is_empty();
        if session.is_none() && !is_on_its_way && next.is_none() {
            return Ok(false);
        }
        room.note("interrupt", by);
        room.refresh();
        if let Some(next) = next {
            // It is still queued here: no task has begun to send it to the CLI.
            room.refuse(&next, &SessionError::Interrupted.into()).await;
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
        let settled = room.until(|state| {
            let is_over = |id: &MessageId| state.book.ledger.get(id).is_none_or(Record::is_over);
            on_their_way.iter().all(is_over).then_some(())
        });
        let _settled_or_not_yet = tokio::time::timeout(SETTLES_WITHIN, settled).await;
        Ok(was_running || is_on_its_way)
    }

    /// Stops one background task, and nothing else.
    ///
    /// # Errors
    /// If there is no such session, no such task runs, or the CLI cannot end a single task.
    pub async fn stop_task(&self, id: &ConversationId, task: &TaskId, by: &Actor) -> Result<(), HostError> {
        let session = match self.live(id).await? {
            Some(room) => {
                let session = room.lock().session.clone();
                session.inspect(|_| room.note("stop task", by))
            }
            None => None,
        };
        let session = session.ok_or(SessionError::NotRunning)?;
        Ok(session.session().stop_task(task).await?)
    }

    /// Stops a session and cancels its queued messages. When this returns, no process is left.
    ///
    /// # Errors
    /// If there is no such session, or the log cannot be written.
    pub async fn stop(&self, id: &ConversationId, by: &Actor) -> Result<(), HostError> {
        self.end(id, by, Patience::Usual).await
    }

    /// Like [`Host::stop`], but kills the process at once, even while a stop is in progress.
    ///
    /// # Errors
    /// If there is no such session, or the log cannot be written.
    pub async fn kill(&self, id: &ConversationId, by: &Actor) -> Result<(), HostError> {
        self.end(id, by, Patience::None).await
    }

    async fn end(&self, id: &ConversationId, by: &Actor, patience: Patience) -> Result<(), HostError> {
        let room = self.room(id).await?;
        let by = by.name.clone();
        self.to_the_end(async move {
            work::stop(&room, patience).await?;
            let note = Note::Control { action: STOP.to_owned(), by };
            room.recorder.recorded(vec![Item::Note(note)], ConversationUpdate::default()).await.map(drop)
        })
        .await
    }

    /// Resumes after a restart: held messages are sent, and if a turn was interrupted, the agent is told to continue.
    ///
    /// # Errors
    /// If there is nothing to resume.
    pub async fn resume(&self, id: &ConversationId, by: &Actor) -> Result<ResumeReport, HostError> {
        self.continue_session(id, by, true).await
    }

    /// Sends the messages that were held after a restart. An interrupted turn is not continued.
    ///
    /// # Errors
    /// If there is nothing to resume.
    pub async fn release(&self, id: &ConversationId, by: &Actor) -> Result<ResumeReport, HostError> {
        self.continue_session(id, by, false).await
    }

    async fn continue_session(
        &self,
        id: &ConversationId,
        by: &Actor,
        with_turn: bool,
    ) -> Result<ResumeReport, HostError> {
        self.check_open()?;
        let room = self.room(id).await?;
        let (recording, report) = {
            let mut state = room.lock();
            let turn = state.book.restarted().ok_or(HostError::NothingToResume)?;
            if state.row.archived {
                return Err(HostError::Archived);
            }
            let held = state.book.ledger.queued().filter(|record| record.held).count();
            let mut report =
                ResumeReport { message_id: None, released: u32::try_from(held).unwrap_or(u32::MAX) };
            let mut items = vec![Item::Note(Note::Resumed { by: by.name.clone() })];
            if turn && with_turn {
                let message_id = MessageId::new(Uuid::new_v4().to_string());
                report.message_id = Some(message_id.clone());
                items.push(Item::Message(Arc::new(StoredMessage {
                    message_id,
                    client_id: None,
                    by: by.name.clone(),
                    account: by.account.clone(),
                    mode: MessageMode::Queue,
                    goes_first: true,
                    text: self.core.options.resume_prompt.clone(),
                    images: Vec::new(),
                    files: Vec::new(),
                    command: None,
                })));
            }
            // A concurrent second call finds nothing to resume.
            state.book.resuming();
            SessionStatus::Starting.as_str().clone_into(&mut state.row.status);
            (room.recorder.record(items, Room::status_update(SessionStatus::Starting)), report)
        };
        recording.await.unwrap_or_else(|_| Err(room.recorder.failure()))?;
        Ok(report)
    }

    /// Answers a permission request or a question. The first answer counts; later callers are told who answered.
    ///
    /// # Errors
    /// If the request was already answered, does not exist, or the answer does not fit.
    pub async fn answer(
        &self,
        id: &ConversationId,
        request: &RequestId,
        decision: Decision,
        by: &Actor,
    ) -> Result<(), HostError> {
        let room = self.room(id).await?;
        let session = room.lock().session.clone();
        let mode = mode_of(&decision);
        let answered = match session {
            Some(session) => session.session().answer(request, decision, Some(by.name.clone())).await,
            None => Err(SessionError::NoSuchRequest),
        };
        match answered {
            Ok(()) => {
                // The next process is started with the chosen mode.
                if mode.is_some() {
                    room.lock().kept.permission_mode = mode;
                    room.note("permission_mode", by);
                    room.refresh();
                }
                Ok(())
            }
            // The request may come from an earlier process.
            Err(SessionError::NoSuchRequest | SessionError::Stopped) => {
                let state = room.lock();
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
        id: &ConversationId,
        model: Option<String>,
        by: &Actor,
    ) -> Result<SessionInfo, HostError> {
        check_word("model", model.as_deref())?;
        if let Some(room) = self.live(id).await? {
            let session = room.lock().session.clone();
            if let Some(session) = session {
                unless_absent(session.session().set_model(model.clone()).await)?;
            }
            room.lock().is_stale = true;
            room.note("model", by);
        }
        // The store cannot remove a model; an empty string means none.
        let update = ConversationUpdate { model: Some(model.unwrap_or_default()), ..Default::default() };
        self.change(id, update).await
    }

    /// Switches to another permission mode.
    ///
    /// # Errors
    /// If the CLI does not know the mode.
    pub async fn set_permission_mode(
        &self,
        id: &ConversationId,
        mode: String,
        by: &Actor,
    ) -> Result<SessionInfo, HostError> {
        check_word("permission_mode", Some(&mode))?;
        let room = self.room(id).await?;
        let session = room.lock().session.clone();
        if let Some(session) = session {
            unless_absent(session.session().set_permission_mode(mode.clone()).await)?;
        }
        {
            let mut state = room.lock();
            state.is_stale = true;
            state.kept.permission_mode = Some(mode);
        }
        room.note("permission_mode", by);
        room.refresh();
        Ok(SessionInfo::clone(&room.info()))
    }

    /// The session if it is in memory; an error if it does not exist at all.
    async fn live(&self, id: &ConversationId) -> Result<Option<Lease>, HostError> {
        match self.core.present(id) {
            Some(room) => Ok(Some(room)),
            None => self.row(id).await.map(|_| None),
        }
    }
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

impl Room {
    /// Records who did something. Does not wait for the write.
    pub(super) fn note(&self, action: &str, by: &Actor) {
        let note = Note::Control { action: action.to_owned(), by: by.name.clone() };
        drop(self.recorder.record(vec![Item::Note(note)], ConversationUpdate::default()));
    }
}
