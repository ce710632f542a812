//! A session in memory: its view, its log, its viewers, and its process, if it has one.
//!
//! What happens is folded at once, but one task publishes it here after the store has taken it, in the same order. So
//! what is published is never ahead of the log, except for text that is being written, and a viewer never sees an event
//! number that a kill could undo.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use weir_base::time::now_ms;
use weir_process::LogPaths;
use weir_session::Pooled;
use weir_store::{Append, SessionId, SessionUpdate, StoredSession};
use weir_transcript::{Oddities, View};

use crate::client_calls::ClientCalls;
use crate::core::{Core, Lease};
use crate::error::HostError;
use crate::frame_builder::{FrameBuilder, Watched};
use crate::info::{SessionInfo, SessionStatus};
use crate::item::Item;
use crate::load::{self, Loaded};
use crate::log_state::{LogState, Place};
use crate::message::queued;
use crate::message_queue::Record;
use crate::metrics::count;
use crate::recorder::{Batch, Done, Recorder};
use crate::settings::KeptSettings;
use crate::summary;
use crate::viewer::{Bye, Offered, Outlet};
use crate::watch::Format;
use crate::watch_event::{Frame, MessagesEvent, SnapshotEvent, WatchEvent};

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
    told_messages: u64,
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
        let (reader, conversation) = (Arc::clone(&core), id.clone());
        let loading =
            tokio::task::spawn_blocking(move || load::load(reader.source(), &conversation, keep, every));
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
            told_messages: log.messages.revision(),
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
            payer: None,
            waits_for: None,
            waiting_since: None,
            checkpoint,
            viewers: Vec::new(),
            failed: None,
        };
        state.info = Arc::new(summary::info(&state));
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
        tokio::spawn(publish(Arc::downgrade(&live), batches));
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
        let is_idle = state.session.is_none() && !state.is_working && state.stopping == 0;
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

    /// Publishes a batch that the store has taken.
    fn publish(&self, batch: &mut Batch, placed: Option<&weir_store::Appended>) {
        let mut guard = self.lock();
        let state = &mut *guard;
        let mut watched = Watched::default();
        for viewer in &state.viewers {
            watched.add(viewer.format);
        }
        self.recorder.set_raw_watched(watched.raw);
        let mut frames = FrameBuilder::new(watched);
        let mut places = placed.into_iter().flat_map(|appended| &appended.placed);
        let mut done = Done { seq: state.log.newest(), new: true };
        let (mut events, mut bytes, mut previews) = (0, 0, 0);
        let before = state.view.oddities;
        let mut newest_at = 0;
        if let Some(appended) = placed.filter(|appended| appended.placed.iter().any(|place| place.new)) {
            state.log.set_check(Some(appended.check));
        }
        let (steps, mut changes) = batch.steps.take();
        for (number, step) in steps.enumerate() {
            let mut changes = changes.by_ref().take(step.changes);
            let place = if step.is_logged { places.next() } else { None };
            if let Some(place) = place.filter(|_| number == 0) {
                done = Done { seq: place.seq, new: place.new };
            }
            if place.is_some_and(|place| !place.new) {
                changes.by_ref().for_each(drop);
                continue;
            }
            match place {
                Some(_) => (events, bytes) = (events + 1, bytes + step.size as u64),
                None => previews += 1,
            }
            newest_at = newest_at.max(step.at);
            let (item, place) = (
                step.item.as_ref(),
                Place { at: step.at, seq: place.map(|place| place.seq), size: step.size },
            );
            state.log.begin(place, item, &mut frames);
            for change in changes {
                state.view.apply(&change);
                state.log.change(place, &state.view, &change, &mut frames);
                frames.view_change(|| change);
            }
            state.log.end(place, &state.view, item, &mut frames);
            if let Some(Item::Message(message)) = item {
                // Under the lock, so that nothing else about the message comes before it.
                let waiter = batch.waiter.take().map(|waiter| waiter.with(done));
                let items = vec![Item::Host(queued(message))];
                self.recorder.record_for(items, SessionUpdate::default(), waiter);
            }
        }
        let counters = &self.core.counters;
        count(&counters.events, events);
        count(&counters.event_bytes, bytes);
        count(&counters.previews, previews);
        if events > 0 {
            counters.appends.record(batch.sent.elapsed().as_secs_f64());
        }
        state.row.updated_at = state.row.updated_at.max(newest_at);
        let (ended, first_texts) = state.log.take_tally();
        summary::count_turns(&ended, counters);
        self.charge_unasked(state, &ended);
        first_texts.iter().for_each(|took| counters.first_texts.record(*took as f64 / 1000.0));
        let odd = state.view.oddities;
        let malformed = |odd: Oddities| odd.mismatches + odd.not_json + odd.oversize;
        count(&counters.unknown_lines, odd.unknown_types.saturating_sub(before.unknown_types));
        count(&counters.malformed_lines, malformed(odd).saturating_sub(malformed(before)));
        self.offer(state, frames);
        if events > 0 || placed.is_some() {
            // Transient lines do not change the summary.
            self.tell_facts(state);
        }
        self.keep_checkpoint(state);
        drop(guard);
        if let Some(waiter) = batch.waiter.take() {
            waiter.done(done);
        }
    }

    /// Requests a checkpoint once enough events have arrived. It is made from the log, because the state here may have
    /// more than the log.
    fn keep_checkpoint(&self, state: &mut State) {
        let newest = state.log.newest();
        if newest - state.checkpoint < self.core.options.checkpoint_every {
            return;
        }
        state.checkpoint = newest;
        self.core.checkpoints.request(&self.id);
    }

    /// Fails if another program has written to the log in between: the view would not have it.
    fn in_order(
        &self,
        placed: Option<weir_store::Appended>,
    ) -> Result<Option<weir_store::Appended>, HostError> {
        let newest = self.lock().log.newest();
        let first = placed.iter().flat_map(|appended| &appended.placed).find(|place| place.new);
        match first {
            Some(place) if place.seq != newest + 1 => {
                Err(weir_store::StoreError::Moved { expected: newest, newest: place.seq }.into())
            }
            _ => Ok(placed),
        }
    }

    /// Sends frames to the viewers.
    fn offer(&self, state: &mut State, mut built: FrameBuilder) {
        if state.viewers.is_empty() {
            return;
        }
        let newest = state.log.cursor(self.core.options.store.epoch());
        for format in [Format::View, Format::Agent, Format::Classic, Format::Raw] {
            if state.viewers.iter().all(|viewer| viewer.format != format) {
                continue;
            }
            let frames = built.frames(format, &newest);
            self.offer_frames(state, format, &frames);
        }
    }

    fn offer_frames(&self, state: &mut State, format: Format, frames: &[Frame]) {
        if frames.is_empty() {
            return;
        }
        state.viewers.retain(|viewer| {
            if viewer.format != format {
                return true;
            }
            let offered = viewer.outlet.offer(frames);
            if offered == Offered::Lagged {
                count(&self.core.counters.lagged, 1);
            }
            offered == Offered::Taken
        });
    }

    /// Publishes the session's summary to the store, its viewers and the viewers of all sessions, if it has changed.
    fn tell_facts(&self, state: &mut State) {
        let info = summary::info(state);
        let waits = info.status == SessionStatus::Waiting;
        if waits && state.waiting_since.is_none() {
            state.waiting_since = Some(Instant::now());
            // The session gives its slot in the pool back.
            self.core.freed.notify_waiters();
        } else if !waits {
            state.waiting_since = None;
        }
        if let Some(update) = summary::update(state, &info) {
            // The write happens even if its reply is dropped. If it fails, so does the next event.
            drop(self.core.options.store.update(self.id.clone(), update));
        }
        if !summary::is_same(&info, &state.info) {
            state.info = Arc::new(info);
            self.core.hub.tell(&state.info);
            let frame =
                Frame::new(None, WatchEvent::Session(Arc::clone(&state.info)), size_of::<SessionInfo>());
            self.offer_frames(state, Format::View, &[frame]);
        }
        let revision = state.log.messages.revision();
        if revision != state.told_messages {
            state.told_messages = revision;
            let messages: Vec<_> = state.log.messages.queued().map(Record::info).collect();
            let size = messages.iter().map(|message| size_of_val(message) + message.text.len()).sum();
            let frame = Frame::new(None, WatchEvent::Messages(MessagesEvent { messages }), size);
            self.offer_frames(state, Format::View, &[frame]);
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

/// Publishes what the store has taken, in order, until the session is released.
async fn publish(live: Weak<LiveSession>, mut batches: mpsc::UnboundedReceiver<Batch>) {
    while let Some(mut batch) = batches.recv().await {
        let reply = match batch.reply.take() {
            Some(reply) => reply.await.map(Some),
            None => Ok(None),
        };
        let Some(live) = live.upgrade() else { return };
        match reply.map_err(HostError::from).and_then(|placed| live.in_order(placed)) {
            Ok(placed) => {
                live.publish(&mut batch, placed.as_ref());
                live.recorder.shown(&batch);
                live.changed();
                // Dropping the lease also releases the session, if nothing is left to do.
                Lease::of(&live).kick();
            }
            Err(error) => {
                if batch.is_refusable(&error) {
                    live.recorder.shown(&batch);
                    if let Some(waiter) = batch.waiter.take() {
                        waiter.failed(error);
                    }
                    continue;
                }
                live.fail(&error);
                if let Some(waiter) = batch.waiter.take() {
                    waiter.failed(error);
                }
                return;
            }
        }
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
