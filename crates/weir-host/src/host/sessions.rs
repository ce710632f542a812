//! Managing sessions: creating, listing, renaming, archiving, deleting, forking.

use std::path::PathBuf;
use std::sync::Arc;

use weir_base::time::now_ms;
use weir_session::SessionSpec;
use weir_store::{
    Append, Archived, ListOrder, ListQuery, Lookup, NewEvent, NewStoredSession, Parent, SessionId,
    SessionUpdate, StoredSession,
};
use weir_transcript::lookup::{LineTopics, main_agent_uuid, search_text};
use weir_transcript::{HostEvent, MessageState};
use weir_wire::{Decoder, MessageId};

use super::Host;
use super::opening::{FORKING, resolved};
use crate::core::{Core, Lease};
use crate::error::HostError;
use crate::frame_builder::FrameBuilder;
use crate::history::History;
use crate::info::{SessionInfo, SessionStatus, kept};
use crate::item::{Item, message_labels};
use crate::labels::labels;
use crate::load::{Source, walk};
use crate::pages::{Created, ListSessions, SessionPage};
use crate::retention::Retention;
use crate::settings::{Actor, Branch, KeptSettings, NewSession, is_of_owner};
use crate::viewer::Bye;
use crate::work::{self, Cancels, Patience};

/// Maximum number of sessions on a page.
const MAX_LISTED: usize = 500;
/// Number of events copied at a time.
const COPIED: usize = 500;

impl Host {
    /// Creates a session, or gives the one that has the key.
    ///
    /// # Errors
    /// If the folder is not inside a root, or the settings are invalid.
    pub async fn create(&self, new: NewSession, by: &Actor) -> Result<Created, HostError> {
        self.check_open()?;
        new.check()?;
        new.check_key()?;
        if let Some(key) = &new.key
            && let Some(row) = self.core.options.store.find(Lookup::Key(key.clone())).await?
        {
            return self.known(self.info_of(&row), &new.origin, &new.spec).await;
        }
        let mut cwd = self.allowed_folder(&new.cwd).await?;
        let has_worktree = new.worktree.is_some();
        if let Some(worktree) = new.worktree {
            cwd = self.worktree_for_session(&cwd, worktree).await?;
        }
        let model = new.spec.model.clone();
        let (origin, spec) = (new.origin.clone(), new.spec.clone());
        let kept = KeptSettings {
            spec: SessionSpec { model: None, ..new.spec },
            ask_timeout_s: new.ask_timeout_s,
            client_tools: new.client_tools,
            origin: if new.origin.is_empty() { "api".to_owned() } else { new.origin },
            created_by: by.name.clone(),
            ..KeptSettings::default()
        };
        let mut session = NewStoredSession::new(SessionId::random(), now_ms());
        session.facts = SessionUpdate {
            key: Some(new.key),
            title: Some(new.name),
            cwd: Some(cwd.to_string_lossy().into_owned()),
            model,
            status: Some(SessionStatus::Idle.as_str().to_owned()),
            settings: Some(serde_json::to_value(&kept).unwrap_or_default()),
            ..SessionUpdate::default()
        };
        let created = self.core.options.store.create(session).await;
        if created.is_err() && has_worktree {
            self.abandon_worktree(&cwd).await;
        }
        match created {
            Ok(row) => {
                let session = SessionInfo::of(&row);
                self.core.hub.tell(&Arc::new(session.clone()));
                Ok(Created { session, new: true })
            }
            // Another caller was faster.
            Err(weir_store::StoreError::KeyInUse { owner, .. }) => {
                self.known(self.info(&owner).await?, &origin, &spec).await
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The session that has the key already.
    async fn known(
        &self,
        session: SessionInfo,
        origin: &str,
        spec: &SessionSpec,
    ) -> Result<Created, HostError> {
        if !is_of_owner(origin) {
            return Ok(Created { session, new: false });
        }
        let invalid =
            |error| HostError::Failed(format!("the session {} has an invalid id: {error}", session.id));
        let id: SessionId = session.id.parse().map_err(invalid)?;
        if session.origin != origin {
            // It would be what a client wants, and not what the owner has configured.
            return Err(HostError::KeyInUse { key: session.key.unwrap_or_default(), owner: id });
        }
        Ok(Created { session: self.set_tools(&id, spec).await?, new: false })
    }

    /// Gives a session the tools that its owner's configuration has by now.
    async fn set_tools(&self, id: &SessionId, spec: &SessionSpec) -> Result<SessionInfo, HostError> {
        let live = self.live(id).await?;
        let settings = {
            let mut state = live.lock();
            let own = &state.kept.spec;
            let configured = SessionSpec {
                tools: spec.tools.clone(),
                allowed_tools: spec.allowed_tools.clone(),
                disallowed_tools: spec.disallowed_tools.clone(),
                ..own.clone()
            };
            (configured != *own).then(|| {
                state.kept.spec = configured;
                state.needs_other_process = true;
                serde_json::to_value(&state.kept).unwrap_or_default()
            })
        };
        if let Some(settings) = settings {
            let update = SessionUpdate { settings: Some(settings), ..SessionUpdate::default() };
            live.recorder.recorded(Vec::new(), update).await?;
            live.refresh();
            live.kick();
        }
        Ok(SessionInfo::clone(&live.info()))
    }

    /// A folder that sessions may work in, with links resolved.
    ///
    /// # Errors
    /// Why sessions may not work there.
    pub async fn allowed_folder(&self, cwd: &str) -> Result<PathBuf, HostError> {
        let wanted = PathBuf::from(cwd);
        self.blocking(move |core| {
            let refused = |reason: &str| HostError::Folder { cwd: wanted.clone(), reason: reason.to_owned() };
            if !wanted.is_absolute() {
                return Err(refused("it must be an absolute path"));
            }
            let folder = resolved(&wanted).map_err(|error| refused(&error.to_string()))?;
            if core.options.roots.iter().any(|root| folder.starts_with(root)) {
                Ok(folder)
            } else {
                Err(refused("it is not inside a folder that sessions may work in"))
            }
        })
        .await
    }

    pub(super) fn info_of(&self, row: &StoredSession) -> SessionInfo {
        match self.core.present(&row.id) {
            Some(live) => SessionInfo::clone(&live.info()),
            None => SessionInfo::of(row),
        }
    }

    /// Lists sessions, the one that changed last first.
    ///
    /// # Errors
    /// If the cursor is not one of ours, or the log cannot be read.
    pub async fn list(&self, query: ListSessions) -> Result<SessionPage, HostError> {
        let order = match &query.cursor {
            None => ListOrder::Newest,
            Some(cursor) => ListOrder::NewestBefore(cursor.parse().map_err(|_| {
                HostError::Invalid("the cursor must be the next_cursor of the page before".to_owned())
            })?),
        };
        let list = ListQuery {
            archived: match query.archived {
                None => Archived::With,
                Some(true) => Archived::Only,
                Some(false) => Archived::Without,
            },
            status: query.status.map(|status| status.as_str().to_owned()),
            cwd: None,
            text: query.search,
            order,
            limit: query.limit.unwrap_or(100).clamp(1, MAX_LISTED),
        };
        let page = self.core.options.store.list(list).await?;
        let next = page.sessions.last().filter(|_| page.more).map(|last| last.revision.to_string());
        let rows = page.sessions.iter().filter(|row| row.status != FORKING);
        Ok(SessionPage { sessions: rows.map(|row| self.info_of(row)).collect(), next_cursor: next })
    }

    /// A session at a glance.
    ///
    /// # Errors
    /// If there is no such session.
    pub async fn info(&self, id: &SessionId) -> Result<SessionInfo, HostError> {
        match self.core.present(id) {
            Some(live) => {
                let failed = live.lock().failed.clone();
                failed.map_or_else(|| Ok(SessionInfo::clone(&live.info())), Err)
            }
            None => Ok(SessionInfo::of(&self.row(id).await?)),
        }
    }

    /// The session that has this key.
    ///
    /// # Errors
    /// If there is none, or the log cannot be read.
    pub async fn with_key(&self, key: &str) -> Result<SessionInfo, HostError> {
        let found = self.core.options.store.find(Lookup::Key(key.to_owned())).await?;
        found.map(|row| self.info_of(&row)).ok_or_else(|| HostError::NoSuchKey(key.to_owned()))
    }

    /// Gives a session another name, or none.
    ///
    /// # Errors
    /// If there is no such session.
    pub async fn rename(&self, id: &SessionId, name: Option<String>) -> Result<SessionInfo, HostError> {
        if name.as_ref().is_some_and(|name| name.trim().is_empty() || name.len() > 512) {
            return Err(HostError::Invalid("the name must have 1 to 512 bytes".to_owned()));
        }
        let update = SessionUpdate { title: Some(name), ..SessionUpdate::default() };
        self.change(id, update).await
    }

    /// Archives a session, which ends its process, or takes it out of the archive.
    ///
    /// # Errors
    /// If there is no such session, or another one has its key by now.
    pub async fn archive(&self, id: &SessionId, archived: bool) -> Result<SessionInfo, HostError> {
        if archived {
            self.stop_quietly(id).await?;
        }
        let update = SessionUpdate { archived: Some(archived), ..SessionUpdate::default() };
        self.change(id, update).await
    }

    /// Removes sessions that are old by these limits, now. What its options say, a host does by itself, periodically.
    ///
    /// # Errors
    /// If the log cannot be read or written.
    pub async fn remove_old_sessions(&self, retention: Retention) -> Result<(), HostError> {
        crate::retention::sweep(&self.core, retention).await.map(drop)
    }

    /// Keeps a session whatever its age, or not any longer.
    ///
    /// # Errors
    /// If there is no such session, or the log cannot be written.
    pub async fn pin(&self, id: &SessionId, pinned: bool) -> Result<SessionInfo, HostError> {
        // In memory, where everything that is kept with it is changed.
        let live = self.live(id).await?;
        let kept = KeptSettings { pinned, ..live.lock().kept.clone() };
        let settings = serde_json::to_value(&kept).unwrap_or_default();
        let update = SessionUpdate { settings: Some(settings), ..SessionUpdate::default() };
        live.recorder.recorded(Vec::new(), update).await?;
        // What was changed in between is written once more, with this.
        live.lock().kept.pinned = pinned;
        live.refresh();
        Ok(SessionInfo::clone(&live.info()))
    }

    /// Changes facts about a session, in the store and in memory.
    pub(super) async fn change(
        &self,
        id: &SessionId,
        update: SessionUpdate,
    ) -> Result<SessionInfo, HostError> {
        let row = self.core.options.store.update(id.clone(), update).await?;
        match self.core.present(id) {
            Some(live) => {
                {
                    let mut state = live.lock();
                    state.row.title = row.title;
                    state.row.model = row.model;
                    state.row.archived = row.archived;
                    state.row.key = row.key;
                }
                live.refresh();
                Ok(SessionInfo::clone(&live.info()))
            }
            None => {
                let info = SessionInfo::of(&row);
                self.core.hub.tell(&Arc::new(info.clone()));
                Ok(info)
            }
        }
    }

    /// Stops a session if it is at work.
    async fn stop_quietly(&self, id: &SessionId) -> Result<(), HostError> {
        let Some(live) = self.core.present(id) else { return Ok(()) };
        let stopped = async move { work::stop(&live, Patience::Usual, Cancels::All).await.map(drop) };
        self.to_the_end(stopped).await
    }

    /// Ends the process of a session and deletes it with its log.
    ///
    /// # Errors
    /// If there is no such session, or the log cannot be written.
    pub async fn delete(&self, id: &SessionId) -> Result<(), HostError> {
        let (core, id) = (Arc::clone(&self.core), id.clone());
        self.to_the_end(async move {
            let live = core.present(&id);
            if let Some(live) = &live {
                // It is deleted even if its log has failed.
                let _stopping = work::stop(live, Patience::Usual, Cancels::All).await;
                live.lock().failed = Some(HostError::NotFound(id.clone()));
                live.say_bye(Bye::Deleted);
                live.changed();
            }
            let deleted = core.options.store.delete(id.clone()).await?;
            if let Some(live) = &live {
                core.forget(live);
            }
            core.hub.removed(id.as_str());
            if deleted { Ok(()) } else { Err(HostError::NotFound(id)) }
        })
        .await
    }

    /// Begins a new session with a copy of this one's history. The CLI copies its own when the first message is sent.
    ///
    /// # Errors
    /// If there is no such session, or the log cannot be written.
    pub async fn fork(
        &self,
        id: &SessionId,
        name: Option<String>,
        by: &Actor,
    ) -> Result<SessionInfo, HostError> {
        self.check_open()?;
        let row = self.row(id).await?;
        let by = by.name.clone();
        let row = self.blocking(move |core| fork(core, &row, name, by, None)).await?;
        let info = SessionInfo::of(&row);
        self.core.hub.tell(&Arc::new(info.clone()));
        Ok(info)
    }

    /// Begins a new session with a copy of this one's history up to the answer to a message. The session itself stays
    /// as it is, and may be at work.
    ///
    /// # Errors
    /// If there is no such session or message, the message has no answer, or the log cannot be written.
    pub async fn branch(&self, id: &SessionId, branch: Branch, by: &Actor) -> Result<SessionInfo, HostError> {
        self.check_open()?;
        let row = self.row(id).await?;
        let by = by.name.clone();
        let row = self
            .blocking(move |core| {
                let name = branch.name.clone();
                fork(core, &row, name, by, Some(branch))
            })
            .await?;
        let info = SessionInfo::of(&row);
        self.core.hub.tell(&Arc::new(info.clone()));
        Ok(info)
    }

    /// The session in memory.
    pub(super) async fn live(&self, id: &SessionId) -> Result<Lease, HostError> {
        let live = self.core.live(id).await?;
        let failed = live.lock().failed.clone();
        failed.map_or(Ok(live), Err)
    }
}

/// Where the answer to a message ends.
struct End {
    /// The newest event that belongs to it.
    seq: u64,
    /// The uuid of the last line of the main agent's conversation.
    line: String,
}

/// Finds the end of the answer to a message. Blocks.
fn end_of_answer(core: &Core, parent: &StoredSession, message: &MessageId) -> Result<End, HostError> {
    let mut history = History::new(core.options.keep_entries);
    let (mut frames, mut decoder) = (FrameBuilder::default(), Decoder::new());
    let (mut line, mut end) = (None, None);
    walk(core.source(), &parent.id, 0, |event| {
        let seq = event.seq;
        if let Some(Item::Line(raw)) = Item::read(&event.kind, event.payload.clone()) {
            line = main_agent_uuid(&decoder.decode(&raw)).or(line.take());
        }
        history.replay(event, &mut frames);
        let state = history.log.messages.get(message).map(|record| record.state);
        if state == Some(MessageState::Answered) {
            end = Some(seq);
        }
        Ok(end.is_none() && seq < parent.newest)
    })?;
    match (end, line) {
        (Some(seq), Some(line)) => Ok(End { seq, line }),
        _ => Err(HostError::NoSuchMessage),
    }
}

/// Copies a log. Blocks.
fn fork(
    core: &Core,
    parent: &StoredSession,
    name: Option<String>,
    by: String,
    branch: Option<Branch>,
) -> Result<StoredSession, HostError> {
    let store = &*core.options.store;
    if kept(parent).spec.no_session_persistence {
        return Err(HostError::NotKept);
    }
    let id = SessionId::random();
    let end = match &branch {
        Some(branch) => Some(end_of_answer(core, parent, &branch.message)?),
        None => None,
    };
    let newest = end.as_ref().map_or(parent.newest, |end| end.seq);
    let mut new = NewStoredSession::new(id.clone(), now_ms());
    new.parent = Some(Parent { session: parent.id.clone(), seq: newest });
    new.facts = SessionUpdate {
        title: Some(name.or_else(|| parent.title.as_ref().map(|title| format!("{title} (fork)")))),
        cwd: parent.cwd.clone(),
        model: branch.as_ref().map_or_else(|| parent.model.clone(), |branch| branch.model.clone()),
        status: Some(FORKING.to_owned()),
        ..SessionUpdate::default()
    };
    store.create(new).wait()?;
    let history = copy(core.source(), parent, newest, &id, core.options.keep_entries)?;
    let mut closing: Vec<Item> = Vec::new();
    for record in history.log.messages.queued() {
        let message = record.message.message_id.clone();
        closing.push(Item::Host(HostEvent::MessageCancelled { message }));
    }
    closing.push(Item::Host(HostEvent::RecordingEnded));
    if branch.is_some() {
        closing.push(Item::Host(HostEvent::Branched));
    }
    let at = now_ms();
    let view = history.view();
    let cli_session = || view.session.id.as_ref().map(|id| id.as_str().to_owned());
    let inherited = kept(parent);
    let (append_system_prompt, output_schema) = match branch {
        Some(branch) => (branch.append_system_prompt, branch.output_schema),
        None => (inherited.spec.append_system_prompt.clone(), inherited.spec.output_schema.clone()),
    };
    let (fork_of, fork_at) = match (end, history.log.rewound()) {
        (Some(end), _) => (cli_session(), Some(end.line)),
        // Taken back and not continued yet.
        (None, Some(point)) => {
            (point.map(|point| point.session.to_string()), point.map(|point| point.line.clone()))
        }
        // A copy of a copy that has not begun yet begins where that one would have.
        (None, None) => (cli_session(), inherited.fork_at.clone().filter(|_| parent.cli_sessions.is_empty())),
    };
    // A copy is not the session of a chat or a loop any more.
    let origin = if is_of_owner(&inherited.origin) { "api".to_owned() } else { inherited.origin.clone() };
    let settings = KeptSettings {
        spec: SessionSpec { append_system_prompt, output_schema, ..inherited.spec.clone() },
        origin,
        fork_at,
        fork_of,
        inherited_usd: view.cost.usd,
        created_by: by,
        last_error: None,
        pinned: false,
        queued: 0,
        permissions: 0,
        questions: 0,
        ..inherited
    };
    let mut append =
        Append::new(id.clone(), closing.iter().filter_map(|item| item.to_event(at, None)).collect());
    append.update = SessionUpdate {
        at: Some(at),
        status: Some(SessionStatus::Idle.as_str().to_owned()),
        settings: Some(serde_json::to_value(&settings).unwrap_or_default()),
        ..SessionUpdate::default()
    };
    store.append(append).wait()?;
    store.find(Lookup::Id(id.clone())).wait()?.ok_or(HostError::NotFound(id))
}

fn copy(
    source: Source<'_>,
    parent: &StoredSession,
    newest: u64,
    id: &SessionId,
    keep_entries: usize,
) -> Result<History, HostError> {
    let mut history = History::new(keep_entries);
    let (mut frames, mut decoder, mut topics) =
        (FrameBuilder::default(), Decoder::new(), LineTopics::default());
    let mut events: Vec<NewEvent> = Vec::new();
    walk(source, &parent.id, 0, |event| {
        if event.seq > newest {
            return Ok(false);
        }
        // Client ids belong to the original session, so they are not copied.
        let mut copy = NewEvent::new(event.at, event.kind.clone(), event.payload.clone());
        match Item::read(&event.kind, event.payload.clone()) {
            Some(Item::Line(raw)) => {
                let line = decoder.decode(&raw);
                copy.search_text = search_text(&line);
                copy.labels = labels(&mut topics, &line);
            }
            Some(Item::Message(message) | Item::OldMessage(message)) => {
                copy.search_text = Some(message.text.clone());
                copy.labels = message_labels(&message);
            }
            _ => {}
        }
        events.push(copy);
        history.replay(event, &mut frames);
        if events.len() >= COPIED {
            source.store.append(Append::new(id.clone(), std::mem::take(&mut events))).wait()?;
        }
        Ok(true)
    })?;
    source.store.append(Append::new(id.clone(), events)).wait()?;
    Ok(history)
}
