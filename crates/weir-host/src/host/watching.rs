//! Watching a session: first the viewer's queue is there, then the snapshot is made, both in one step.

use std::path::PathBuf;
use std::sync::Arc;

use weir_store::{Cursor, Resume, SessionId};
use weir_transcript::{FilePreview, PermissionRequest, Request, RequestKind, RequestState, View};
use weir_wire::RequestId;

use super::Host;
use crate::error::HostError;
use crate::live_session::ViewerGuard;
use crate::message::{Accepted, NewMessage};
use crate::message_watch::MessageWatch;
use crate::replay::{Opening, Replay};
use crate::settings::Actor;
use crate::viewer;
use crate::watch::{Format, Heartbeat, Watch, WatchQuery, hello};

impl Host {
    /// The current view, including text that is being written. It has the newest entries; the rest is paged.
    ///
    /// # Errors
    /// If there is no such session.
    pub async fn view(&self, id: &SessionId) -> Result<Box<View>, HostError> {
        let live = self.live(id).await?;
        let state = live.lock();
        Ok(Box::new(state.view.clone()))
    }

    /// An open or answered request; none if there is no such request, or it has been dropped.
    ///
    /// # Errors
    /// If there is no such session.
    pub async fn request(&self, id: &SessionId, request: &RequestId) -> Result<Option<Request>, HostError> {
        let live = self.live(id).await?;
        let state = live.lock();
        Ok(state.view.request(request).cloned())
    }

    /// What a call that waits for permission would do to the file that it writes; none where it writes none. Of files
    /// outside the folders that sessions may work in only the existence is told.
    ///
    /// # Errors
    /// If there is no such session, or no such request that still waits.
    pub async fn preview(
        &self,
        id: &SessionId,
        request: &RequestId,
    ) -> Result<Option<FilePreview>, HostError> {
        let live = self.live(id).await?;
        let cwd = PathBuf::from(&live.info().cwd);
        let found = live.lock().view.request(request).cloned();
        let open = found.filter(|request| request.state == RequestState::Open);
        let Some(RequestKind::Permission(PermissionRequest { tool_name, input, .. })) =
            open.map(|request| request.kind)
        else {
            return Err(HostError::NoSuchRequest);
        };
        drop(live);
        self.blocking(move |core| {
            Ok(weir_session::file_preview(&tool_name, &input, &cwd, Some(&core.options.roots)))
        })
        .await
    }

    /// What a person has to answer.
    ///
    /// # Errors
    /// If there is no such session.
    pub async fn open_requests(&self, id: &SessionId) -> Result<Vec<Request>, HostError> {
        let Some(live) = self.core.present(id) else {
            // A session with an open request is always in memory.
            return self.row(id).await.map(|_| Vec::new());
        };
        let state = live.lock();
        let requests = state.view.requests.iter();
        Ok(requests.filter(|request| request.state == RequestState::Open).cloned().collect())
    }

    /// Watches a session, whether or not it has a process.
    ///
    /// # Errors
    /// If there is no such session, or too many watch it.
    pub async fn watch(&self, id: &SessionId, query: WatchQuery) -> Result<Watch, HostError> {
        self.check_open()?;
        let options = &self.core.options;
        let live = self.live(id).await?;
        let (outlet, inlet) = viewer::queue(options.viewer_bytes);
        let epoch = options.store.epoch();
        let check = match &query.cursor {
            // Read before the newest event is looked at: an event that comes in between is not taken for another one.
            Some(Cursor { seq, check: Some(_), .. }) => options.store.check_at(id.clone(), *seq).await?,
            _ => None,
        };
        let opening = {
            let mut state = live.lock();
            live.join(&mut state, query.format, outlet)?;
            let newest = state.log.newest();
            let resume = Cursor::resume(query.cursor.as_ref(), epoch, newest, check);
            let hello = hello(resume, epoch, newest, query.heartbeat);
            if query.format == Format::View {
                Opening::new([hello, live.snapshot(&state)])
            } else {
                let entries = state.view.entries.iter();
                let being_written = View {
                    session: state.view.session.clone(),
                    entries: entries.filter(|entry| entry.streamed_text().is_some()).cloned().collect(),
                    ..View::default()
                };
                let seen = if let Resume::After(seq) = resume { seq } else { 0 };
                let store = Arc::clone(&options.store);
                let replay =
                    Replay::new(store, id.clone(), query.format, (seen, newest), options.keep_entries);
                Opening::new([hello]).with_replay(replay, being_written)
            }
        };
        Ok(Watch {
            inlet,
            opening,
            heartbeat: Heartbeat::new(query.heartbeat),
            is_over: false,
            _guard: ViewerGuard::new(live),
        })
    }

    /// Accepts a message as [`Host::send`] does, and watches what comes of it in the form `agent` or `classic`. A message
    /// that was accepted before is told from its beginning.
    ///
    /// # Errors
    /// As [`Host::send`], or if too many watch, or the form has no turns.
    pub async fn send_and_watch(
        &self,
        id: &SessionId,
        message: NewMessage,
        by: &Actor,
        query: WatchQuery,
    ) -> Result<(Accepted, Option<MessageWatch>), HostError> {
        if !matches!(query.format, Format::Agent | Format::Classic) {
            let reason = "one message can be watched as agent or classic events only";
            return Err(HostError::Invalid(reason.to_owned()));
        }
        let (accepted, seq) = self.accept(id, message, by).await?;
        if accepted.differs {
            return Ok((accepted, None));
        }
        let live = self.live(id).await?;
        let epoch = self.core.options.store.epoch();
        let query = WatchQuery { cursor: Some(Cursor::new(epoch, seq, None)), ..query };
        let format = query.format;
        let watch = self.watch(id, query).await?;
        let (host, id, message) = (self.clone(), id.clone(), accepted.message_id.clone());
        let finishing = Box::pin(async move { host.finished(&id, &message).await });
        let message = accepted.message_id.clone();
        Ok((accepted, Some(MessageWatch::new(watch, live, format, message, finishing))))
    }
}
