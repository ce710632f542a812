//! Puts everything that happens to a session into one order: that of its fold, in which it is also logged and shown.
//!
//! Whoever folds something adds it here before the fold is unlocked. A batch goes to the store and to the task that
//! shows it in one step, so that both get batches in the same order.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use weir_base::time::now_ms;
use weir_session::{Observer, SharedFold};
use weir_store::{Append, Appended, NewEvent, Reply, SessionId, SessionUpdate, Store, StoreError};
use weir_transcript::lookup::{LineTopics, search_text};
use weir_transcript::{Change, Entry, EntryId, Fold, HostEvent, View};
use weir_wire::{Body, Line};

use crate::error::HostError;
use crate::item::{Item, Oversize};
use crate::labels::labels;
use crate::step::Steps;

/// While more bytes than this wait to be stored and shown, no more output of the process is read.
const MAX_WAITING: usize = 16 << 20;

/// Steps that go to the store together.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) steps: Steps,
    /// The store's reply, if anything goes into the log.
    pub(crate) reply: Option<Reply<Appended>>,
    /// Notified when the batch is in the log and in the view.
    pub(crate) waiter: Option<Waiter>,
    pub(crate) sent: Instant,
}

/// Someone who waits for a batch.
#[derive(Debug)]
pub(crate) struct Waiter {
    sender: oneshot::Sender<Result<Done, HostError>>,
    /// What it is told, if that was known before.
    known: Option<Done>,
}

impl Waiter {
    /// Tells that the batch is in the log and in the view.
    pub(crate) fn done(self, done: Done) {
        // The caller may have gone.
        let _ = self.sender.send(Ok(self.known.unwrap_or(done)));
    }

    pub(crate) fn failed(self, error: HostError) {
        let _ = self.sender.send(Err(error));
    }

    /// Waits for another batch, to tell this then.
    pub(crate) fn with(self, done: Done) -> Self {
        Self { known: Some(done), ..self }
    }
}

impl Batch {
    /// Whether the store's error is only returned to the sender: for messages when there is no space or no disk. Any other
    /// item that cannot be written ends the session, because the fold has it already.
    pub(crate) fn is_refusable(&self, error: &HostError) -> bool {
        let steps = self.steps.steps();
        let is_message =
            !steps.is_empty() && steps.iter().all(|step| matches!(step.item, Some(Item::Message(_))));
        is_message
            && matches!(
                error,
                HostError::Store(
                    StoreError::Full(_) | StoreError::Unusable { .. } | StoreError::Overloaded { .. }
                )
            )
    }
}

/// A batch is in the log and in the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Done {
    /// The number of its first event.
    pub(crate) seq: u64,
    /// Whether it was stored now; false if an event with the same client id was stored before.
    pub(crate) new: bool,
}

/// Puts everything that happens to a session into one order.
#[derive(Debug)]
pub(crate) struct Recorder {
    store: Arc<dyn Store>,
    session: SessionId,
    fold: SharedFold,
    /// Locked after the fold, never before it.
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Steps of the process that are not sent yet.
    pending: Steps,
    /// The task that shows batches, or the error once the log has failed.
    batches: Result<mpsc::UnboundedSender<Batch>, HostError>,
    /// Bytes of batches that are not shown yet.
    waiting: usize,
    /// The task that waits until less is waiting.
    reader: Option<Waker>,
    /// Whether someone watches the lines themselves.
    is_raw_watched: bool,
}

impl Recorder {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        session: SessionId,
        fold: Fold,
    ) -> (Self, mpsc::UnboundedReceiver<Batch>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let state = State {
            pending: Steps::default(),
            batches: Ok(sender),
            waiting: 0,
            reader: None,
            is_raw_watched: false,
        };
        let fold = SharedFold::new(fold);
        (Self { store, session, fold, state: Mutex::new(state) }, receiver)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing under the lock can panic half way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fold that the session continues.
    pub(crate) fn fold(&self) -> SharedFold {
        self.fold.clone()
    }

    /// Records what happened. Does not wait.
    pub(crate) fn record(
        &self,
        items: Vec<Item>,
        update: SessionUpdate,
    ) -> oneshot::Receiver<Result<Done, HostError>> {
        let (sender, receiver) = oneshot::channel();
        self.record_for(items, update, Some(Waiter { sender, known: None }));
        receiver
    }

    /// Like [`Recorder::record`], but waits until the items are in the log and in the view.
    pub(crate) async fn recorded(&self, items: Vec<Item>, update: SessionUpdate) -> Result<Done, HostError> {
        self.record(items, update).await.unwrap_or_else(|_| Err(self.failure()))
    }

    /// Like [`Recorder::record`], for someone who waits already.
    pub(crate) fn record_for(&self, items: Vec<Item>, update: SessionUpdate, waiter: Option<Waiter>) {
        let mut fold = self.fold.lock();
        let mut state = self.lock();
        if state.batches.is_err() {
            // Dropping the waiter tells it.
            return;
        }
        let at = now_ms();
        fold.set_time(at);
        let mut steps = Steps::default();
        for item in items {
            steps.begin(at);
            if let Item::Host(event) = &item {
                fold.host(event, &mut |_, change| steps.change(change));
                for streamed in fold.take_streamed() {
                    steps.insert_before_last(&streamed);
                }
            }
            steps.set_item(item);
        }
        self.send_pending(&mut state);
        self.send(&mut state, steps, update, waiter);
    }

    /// Sends what the process did, before anything that comes later.
    fn send_pending(&self, state: &mut State) {
        if !state.pending.is_empty() {
            let next = Steps::next_after(&state.pending);
            let steps = std::mem::replace(&mut state.pending, next);
            self.send(state, steps, SessionUpdate::default(), None);
        }
    }

    fn send(&self, state: &mut State, mut steps: Steps, update: SessionUpdate, waiter: Option<Waiter>) {
        let Ok(batches) = &state.batches else { return };
        state.waiting += steps.size();
        let essential = steps.is_essential();
        let events = steps.take_events();
        let reply = (!events.is_empty() || !update.is_empty()).then(|| {
            self.store.append(Append { update, essential, ..Append::new(self.session.clone(), events) })
        });
        // If the session is no longer shown, the batch is still in the log.
        let _ = batches.send(Batch { steps, reply, waiter, sent: Instant::now() });
    }

    /// Stops all further writes from here: the log has failed, and another writer may continue it.
    pub(crate) fn close(&self, error: &HostError) {
        let mut state = self.lock();
        state.batches = Err(error.clone());
        state.pending = Steps::default();
        state.waiting = 0;
        if let Some(reader) = state.reader.take() {
            reader.wake();
        }
    }

    /// The reason why writes fail.
    pub(crate) fn failure(&self) -> HostError {
        self.lock().batches.as_ref().err().cloned().unwrap_or_else(gone)
    }

    /// A batch was shown.
    pub(crate) fn shown(&self, batch: &Batch) {
        let mut state = self.lock();
        state.waiting = state.waiting.saturating_sub(batch.steps.size());
        if state.waiting <= MAX_WAITING / 2
            && let Some(reader) = state.reader.take()
        {
            reader.wake();
        }
    }

    /// Whether a batch is still being written or shown.
    pub(crate) fn is_busy(&self) -> bool {
        let state = self.lock();
        state.waiting > 0 || !state.pending.is_empty()
    }

    /// Says whether someone watches the lines themselves.
    pub(crate) fn set_raw_watched(&self, is_raw_watched: bool) {
        self.lock().is_raw_watched = is_raw_watched;
    }
}

pub(crate) fn gone() -> HostError {
    HostError::Failed("a session was closed while something was written to its log".to_owned())
}

/// Observes a process and records what it does. It is called while the session holds the fold.
pub(crate) struct Scribe {
    recorder: Arc<Recorder>,
    topics: LineTopics,
    is_transient: bool,
    at: i64,
    /// What is being streamed.
    streaming: HashMap<EntryId, Streaming>,
}

/// How much of a text that is being streamed is in the log.
struct Streaming {
    kept_at: i64,
    kept_bytes: usize,
}

/// What is streamed is logged this often: a kill of this program costs no more of it.
const KEEP_EVERY_MS: i64 = 1000;
/// Far more than the texts that agents write at the same time.
const MAX_STREAMING: usize = 256;

impl Scribe {
    pub(crate) fn new(recorder: Arc<Recorder>) -> Self {
        let streaming = HashMap::new();
        Self { recorder, topics: LineTopics::default(), is_transient: false, at: 0, streaming }
    }

    /// Logs what was streamed into an entry since the last time, if that is long ago.
    fn keep(&mut self, view: &View, entry: EntryId) {
        if self.streaming.len() >= MAX_STREAMING {
            // What is logged twice is read once.
            self.streaming.clear();
        }
        let at = self.at;
        let known = self.streaming.entry(entry).or_insert(Streaming { kept_at: at, kept_bytes: 0 });
        if at - known.kept_at < KEEP_EVERY_MS {
            return;
        }
        let Some(text) = view.entry(entry).and_then(Entry::streamed_text) else { return };
        let after = u64::try_from(known.kept_bytes).unwrap_or(u64::MAX);
        let Some(piece) = text.get(known.kept_bytes..) else { return };
        let kept = HostEvent::TextKept { entry, after, text: piece.to_owned() };
        *known = Streaming { kept_at: at, kept_bytes: text.len() };
        self.recorder.lock().pending.keep(&kept);
    }
}

impl Observer for Scribe {
    fn step(&mut self, step: weir_session::Step) {
        self.is_transient = step.is_transient;
        self.at = step.at;
        self.recorder.lock().pending.begin(step.at);
    }

    fn line(&mut self, line: &Line<'_>) {
        let is_transient = self.is_transient;
        let mut state = self.recorder.lock();
        if let Body::Oversize { length } = &line.body {
            let head = String::from_utf8_lossy(line.raw.get(..4096).unwrap_or(line.raw)).into_owned();
            return state.pending.set_item(Item::Oversize(Oversize { length: *length, head }));
        }
        let size = size_of::<Item>() + line.raw.len();
        if is_transient {
            let is_shown = state.is_raw_watched && !matches!(line.body, Body::Blank);
            let item = is_shown.then(|| Item::Preview(Bytes::copy_from_slice(line.raw)));
            return state.pending.set(item, size, None);
        }
        // Whether or not someone watches the lines: one who joins before this is published has to get it.
        let item = Item::Line(Bytes::copy_from_slice(line.raw));
        let event = NewEvent {
            search_text: search_text(line),
            labels: labels(&mut self.topics, line),
            ..Item::line_event(line.raw)
        };
        state.pending.set(Some(item), size, Some(event));
    }

    fn host(&mut self, event: &HostEvent) {
        let pending = &mut self.recorder.lock().pending;
        match event {
            HostEvent::Stderr { text } => {
                pending.begin(now_ms());
                pending.set_item(Item::Stderr(text.clone()));
            }
            // The host has queued it before. The session says so again when it takes the message, and once more if the
            // message is waiting again because no process took it, which is a change.
            HostEvent::MessageQueued { .. } if pending.is_without_changes() => {}
            _ => pending.set_item(Item::Host(event.clone())),
        }
    }

    fn change(&mut self, view: &View, change: &Change<'_>) {
        self.recorder.lock().pending.change(change);
        match change {
            Change::TextAppended { entry, .. } if self.is_transient => self.keep(view, *entry),
            Change::TextReplaced { entry, .. } | Change::BlockEnded { entry, .. } => {
                self.streaming.remove(entry);
            }
            _ => {}
        }
    }

    fn streamed(&mut self, event: &HostEvent) {
        self.recorder.lock().pending.insert_before_last(event);
    }

    fn pause(&mut self) {
        let mut state = self.recorder.lock();
        self.recorder.send_pending(&mut state);
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.recorder.lock();
        if state.waiting <= MAX_WAITING {
            return Poll::Ready(());
        }
        state.reader = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Scribe {
    fn drop(&mut self) {
        self.pause();
    }
}
