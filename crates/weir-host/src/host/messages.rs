//! Messages to a session: accepting, listing, cancelling and awaiting them, and finding files to send.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use uuid::Uuid;
use weir_store::{SessionId, SessionUpdate};
use weir_transcript::{HostEvent, MessageState};
use weir_wire::{MessageId, slash_command};

use super::Host;
use crate::attachments;
use crate::core::Lease;
use crate::error::HostError;
use crate::info::SessionStatus;
use crate::item::{Item, Note};
use crate::live_session::{LiveSession, State};
use crate::message::{Accepted, Finished, MessageInfo, MessageMode, NewMessage, StoredMessage};
use crate::message_queue::Record;
use crate::metrics::count;
use crate::past_messages;
use crate::settings::Actor;
use crate::summary;

/// Maximum length of a client id, in bytes.
const MAX_CLIENT_ID_LENGTH: usize = 256;
/// Suggested delay before a caller tries again.
const RETRY_AFTER: Duration = Duration::from_secs(5);

impl Host {
    /// Accepts a message: it is in the log when this returns. The same client id gives the same message.
    ///
    /// A message also releases the messages held after a restart.
    ///
    /// # Errors
    /// If the message is invalid, too many are queued, or the budget is spent.
    pub async fn send(&self, id: &SessionId, message: NewMessage, by: &Actor) -> Result<Accepted, HostError> {
        self.accept(id, message, by).await.map(|(accepted, _)| accepted)
    }

    /// Accepts a message, and returns its number in the log.
    pub(super) async fn accept(
        &self,
        id: &SessionId,
        message: NewMessage,
        by: &Actor,
    ) -> Result<(Accepted, u64), HostError> {
        self.check_open()?;
        let files = message.files.clone();
        let is_named = message.client_id.is_some();
        let mut message = self.checked(message, by)?;
        let live = self.live(id).await?;
        // Checked first, because the other checks may fail by now: a file may be gone, the queue may be full.
        if let Some(client_id) = message.client_id.clone().filter(|_| is_named)
            && let Some(seq) = self.core.options.store.by_client(id.clone(), client_id).await?
        {
            return Ok((self.accepted_before(&live, id, &message, &files, seq).await?, seq));
        }
        if !files.is_empty() {
            let folder = self.folder_of(&live).await?;
            let names = files.clone();
            message.files = self.blocking(move |_| attachments::read(&folder, &names)).await?;
            self.check_size(&message)?;
        }
        let message = Arc::new(message);
        let message_id = message.message_id.clone();
        let recording = {
            let mut state = live.lock();
            self.check_room(&state, &message)?;
            let status = summary::info(&state).status;
            let status = if status.is_busy() { status } else { SessionStatus::Starting };
            // In the same write: after a kill, the session must not look idle while it has a message.
            status.as_str().clone_into(&mut state.row.status);
            live.recorder.record(vec![Item::Message(message.clone())], LiveSession::status_update(status))
        };
        let done = recording.await.unwrap_or_else(|_| Err(live.recorder.failure()))?;
        if !done.new {
            let accepted = self.accepted_before(&live, id, &message, &files, done.seq).await?;
            return Ok((accepted, done.seq));
        }
        count(&self.core.counters.messages, 1);
        let state = live.lock();
        let state = state.log.messages.get(&message_id).map_or(MessageState::Queued, |record| record.state);
        Ok((Accepted { message_id, state, duplicate: false, differs: false }, done.seq))
    }

    fn checked(&self, message: NewMessage, by: &Actor) -> Result<StoredMessage, HostError> {
        let invalid = |reason: &str| Err(HostError::Invalid(reason.to_owned()));
        if let Some(problem) = message.attachment_problem() {
            return invalid(&problem);
        }
        let text = match &message.command {
            None => message.text,
            Some(_) if !message.text.is_empty() || message.has_attachments() => {
                return invalid("a command must not have a text, pictures, documents or files");
            }
            Some(_) if message.mode == MessageMode::Note => return invalid("a command is always answered"),
            Some(command) => match slash_command(&command.name, &command.arguments) {
                Some(_) => format!("/{} {}", command.name, command.arguments).trim_end().to_owned(),
                None => return invalid("the name of a command may only have letters, digits, and - _ :"),
            },
        };
        let has_content =
            !message.images.is_empty() || !message.documents.is_empty() || !message.links.is_empty();
        if text.trim().is_empty() && !has_content {
            return invalid("a message needs a text, a picture or a document");
        }
        if message.client_id.as_ref().is_some_and(|id| id.is_empty() || id.len() > MAX_CLIENT_ID_LENGTH) {
            return invalid("the client id must have 1 to 256 bytes");
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
            documents: message.documents,
            links: message.links,
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
    async fn folder_of(&self, live: &Lease) -> Result<PathBuf, HostError> {
        let cwd = live.lock().row.cwd.clone().unwrap_or_default();
        self.allowed_folder(&cwd).await
    }

    /// Files in a session's folder whose path contains `query`, to be sent with a message.
    ///
    /// # Errors
    /// If there is no such session, or its folder is no longer allowed.
    pub async fn find_files(&self, id: &SessionId, query: &str) -> Result<Vec<String>, HostError> {
        let live = self.live(id).await?;
        let (folder, query) = (self.folder_of(&live).await?, query.to_owned());
        self.blocking(move |_| Ok(attachments::find(&folder, &query))).await
    }

    fn check_room(&self, state: &State, message: &StoredMessage) -> Result<(), HostError> {
        if let Some(error) = &state.failed {
            return Err(error.clone());
        }
        // A message that is sent again is not new, whatever has happened to the session since.
        let is_known =
            state.log.messages.records().any(|record| record.message.client_id == message.client_id);
        if is_known {
            return Ok(());
        }
        if state.row.archived {
            return Err(HostError::Archived);
        }
        if summary::is_gone(state) {
            return Err(HostError::NotKept);
        }
        let max = self.core.options.max_queued;
        if state.log.messages.queued().count() >= max {
            return Err(HostError::QueueFull { max });
        }
        if let (Some(spent), Some(limit)) = (summary::cost(state), state.kept.spec.max_cost_usd)
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
        live: &Lease,
        id: &SessionId,
        message: &StoredMessage,
        files: &[String],
        seq: u64,
    ) -> Result<Accepted, HostError> {
        // The log has the whole message; the list of messages may have only a part.
        let logged = self.core.options.store.event(id.clone(), seq).await?.and_then(Item::of);
        let differs = match logged {
            Some(Item::Message(logged) | Item::OldMessage(logged)) => {
                logged.text != message.text
                    || logged.images != message.images
                    || logged.documents != message.documents
                    || logged.links != message.links
                    || logged.command != message.command
                    || !logged.files.iter().map(|file| &file.path).eq(files)
            }
            _ => true,
        };
        // The store may have it before it is shown.
        live.until(|state| (state.log.newest() >= seq).then_some(())).await?;
        let known = {
            let state = live.lock();
            state.log.messages.by_seq(seq).map(|record| (record.message.message_id.clone(), record.state))
        };
        let (message_id, state) = match known {
            Some(known) => known,
            None => {
                let id = id.clone();
                let past = self.blocking(move |core| past_messages::by_seq(core, &id, seq)).await?;
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
        id: &SessionId,
        state: Option<MessageState>,
    ) -> Result<Vec<MessageInfo>, HostError> {
        let live = self.live(id).await?;
        let locked = live.lock();
        let all = locked.log.messages.records();
        let wanted = all.filter(|record| state.is_none_or(|wanted| record.state == wanted));
        Ok(wanted.map(Record::info).collect())
    }

    /// Cancels a message.
    ///
    /// # Errors
    /// If there is no such message, or it is too late.
    pub async fn cancel_message(
        &self,
        id: &SessionId,
        message: &MessageId,
        by: &Actor,
    ) -> Result<(), HostError> {
        let live = self.live(id).await?;
        let (message, by) = (message.clone(), by.name.clone());
        self.to_the_end(async move {
            let (is_ours, session) = {
                let mut state = live.lock();
                let record = state.log.messages.get(&message).ok_or(HostError::NoSuchMessage)?;
                if record.state.is_final() {
                    return Err(HostError::NotCancellable { state: record.state.as_str() });
                }
                (state.log.messages.claim(&message), state.session.clone())
            };
            if is_ours {
                let items = vec![
                    Item::Host(HostEvent::MessageCancelled { message: message.clone() }),
                    Item::Note(Note::Control { action: "cancel".to_owned(), by }),
                ];
                let recorded = live.recorder.recorded(items, SessionUpdate::default()).await;
                live.lock().log.messages.unclaim(&message);
                live.refresh();
                return recorded.map(drop);
            }
            if live.lock().log.messages.reject(&message) {
                live.changed();
                let is_decided = live.until(|state| {
                    let record = state.log.messages.get(&message)?;
                    (record.state.is_final() || record.in_flight).then_some(record.state)
                });
                if is_decided.await? == MessageState::Cancelled {
                    return Ok(());
                }
            }
            let session = live.lock().session.clone().or(session);
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
    pub async fn finished(&self, id: &SessionId, message: &MessageId) -> Result<Finished, HostError> {
        let live = self.live(id).await?;
        let is_known = live.lock().log.messages.get(message).is_some();
        if is_known {
            let finished = live.until(|state| {
                let is_over = state.log.messages.get(message).is_none_or(Record::is_over);
                is_over.then(|| summary::finished(state, message))
            });
            if let Some(finished) = finished.await? {
                return Ok(finished);
            }
        }
        drop(live);
        let (id, message) = (id.clone(), message.clone());
        self.blocking(move |core| past_messages::by_id(core, &id, &message)).await
    }
}
