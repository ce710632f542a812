//! A session in memory: its view, its log, its viewers, and its process, if it has one.
//!
//! What happens is folded at once, but one task publishes it here after the store has taken it, in the same order. So
//! what is published is never ahead of the log, except for text that is being written, and a viewer never sees an event
//! number that a kill could undo.

mod publish;

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::time::Instant;
use weir_base::time::now_ms;
use weir_process::LogPaths;
use weir_session::Pooled;
use weir_store::{Append, SessionId, SessionUpdate, StoredSession};
use weir_transcript::View;

use crate::client_calls::ClientCalls;
use crate::core::{Core, Lease};
use crate::error::HostError;
use crate::frame_builder::FrameBuilder;
use crate::info::{SessionInfo, SessionStatus};
use crate::load::{self, Loaded};
use crate::log_state::LogState;
use crate::message_queue::Record;
use crate::recorder::Recorder;
use crate::settings::KeptSettings;
use crate::summary::{self, Figures};
use crate::viewer::{Bye, Outlet};
use crate::watch::Format;
use crate::watch_event::{Frame, SnapshotEvent, WatchEvent};

/// Size that an entry of a snapshot counts for in a viewer's queue. Most of it is shared with the session's own view.
const ENTRY_SIZE: usize = 1 << 10;

/// A session in memory.
#[derive(Debug)]
pub(crate) struct LiveSession {
    pub(crate) id: SessionId,
    pub(crate) core: Arc<Core>,
    pub(crate) recorder: Arc<Recorder>,
    /// Number of [`Lease`]s.
    pub(crate) leases: AtomicUsize,
    /// Calls of a client's tools that wait for an answer.
    pub(crate) calls: ClientCalls,
    state: Mutex<State>,
    /// Incremented whenever the state changes, for [`LiveSession::until`].
    shown: watch::Sender<u64>,
}

/// The mutable state of a session.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) log: LogState,
    /// The view as far as it is published. The fold is ahead of it.
    pub(crate) view: View,
    /// The session's row, as last written to the store.
    pub(crate) row: StoredSession,
    pub(crate) kept: KeptSettings,
    /// The kept settings as last written to the store.
    pub(crate) stored: KeptSettings,
    /// The session that owns the process. It may be over.
    pub(crate) session: Option<Pooled>,
    /// The raw logs of the last process that answered a message.
    pub(crate) raw_logs: Option<LogPaths>,
    /// Whether the settings have changed since `session` was made.
    pub(crate) is_stale: bool,
    /// Whether they have changed in a way that requires another process.
    pub(crate) needs_other_process: bool,
    /// Seal of the folder when a message was last handed over, if a person had trusted the folder as it was.
    pub(crate) trusted: Option<String>,
    /// Whether the worker task is running. Only one may run at a time.
    pub(crate) is_working: bool,
    /// Number of stops in progress.
    pub(crate) stopping: usize,
    /// Number of callers that keep messages from being handed over.
    pub(crate) paused: usize,
    /// Who pays for turns that the agent begins by itself: the sender of the last message that was handed over.
    pub(crate) payer: Option<String>,
    /// What the next message still needs before it can be sent to the CLI.
    pub(crate) waits_for: Option<Shortage>,
    /// Since when it has been waiting for a person.
    pub(crate) waiting_since: Option<Instant>,
    /// The newest event when a checkpoint was last requested.
    checkpoint: u64,
    viewers: Vec<Viewer>,
    info: Arc<SessionInfo>,
    /// The summary's figures when it was last published.
    told: Figures,
    /// Why the log can no longer be used.
    pub(crate) failed: Option<HostError>,
}

/// What a message still needs before it can be sent to the CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shortage {
    /// All processes are in use.
    Process,
    /// The rest of what its sender may spend is set aside for turns that run.
    Budget,
}

#[derive(Debug)]
struct Viewer {
    format: Format,
    outlet: Outlet,
}

impl LiveSession {
    /// Loads a session into memory. What its log leaves open is closed, because no process can be left.
    pub(crate) async fn load(core: Arc<Core>, id: SessionId) -> Result<Arc<Self>, HostError> {
        loop {
            match Self::try_load(Arc::clone(&core), id.clone()).await {
                // What an earlier writer had sent came after the log was read.
                Err(HostError::Store(weir_store::StoreError::Moved { .. })) => {}
                other => return other,
            }
        }
    }

    async fn try_load(core: Arc<Core>, id: SessionId) -> Result<Arc<Self>, HostError> {
        let (keep, every) = (core.options.keep_entries, core.options.checkpoint_every);
        let (reader, session) = (Arc::clone(&core), id.clone());
        let loading = tokio::task::spawn_blocking(move || load::load(reader.source(), &session, keep, every));
        let loaded = loading.await.map_err(|error| HostError::Failed(error.to_string()))??;
        let Loaded { row, mut history, checkpoint } = loaded;
        let closing = history.closing();
        if !closing.is_empty() {
            let at = now_ms();
            let events = closing.iter().filter_map(|item| item.to_event(at, None)).collect();
            // Also on a full disk: otherwise the session could not be viewed.
            let expected_newest = Some(history.newest());
            let append = Append { essential: true, expected_newest, ..Append::new(id.clone(), events) };
            let appended = core.options.store.append(append).await?;
            let mut frames = FrameBuilder::default();
            history.log.set_check(Some(appended.check));
            for (item, placed) in closing.iter().zip(&appended.placed) {
                history.apply(at, placed.seq, item, &mut frames);
            }
        }
        let (fold, mut log) = history.into_parts();
        log.take_tally();
        let view = fold.view().clone();
        let (recorder, batches) = Recorder::new(Arc::clone(&core.options.store), id.clone(), fold);
        let kept = crate::info::kept(&row);
        let mut state = State {
            told: Figures::default(),
            log,
            view,
            info: Arc::new(SessionInfo::of(&row)),
            row,
            stored: kept.clone(),
            kept,
            session: None,
            raw_logs: None,
            is_stale: false,
            needs_other_process: false,
            trusted: None,
            is_working: false,
            stopping: 0,
            paused: 0,
            payer: None,
            waits_for: None,
            waiting_since: None,
            checkpoint,
            viewers: Vec::new(),
            failed: None,
        };
        state.told = summary::figures(&state);
        state.info = Arc::new(summary::info_with(&state, state.told));
        let info = Arc::clone(&state.info);
        if let Some(update) = summary::update(&mut state, &info) {
            core.options.store.update(id.clone(), update).await?;
        }
        let live = Arc::new(Self {
            id,
            core,
            recorder: Arc::new(recorder),
            leases: AtomicUsize::new(0),
            calls: ClientCalls::default(),
            state: Mutex::new(state),
            shown: watch::Sender::new(0),
        });
        tokio::spawn(publish::publish(Arc::downgrade(&live), batches));
        Ok(live)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole between any two statements that could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the session can be released without losing anything.
    pub(crate) fn is_unused(&self) -> bool {
        let mut state = self.lock();
        state.viewers.retain(|viewer| !viewer.outlet.is_gone());
        let is_idle =
            state.session.is_none() && !state.is_working && state.stopping == 0 && state.paused == 0;
        is_idle && state.viewers.is_empty() && !state.log.messages.has_next() && !self.recorder.is_busy()
    }

    /// Waits until `condition` returns a value.
    pub(crate) async fn until<T>(
        &self,
        mut condition: impl FnMut(&mut State) -> Option<T>,
    ) -> Result<T, HostError> {
        let mut shown = self.shown.subscribe();
        loop {
            {
                let mut state = self.lock();
                if let Some(value) = condition(&mut state) {
                    return Ok(value);
                }
                if let Some(error) = &state.failed {
                    return Err(error.clone());
                }
            }
            if shown.changed().await.is_err() {
                return Err(crate::recorder::gone());
            }
        }
    }

    /// Wakes the callers of [`LiveSession::until`] after a change of the state.
    pub(crate) fn changed(&self) {
        self.shown.send_modify(|count| *count += 1);
    }

    /// Summary of the session.
    pub(crate) fn info(&self) -> Arc<SessionInfo> {
        let state = self.lock();
        Arc::new(summary::info(&state))
    }

    /// Number of viewers.
    pub(crate) fn viewers(&self) -> usize {
        self.lock().viewers.iter().filter(|viewer| !viewer.outlet.is_gone()).count()
    }

    /// Publishes changes that are not in the log: settings and status.
    pub(crate) fn refresh(&self) {
        let mut state = self.lock();
        self.tell_facts(&mut state);
        drop(state);
        self.changed();
    }

    /// Adds a viewer. It gets everything after the newest event in the log.
    pub(crate) fn join(&self, state: &mut State, format: Format, outlet: Outlet) -> Result<(), HostError> {
        if let Some(error) = &state.failed {
            return Err(error.clone());
        }
        state.viewers.retain(|viewer| !viewer.outlet.is_gone());
        let max = self.core.options.max_viewers;
        if state.viewers.len() >= max {
            return Err(HostError::TooManyViewers { max });
        }
        state.viewers.push(Viewer { format, outlet });
        if format == Format::Raw {
            self.recorder.set_raw_watched(true);
        }
        Ok(())
    }

    /// The snapshot for viewers of the view.
    pub(crate) fn snapshot(&self, state: &State) -> Frame {
        let messages: Vec<_> = state.log.messages.queued().map(Record::info).collect();
        let cursor = state.log.cursor(self.core.options.store.epoch());
        let view = state.view.clone();
        let size = view.entries.len() * ENTRY_SIZE;
        let snapshot = SnapshotEvent { seq: cursor.seq, session: summary::info(state), messages, view };
        Frame::new(Some(cursor), WatchEvent::Snapshot(Box::new(snapshot)), size)
    }

    /// Ends all watches.
    pub(crate) fn say_bye(&self, reason: Bye) {
        let mut state = self.lock();
        for viewer in std::mem::take(&mut state.viewers) {
            viewer.outlet.end(reason);
        }
    }

    /// The log has failed: the session ends here, and is loaded from the log again when needed.
    fn fail(self: &Arc<Self>, error: &HostError) {
        let session = {
            let mut state = self.lock();
            if state.failed.is_some() {
                return;
            }
            state.failed = Some(error.clone());
            state.session.take()
        };
        self.recorder.close(error);
        self.say_bye(Bye::Failed);
        self.core.forget(self);
        self.changed();
        if let Some(session) = session {
            let core = Arc::clone(&self.core);
            // An agent must not work while its output cannot be recorded.
            tokio::spawn(async move { core.pool.remove(session.key()).await });
        }
    }

    /// The update that sets a session's status, to be written together with an event.
    pub(crate) fn status_update(status: SessionStatus) -> SessionUpdate {
        SessionUpdate { at: Some(now_ms()), status: Some(status.as_str().to_owned()), ..Default::default() }
    }
}

/// Keeps the session in memory for a viewer.
#[derive(Debug)]
pub(crate) struct ViewerGuard {
    _lease: Lease,
}

impl ViewerGuard {
    pub(crate) fn new(lease: Lease) -> Self {
        Self { _lease: lease }
    }
}

/// Keeps messages from being handed over, and the process from being released.
#[derive(Debug)]
pub(crate) struct Paused(Lease);

impl Paused {
    /// The caller has counted itself already.
    pub(crate) fn new(lease: Lease) -> Self {
        Self(lease)
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.paused = state.paused.saturating_sub(1);
        drop(state);
        self.0.refresh();
        self.0.kick();
    }
}
